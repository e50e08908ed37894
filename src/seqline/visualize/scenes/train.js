// Training curves: loss, metrics and learning rate, and the alignment of one sentence at several moments.

import { pickMatrix } from "./_attention.js";
import { colourIndex, sequential, seriesColour, theme } from "./_colour.js";
import { box, group, keyRow, legend, line, missing, page, tag, text } from "./_draw.js";
import { heat } from "./_grid.js";
import { brief, clamp, maxOf, minOf, num, range, ticks, xy } from "./_text.js";
import { columnLabels, columnPlan, items, rowLabels } from "./_tokens.js";
import { firstMissing, one, say, settle, withState } from "./_trace.js";

export const meta = {
  id: "train",
  title: { en: "Training: the alignment sharpens", zh: "训练：对齐逐渐清晰" },
  needs: ["training"],
  state: { t: null, log: false, smooth: 0, layer: null, head: "mean" },
  size: [960, 540],
};

const TRAIN_RIGHT = 350;

function trainData(trace, s) {
  const t = one(trace).training;
  const shots = t.snapshots || [];
  const n = Math.max(1, shots.length);
  const now = s.t === null ? n - 1 : clamp(Math.round(s.t), 1, n) - 1;
  const names = Object.keys(t.metrics || {});
  const smooth = clamp(s.smooth, 0, 0.99);
  return { t: t, shots: shots, n: n, now: now, names: names, smooth: smooth, shot: shots[now] || null };
}

// Exponential average of what came before, corrected for its start; named in the figure, the raw line stays.
function trainSmooth(values, weight) {
  let mean = 0;
  let mass = 0;
  return values.map((v) => {
    mean = weight * mean + (1 - weight) * v;
    mass = weight * mass + (1 - weight);
    return mean / mass;
  });
}

function trainPanel(d, s, area, y, h, log, lists) {
  const flat = [];
  for (const list of lists) for (const v of list) if (v !== null && (!log || v > 0)) flat.push(log ? Math.log10(v) : v);
  let low = minOf(flat);
  let high = maxOf(flat);
  if (!log) low = Math.min(0, low);
  if (high === low) high = low + 1;
  const last = d.t.steps[d.t.steps.length - 1];
  const first = Math.min(d.t.steps[0], d.shots.length ? d.shots[0].step : d.t.steps[0]);
  const p = { x: area.x + 58, w: area.w - 58 - TRAIN_RIGHT - 36, y: y, h: h, low: low, high: high, log: log };
  p.px = (step) => p.x + ((step - first) / (last - first || 1)) * p.w;
  p.py = (v) => y + h * (1 - ((log ? Math.log10(v) : v) - low) / (high - low));
  return p;
}

// 1, 2 and 5 times the powers of ten in a range of exponents; only the powers when these are many.
function trainDecades(low, high) {
  const all = [];
  for (let e = Math.floor(low); e <= high; e++) for (const m of high - low > 3 ? [1] : [1, 2, 5]) all.push(m * Math.pow(10, e));
  return all.filter((v) => Math.log10(v) >= low && Math.log10(v) <= high);
}

// Fractions and percentages do not share an axis.
function trainMetrics(d) {
  const large = (name) => maxOf(d.t.metrics[name].map((v) => Math.abs(v))) > 1.5;
  return [d.names.filter(large), d.names.filter((name) => !large(name))].filter((names) => names.length);
}

function trainAxis(p, s, title, count) {
  const colours = theme(s);
  const marks = p.log ? trainDecades(p.low, p.high) : ticks(p.low, p.high, count);
  const parts = marks.map((v) => group({}, [line(p.x, p.py(v), p.x + p.w, p.py(v), { stroke: theme(s).faint }), text(p.x - 8, p.py(v), brief(v), { size: 12, fill: colours.soft, anchor: "end" })]));
  parts.push(text(p.x, p.y - 13, title, { size: 12, fill: colours.ink }));
  return parts.join("");
}

