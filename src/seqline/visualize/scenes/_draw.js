// Drawing: SVG elements, the frame of every figure, legends, badges and markers.
//
// tag(name, attrs, inner) · group(attrs, parts) · rect(x, y, w, h, attrs) · line(x1, y1, x2, y2, attrs) · path(d, attrs) · circle(x, y, r, attrs)
// arrow(x1, y1, x2, y2, attrs) line with a head · text(x, y, string, {size fill anchor dir rotate opacity attrs}) y = middle of the line
// pill(x, y, w, h, string, {fill ink size}) · badge(x, y, string, key, state, anchor) · marker(k, x, y, r, colour, inside) k-th shape
// legend({x, y, w, lo, hi, mode, table, label, state, middle}) · keyRow(entries [{label, draw(x, y)} with 28 px for the sample], {x, y, state, size, gap})
// box(meta, state) {x, y, w, h} free area · page(meta, trace, state, {body: [strings], t, n, frame, desc, subtitle, notes, caption, data}) whole SVG
// missing(meta, trace, state, path) the figure that says which block the trace lacks
//
// Rules of every scene: no DOM, Date, Math.random, Intl, console; no `+=` on strings; no spread over data; cut strings with Array.from only;
// no font-weight, dominant-baseline, direction, class or var(); numbers by num(), coordinates by xy().
import { theme } from "./_colour.js";
import { wholeNumber } from "./_state.js";
import { em, esc, fit, isolate, xy } from "./_text.js";
import { describeModel, joined, say, sentence } from "./_trace.js";

const SIDE_LEAST = 320;
const SIDE_MOST = 20000;

export function missingSentence(state, path) {
  const name = path.split("|").join(say(state, " or ", " 或 "));
  return say(state, ["This trace has no ", name, " block, which this view draws."].join(""), ["此记录没有 ", name, " 数据块，而本视图要画它。"].join(""));
}

export function missing(meta, trace, state, path) {
  const line = missingSentence(state, path);
  const area = box(meta, state);
  const colours = theme(state);
  const body = [
    rect(area.x, area.y, area.w, area.h, { fill: colours.panel, rx: 10 }),
    text(area.x + area.w / 2, area.y + area.h / 2, line, { size: 16, fill: colours.ink, anchor: "middle", attrs: { "data-missing": path } }),
  ];
  return page(meta, trace, state, { body: body, t: 1, n: 1, frame: 0, desc: line });
}

export function tag(name, attrs, inner) {
  const parts = ["<", name];
  for (const key of Object.keys(attrs || {})) {
    const value = attrs[key];
    if (value === null || value === undefined) continue;
    parts.push(" ", key, '="', typeof value === "number" ? xy(value) : esc(value), '"');
  }
  if (inner === undefined || inner === null) parts.push("/>");
  else parts.push(">", Array.isArray(inner) ? inner.join("") : inner, "</", name, ">");
  return parts.join("");
}

export function group(attrs, parts) {
  return tag("g", attrs, parts);
}

export function rect(x, y, w, h, attrs) {
  return tag("rect", joined({ x: x, y: y, width: Math.max(0, w), height: Math.max(0, h) }, attrs));
}

export function line(x1, y1, x2, y2, attrs) {
  return tag("line", joined({ x1: x1, y1: y1, x2: x2, y2: y2 }, attrs));
}

export function path(d, attrs) {
  return tag("path", joined({ d: Array.isArray(d) ? d.map((p) => (typeof p === "number" ? xy(p) : p)).join(" ") : d, fill: "none" }, attrs));
}

export function circle(x, y, r, attrs) {
  return tag("circle", joined({ cx: x, cy: y, r: r }, attrs));
}

export function arrow(x1, y1, x2, y2, attrs) {
  const a = joined({ stroke: "#000000", "stroke-width": 1.5 }, attrs);
  const length = Math.sqrt((x2 - x1) * (x2 - x1) + (y2 - y1) * (y2 - y1)) || 1;
  const ux = (x2 - x1) / length;
  const uy = (y2 - y1) / length;
  const s = a["head-size"] || 5 + a["stroke-width"];
  const bx = x2 - ux * s;
  const by = y2 - uy * s;
  delete a["head-size"];
  const head = ["M", x2, y2, "L", bx - uy * s * 0.5, by + ux * s * 0.5, "L", bx + uy * s * 0.5, by - ux * s * 0.5, "Z"];
  return group({ opacity: a.opacity }, [
    line(x1, y1, bx, by, joined(a, { opacity: null })),
    path(head, { fill: a.stroke }),
  ]);
}

export function text(x, y, string, opts) {
  const o = opts || {};
  const size = o.size || 13;
  const attrs = {
    x: x, y: y + size * 0.35, "font-size": size, fill: o.fill || "#000000",
    "text-anchor": o.anchor && o.anchor !== "start" ? o.anchor : null, opacity: o.opacity,
    transform: o.rotate ? ["rotate(", xy(o.rotate), " ", xy(x), " ", xy(y), ")"].join("") : null,
  };
  return tag("text", joined(attrs, o.attrs), esc(isolate(String(string), o.dir)));
}

export function pill(x, y, w, h, string, opts) {
  const o = opts || {};
  return group(o.attrs || {}, [
    rect(x, y, w, h, { rx: Math.min(h / 2, o.rx === undefined ? 7 : o.rx), fill: o.fill, stroke: o.stroke, "stroke-width": o.stroke ? o.width || 1.5 : null }),
    text(x + w / 2, y + h / 2, string, { size: o.size || 13, fill: o.ink, anchor: "middle", dir: o.dir }),
  ]);
}

