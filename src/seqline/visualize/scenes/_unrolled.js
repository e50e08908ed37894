// The unrolled network under the timeline: a node a word and layer, its arrows, the words that go in and come out.
//
// timelineNetwork(trace, d, s, area, top, bottom) {parts, weights}; d is the timeline's reading of the schedule at its t
import { pickBlock, pickMatrix } from "./_attention.js";
import { inkOn, partColour, theme } from "./_colour.js";
import { arrow, circle, group, line, path, rect, text } from "./_draw.js";
import { clamp, fit, maxOf, num } from "./_text.js";
import { labelWidth, tokenLabel } from "./_tokens.js";
import { has, one, say } from "./_trace.js";

export const TIMELINE_SIDE = 104;

export function timelineWord(list, i) {
  return i >= 0 && i < list.length ? tokenLabel(list[i], "word") : "";
}

export function timelineFed(d, j) {
  if (d.isNumbered) return ["+", j + 1].join("");
  return j > 0 ? timelineWord(d.out, j - 1) : d.bos;
}

export function timelineLanes(d, part) {
  const seen = {};
  const lanes = [];
  for (const step of d.steps) {
    for (const event of step.events) {
      if (event.part !== part) continue;
      const key = [event.layer || 0, event.dir || "all"].join(" ");
      if (!seen[key]) {
        seen[key] = { layer: event.layer || 0, dir: event.dir, at: {}, whole: null };
        lanes.push(seen[key]);
      }
      if (event.pos === null || event.pos === undefined) seen[key].whole = seen[key].whole === null ? step.t : seen[key].whole;
      else if (seen[key].at[event.pos] === undefined) seen[key].at[event.pos] = step.t;
    }
  }
  return lanes.sort((a, b) => a.layer - b.layer || (a.dir === "backward" ? 1 : 0) - (b.dir === "backward" ? 1 : 0));
}

function timelineTime(lane, pos) {
  return lane.at[pos] !== undefined ? lane.at[pos] : lane.whole;
}

function timelinePhase(d, t) {
  return t === null || t === undefined || t > d.t ? "future" : t === d.t ? "now" : "past";
}

function timelineNode(s, x, y, r, part, phase, label) {
  const fill = partColour(s, part);
  const look = { future: { fill: theme(s).bg, stroke: theme(s).line }, past: { fill: theme(s).bg, stroke: fill }, now: { fill: fill, stroke: fill } }[phase];
  return group({}, [
    circle(x, y, r, { fill: look.fill, stroke: look.stroke, "stroke-width": 1.5 }),
    phase === "past" ? circle(x, y, r, { fill: fill, opacity: 0.16 }) : "",
    label && r >= 11 ? text(x, y, label, { size: Math.min(12, r * 0.85), fill: phase === "now" ? inkOn(fill) : phase === "future" ? theme(s).soft : theme(s).ink, anchor: "middle" }) : "",
  ]);
}

function timelineEdge(s, x1, y1, x2, y2, r, phase, part) {
  const length = Math.sqrt((x2 - x1) * (x2 - x1) + (y2 - y1) * (y2 - y1)) || 1;
  const ux = ((x2 - x1) / length) * (r + 1);
  const uy = ((y2 - y1) / length) * (r + 1);
  const isNow = phase === "now";
  const stroke = phase === "future" ? theme(s).faint : partColour(s, part);
  if (r < 4) return line(x1 + ux, y1 + uy, x2 - ux, y2 - uy, { stroke: stroke, "stroke-width": isNow ? 2 : 0.7, opacity: isNow || phase === "future" ? null : 0.5 }); // no room for heads
  return arrow(x1 + ux, y1 + uy, x2 - ux, y2 - uy, { stroke: stroke, "stroke-width": isNow ? 2.5 : 1.2, opacity: isNow || phase === "future" ? null : 0.6, "head-size": 6 });
}

