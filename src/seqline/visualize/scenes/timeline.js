// Timeline: which part ran at t1, t2, …, what it read and wrote; below it the unrolled network and the growing sentence.
import { pickBlock, pickMatrix } from "./_attention.js";
import { inkOn, partColour, theme } from "./_colour.js";
import { box, circle, group, missing, page, rect, text } from "./_draw.js";
import { clamp, em, fit, isolate, maxOf, range } from "./_text.js";
import { tokenLabel } from "./_tokens.js";
import { firstMissing, has, one, producedBy, say, settle, stepCount, stepOf, withState } from "./_trace.js";
import { TIMELINE_SIDE, timelineFed, timelineLanes, timelineNetwork, timelineWord } from "./_unrolled.js";

export const meta = {
  id: "timeline",
  title: { en: "Timeline: what happens at each step", zh: "时间线：每一步发生什么" },
  needs: ["schedule"],
  state: { t: null, layer: null, head: "mean", attention: null },
  size: [960, 540],
};

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
    // A forecast that reads no values is fed the number of each step instead.
    isNumbered: tr.task === "forecasting" && Boolean(tr.target) && !tr.target.bos, decoderRecurrent: has(trace, "decoder.h0") };
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
  if (row === "bridge") return "h→s";
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
