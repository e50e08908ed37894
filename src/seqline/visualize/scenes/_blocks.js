// The towers of the diagram: boxes, arrows, loops, frames of repeated layers, blocks with their residual paths, recurrent cells.
//
// Every function takes k = {s state, d model, out list of drawn strings, lit what runs at t}
import { inkOn, partColour, theme } from "./_colour.js";
import { arrow, group, line, path, rect, text } from "./_draw.js";
import { em, range } from "./_text.js";
import { has, say } from "./_trace.js";

export const DIAGRAM_W = 216;

export function diagramWidth(t, side) {
  if (has(t, "embeddings") && t.embeddings[side]) return t.embeddings[side][0].length;
  return side === "target" && has(t, "embeddings.source") ? t.embeddings.source[0].length : t.model.width;
}

// [rows, columns] of the table of a side, where the parts list it.
export function diagramTable(t, side, width) {
  const tables = (t.model.parts || []).filter((part) => part.shape.length === 2 && part.shape[1] === width && /embed/i.test([part.name, part.type].join(" ")));
  const own = tables.filter((part) => part.name.indexOf(side) >= 0 || part.name.indexOf(side === "source" ? "encoder" : "decoder") >= 0);
  const found = own.length ? own[0] : tables[0];
  return found ? found.shape : null;
}

// `encoder:embedding` runs only while words are read; a model of one text has one tower for reading and writing.
function diagramIsLit(k, part) {
  const parts = k.lit.parts;
  if (part === "encoder:embedding") return parts.indexOf("encoder") >= 0 && k.lit.read.length > 0;
  return parts.indexOf(part) >= 0 || (k.d.alone && part === "decoder" && parts.indexOf("encoder") >= 0);
}

// One box; lit while its part runs. `k` carries state, drawing list and what is lit.
export function diagramBox(k, x, y, w, h, label, part, sub) {
  const colours = theme(k.s);
  const isNow = diagramIsLit(k, part);
  const base = part.split(":")[0];
  const tone = partColour(k.s, base);
  const fill = isNow ? tone : colours.panel;
  const ink = isNow ? inkOn(tone) : colours.ink;
  const size = Math.min(14, (w - 14) / em(label));
  k.out.push(group({ "data-part": base, "data-box": label, "data-now": isNow ? "1" : null }, [
    rect(x - w / 2, y, w, h, { rx: 8, fill: fill, stroke: tone, "stroke-width": isNow ? 2.5 : 1.2, "stroke-dasharray": isNow || k.lit.past.indexOf(base) >= 0 ? null : "5 3" }),
    text(x, y + (sub ? h / 2 - 7.5 : h / 2), label, { size: size, fill: ink, anchor: "middle" }),
    sub ? text(x, y + h / 2 + 9, sub, { size: Math.min(11, (w - 10) / em(sub)), fill: isNow ? ink : colours.soft, anchor: "middle" }) : "",
  ]));
}

export function diagramArrow(k, points, part, label, at) {
  const colours = theme(k.s);
  const isNow = part && diagramIsLit(k, part);
  const ink = isNow ? partColour(k.s, part.split(":")[0]) : colours.soft;
  const width = isNow ? 2.5 : 1.4;
  for (let i = 0; i + 2 < points.length - 2; i = i + 2) k.out.push(line(points[i], points[i + 1], points[i + 2], points[i + 3], { stroke: ink, "stroke-width": width }));
  const n = points.length;
  k.out.push(arrow(points[n - 4], points[n - 3], points[n - 2], points[n - 1], { stroke: ink, "stroke-width": width }));
  if (label) k.out.push(text(at[0], at[1], label, { size: 11, fill: colours.soft, anchor: at[2] || "start", attrs: { "data-size": label } }));
}

