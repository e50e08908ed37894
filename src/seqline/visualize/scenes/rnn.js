// Hidden state over time: the network unrolled over the sentence, and one unit with its numbers.

import { DIVERGING, signedIndex, theme } from "./_colour.js";
import { arrow, box, circle, group, legend, line, missing, page, rect, tag, text } from "./_draw.js";
import { heat } from "./_grid.js";
import { clamp, maxOf, num, range, xy } from "./_text.js";
import { columnPlan, footLabels, items } from "./_tokens.js";
import { firstMissing, one, say, settle, stepCount, stepOf, withState, writeTimes } from "./_trace.js";

export const meta = {
  id: "rnn",
  title: { en: "Hidden state over time", zh: "隐藏状态随时间的变化" },
  needs: ["encoder.h|decoder.h", "encoder.h0|decoder.h0"],
  state: { t: null, unit: 0, layer: 0, dir: 0, sort: "index" },
  size: [960, 540],
};

const RNN_PANEL = 238;

// The columns of one side, in reading order: state, state before, and the numbers that made it.
function rnnSide(trace, s, part) {
  const block = one(trace)[part];
  if (!block || !block.h) return [];
  const layer = clamp(s.layer, 0, block.h.length - 1);
  const dir = part === "encoder" ? clamp(s.dir, 0, block.h[layer].length - 1) : 0;
  const at = (a) => (part === "encoder" ? a[layer][dir] : a[layer]);
  const tokens = items(trace, part === "encoder" ? "source" : "target.in", { level: "piece", special: "show" });
  const times = writeTimes(trace, part, part === "encoder" ? (dir ? "backward" : "forward") : null);
  const back = dir ? 1 : -1;
  return range(at(block.h).length).map((pos) => {
    const before = at(block.h)[pos + back];
    const column = { part: part, pos: pos, t: times(pos), item: tokens[pos], h: at(block.h)[pos], c: block.c ? at(block.c)[pos] : null, values: {} };
    column.prev = before || (block.h0 ? at(block.h0) : null);
    column.cprev = block.c ? at(block.c)[pos + back] || (block.c0 ? at(block.c0) : null) : null;
    for (const kind of ["terms", "gates"]) for (const name of Object.keys(block[kind] || {})) column.values[name] = at(block[kind][name])[pos];
    return column;
  });
}

function rnnColumns(trace, s) {
  const read = rnnSide(trace, s, "encoder");
  const written = rnnSide(trace, s, "decoder");
  const first = read.concat(written)[0];
  const kept = read.concat(written.filter((each) => each.h.length === first.h.length));
  return kept.map((each, i) => {
    const item = {};
    for (const key of Object.keys(each.item || { text: "", w: 0 })) item[key] = each.item[key];
    item.i = i;
    each.item = item;
    return each;
  });
}

function rnnVariance(columns, unit) {
  const values = columns.map((each) => each.h[unit]);
  let mean = 0;
  for (const v of values) mean = mean + v / values.length;
  let total = 0;
  for (const v of values) total = total + (v - mean) * (v - mean);
  return total;
}

function rnnData(trace, s) {
  const columns = rnnColumns(trace, s);
  const units = range(columns[0].h.length);
  if (s.sort === "variance") {
    const spread = units.map((u) => rnnVariance(columns, u));
    units.sort((a, b) => spread[b] - spread[a] || a - b);
  }
  const t = stepOf(trace, s);
  const done = columns.filter((each) => each.t <= t);
  const latest = done.length ? maxOf(done.map((each) => each.t)) : 0;
  let now = 0;
  columns.forEach((each, i) => { if (each.t === latest) now = i; });
  return { columns: columns, units: units, t: t, now: now, unit: s.unit === "mean" ? 0 : clamp(s.unit, 0, units.length - 1) };
}

function rnnPlace(d, s) {
  const area = box(meta, s);
  const n = d.columns.length;
  const cw = clamp((area.w - 48 - RNN_PANEL - 30) / n, 7, 72);
  const plan = columnPlan(d.columns.map((each) => each.item), cw, 13, 58);
  const p = { x: area.x + 48, n: n, cw: cw, plan: plan, heat: area.y + 20, tall: 132, right: area.x + 48 + n * cw };
  p.cell = p.heat + p.tall + 22;
  p.words = p.cell + 50;
  p.curve = p.words + 94;
  p.panel = p.right + 30;
  p.width = Math.max(area.width, p.panel + RNN_PANEL + 32);
  p.cx = (i) => p.x + (i + 0.5) * cw;
  return p;
}

