// Forecast from a history of any length: what was read, what was predicted, what came true.

import { colour, sequential, theme } from "./_colour.js";
import { box, circle, group, keyRow, line, missing, page, path, rect, tag, text } from "./_draw.js";
import { brief, clamp, maxOf, minOf, num, range, ticks, xy } from "./_text.js";
import { firstMissing, one, say, settle } from "./_trace.js";

export const meta = {
  id: "series",
  title: { en: "Forecast from a history of any length", zh: "用任意长度的历史做预测" },
  needs: ["forecast"],
  state: { t: null, lookback: null, horizon: 1 },
  size: [960, 540],
};

// state.lookback names a window by its history, state.t by its place from 1; else the longest.
function seriesPick(trace, s) {
  const f = one(trace).forecast;
  const n = f.windows.length;
  let k = s.t === null ? n - 1 : clamp(Math.round(s.t), 1, n) - 1;
  if (s.lookback !== null) f.windows.forEach((each, i) => { if (each.lookback === Number(s.lookback)) k = i; });
  const window = f.windows[k];
  const horizon = clamp(Math.round(s.horizon), 1, window.pred_y.length);
  const names = window.q ? Object.keys(window.q).sort((a, b) => Number(a) - Number(b)) : [];
  const band = names.length > 1 ? [names[0], names[names.length - 1]] : null;
  return { f: f, k: k, n: n, window: window, horizon: horizon, band: band };
}

// The scales hold everything any window draws, so that the axes stand still while the slider moves.
function seriesPlace(f, s) {
  const area = box(meta, s);
  const values = f.hist_y.concat(f.true_y || []);
  for (const each of f.windows) {
    for (const list of [each.pred_y].concat(Object.keys(each.q || {}).map((name) => each.q[name]))) for (const v of list) values.push(v);
  }
  const kept = values.filter((v) => v !== null);
  const low = minOf(kept);
  const high = maxOf(kept);
  const pad = (high - low || 1) * 0.06;
  const n = f.hist_t.length;
  const gap = n > 1 ? f.hist_t[n - 1] - f.hist_t[n - 2] : 1;
  const times = range(maxOf(f.windows.map((each) => each.pred_y.length))).map((z) => f.hist_t[n - 1] + (z + 1) * gap);
  const p = { x: area.x + 48, y: area.y + 20, w: area.w - 48, h: area.h - 198, low: low - pad, high: high + pad, times: times };
  p.step = p.w / (n + times.length);
  p.strip = p.y + p.h + 6;
  p.errors = p.y + p.h + 78;
  p.px = (i) => p.x + (i + 0.5) * p.step;
  p.py = (v) => p.y + ((p.high - v) / (p.high - p.low)) * p.h;
  return p;
}

function seriesTrail(first, values, p, attrs) {
  const points = [];
  values.forEach((v, i) => { if (v !== null) points.push([xy(p.px(first + i)), xy(p.py(v))].join(",")); });
  const own = { points: points.join(" "), fill: "none", "stroke-linejoin": "round" };
  for (const key of Object.keys(attrs)) own[key] = attrs[key];
  return tag("polyline", own);
}

function seriesAxes(d, p, s) {
  const colours = theme(s);
  const soft = (x, y, string, anchor) => text(x, y, string, { size: 12, fill: colours.soft, anchor: anchor });
  const parts = ticks(p.low, p.high, 5).map((v) => group({}, [line(p.x, p.py(v), p.x + p.w, p.py(v), { stroke: colours.faint }), soft(p.x - 8, p.py(v), brief(v), "end")]));
  parts.push(text(p.x - 8, p.y - 20, d.f.unit, { size: 12, fill: colours.ink, anchor: "end", attrs: { "data-unit": d.f.unit } }));
  const all = d.f.hist_t.concat(p.times);
  const every = Math.ceil(44 / p.step);
  for (let i = 0; i < all.length; i = i + every) parts.push(soft(p.px(i), p.strip + 28, brief(all[i]), "middle"));
  const unit = d.f.freq ? say(s, ["time, steps of ", d.f.freq, " →"].join(""), ["时间，步长 ", d.f.freq, " →"].join("")) : say(s, "time →", "时间 →");
  parts.push(text(p.x + p.w, p.strip + 46, unit, { size: 12, fill: colours.ink, anchor: "end" }));
  return parts;
}