// o: x y w lo hi mode table label state [middle: number printed in the middle] -> bar of 10 px with numbers below, label above
export function legend(o) {
  const colours = theme(o.state);
  const parts = [text(o.x, o.y, o.label || "", { size: 12, fill: colours.soft })];
  const step = o.w / o.table.length;
  o.table.forEach((hex, i) => parts.push(rect(o.x + i * step, o.y + 12, step + 0.4, 10, { fill: hex, "shape-rendering": "crispEdges" })));
  parts.push(rect(o.x, o.y + 12, o.w, 10, { fill: "none", stroke: colours.line, "stroke-width": 1 }));
  parts.push(text(o.x, o.y + 34, o.lo, { size: 12, fill: colours.soft }));
  parts.push(text(o.x + o.w, o.y + 34, o.hi, { size: 12, fill: colours.soft, anchor: "end" }));
  if (o.middle !== undefined) parts.push(text(o.x + o.w / 2, o.y + 34, o.middle, { size: 12, fill: colours.soft, anchor: "middle" }));
  const range3 = o.middle === undefined ? [o.lo, o.hi, o.mode] : [o.lo, o.middle, o.hi, o.mode];
  return group({ "data-legend": range3.join(" ").trim() }, parts);
}

export function badge(x, y, string, key, state, anchor) {
  const colours = theme(state);
  const w = em(string) * 12 + 20;
  const left = anchor === "end" ? x - w : anchor === "middle" ? x - w / 2 : x;
  return group({ "data-badge": key }, [
    rect(left, y - 11, w, 22, { rx: 11, fill: colours.panel, stroke: colours.warm, "stroke-width": 1 }),
    text(left + w / 2, y, string, { size: 12, fill: colours.warm, anchor: "middle" }),
  ]);
}

export function box(meta, state) {
  const w = wholeNumber(state.width, meta.size[0], SIDE_LEAST, SIDE_MOST);
  const h = wholeNumber(state.height, meta.size[1], SIDE_LEAST, SIDE_MOST);
  return { x: 32, y: 84, w: w - 64, h: h - 84 - 44, width: w, height: h };
}

function titleLine(meta, trace, state, o) {
  return [say(state, meta.title.en, meta.title.zh), ["t ", o.t, "/", o.n].join(""), o.subtitle === undefined ? sentence(trace) : o.subtitle].join(" – ");
}

// o: body [strings], t, n, frame, desc, [subtitle string, notes [strings], caption string, data {attributes of the root}]
export function page(meta, trace, state, o) {
  const colours = theme(state);
  const area = box(meta, state);
  const subtitle = o.subtitle === undefined ? sentence(trace) : o.subtitle;
  const caption = o.caption || ["t = ", o.t, " / ", o.n].join("");
  const parts = [
    tag("title", {}, esc(titleLine(meta, trace, state, o))),
    tag("desc", {}, esc([o.desc, describeModel(trace)].join(" "))),
    rect(0, 0, area.width, area.height, { fill: colours.bg, "data-background": "1" }),
    text(32, 32, say(state, meta.title.en, meta.title.zh), { size: 20, fill: colours.ink }),
    text(32, 58, fit(subtitle, (area.width - 64) / 13), { size: 13, fill: colours.soft }),
    text(area.width - 32, 32, caption, { size: 16, fill: colours.accent, anchor: "end", attrs: { "data-caption": "1" } }),
  ];
  for (const part of o.body) parts.push(part);
  (o.notes || []).filter((note) => note).forEach((note, i) => parts.push(
    text(32, area.height - 18 - i * 16, fit(note, (area.width - 64) / 12), { size: 12, fill: colours.soft, attrs: { "data-note": "1" } })));
  const root = {
    xmlns: "http://www.w3.org/2000/svg", viewBox: ["0 0", xy(area.width), xy(area.height)].join(" "), width: area.width, height: area.height,
    role: "img", "font-family": [].concat(state.font).map((name) => ["'", name, "'"].join("")).join(", "), "data-view": meta.id,
    "data-t": o.t, "data-n": o.n, "data-frame": o.frame,
  };
  return tag("svg", joined(root, o.data), parts);
}

export function marker(k, x, y, r, ink, inside) {
  const attrs = { fill: inside || ink, stroke: ink, "stroke-width": 1.5 };
  const shape = (points) => path(["M", points.map((p) => [xy(x + p[0] * r), xy(y + p[1] * r)].join(" ")).join(" L "), "Z"].join(" "), attrs);
  const kind = k % 6;
  if (kind === 0) return circle(x, y, r, attrs);
  if (kind === 1) return rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8, attrs);
  if (kind === 2) return shape([[0, -1.2], [1.1, 0.8], [-1.1, 0.8]]);
  if (kind === 3) return shape([[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]]);
  if (kind === 4) return shape([[0, 1.2], [1.1, -0.8], [-1.1, -0.8]]);
  return shape([[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]]);
}

export function keyRow(entries, o) {
  const colours = theme(o.state);
  const size = o.size || 12;
  const parts = [];
  let x = o.x;
  for (const entry of entries) {
    parts.push(entry.draw(x, o.y), text(x + 34, o.y, entry.label, { size: size, fill: colours.soft }));
    x = x + 34 + em(entry.label) * size * 1.05 + (o.gap || 20);
  }
  return group({ "data-key": "1" }, parts);
}