function rnnHeat(d, p, s) {
  const colours = theme(s);
  const ch = p.tall / d.units.length;
  const known = (c) => d.columns[c].t <= d.t;
  const parts = [heat({
    x: p.x, y: p.heat, cw: p.cw, ch: ch, rows: d.units.length, cols: p.n, table: DIVERGING, state: s, numbers: false,
    value: (r, c) => (known(c) ? d.columns[c].h[d.units[r]] : null), index: (v) => signedIndex(v, 1),
    now: { row: d.units.indexOf(d.unit), col: d.now },
  })];
  const every = Math.ceil(34 / p.cw);
  d.columns.forEach((each, i) => {
    const now = i === d.now;
    if (now || (i % every === 0 && Math.abs(i - d.now) >= every)) parts.push(text(p.cx(i), p.heat - 12, ["t", each.t].join(""), { size: 12, fill: now ? colours.now : colours.soft, anchor: "middle" }));
  });
  parts.push(text(p.x - 8, p.heat + 6, say(s, "unit", "单元"), { size: 12, fill: colours.soft, anchor: "end" }));
  parts.push(text(p.x - 8, p.heat + (d.units.indexOf(d.unit) + 0.5) * ch + (d.units.indexOf(d.unit) * ch < 16 ? 21 : 0), String(d.unit), { size: 12, fill: colours.now, anchor: "end" }));
  return parts;
}

// The unrolled network: words below, a cell for each, the state handed to the right and up into its column.
function rnnNetwork(d, p, s) {
  const colours = theme(s);
  const parts = [];
  const wide = p.cw >= 16;
  const w = wide ? p.cw * 0.62 : p.cw * 0.8;
  const back = d.columns[0].part === "encoder" && s.dir === 1;
  d.columns.forEach((each, i) => {
    const ink = each.part === "encoder" ? colours.encoder : colours.decoder;
    const known = each.t <= d.t;
    const cx = p.cx(i);
    const look = { stroke: i === d.now ? colours.now : ink, "stroke-width": i === d.now ? 2.2 : 1.4, "head-size": Math.min(7, p.cw * 0.3) };
    const own = [rect(cx - w / 2, p.cell, w, 28, { rx: Math.min(5, w * 0.3), fill: i === d.now ? colours.now : ink, "data-cell": each.part })];
    if (wide) {
      own.push(arrow(cx, p.cell - 1, cx, p.heat + p.tall + 3, look), arrow(cx, p.words - 2, cx, p.cell + 30, look));
      if (back && each.part === "encoder") {
        if (i + 1 < p.n && d.columns[i + 1].part === "encoder") own.push(arrow(cx + p.cw - w / 2, p.cell + 14, cx + w / 2 + 1, p.cell + 14, look));
      } else if (i > 0 || each.prev) own.push(arrow(i ? cx - p.cw + w / 2 : p.x - 12, p.cell + 14, cx - w / 2 - 1, p.cell + 14, look));
    }
    parts.push(group({ "data-col": String(i), opacity: known ? null : 0.25, "data-now": i === d.now ? "1" : null }, own));
  });
  parts.push(footLabels(d.columns.map((each) => each.item), p.plan, { x: p.x, y: p.words + 2, cw: p.cw, size: 13, state: s, now: d.now }));
  return parts;
}

function rnnCurve(d, p, s) {
  const colours = theme(s);
  const tall = 84;
  const y = (v) => p.curve + (1 - v) * tall / 2;
  const parts = [1, 0, -1].map((v) => group({}, [
    line(p.x, y(v), p.right, y(v), { stroke: v ? colours.faint : colours.line }),
    text(p.x - 8, y(v), v < 0 ? "−1" : String(v), { size: 12, fill: colours.soft, anchor: "end" }),
  ]));
  const known = d.columns.map((each, i) => i).filter((i) => d.columns[i].t <= d.t);
  const points = known.map((i) => [xy(p.cx(i)), xy(y(d.columns[i].h[d.unit]))].join(",")).join(" ");
  parts.push(tag("polyline", { points: points, fill: "none", stroke: colours.accent, "stroke-width": 2 }));
  for (const i of known) {
    const v = d.columns[i].h[d.unit];
    parts.push(circle(p.cx(i), y(v), i === d.now ? 5 : clamp(p.cw * 0.2, 1.2, 3), { fill: i === d.now ? colours.now : colours.accent, "data-curve": String(i), "data-v": num(v, 4) }));
  }
  parts.push(text(p.x, p.curve - 14, say(s, ["unit ", d.unit, " over time"].join(""), ["单元 ", d.unit, " 随时间"].join("")), { size: 12, fill: colours.soft }));
  return parts;
}