// The past: a faint line where the model did not look, points where it did.
function seriesHistory(d, p, s) {
  const colours = theme(s);
  const n = d.f.hist_t.length;
  const from = Math.max(0, n - d.window.lookback);
  const parts = [
    rect(p.px(from) - p.step / 2, p.y, (n - from) * p.step, p.h, { fill: colours.panel, "data-read": String(n - from) }),
    line(p.px(n) - p.step / 2, p.y - 4, p.px(n) - p.step / 2, p.y + p.h, { stroke: colours.soft, "stroke-dasharray": "3 3" }),
    text(p.px(n) - p.step / 2, p.y - 12, say(s, "now", "现在"), { size: 12, fill: colours.soft, anchor: "middle" }),
    seriesTrail(0, d.f.hist_y, p, { stroke: colours.line, "stroke-width": 1.5 }),
    seriesTrail(from, d.f.hist_y.slice(from), p, { stroke: colours.ink, "stroke-width": 1.8 }),
  ];
  const r = clamp(p.step * 0.26, 1.4, 3.4);
  for (let i = from; i < n; i++) {
    if (d.f.hist_y[i] !== null) parts.push(circle(p.px(i), p.py(d.f.hist_y[i]), r, { fill: colours.ink, "data-hist": String(i), "data-v": num(d.f.hist_y[i], 4) }));
  }
  return parts;
}

function seriesFuture(d, p, s) {
  const colours = theme(s);
  const n = d.f.hist_t.length;
  const last = d.f.hist_y[n - 1];
  const parts = [];
  if (d.band) {
    const edge = (values) => values.map((v, z) => [xy(p.px(n + z)), xy(p.py(v))].join(" "));
    const around = edge(d.window.q[d.band[1]]).concat(edge(d.window.q[d.band[0]]).reverse());
    parts.push(path(["M", around.join(" L "), "Z"].join(" "), { fill: colours.accent, "fill-opacity": 0.2, "data-interval": d.band.join(" ") }));
  }
  const r = clamp(p.step * 0.3, 2, 4);
  if (d.f.true_y) {
    parts.push(seriesTrail(n - 1, [last].concat(d.f.true_y), p, { stroke: colours.warm, "stroke-width": 1.8, "stroke-dasharray": "3 3" }));
    d.f.true_y.forEach((v, z) => parts.push(circle(p.px(n + z), p.py(v), r, { fill: colours.bg, stroke: colours.warm, "stroke-width": 1.5, "data-true": String(z), "data-v": num(v, 4) })));
  }
  parts.push(seriesTrail(n - 1, [last].concat(d.window.pred_y), p, { stroke: colours.accent, "stroke-width": 2.4 }));
  d.window.pred_y.forEach((v, z) => {
    const attrs = { fill: colours.accent, "data-pred": String(z), "data-v": num(v, 4) };
    if (d.window.weights && z === d.horizon - 1) parts.push(circle(p.px(n + z), p.py(v), r + 4, { fill: "none", stroke: colours.accent, "stroke-width": 1.5 }));
    parts.push(rect(p.px(n + z) - r, p.py(v) - r, 2 * r, 2 * r, attrs));
  });
  return parts;
}

// How much each point of the history weighs in one predicted step; absent when the model keeps no weights.
function seriesStrip(d, p, s) {
  if (!d.window.weights) return [];
  const row = d.window.weights[d.horizon - 1];
  const top = maxOf(row.map((w) => Math.abs(w)));
  const first = d.f.hist_t.length - row.length;
  return row.map((w, i) => rect(p.px(first + i) - p.step / 2, p.strip, p.step, 14, {
    fill: colour(sequential(s), top ? Math.abs(w) / top : 0), "data-weight": String(i), "data-v": num(w, 4),
  }));
}

// One bar a window: how the error changes as the history grows.
function seriesErrors(d, p, s) {
  const colours = theme(s);
  const known = d.f.windows.map((each) => each.mae).filter((v) => v !== null && v !== undefined);
  if (!known.length) return [];
  const top = maxOf(known) || 1;
  const x = p.x + 190;
  const tall = 62;
  const slot = Math.min(70, (p.w - 190) / d.n);
  const every = Math.ceil(34 / slot);
  const mae = d.window.mae;
  const parts = [
    text(p.x, p.errors + 12, say(s, "mean absolute error", "平均绝对误差"), { size: 12, fill: colours.soft }),
    text(p.x, p.errors + 38, [brief(mae), d.f.unit].join(" "), { size: 20, fill: colours.accent, attrs: { "data-mae-now": num(mae, 4) } }),
    text(p.x, p.errors + 62, say(s, ["with ", d.window.lookback, " points of history"].join(""), ["历史 ", d.window.lookback, " 点"].join("")), { size: 12, fill: colours.soft }),
  ];
  d.f.windows.forEach((each, i) => {
    const tallness = ((each.mae || 0) / top) * (tall - 18);
    const now = i === d.k;
    const cx = x + (i + 0.5) * slot;
    const label = now || (i % every === 0 && Math.abs(i - d.k) >= every);
    const ink = { size: 12, fill: now ? colours.ink : colours.soft, anchor: "middle" };
    parts.push(rect(cx - slot * 0.34, p.errors + tall - tallness, slot * 0.68, tallness, { fill: now ? colours.accent : colours.line, "data-mae": String(i), "data-v": num(each.mae, 4), "data-now": now ? "1" : null }));
    if (now || slot >= 48) parts.push(text(cx, p.errors + tall - tallness - 10, brief(each.mae), ink));
    if (label) parts.push(text(cx, p.errors + tall + 13, String(each.lookback), ink));
  });
  return parts;
}