function trainLine(d, p, values, k, s, name, soft) {
  const ink = seriesColour(k, s);
  const points = [];
  values.forEach((v, i) => { if (v !== null && (!p.log || v > 0)) points.push([xy(p.px(d.t.steps[i])), xy(p.py(v))].join(",")); });
  const dash = soft ? null : [null, "7 4", "2 3", "10 4 2 4"][k % 4];
  return tag("polyline", { points: points.join(" "), fill: "none", stroke: ink, "stroke-width": soft ? 3 : 1.8, opacity: soft ? 0.45 : null, "stroke-dasharray": dash, "data-line": name, "data-smoothed": soft ? num(d.smooth, 2) : null });
}

function trainCurves(d, s, area) {
  const colours = theme(s);
  const lists = [d.t.loss].concat(d.t.val_loss ? [d.t.val_loss] : []);
  const families = trainMetrics(d);
  const h = 340 - families.length * 78 - (d.t.lr ? 70 : 0);
  const p = trainPanel(d, s, area, area.y + 18, h, Boolean(s.log), lists);
  const parts = [trainAxis(p, s, s.log ? say(s, "loss, log scale", "损失（对数）") : say(s, "loss", "损失"), 5)];
  if (d.smooth > 0) lists.forEach((list, k) => parts.push(trainLine(d, p, trainSmooth(list, d.smooth), k, s, k ? "val_loss" : "loss", true)));
  parts.push(trainLine(d, p, d.t.loss, 0, s, "loss"));
  if (d.t.val_loss) parts.push(trainLine(d, p, d.t.val_loss, 1, s, "val_loss"));
  let y = area.y + 18 + h + 36;
  for (const names of families) {
    const m = trainPanel(d, s, area, y, 44, false, names.map((name) => d.t.metrics[name]));
    parts.push(trainAxis(m, s, names.join(", "), 2));
    for (const name of names) parts.push(trainLine(d, m, d.t.metrics[name], d.names.indexOf(name) + 2, s, name));
    y = y + 44 + 34;
  }
  if (d.t.lr) {
    const r = trainPanel(d, s, area, y, 36, false, [d.t.lr]);
    parts.push(trainAxis(r, s, say(s, "learning rate", "学习率"), 1), trainLine(d, r, d.t.lr, 5, s, "lr"));
    y = y + 36;
  } else y = y - 34;
  const bottom = y + 8;
  const last = d.t.steps[d.t.steps.length - 1];
  d.shots.forEach((shot, i) => {
    const now = i === d.now;
    parts.push(line(p.px(shot.step), p.y, p.px(shot.step), bottom, { stroke: now ? colours.now : colours.line, "stroke-width": now ? 1.8 : 1, "stroke-dasharray": now ? null : "2 4", "data-snapshot": String(i), "data-now": now ? "1" : null }));
  });
  const marks = d.shots.length ? d.shots.map((shot) => shot.step) : ticks(d.t.steps[0], last, 5);
  const every = Math.ceil(marks.length / Math.max(1, Math.floor(p.w / 48)));
  marks.forEach((step, i) => {
    const now = d.shots.length && i === d.now;
    if (now || i % every === 0) parts.push(text(p.px(step), bottom + 10, String(step), { size: 12, fill: now ? colours.now : colours.soft, anchor: "middle" }));
  });
  return parts.join("");
}

