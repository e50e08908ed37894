// The bottleneck: one vector for the whole sentence, or a new one for every word.

import { layerCount, pickMatrix } from "./_attention.js";
import { DIVERGING, theme } from "./_colour.js";
import { arrow, box, group, legend, missing, page, path, rect, text } from "./_draw.js";
import { COLUMN_UNITS, colourColumn } from "./_grid.js";
import { clamp, fit, fnv, maxOf, num, range } from "./_text.js";
import { columnPlan, footLabels, items } from "./_tokens.js";
import { many, nowOutput, one, say, settle, stepCount, stepOf, tOfOutput, withState } from "./_trace.js";

export const meta = {
  id: "context",
  title: { en: "The bottleneck: what the decoder is given", zh: "瓶颈：解码器得到什么" },
  needs: ["encoder.h", "decoder.context"],
  bundle: true,
  state: { t: null, strips: null },
  size: [960, 540],
};

const CONTEXT_GRID = 1600;

function contextHash(row) {
  return fnv(row.map((v) => Math.round(v * 10000)));
}

// The traces that have what a strip draws, three at most; state.strips picks some by number.
function contextTraces(trace, s) {
  const all = many(trace).filter((each) => each.trace.encoder && each.trace.encoder.h && each.trace.decoder && each.trace.decoder.context).slice(0, 3);
  const picked = all.filter((_, i) => s.strips === null || s.strips.indexOf(i) >= 0);
  return picked.length ? picked : all;
}

function contextStates(t) {
  const layer = t.encoder.h[t.encoder.h.length - 1];
  const each = Math.floor(COLUMN_UNITS / layer.length);
  return range(layer[0].length).map((pos) => {
    let values = [];
    for (const dir of layer) values = values.concat(dir[pos].slice(0, each));
    return values;
  });
}

function contextStrip(each, s) {
  const t = each.trace;
  const states = contextStates(t);
  const rows = t.decoder.context;
  const hashes = rows.map(contextHash);
  const cross = (t.attention || []).filter((block) => block.kind === "cross")[0];
  const chosen = cross ? pickMatrix(cross, { head: "mean", layer: layerCount(cross) - 1, lang: s.lang }) : null;
  const weights = chosen ? chosen.values : null;
  const read = t.model.reads_memory;
  const same = hashes.every((h) => h === hashes[0]);
  const what = same && read === "never" ? say(s, "one fixed context, given once at the start", "一个固定的上下文，只在开头给出一次")
    : same ? say(s, "one fixed context, given again at every step", "一个固定的上下文，每步都给")
      : [say(s, "attention: a new context for every word", "注意力：每个词一个新的上下文"), chosen && chosen.label ? say(s, [" (heads side by side; lines: ", chosen.label, ")"].join(""), ["（各头并排；线：", chosen.label, "）"].join("")) : ""].join("");
  return {
    trace: t, label: each.label, states: states, rows: rows, hashes: hashes, weights: weights, same: same, once: same && read === "never", what: what,
    source: items(t, "source", { level: "piece", special: "show" }), out: items(t, "target.out", { level: "piece", special: "show" }),
    rtl: t.source.dir === "rtl", units: t.encoder.h[0][0][0].length, width: rows[0].length,
  };
}

function contextData(trace, s) {
  const strips = contextTraces(trace, s).map((each) => contextStrip(each, s));
  if (!strips.length) return null;
  const first = strips[0].trace;
  let limit = 1;
  for (const strip of strips) for (const row of strip.states.concat(strip.rows)) limit = Math.max(limit, maxOf(row.map(Math.abs)));
  return { strips: strips, first: first, now: nowOutput(first, s), limit: Math.ceil(limit * 10) / 10 };
}

// Words that the next strip shows at the same places are not written twice.
function contextSame(a, b) {
  return Boolean(b) && a.length === b.length && a.every((item, i) => item.text === b[i].text);
}

