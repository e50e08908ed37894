// Timeline: which part ran at t1, t2, …, what it read and wrote; below it the unrolled network and the growing sentence.
import { num, xy, sum, maxOf, argmax, range, clamp, settle, say, withState, one, has, firstMissing, missing, stepCount, stepOf, producedBy } from "./_lib.js";
import { theme, partColour, inkOn, tag, group, rect, line, path, circle, arrow, text, em, fit, isolate, tokenLabel, labelWidth, pickBlock, pickMatrix, page, box } from "./_lib.js";

export const meta = {
  id: "timeline",
  title: { en: "Timeline: what happens at each step", zh: "时间线：每一步发生什么" },
  needs: ["schedule"],
  state: { t: null, layer: null, head: "mean", attention: null },
  size: [960, 540],
};

const TIMELINE_SIDE = 104;
const TIMELINE_ROWS = ["encoder forward", "encoder backward", "encoder", "bridge", "attention", "decoder", "output"];
const TIMELINE_WINDOW = 20;

function timelineRowName(event) {
  return event.part === "encoder" && event.dir ? ["encoder ", event.dir].join("") : event.part;
}

function timelineTitle(s, row) {
  const names = {
    "encoder forward": say(s, "encoder →", "编码器 →"), "encoder backward": say(s, "encoder ←", "编码器 ←"), encoder: say(s, "encoder", "编码器"),
    bridge: say(s, "bridge", "桥"), attention: say(s, "attention", "注意力"), decoder: say(s, "decoder", "解码器"), output: say(s, "output", "输出"),
  };
  return names[row];
}

function timelineWord(list, i) {
  return i >= 0 && i < list.length ? tokenLabel(list[i], "word") : "";
}

function timelineFed(d, j) {
  return j > 0 ? timelineWord(d.out, j - 1) : d.bos;
}

function timelineData(trace, s) {
  const tr = one(trace);
  const out = tr.target ? tr.target.tokens : [];
  const present = {};
  for (const step of tr.schedule) for (const event of step.events) present[timelineRowName(event)] = true;
  const named = Boolean(present.output);
  if (out.length) present.output = true;
  const t = stepOf(trace, s);
  return { steps: tr.schedule, source: tr.source.tokens, out: out, rows: TIMELINE_ROWS.filter((row) => present[row]), namedOutput: named,
    t: t, n: stepCount(trace), done: producedBy(trace, t), bos: tr.target && tr.target.bos ? tokenLabel(tr.target.bos, "word") : "",
    decoderRecurrent: has(trace, "decoder.h0") };
}

// Up to 60 columns all of them, beyond that a window of 20 steps on both sides of t.
function timelineWindow(d) {
  if (d.n <= 60) return { from: 1, to: d.n };
  const from = clamp(d.t - TIMELINE_WINDOW, 1, d.n - 2 * TIMELINE_WINDOW);
  return { from: from, to: from + 2 * TIMELINE_WINDOW };
}

function timelineIds(ids, prefix) {
  return ids.filter((id) => id.slice(0, prefix.length) === prefix).map((id) => Number(id.slice(id.indexOf(":") + 1))).filter((i) => i === i);
}

function timelineCellText(d, row, events, step) {
  const reads = [];
  const writes = [];
  for (const event of events) {
    for (const id of event.reads || []) reads.push(id);
    for (const id of event.writes || []) writes.push(id);
  }
  if (row === "output") return timelineIds(writes, "y:").map((j) => (j < d.done ? timelineWord(d.out, j) : "")).join(" ");
  if (row === "attention") return timelineIds(writes, "ctx:").map((j) => ["C", j + 1].join("")).join(" ");
  if (row === "decoder") {
    const made = timelineIds(writes, "y:");
    const from = made.length ? made[0] : producedBy({ schedule: d.steps }, step.t) - 1;
    return from >= 0 && from <= d.done ? timelineFed(d, from) : "";
  }
  const places = timelineIds(reads, "x:");
  const words = places.filter((i) => d.source[i] && !d.source[i].special);
  if (places.length && places.length <= 2) return (words.length ? words : places).map((i) => timelineWord(d.source, i)).join(" ");
  const layers = events.map((event) => event.layer).filter((l) => l !== null && l !== undefined);
  return layers.length && row === "encoder" ? ["L", layers[0] + 1].join("") : "";
}