function timelineSide(d, s, g, part) {
  const lanes = part === "encoder" ? g.encoder : g.decoder;
  const count = part === "encoder" ? d.source.length : d.out.length;
  const place = part === "encoder" ? g.ex : g.dx;
  const parts = [];
  lanes.forEach((lane, k) => {
    const y = g.laneY(lanes, k);
    const step = lane.dir === "backward" ? 1 : -1;
    for (let i = 0; i < count; i++) {
      const phase = timelinePhase(d, timelineTime(lane, i));
      const before = i + step;
      const chained = part === "encoder" ? lane.dir && lane.whole === null : d.decoderRecurrent;
      if (chained && before >= 0 && before < count) parts.push(timelineEdge(s, place(before), y, place(i), y, g.r, phase, part));
      if (!chained && k > 0) parts.push(timelineEdge(s, place(i), g.laneY(lanes, k - 1), place(i), y, g.r, phase, part));
      const letter = part === "encoder" ? (lane.dir === "backward" ? "g" : "h") : "s";
      parts.push(timelineNode(s, place(i), y, g.r, part, phase, [letter, i + 1].join("")));
    }
  });
  return parts;
}

function timelineWeights(trace, s, d, j) {
  if (!has(trace, "attention") || j < 0 || j >= d.out.length) return null;
  const tr = one(trace);
  const block = pickBlock(tr, s);
  if (block.query === "source") return null;
  const chosen = pickMatrix(block, s);
  const row = chosen.values[block.query === "sequence.out" ? d.source.length - 1 + j : j];
  const onSource = block.key === "source" || block.key === "sequence";
  return onSource && row ? { values: row.slice(0, d.source.length), label: chosen.label } : null;
}

function timelineGeometry(d, area, top, bottom) {
  const x0 = area.x + TIMELINE_SIDE;
  const width = area.w - TIMELINE_SIDE;
  const encoder = timelineLanes(d, "encoder");
  const decoder = d.out.length ? timelineLanes(d, "decoder") : [];
  const unit = width / Math.max(1, d.source.length + (decoder.length ? d.out.length : 0));
  const lanes = Math.max(encoder.length, decoder.length, 1);
  const high = top + 72;
  const low = bottom - 78;
  const gap = lanes > 1 ? Math.min(44, (low - high) / (lanes - 1)) : 0;
  const middle = (high + low) / 2;
  const spread = unit * 0.34;
  const r = clamp(Math.min(spread, lanes > 1 ? gap * 0.36 : 16), 2, 16);
  return { unit: unit, r: r, encoder: encoder, decoder: decoder, wordY: bottom - 36, barY: bottom - 22, writesY: top + 26, high: high, low: low,
    ex: (i) => x0 + (i + 0.5) * unit, dx: (j) => x0 + ((decoder.length ? d.source.length : 0) + j + 0.5) * unit,
    laneY: (list, k) => middle + ((list.length - 1) / 2 - k) * gap, topY: middle - ((decoder.length - 1) / 2) * gap };
}

// Words go up into the lowest lane, the written word leaves the highest one.
function timelineFeeds(d, s, g) {
  const parts = [];
  const up = (x, from, to, phase, part) => {
    if (from - to > g.r + 12 && g.unit > 8) parts.push(timelineEdge(s, x, from + g.r, x, to, g.r, phase, part));
  };
  if (g.encoder.length) {
    d.source.forEach((token, i) => up(g.ex(i), g.wordY - 14, g.laneY(g.encoder, 0), timelinePhase(d, timelineTime(g.encoder[0], i)), "encoder"));
  }
  if (g.decoder.length) {
    for (let j = 0; j < d.done; j++) {
      const phase = timelinePhase(d, timelineTime(g.decoder[0], j));
      up(g.dx(j), g.wordY - 14, g.laneY(g.decoder, 0), phase, "decoder");
      const y = g.laneY(g.decoder, g.decoder.length - 1);
      parts.push(timelineEdge(s, g.dx(j), y, g.dx(j), g.writesY + 11 - g.r, g.r, phase, "output"));
    }
  }
  return parts;
}