function contextPlace(d, s) {
  const area = box(meta, s);
  const n = d.strips.length;
  const widest = (key) => maxOf(d.strips.map((strip) => strip[key].length));
  const cs = clamp((area.w * 0.43) / widest("states"), 7, 86);
  const ct = clamp((area.w * 0.4) / widest("rows"), 7, 86);
  const x2 = 48 + cs * widest("states") + 124;
  const p = { area: area, cs: cs, ct: ct, x: 48, x2: x2, size: n > 1 ? 13 : 15, arc: n > 1 ? 26 : 56, width: Math.max(area.width, x2 + ct * widest("rows") + 32) };
  p.rows = d.strips.map((strip, k) => {
    const next = d.strips[k + 1];
    const source = next && strip.rtl === next.rtl && contextSame(strip.source, next.source) ? null : columnPlan(strip.source, cs, p.size, 74);
    const out = next && contextSame(strip.out, next.out) ? null : columnPlan(strip.out, ct, p.size, 74);
    return { source: source, out: out, foot: maxOf([8, source ? source.height : 0, out ? out.height : 0]), head: 28 + (strip.same ? 0 : p.arc) };
  });
  let used = 0;
  for (const row of p.rows) used = used + row.head + row.foot + 14;
  p.h = clamp((area.h - 2 - used) / n, 24, 260);
  let y = area.y;
  for (const row of p.rows) {
    row.top = y;
    y = y + row.head + p.h + row.foot + 14;
  }
  return p;
}

function contextColumns(strip, d, o) {
  const parts = [];
  const total = (strip.states.length + strip.rows.length) * COLUMN_UNITS * d.strips.length;
  o.values.forEach((values, i) => {
    const x = o.x + o.order(i) * o.cw;
    const w = clamp(o.cw * 0.62, 5, 34);
    const now = i === o.now;
    if (o.hidden(i)) parts.push(rect(x + (o.cw - w) / 2, o.y, w, o.h, { fill: theme(o.state).empty }));
    else {
      const drawn = colourColumn({
        x: x + (o.cw - w) / 2, y: o.y, w: w, h: o.h, values: values, limit: d.limit, state: o.state, c: String(i), image: total > CONTEXT_GRID,
        stroke: now ? theme(o.state).now : theme(o.state).line, width: now ? 2.5 : 1, attrs: o.attrs(i),
      });
      parts.push(o.once && i > 0 ? group({ opacity: 0.25, "data-not-given": String(i) }, drawn) : drawn);
    }
  });
  return parts.join("");
}

// Attention: one line a source word, as thick as its weight. Fixed context: one arrow from the last state.
function contextBridge(strip, d, p, s, y, h, now) {
  const colours = theme(s);
  const order = (i) => (strip.rtl ? strip.states.length - 1 - i : i);
  if (now < 0) return "";
  if (strip.same || !strip.weights) {
    const ends = p.x + strip.states.length * p.cs + 10;
    const mid = (ends + p.x2) / 2;
    const label = strip.once ? say(s, "given once", "只给一次") : say(s, "the same vector", "同一个向量");
    return group({ "data-bridge": "fixed" }, [
      arrow(ends, y + h / 2, p.x2 - 10, y + h / 2, { stroke: colours.attention, "stroke-width": 3 }),
      text(mid, y + h / 2 - 16, label, { size: 12, fill: colours.attention, anchor: "middle" }),
    ]);
  }
  const to = p.x2 + (now + 0.5) * p.ct;
  const arcs = strip.weights[now].map((w, i) => {
    const from = p.x + (order(i) + 0.5) * p.cs;
    const lift = y - 4 - (p.arc + 4) * 1.25;
    return path(["M", from, y - 3, "C", from, lift, to, lift, to, y - 3], { stroke: colours.attention, "stroke-width": 0.8 + 6 * w, opacity: num(0.18 + 0.82 * w, 2), "data-weight": num(w, 4), "data-i": String(i) });
  });
  return group({ "data-bridge": "attention" }, arcs);
}