function timelineCell(d, s, row, step, x, y, w, h) {
  const all = step.events;
  const events = all.filter((event) => timelineRowName(event) === row);
  const derived = row === "output" && !d.namedOutput && all.some((event) => timelineIds(event.writes || [], "y:").length > 0);
  const colours = theme(s);
  if (!events.length && !derived) return rect(x, y, w, h, { fill: colours.empty, rx: 3, opacity: 0.45 });
  const fill = partColour(s, row.split(" ")[0]);
  const isNow = step.t === d.t;
  const past = step.t < d.t;
  const attrs = { "data-part": row, "data-t": step.t, "data-now": isNow && events.length ? "1" : null };
  const label = step.t <= d.t ? timelineCellText(d, row, events.length ? events : all, step) : "";
  const size = 12;
  const shown = em(label) * size <= w - 4 ? label : w >= 26 ? fit(label, (w - 4) / size) : "";
  return group(attrs, [
    rect(x, y, w, h, { rx: 3, fill: isNow ? fill : past ? fill : colours.bg, "fill-opacity": past ? 0.16 : null, stroke: fill, "stroke-width": 1, "stroke-opacity": past || isNow ? 0.6 : 0.3 }),
    shown ? text(x + w / 2, y + h / 2, shown, { size: size, fill: isNow ? inkOn(fill) : colours.ink, anchor: "middle" }) : "",
  ]);
}

function timelineGrid(d, s, area) {
  const colours = theme(s);
  const span = timelineWindow(d);
  const count = span.to - span.from + 1;
  const x0 = area.x + TIMELINE_SIDE;
  const cw = (area.w - TIMELINE_SIDE) / count;
  const ch = d.rows.length > 4 ? 21 : 26;
  const every = Math.ceil(30 / cw);
  const parts = [];
  for (let t = span.from; t <= span.to; t++) {
    const isNow = t === d.t;
    const shown = isNow || (t % every === 0 && Math.abs(t - d.t) >= every) || every === 1;
    parts.push(text(x0 + (t - span.from + 0.5) * cw, area.y + 6, shown ? ["t", t].join("") : "", {
      size: isNow ? 14 : 12, fill: isNow ? colours.now : colours.soft, anchor: "middle", attrs: { "data-label": "col", "data-i": t - 1 },
    }));
  }
  d.rows.forEach((row, r) => {
    const y = area.y + 20 + r * (ch + 3);
    parts.push(text(area.x, y + ch / 2, timelineTitle(s, row), { size: 13, fill: partColour(s, row.split(" ")[0]), attrs: { "data-label": "row", "data-i": r } }));
    for (let t = span.from; t <= span.to; t++) {
      parts.push(timelineCell(d, s, row, d.steps[t - 1], x0 + (t - span.from) * cw + 1, y, cw - 2, ch));
    }
  });
  const bottom = area.y + 20 + d.rows.length * (ch + 3);
  if (count < d.n) parts.push(timelineMinimap(d, s, x0, bottom + 6, area.w - TIMELINE_SIDE, span));
  return { parts: parts, bottom: bottom + (count < d.n ? 20 : 0) };
}

function timelineMinimap(d, s, x, y, w, span) {
  const colours = theme(s);
  const step = w / d.n;
  return group({ "data-minimap": [span.from, span.to].join(" ") }, [
    rect(x, y, w, 6, { fill: colours.faint, rx: 3 }),
    rect(x + (span.from - 1) * step, y, (span.to - span.from + 1) * step, 6, { fill: colours.line, rx: 3 }),
    rect(x + (d.t - 1) * step, y - 2, Math.max(3, step), 10, { fill: colours.now }),
  ]);
}

// ---- the unrolled network: encoder nodes on the left, decoder nodes on the right, one lane for each layer and direction ----