// The alignment of the fixed sentence at the chosen moment.
function trainShot(d, s, area, trace) {
  const colours = theme(s);
  const x = area.x + area.w - TRAIN_RIGHT;
  if (!d.shot) return text(x, area.y + 40, say(s, "No snapshots were recorded.", "没有记录快照。"), { size: 14, fill: colours.soft });
  const chosen = pickMatrix({ weights: d.shot.weights }, s);
  const values = chosen.values;
  const target = one(trace).target ? items(trace, "target.out", { level: "piece", special: "show" }) : [];
  const source = items(trace, "source", { level: "piece", special: "show" });
  const plainList = (n) => range(n).map((i) => ({ i: i, text: String(i + 1), w: 1.4, dir: "ltr", span: 1 }));
  const rows = target.length === values.length ? target : plainList(values.length);
  const cols = source.length === values[0].length ? source : plainList(values[0].length);
  const side = clamp(maxOf(rows.map((item) => item.w)) * 14 + 14, 40, 110);
  const cw = Math.min(64, (TRAIN_RIGHT - side) / cols.length);
  const plan = columnPlan(cols, cw, 14, 96);
  const top = area.y + 32 + plan.height;
  const ch = Math.min(48, (area.h - 100 - plan.height) / rows.length);
  const rtl = one(trace).source.dir === "rtl";
  const order = rtl ? (c) => cols.length - 1 - c : null;
  const ramp = sequential(s);
  const title = [say(s, ["after step ", d.shot.step].join(""), ["第 ", d.shot.step, " 步之后"].join("")), chosen.label].filter((part) => part).join(", ");
  return [
    text(x, area.y + 8, title, { size: 15, fill: colours.now, attrs: { "data-step": String(d.shot.step) } }),
    columnLabels(cols, plan, { x: x + side, y: top - 2, cw: cw, size: 14, state: s, order: order }),
    rowLabels(rows, { x: x + side - 8, y: top, ch: ch, size: 14, state: s, maxEm: (side - 10) / 14 }),
    heat({ x: x + side, y: top, cw: cw, ch: ch, rows: rows.length, cols: cols.length, table: ramp, state: s, order: order, value: (r, c) => values[r][c], index: (v) => colourIndex(v) }),
    legend({ x: x + side, y: area.y + area.h - 34, w: Math.min(200, TRAIN_RIGHT - side), lo: "0", hi: "1", mode: "abs", table: ramp, label: say(s, "attention weight", "注意力权重"), state: s }),
  ].join("");
}

function trainKeys(d, s, area) {
  const sample = (k) => (x, y) => line(x, y, x + 28, y, { stroke: seriesColour(k, s), "stroke-width": 2, "stroke-dasharray": [null, "7 4", "2 3", "10 4 2 4"][k % 4] });
  const entries = [{ label: say(s, "loss", "损失"), draw: sample(0) }];
  if (d.t.val_loss) entries.push({ label: say(s, "validation loss", "验证损失"), draw: sample(1) });
  d.names.forEach((name, i) => entries.push({ label: name, draw: sample(i + 2) }));
  if (d.smooth > 0) entries.push({ label: say(s, ["thick: smoothed by ", num(d.smooth, 2)].join(""), ["粗线：平滑 ", num(d.smooth, 2)].join("")), draw: () => "" });
  return keyRow(entries, { x: 32, y: area.height - 18, state: s });
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const d = trainData(trace, s);
  const area = box(meta, s);
  const body = [trainCurves(d, s, area), trainShot(d, s, area, trace), trainKeys(d, s, area)];
  return page(meta, trace, s, { body: body, t: d.now + 1, n: d.n, frame: d.now, desc: describe(trace, s) });
}

export function table(trace, state) {
  if (firstMissing(trace, meta.needs)) return { columns: [], rows: [] };
  const d = trainData(trace, settle(meta, state));
  const columns = ["step", "loss"];
  const lists = [d.t.steps, d.t.loss];
  for (const name of ["val_loss", "lr"]) {
    if (!d.t[name]) continue;
    columns.push(name);
    lists.push(d.t[name]);
  }
  for (const name of d.names) {
    columns.push(name);
    lists.push(d.t.metrics[name]);
  }
  return { columns: columns, rows: range(d.t.steps.length).map((i) => lists.map((list) => list[i])) };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return say(s, "No training was recorded.", "没有记录训练。");
  const d = trainData(trace, s);
  const n = d.t.loss.length;
  const shot = d.shot ? say(s, [" Snapshot ", d.now + 1, " of ", d.n, ", after step ", d.shot.step, "."].join(""), ["快照 ", d.now + 1, "/", d.n, "，第 ", d.shot.step, " 步之后。"].join("")) : "";
  return [say(s, ["The loss goes from ", brief(d.t.loss[0]), " to ", brief(d.t.loss[n - 1]), " in ", d.t.steps[n - 1], " steps."].join(""),
    ["损失在 ", d.t.steps[n - 1], " 步内由 ", brief(d.t.loss[0]), " 降为 ", brief(d.t.loss[n - 1]), "。"].join("")), shot].join("");
}

export function frames(trace, state) {
  return firstMissing(trace, meta.needs) ? 1 : trainData(trace, settle(meta, state)).n;
}

export function stateAt(trace, state, k) {
  return withState(settle(meta, state), { t: k + 1 });
}