function diagramLoop(k, x, y, h, side, part) {
  const isNow = diagramIsLit(k, part);
  const ink = isNow ? partColour(k.s, part) : theme(k.s).soft;
  const out = side * 20;
  k.out.push(path(["M", x, y + h * 0.28, "C", x + out, y + h * 0.1, x + out, y + h * 0.9, x + side * 5, y + h * 0.74], { stroke: ink, "stroke-width": isNow ? 2.5 : 1.4, "data-loop": part }));
  k.out.push(arrow(x + side * 7, y + h * 0.77, x, y + h * 0.7, { stroke: ink, "stroke-width": isNow ? 2.5 : 1.4 }));
}

// The frame around what is repeated, with one small square a layer.
function diagramFrame(k, x, top, bottom, part, count) {
  const colours = theme(k.s);
  const left = x - DIAGRAM_W / 2 - 22;
  const layers = k.lit.layer[part];
  const isNow = diagramIsLit(k, part);
  k.out.push(rect(left, top, DIAGRAM_W + 44, bottom - top, { rx: 12, fill: "none", stroke: colours.line, "stroke-width": 1.2, "data-frame-of": part }));
  const onRight = part === "decoder";
  const edge = onRight ? left + DIAGRAM_W + 44 + 8 : left - 8;
  k.out.push(text(edge, top + 12, ["× ", count].join(""), { size: 14, fill: colours.ink, anchor: onRight ? "start" : "end", attrs: { "data-layers": count } }));
  range(Math.min(count, 12)).forEach((l) => {
    const lit = isNow && (!layers || layers.indexOf(l) >= 0);
    k.out.push(rect(onRight ? edge : edge - 12, top + 28 + (Math.min(count, 12) - 1 - l) * 14, 11, 10, { rx: 2, fill: lit ? partColour(k.s, part) : colours.empty, stroke: colours.line, "stroke-width": 1, "data-layer": l, "data-now": lit ? "1" : null }));
  });
}

// A sub-layer with its residual path, upwards from y; returns the y of its top.
function diagramSublayer(k, x, y, label, part, sub, loops) {
  const d = k.d;
  const colours = theme(k.s);
  const w = 150;
  const right = x + DIAGRAM_W / 2 + 10;
  const pre = d.norm === "pre";
  const h = pre ? 31 : 36;
  const boxTop = y - (pre ? 28 : 12) - h;
  const addTop = boxTop - (pre ? 20 : 24);
  const strip = (top, name) => {
    k.out.push(rect(x - w / 2, top, w, 17, { rx: 8, fill: colours.empty, stroke: colours.line, "stroke-width": 1, "data-norm": d.norm }));
    k.out.push(text(x, top + 8.5, name, { size: 11, fill: colours.soft, anchor: "middle" }));
  };
  diagramArrow(k, [x, y, x, pre ? y - 8 : boxTop + h], null);
  if (pre) {
    strip(y - 25, say(k.s, "norm", "归一化"));
    k.out.push(line(x, y - 25, x, boxTop + h, { stroke: colours.soft, "stroke-width": 1.4 }));
  }
  diagramBox(k, x, boxTop, w, h, label, part, sub);
  if (loops) diagramLoop(k, x - w / 2, boxTop, h, -1, part);
  k.out.push(line(x, boxTop, x, addTop + 17, { stroke: colours.soft, "stroke-width": 1.4 }));
  strip(addTop, pre ? say(k.s, "+ add", "+ 相加") : say(k.s, "+ add, norm", "+ 相加，归一化"));
  k.out.push(group({ "data-residual": part }, [line(x, y - 5, right, y - 5, { stroke: colours.soft, "stroke-width": 1.4 }), line(right, y - 5, right, addTop + 8.5, { stroke: colours.soft, "stroke-width": 1.4 }), arrow(right, addTop + 8.5, x + w / 2 + 1, addTop + 8.5, { stroke: colours.soft, "stroke-width": 1.4 })]));
  return { top: addTop, middle: boxTop + h / 2, left: x - w / 2 };
}

function diagramHeads(d) {
  return d.m.num_heads ? [d.m.num_heads, " × ", d.m.head_width].join("") : null;
}