function timelineLanes(d, part) {
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

function timelineNetwork(trace, d, s, area, top, bottom) {
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

// ---- the sentence of the step --------------------------------------------------------------------------------------------

function timelineName(d, s, id) {
  const at = id.indexOf(":");
  const name = id.slice(0, at);
  const index = id.slice(at + 1);
  const i = Number(index);
  const quote = (word) => ["“", isolate(word, "neutral"), "”"].join("");
  if (name === "x") return quote(timelineWord(d.source, i));
  if (name === "y") return quote(index === "init" ? d.bos : timelineWord(d.out, i));
  if (index === "init") return say(s, "the start state", "初始状态");
  const letter = name === "ctx" ? "C" : name.indexOf("backward") >= 0 ? "g" : name.indexOf("enc") >= 0 ? "h" : name.indexOf("dec") >= 0 || name === "s" ? "s" : name;
  return [letter, i + 1].join("");
}

// Names of one kind together, long runs as "h1 … h4"; words first.
function timelineList(d, s, ids) {
  const kinds = [];
  for (const id of ids) {
    const name = timelineName(d, s, id);
    const known = kinds.filter((kind) => kind.letter === name[0])[0];
    if (!known) kinds.push({ letter: name[0], names: [name], order: name[0] === "“" ? -1 : kinds.length });
    else if (known.names.indexOf(name) < 0) known.names.push(name);
  }
  const short = (names) => (names.length > 3 ? [names[0], " … ", names[names.length - 1]].join("") : names.join(", "));
  const shown = kinds.sort((a, b) => a.order - b.order).map((kind) => short(kind.names));
  return shown.join(", ") || say(s, "nothing", "无");
}

function timelineSaid(d, s) {
  const rows = [];
  for (const row of TIMELINE_ROWS) {
    const events = d.steps[d.t - 1].events.filter((event) => timelineRowName(event) === row);
    if (!events.length) continue;
    const reads = [];
    const writes = [];
    for (const event of events) for (const id of event.writes || []) writes.push(id);
    for (const event of events) for (const id of event.reads || []) if (writes.indexOf(id) < 0) reads.push(id);
    rows.push({ row: row, reads: timelineList(d, s, reads), writes: timelineList(d, s, writes) });
  }
  return rows;
}

function timelineLines(d, s, area, y) {
  const colours = theme(s);
  const parts = [];
  timelineSaid(d, s).forEach((said, k) => {
    const cy = y + k * 21;
    const ink = partColour(s, said.row.split(" ")[0]);
    const reads = fit(said.reads, 20);
    const writes = fit(said.writes, 26);
    parts.push(circle(area.x + 5, cy, 5, { fill: ink }));
    parts.push(text(area.x + 18, cy, timelineTitle(s, said.row), { size: 14, fill: ink }));
    parts.push(text(area.x + TIMELINE_SIDE + 10, cy, say(s, "reads", "读"), { size: 13, fill: colours.soft }));
    parts.push(text(area.x + TIMELINE_SIDE + 54, cy, reads, { size: 14, fill: colours.ink }));
    parts.push(text(area.x + TIMELINE_SIDE + 350, cy, say(s, "writes", "写"), { size: 13, fill: colours.soft }));
    parts.push(text(area.x + TIMELINE_SIDE + 400, cy, writes, { size: 14, fill: colours.ink }));
  });
  return parts;
}

function timelineSentence(trace, d) {
  const tr = one(trace);
  const words = range(d.done).map((j) => d.out[j]).filter((token) => token && !token.special);
  const whole = d.done >= d.out.length && tr.target ? tr.target.text : null;
  const made = whole !== null ? whole : timelineJoin(tr, words);
  return [isolate(tr.source.text, tr.source.dir), made ? isolate(made, tr.target.dir) : "…"].join("  →  ");
}

// Words of the finished tokens with the spaces of the whole text between them.
function timelineJoin(tr, tokens) {
  const parts = [];
  let word = null;
  for (const token of tokens) {
    const spaced = parts.length && token.word !== word && tr.target.text.indexOf(" ") >= 0;
    parts.push(spaced ? " " : "", tokenLabel(token, "word"));
    word = token.word;
  }
  return parts.join("");
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const d = timelineData(trace, s);
  const area = box(meta, s);
  const grid = timelineGrid(d, s, area);
  const said = maxOf(d.steps.map((step) => timelineSaid(withState(d, { t: step.t }), s).length));
  const lanes = Math.max(timelineLanes(d, "encoder").length, timelineLanes(d, "decoder").length);
  const room = has(trace, "attention") && pickMatrix(pickBlock(trace, s), s).label ? 4 : 26;
  const bottom = area.y + area.h + room - Math.max(2, said) * 21;
  const lowest = Math.max(bottom, grid.bottom + 156 + 36 * clamp(lanes - 1, 0, 4));
  const grown = withState(s, { height: area.height + lowest - bottom, width: area.width });
  const net = timelineNetwork(trace, d, s, area, grid.bottom, lowest);
  const body = grid.parts.concat(net.parts, timelineLines(d, s, area, lowest + 16));
  const label = net.weights && net.weights.label ? [say(s, "Bars and arcs: ", "条与弧："), net.weights.label, "."].join("") : "";
  return page(meta, trace, grown, { body: body, t: d.t, n: d.n, frame: d.t - 1, desc: describe(trace, s), subtitle: timelineSentence(trace, d), notes: [label] });
}

export function table(trace, state) {
  const s = settle(meta, state);
  const columns = ["t", say(s, "part", "部件"), say(s, "reads", "读"), say(s, "writes", "写")];
  if (firstMissing(trace, meta.needs)) return { columns: columns, rows: [] };
  const rows = [];
  for (const t of range(stepCount(trace))) {
    const d = timelineData(trace, withState(s, { t: t + 1 }));
    for (const said of timelineSaid(d, s)) rows.push([t + 1, timelineTitle(s, said.row), said.reads, said.writes]);
  }
  return { columns: columns, rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return say(s, "This trace has no schedule block.", "此记录没有 schedule 数据块。");
  const d = timelineData(trace, s);
  const said = timelineSaid(d, s).map((each) => say(s, [timelineTitle(s, each.row), " reads ", each.reads, " and writes ", each.writes].join(""),
    [timelineTitle(s, each.row), "读", each.reads, "，写", each.writes].join("")));
  return ["t", d.t, ": ", said.join("; "), "."].join("");
}

export function frames(trace, state) {
  return firstMissing(trace, meta.needs) ? 1 : stepCount(trace);
}

export function stateAt(trace, state, k) {
  return withState(state, { t: k + 1 });
}