function contextDraw(strip, d, p, s, k) {
  const colours = theme(s);
  const row = p.rows[k];
  const top = row.top;
  const y = top + row.head;
  const h = p.h;
  const now = Math.min(d.now, strip.rows.length - 1);
  const order = (i) => (strip.rtl ? strip.states.length - 1 - i : i);
  const parts = [
    text(32, top + 8, fit(strip.label, 18), { size: 14, fill: colours.ink }),
    text(Math.min(32 + 18 * 14, p.x2 - 20), top + 8, strip.what, { size: 13, fill: colours.attention, attrs: { "data-what": strip.same ? "fixed" : "attention" } }),
    contextBridge(strip, d, p, s, y, h, now),
    contextColumns(strip, d, { values: strip.states, x: p.x, y: y, h: h, cw: p.cs, order: order, now: -1, hidden: () => false, state: s, attrs: (i) => ({ "data-state": String(i) }) }),
    contextColumns(strip, d, { values: strip.rows, x: p.x2, y: y, h: h, cw: p.ct, order: (i) => i, now: now, hidden: (i) => i > now, once: strip.once, state: s, attrs: (i) => ({ "data-ctx": strip.hashes[i], "data-step": String(i), "data-now": i === now ? "1" : null }) }),
    row.source ? footLabels(strip.source, row.source, { x: p.x, y: y + h + 4, cw: p.cs, size: p.size, state: s, order: order }) : "",
    row.out ? footLabels(strip.out.map((item, i) => (i > now ? withState(item, { text: "" }) : item)), row.out, { x: p.x2, y: y + h + 4, cw: p.ct, size: p.size, state: s, now: now }) : "",
  ];
  return group({ "data-strip": String(k) }, parts);
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const d = contextData(trace, s);
  if (!d) return missing(meta, trace, s, one(trace).encoder && one(trace).encoder.h ? "decoder.context" : "encoder.h");
  const p = contextPlace(d, s);
  const area = box(meta, s);
  const body = d.strips.map((strip, k) => contextDraw(strip, d, p, s, k));
  const bound = num(d.limit, d.limit > 1 ? 1 : 0);
  const cut = d.strips.some((strip) => strip.width > COLUMN_UNITS || strip.units > COLUMN_UNITS);
  const once = d.strips.filter((strip) => strip.once).length;
  const given = once === d.strips.length ? say(s, "the context, given once at the start; faint: not given again", "上下文，只在开头给出；浅色：不再给出")
    : [say(s, "the context at each word", "每个词的上下文"), once ? say(s, "; faint: not given again", "；浅色：不再给出") : ""].join("");
  const note = [say(s, "left: encoder states; right: ", "左：编码器状态；右："), given, cut ? say(s, ["; the first ", COLUMN_UNITS, " units"].join(""), ["；前 ", COLUMN_UNITS, " 个单元"].join("")) : ""].join("");
  body.push(legend({ x: p.width - 32 - 200, y: area.height - 50, w: 200, lo: ["−", bound].join(""), middle: "0", hi: bound, mode: "", table: DIVERGING, label: say(s, "value of a unit", "单元的值"), state: s }));
  const t = stepOf(d.first, s);
  return page(meta, d.first, withState(s, { width: p.width }), { body: body, t: t, n: stepCount(d.first), frame: Math.max(0, d.now), desc: describe(trace, s), notes: [note] });
}

export function table(trace, state) {
  const s = settle(meta, state);
  const d = contextData(trace, s);
  if (!d) return { columns: [], rows: [] };
  const rows = [];
  const widest = maxOf(d.strips.map((strip) => strip.width));
  for (const strip of d.strips) {
    const none = range(widest - strip.width).map(() => null);
    strip.rows.forEach((row, j) => rows.push([strip.label, strip.out[j] ? strip.out[j].text : "", strip.hashes[j]].concat(row, none)));
  }
  return { columns: ["model", "word", "hash"].concat(range(widest).map((u) => ["unit ", u].join(""))), rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  const d = contextData(trace, s);
  if (!d) return say(s, "No contexts were recorded.", "没有记录上下文。");
  return d.strips.map((strip) => [strip.label, ": ", strip.what, "."].join("")).join(" ");
}

export function frames(trace, state) {
  const d = contextData(trace, settle(meta, state));
  return d ? Math.max(1, d.strips[0].rows.length) : 1;
}

export function stateAt(trace, state, k) {
  const s = settle(meta, state);
  const d = contextData(trace, s);
  return withState(s, { t: d ? tOfOutput(d.first, k) : 1 });
}