export function diagramBlocks(k, side, x, bottom) {
  const d = k.d;
  const s = k.s;
  const part = side === "encoder" ? "encoder" : "decoder";
  const count = side === "encoder" ? d.m.num_layers.encoder : d.m.num_layers.decoder;
  const heads = d.m.num_heads ? say(s, [diagramHeads(d), " (heads × width)"].join(""), [diagramHeads(d), "（头 × 宽）"].join("")) : "";
  const self = (d.t.attention || []).some((block) => block.kind === (side === "encoder" ? "encoder_self" : "decoder_self"));
  const conv = /convolution/i.test(side === "encoder" ? d.m.encoder : d.m.layer);
  const word = side === "encoder" ? d.m.encoder : d.m.layer;
  const isSelf = self || /attention/i.test(word);
  const selfName = side === "encoder" ? say(s, "self-attention", "自注意力") : say(s, "masked self-attention", "掩码自注意力");
  const mixer = conv ? say(s, "convolution", "卷积") : isSelf ? selfName : has(d.t, "ttt") || /TTT/.test(word) ? say(s, "TTT: learns as it reads", "TTT：边读边学") : d.cell;
  let y = bottom - 6;
  const first = diagramSublayer(k, x, y, mixer, part, isSelf && !conv ? heads : "", side === "decoder" && !isSelf && !conv);
  y = first.top;
  let cross = null;
  if (side === "decoder" && d.cross) {
    cross = diagramSublayer(k, x, y, say(s, "attention to the source", "对源句的注意力"), "attention", d.m.score === "scaled_dot" ? heads : d.m.score);
    y = cross.top;
  }
  if (!conv) y = diagramSublayer(k, x, y, say(s, "feed-forward", "前馈层"), part, d.inner ? [d.m.width, " → ", d.inner, " → ", d.m.width].join("") : "").top;
  const top = y - 12;
  diagramFrame(k, x, top, bottom, part, count);
  k.out.push(line(x, y, x, top - 18, { stroke: theme(s).soft, "stroke-width": 1.4 }));
  if (!d.after[part]) return { top: top - 18, cross: cross };
  k.out.push(rect(x - 75, top - 35, 150, 17, { rx: 8, fill: theme(s).empty, stroke: theme(s).line, "stroke-width": 1 }), text(x, top - 26.5, say(s, "norm", "归一化"), { size: 11, fill: theme(s).soft, anchor: "middle" }));
  k.out.push(line(x, top - 35, x, top - 48, { stroke: theme(s).soft, "stroke-width": 1.4 }));
  return { top: top - 48, cross: cross };
}

export function diagramCells(k, side, x, bottom) {
  const d = k.d;
  const part = side === "encoder" ? "encoder" : "decoder";
  const count = Math.max(1, side === "encoder" ? d.m.num_layers.encoder : d.m.num_layers.decoder);
  const two = side === "encoder" && d.m.num_directions === 2;
  const size = has(d.t, [part, ".h"].join("")) ? d.t[part].h[0][0][0].length || d.t[part].h[0][0].length : d.m.width;
  const top = bottom - 150;
  const y = top + 44;
  const reversed = side === "encoder" && /reversed/.test(d.m.encoder);
  const boxes = two ? [[x - 56, "→ ", -1], [x + 56, "← ", 1]] : [[x, reversed ? "← " : "", 1]];
  for (const each of boxes) {
    const w = two ? 96 : 150;
    diagramArrow(k, [each[0], bottom, each[0], y + 60], part);
    diagramBox(k, each[0], y, w, 60, [each[1], d.cell].join(""), part, say(k.s, ["state ", size].join(""), ["状态 ", size].join("")));
    diagramLoop(k, each[0] + (each[2] * w) / 2, y, 60, each[2], part);
    diagramArrow(k, [each[0], y, each[0], top + 14], part);
  }
  if (two) k.out.push(text(x, top + 22, say(k.s, "joined [→ ; ←]", "拼接 [→ ; ←]"), { size: 11, fill: theme(k.s).soft, anchor: "middle" }));
  diagramFrame(k, x, top, bottom, part, count);
  if (side === "decoder" || !k.d.decoder) diagramArrow(k, [x, top, x, top - 18], part);
  return { top: top - 18, frame: top, cross: null };
}