// The lines of the equation: what is computed, its numbers, and the attributes that a test can recompute.
function rnnEquation(d, s) {
  const col = d.columns[d.now];
  const v = (name) => col.values[name][d.unit];
  const h = col.h[d.unit];
  const has = (names) => names.every((name) => col.values[name]);
  const n3 = (x) => num(x, 3).replace("-", "−");
  const data = { "data-h": num(h, 4) };
  if (has(["wx", "uh"])) {
    data["data-wx"] = num(v("wx"), 4);
    data["data-uh"] = num(v("uh"), 4);
    return { data: data, formula: "h = tanh(wx + uh)", rows: [["wx = W·x + b", n3(v("wx"))], ["uh = U·h(t−1) + b", n3(v("uh"))], ["wx + uh", n3(v("wx") + v("uh"))], ["h = tanh(…)", n3(h)]] };
  }
  if (has(["i", "f", "g", "o"]) && col.cprev) {
    const names = [["f", "f"], ["i", "i"], ["g", "g"], ["o", "o"]].map((each) => [say(s, each[0], each[0]), n3(v(each[1]))]);
    return { data: data, formula: "c = f·c(t−1) + i·g,  h = o·tanh c", rows: names.concat([["c(t−1)", n3(col.cprev[d.unit])], ["c", n3(col.c[d.unit])], ["h", n3(h)]]) };
  }
  if (has(["r", "z", "n"]) && col.prev) {
    return { data: data, formula: "h = (1 − z)·n + z·h(t−1)", rows: [["r", n3(v("r"))], ["z", n3(v("z"))], ["n", n3(v("n"))], ["h(t−1)", n3(col.prev[d.unit])], ["h", n3(h)]] };
  }
  return { data: data, formula: say(s, "no gates or terms recorded", "没有记录门或各项"), rows: [["h", n3(h)]] };
}

function rnnPanel(d, p, s) {
  const colours = theme(s);
  const x = p.panel;
  const q = rnnEquation(d, s);
  const col = d.columns[d.now];
  const step = Math.min(30, 190 / q.rows.length);
  const top = p.heat + 62;
  const title = say(s, ["unit ", d.unit, " at t", col.t].join(""), ["单元 ", d.unit, "，t", col.t].join(""));
  const parts = [
    legend({ x: x, y: p.heat - 8, w: RNN_PANEL, lo: "−1", hi: "1", middle: "0", mode: "", table: DIVERGING, label: say(s, "state h", "状态 h"), state: s }),
    rect(x, top, RNN_PANEL, 92 + q.rows.length * step, { rx: 10, fill: colours.panel }),
    text(x + 16, top + 24, title, { size: 15, fill: colours.now }),
    text(x + RNN_PANEL - 16, top + 24, col.item.text, { size: 15, fill: colours.ink, anchor: "end", dir: col.item.dir }),
    text(x + 16, top + 52, q.formula, { size: 12.5, fill: colours.ink }),
    line(x + 16, top + 70, x + RNN_PANEL - 16, top + 70, { stroke: colours.line }),
  ];
  q.rows.forEach((row, i) => {
    const last = i === q.rows.length - 1;
    const y = top + 70 + (i + 0.6) * step;
    parts.push(text(x + 16, y, row[0], { size: 13, fill: last ? colours.accent : colours.soft }));
    parts.push(text(x + RNN_PANEL - 16, y, row[1], { size: last ? 18 : 15, fill: last ? colours.accent : colours.ink, anchor: "end", attrs: { "data-number": row[0] } }));
  });
  q.data["data-equation"] = q.formula;
  return group(q.data, parts);
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const d = rnnData(trace, s);
  const p = rnnPlace(d, s);
  const n = stepCount(trace);
  const body = [rnnHeat(d, p, s).join(""), rnnNetwork(d, p, s).join(""), rnnCurve(d, p, s).join(""), rnnPanel(d, p, s)];
  const sorted = s.sort === "variance" ? say(s, "units sorted by variance", "单元按方差排序") : say(s, "units by index", "单元按编号");
  const note = [sorted, say(s, "blue cells read, purple cells write; white is 0", "蓝色单元读入，紫色单元输出；白色为 0")].join("; ");
  return page(meta, trace, withState(s, { width: p.width }), { body: body, t: d.t, n: n, frame: d.t - 1, desc: describe(trace, s), notes: [note] });
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return { columns: [], rows: [] };
  const d = rnnData(trace, s);
  const names = d.columns.map((each) => ["t", each.t, " ", each.item.text].join(""));
  return { columns: [say(s, "unit", "单元")].concat(names), rows: d.units.map((u) => [u].concat(d.columns.map((each) => each.h[u]))) };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return say(s, "No hidden states were recorded.", "没有记录隐藏状态。");
  const d = rnnData(trace, s);
  const col = d.columns[d.now];
  return say(s, ["At t", col.t, " the network reads ", col.item.text, " and unit ", d.unit, " of ", d.units.length, " becomes ", num(col.h[d.unit], 3), "."].join(""),
    ["在 t", col.t, " 网络读入 ", col.item.text, "，", d.units.length, " 个单元中的第 ", d.unit, " 个变为 ", num(col.h[d.unit], 3), "。"].join(""));
}

export function frames(trace, state) {
  return firstMissing(trace, meta.needs) ? 1 : stepCount(trace);
}

export function stateAt(trace, state, k) {
  return withState(settle(meta, state), { t: k + 1 });
}