function timelineWords(d, s, g, weights) {
  const colours = theme(s);
  const parts = [];
  const widest = maxOf(d.source.concat(d.out).map((token) => labelWidth(tokenLabel(token, "word"), token.w_em)).concat([1]));
  const size = clamp((g.unit - 4) / widest, 10, 14);
  const put = (x, y, label, dir, fill, every, i) => {
    if (label && (every <= 1 || i % every === 0)) parts.push(text(x, y, fit(label, (g.unit * every - 3) / size), { size: size, fill: fill, anchor: "middle", dir: dir }));
  };
  const every = g.unit < 20 ? Math.ceil((Math.min(widest, 5) * size) / g.unit) : 1;
  d.source.forEach((token, i) => {
    const top = weights ? maxOf(weights.values) : 0;
    const bold = weights && weights.values[i] === top;
    put(g.ex(i), g.wordY, tokenLabel(token, "word"), token.dir, bold ? colours.attention : colours.ink, every, i);
    if (!weights) return;
    const w = Math.max(2, Math.min(g.unit - 6, 56));
    const v = weights.values[i];
    parts.push(rect(g.ex(i) - w / 2, g.barY, w, 5, { fill: colours.faint, rx: 2 }));
    parts.push(rect(g.ex(i) - w / 2, g.barY, w * clamp(v, 0, 1), 5, { fill: colours.attention, rx: 2, "data-weight": num(v, 4), "data-c": i }));
    if (g.unit >= 34) parts.push(text(g.ex(i), g.barY + 15, num(v, 2), { size: 11, fill: bold ? colours.attention : colours.soft, anchor: "middle" }));
  });
  d.out.forEach((token, j) => {
    if (j >= d.done) return;
    if (g.decoder.length) put(g.dx(j), g.wordY, timelineFed(d, j), j ? d.out[j - 1].dir : "neutral", j === d.done - 1 ? colours.ink : colours.soft, every, j);
    put(g.dx(j), g.writesY, tokenLabel(token, "word"), token.dir, j === d.done - 1 ? colours.output : colours.ink, every, j);
  });
  return parts;
}

function timelineArcs(d, s, g, weights, j) {
  if (!weights || !g.encoder.length || !g.decoder.length || !timelineNowParts(d).attention) return [];
  const parts = [];
  const y1 = g.laneY(g.encoder, g.encoder.length - 1) - g.r;
  const y2 = g.laneY(g.decoder, g.decoder.length - 1) - g.r;
  weights.values.forEach((v, i) => {
    if (v < 0.08) return;
    const x1 = g.ex(i);
    const x2 = g.dx(j);
    const peak = Math.max(g.writesY + 16, Math.min(y1, y2) - 18 - (x2 - x1) * 0.07);
    parts.push(path(["M", x1, y1, "C", x1, peak, x2 - g.unit * 0.5, peak, x2 - g.r * 0.75, y2 + g.r * 0.35], {
      stroke: theme(s).attention, "stroke-width": 0.8 + 4 * v, "stroke-opacity": 0.25 + 0.7 * v,
    }));
  });
  return parts;
}

function timelineNowParts(d) {
  const present = {};
  for (const event of d.steps[d.t - 1].events) present[event.part] = true;
  return present;
}

export function timelineNetwork(trace, d, s, area, top, bottom) {
  const colours = theme(s);
  const g = timelineGeometry(d, area, top, bottom);
  const writing = timelineNowParts(d).decoder || timelineNowParts(d).attention || timelineNowParts(d).output;
  const j = writing ? d.done - 1 : -1;
  const weights = timelineWeights(trace, s, d, j);
  const parts = [line(area.x, top + 6, area.x + area.w, top + 6, { stroke: colours.faint, "stroke-width": 1 })];
  for (const part of timelineArcs(d, s, g, weights, j)) parts.push(part);
  if (g.encoder.length && g.decoder.length && d.decoderRecurrent) {
    parts.push(timelineEdge(s, g.ex(d.source.length - 1), g.laneY(g.encoder, 0), g.dx(0), g.laneY(g.decoder, 0), g.r, d.done === 0 ? "future" : d.done === 1 && writing ? "now" : "past", "bridge"));
  }
  for (const part of timelineFeeds(d, s, g)) parts.push(part);
  for (const part of timelineSide(d, s, g, "encoder")) parts.push(part);
  for (const part of timelineSide(d, s, g, "decoder")) parts.push(part);
  for (const part of timelineWords(d, s, g, weights)) parts.push(part);
  parts.push(text(area.x, g.wordY, say(s, "reads", "读入"), { size: 12, fill: colours.soft }));
  if (weights) parts.push(text(area.x, g.barY + (g.unit >= 34 ? 15 : 3), say(s, "weights", "权重"), { size: 12, fill: colours.attention }));
  if (d.out.length) parts.push(text(area.x, g.writesY, say(s, "writes", "写出"), { size: 12, fill: colours.soft }));
  return { parts: parts, weights: weights };
}