function seriesKeys(d, p, s) {
  const colours = theme(s);
  const stroke = (ink, width, dash) => (x, y) => line(x, y, x + 26, y, { stroke: ink, "stroke-width": width, "stroke-dasharray": dash });
  const both = (first, second) => (x, y) => [first(x, y), second(x + 13, y)].join("");
  const entries = [
    { label: say(s, "history read", "读入的历史"), draw: both(stroke(colours.ink, 1.8), (x, y) => circle(x, y, 3.2, { fill: colours.ink })) },
    { label: say(s, "not read", "未读"), draw: stroke(colours.line, 1.5) },
    { label: say(s, "prediction", "预测"), draw: both(stroke(colours.accent, 2.4), (x, y) => rect(x - 3.5, y - 3.5, 7, 7, { fill: colours.accent })) },
  ];
  if (d.band) entries.push({ label: d.band.map((q) => num(Number(q) * 100, 0)).join("–").concat(" %"), draw: (x, y) => rect(x, y - 6, 26, 12, { fill: colours.accent, "fill-opacity": 0.2 }) });
  if (d.f.true_y) entries.push({ label: say(s, "what came true", "真实值"), draw: both(stroke(colours.warm, 1.8, "3 3"), (x, y) => circle(x, y, 3.4, { fill: colours.bg, stroke: colours.warm, "stroke-width": 1.5 })) });
  if (d.window.weights) {
    const top = maxOf(d.window.weights[d.horizon - 1].map((w) => Math.abs(w)));
    const bar = (x, y) => group({ "data-legend": ["0", num(top, 2), "row"].join(" ") }, range(13).map((i) => rect(x + i * 2, y - 6, 2.2, 12, { fill: colour(sequential(s), i / 12) })));
    entries.push({ label: say(s, ["weight for step +", d.horizon, ", 0–", num(top, 2)].join(""), ["第 +", d.horizon, " 步的权重，0–", num(top, 2)].join("")), draw: bar });
  }
  return keyRow(entries, { x: 32, y: box(meta, s).height - 18, state: s, gap: 18 });
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const d = seriesPick(trace, s);
  const p = seriesPlace(d.f, s);
  const history = seriesHistory(d, p, s);
  const body = [history[0], seriesAxes(d, p, s).join(""), history.slice(1).join(""), seriesFuture(d, p, s).join("")];
  body.push(seriesStrip(d, p, s).join(""), seriesErrors(d, p, s).join(""), seriesKeys(d, p, s));
  const subtitle = say(s, ["the model reads the last ", d.window.lookback, " points and predicts the next ", d.window.pred_y.length].join(""),
    ["模型读最近 ", d.window.lookback, " 个点，预测其后 ", d.window.pred_y.length, " 个"].join(""));
  return page(meta, trace, s, { body: body, t: d.k + 1, n: d.n, frame: d.k, desc: describe(trace, s), subtitle: subtitle, data: { "data-lookback": String(d.window.lookback) } });
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return { columns: [], rows: [] };
  const d = seriesPick(trace, s);
  const p = seriesPlace(d.f, s);
  const names = Object.keys(d.window.q || {}).sort((a, b) => Number(a) - Number(b));
  const from = Math.max(0, d.f.hist_t.length - d.window.lookback);
  const none = names.map(() => null);
  const rows = range(d.f.hist_t.length - from).map((i) => [d.f.hist_t[from + i], d.f.hist_y[from + i], null, null].concat(none));
  d.window.pred_y.forEach((v, z) => rows.push([p.times[z], null, v, d.f.true_y ? d.f.true_y[z] : null].concat(names.map((q) => d.window.q[q][z]))));
  return { columns: ["time", "history", "prediction", "truth"].concat(names.map((q) => ["quantile ", q].join(""))), rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return say(s, "No forecast was recorded.", "没有记录预测。");
  const d = seriesPick(trace, s);
  return say(s, ["From the last ", d.window.lookback, " points of history the model predicts ", d.window.pred_y.length, " steps; mean absolute error ", num(d.window.mae, 3), " ", d.f.unit, "."].join(""),
    ["模型由最近 ", d.window.lookback, " 个历史点预测 ", d.window.pred_y.length, " 步；平均绝对误差 ", num(d.window.mae, 3), " ", d.f.unit, "。"].join(""));
}

export function frames(trace, state) {
  return firstMissing(trace, meta.needs) ? 1 : one(trace).forecast.windows.length;
}

export function stateAt(trace, state, k) {
  const s = settle(meta, state);
  s.t = k + 1;
  s.lookback = null;
  return s;
}
