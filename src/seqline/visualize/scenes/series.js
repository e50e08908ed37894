// Forecast from a history of any length: what was read, what was predicted, what came true.

import { colour, sequential, theme } from "./_colour.js";
import { box, circle, group, keyRow, line, missing, page, path, rect, tag, text } from "./_draw.js";
import { isSeen, isTrueSeen, percent, pickWindow, timeNames, windowFrames, windowState } from "./_series.js";
import { brief, clamp, em, maxOf, minOf, num, range, ticks, xy } from "./_text.js";
import { firstMissing, say, settle } from "./_trace.js";

export const meta = {
  id: "series",
  title: { en: "Forecast from a history of any length", zh: "用任意长度的历史做预测" },
  needs: ["forecast"],
  state: { t: null, lookback: null, horizon: 1 },
  size: [960, 580],
};

// Windows up to this many points share one axis; a longer one has its own.
const SHARED = 60;

// The scales hold everything that the windows on this axis draw, so that the axes stand still while the slider moves.
function seriesPlace(d, s) {
  const f = d.f;
  const area = box(meta, s);
  const n = f.hist_t.length;
  const wide = d.window.lookback > SHARED ? n : Math.min(n, SHARED);
  const drawn = f.windows.filter((each) => each.lookback <= Math.max(wide, d.window.lookback));
  const values = f.hist_y.slice(n - wide).concat(f.true_y || []);
  for (const each of drawn) {
    for (const list of [each.pred_y].concat(Object.keys(each.q || {}).map((name) => each.q[name]))) for (const v of list) values.push(v);
  }
  const kept = values.filter((v) => v !== null);
  const low = minOf(kept);
  const high = maxOf(kept);
  const pad = (high - low || Math.abs(high) * 0.1 || 1) * 0.06;
  const strips = ["weights", "gradient"].filter((name) => f.windows.some((each) => each[name]));
  const isScored = f.windows.some((each) => each.mae !== null && each.mae !== undefined);
  const below = (strips.length || isScored ? 122 : 66) + 18 * strips.length + (isScored ? 74 : 0);
  const p = { x: area.x + 56, y: area.y + 20, w: area.w - 56, h: area.h - below, low: low - pad, high: high + pad, strips: strips };
  p.first = n - wide;
  p.count = wide + maxOf(f.windows.map((each) => each.pred_y.length));
  p.step = p.w / p.count;
  p.strip = p.y + p.h + 6;
  p.feet = p.strip + 18 * strips.length + 10;
  p.errors = p.feet + 40;
  p.px = (i) => p.x + (i - p.first + 0.5) * p.step;
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
  parts.push(text(p.x - 8, p.y - 20, d.f.unit, { size: 12, fill: colours.ink, anchor: em(d.f.unit) * 12 > p.x - 12 ? "start" : "end", attrs: { "data-unit": d.f.unit } }));
  const names = timeNames(d.f).map((each) => (typeof each === "number" ? brief(each) : each));
  const widest = maxOf(names.map((each) => em(each))) * 12;
  const every = Math.max(1, Math.ceil(Math.max(44, widest + 18) / p.step));
  const half = Math.min(widest / 2, p.w / 2);
  let end = -Infinity;
  for (let i = p.first + Math.floor((p.count % every) / 2); i < names.length; i = i + every) {
    const x = clamp(p.px(i), p.x + half - 30, p.x + p.w - half);
    if (x - half >= end + 8) {
      parts.push(soft(x, p.feet, names[i], "middle"));
      end = x + half;
    }
  }
  const unit = d.f.freq ? say(s, ["time, steps of ", d.f.freq, " →"].join(""), ["时间，步长 ", d.f.freq, " →"].join("")) : say(s, "time →", "时间 →");
  parts.push(text(p.x + p.w, p.feet + 18, unit, { size: 12, fill: colours.ink, anchor: "end" }));
  return parts;
}

// The past: a faint line where the model did not look, points where it did; hollow ones were missing and read as the last value.
function seriesHistory(d, p, s) {
  const colours = theme(s);
  const n = d.f.hist_t.length;
  const from = Math.max(0, n - d.window.lookback);
  const parts = [
    rect(p.px(from) - p.step / 2, p.y, (n - from) * p.step, p.h, { fill: colours.panel, "data-read": String(n - from) }),
    line(p.px(n) - p.step / 2, p.y - 4, p.px(n) - p.step / 2, p.y + p.h, { stroke: colours.soft, "stroke-dasharray": "3 3" }),
    text(p.px(n) - p.step / 2, p.y - 12, say(s, "now", "现在"), { size: 12, fill: colours.soft, anchor: "middle" }),
    seriesTrail(p.first, d.f.hist_y.slice(p.first), p, { stroke: colours.line, "stroke-width": 1.5 }),
    seriesTrail(from, d.f.hist_y.slice(from), p, { stroke: colours.ink, "stroke-width": 1.8 }),
  ];
  const r = clamp(p.step * 0.26, 1.4, 3.4);
  for (let i = from; i < n; i++) {
    if (d.f.hist_y[i] === null) continue;
    const look = isSeen(d.f, i) ? { fill: colours.ink } : { fill: colours.bg, stroke: colours.ink, "data-gap": "1" };
    look["data-hist"] = String(i);
    look["data-v"] = num(d.f.hist_y[i], 4);
    parts.push(circle(p.px(i), p.py(d.f.hist_y[i]), r, look));
  }
  return parts;
}

function seriesBands(d, p, s) {
  const n = d.f.hist_t.length;
  const look = (band) => ({ fill: theme(s).accent, "fill-opacity": 0.2, "data-interval": band.join(" ") });
  const parts = d.bands.map((band) => {
    const lower = d.window.q[band[0]];
    const upper = d.window.q[band[1]];
    if (lower.length === 1) return rect(p.px(n) - 6, p.py(upper[0]), 12, p.py(lower[0]) - p.py(upper[0]), look(band));
    const edge = (values) => values.map((v, z) => [xy(p.px(n + z)), xy(p.py(v))].join(" "));
    return path(["M", edge(upper).concat(edge(lower).reverse()).join(" L "), "Z"].join(" "), look(band));
  });
  if (d.middle) parts.push(seriesTrail(n, d.window.q[d.middle], p, { stroke: theme(s).accent, "stroke-width": 1.5, "stroke-dasharray": "1 4", "data-middle": d.middle }));
  return parts;
}

function seriesTruth(d, p, s, r) {
  if (!d.f.true_y) return [];
  const colours = theme(s);
  const n = d.f.hist_t.length;
  const seen = d.f.true_y.map((v, z) => (isTrueSeen(d.f, z) ? v : null));
  const look = { fill: colours.bg, stroke: colours.warm, "stroke-width": 1.5 };
  const parts = [seriesTrail(n - 1, [d.f.hist_y[n - 1]].concat(seen), p, { stroke: colours.warm, "stroke-width": 1.8, "stroke-dasharray": "3 3" })];
  seen.forEach((v, z) => {
    if (v !== null) parts.push(circle(p.px(n + z), p.py(v), r, { fill: look.fill, stroke: look.stroke, "stroke-width": 1.5, "data-true": String(z), "data-v": num(v, 4) }));
  });
  return parts;
}

function seriesFuture(d, p, s) {
  const colours = theme(s);
  const n = d.f.hist_t.length;
  const r = clamp(p.step * 0.3, 1.8, 4);
  const parts = seriesBands(d, p, s).concat(seriesTruth(d, p, s, r));
  parts.push(seriesTrail(n - 1, [d.f.hist_y[n - 1]].concat(d.window.pred_y), p, { stroke: colours.accent, "stroke-width": 2.4 }));
  d.window.pred_y.forEach((v, z) => {
    const attrs = { fill: colours.accent, "data-pred": String(z), "data-v": num(v, 4) };
    if (p.strips.length && z === d.horizon - 1) parts.push(circle(p.px(n + z), p.py(v), r + 4, { fill: "none", stroke: colours.accent, "stroke-width": 1.5, "data-now": "1" }));
    parts.push(rect(p.px(n + z) - r, p.py(v) - r, 2 * r, 2 * r, attrs));
  });
  return parts;
}

function seriesTop(row) {
  return maxOf(row.map((v) => Math.abs(v)));
}

// How much each point of the history counts in one predicted step: by attention, and by the gradient; what was not recorded is not drawn.
// A step of attention covers as many points as a step of the encoder reads.
function seriesStrips(d, p, s) {
  const n = d.f.hist_t.length;
  const names = { weights: say(s, "attention", "注意力"), gradient: say(s, "gradient", "梯度") };
  return p.strips.map((name, place) => {
    if (!d.window[name]) return "";
    const row = d.window[name][d.horizon - 1];
    const top = seriesTop(row);
    const y = p.strip + 18 * place;
    const span = name === "weights" ? d.f.patch || 1 : 1;
    const kind = name === "weights" ? "data-weight" : "data-gradient";
    const cells = row.map((v, i) => {
      const from = Math.max(n - d.window.lookback, n - (row.length - i) * span);
      const look = { fill: colour(sequential(s), top ? Math.abs(v) / top : 0), "data-v": num(v, 4) };
      look[kind] = String(i);
      return rect(p.px(from) - p.step / 2, y, (n - (row.length - i - 1) * span - from) * p.step, 14, look);
    });
    return [text(p.x - 8, y + 7, names[name], { size: 12, fill: theme(s).soft, anchor: "end" }), cells.join("")].join("");
  });
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
  const points = d.window.lookback === 1 ? say(s, "with one point of history", "历史 1 点") : say(s, ["with ", d.window.lookback, " points of history"].join(""), ["历史 ", d.window.lookback, " 点"].join(""));
  const parts = [
    text(p.x, p.errors + 12, say(s, "mean absolute error", "平均绝对误差"), { size: 12, fill: colours.soft }),
    text(p.x, p.errors + 38, [brief(mae), d.f.unit].join(" "), { size: 20, fill: colours.accent, attrs: { "data-mae-now": num(mae, 4) } }),
    text(p.x, p.errors + 62, points, { size: 12, fill: colours.soft }),
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

function seriesKeys(d, s) {
  const colours = theme(s);
  const stroke = (ink, width, dash) => (x, y) => line(x, y, x + 26, y, { stroke: ink, "stroke-width": width, "stroke-dasharray": dash });
  const both = (first, second) => (x, y) => [first(x, y), second(x + 13, y)].join("");
  const entries = [{ label: say(s, "history read", "读入的历史"), draw: both(stroke(colours.ink, 1.8), (x, y) => circle(x, y, 3.2, { fill: colours.ink })) }];
  if (d.f.observed) entries.push({ label: say(s, "was missing", "缺失"), draw: both(stroke(colours.ink, 1.8), (x, y) => circle(x, y, 3.2, { fill: colours.bg, stroke: colours.ink })) });
  if (d.window.lookback < d.f.hist_t.length) entries.push({ label: say(s, "not read", "未读"), draw: stroke(colours.line, 1.5) });
  entries.push({ label: say(s, "prediction", "预测"), draw: both(stroke(colours.accent, 2.4), (x, y) => rect(x - 3.5, y - 3.5, 7, 7, { fill: colours.accent })) });
  d.bands.forEach((band, i) => entries.push({
    label: band.map(percent).join("–").concat(" %"),
    draw: (x, y) => range(i + 1).map(() => rect(x, y - 6, 26, 12, { fill: colours.accent, "fill-opacity": 0.2 })).join(""),
  }));
  if (d.middle) entries.push({ label: [percent(d.middle), " %"].join(""), draw: stroke(colours.accent, 1.5, "1 4") });
  if (d.f.true_y) entries.push({ label: say(s, "what came true", "真实值"), draw: both(stroke(colours.warm, 1.8, "3 3"), (x, y) => circle(x, y, 3.4, { fill: colours.bg, stroke: colours.warm, "stroke-width": 1.5 })) });
  return entries;
}

function seriesStripKeys(d, p, s) {
  const bar = (top) => (x, y) => group({ "data-legend": ["0", num(top, 2), "row"].join(" ") }, range(13).map((i) => rect(x + i * 2, y - 6, 2.2, 12, { fill: colour(sequential(s), i / 12) })));
  const step = d.window.pred_y.length > 1 ? say(s, [" of step +", d.horizon].join(""), ["（第 +", d.horizon, " 步）"].join("")) : "";
  const names = { weights: say(s, "attention", "注意力"), gradient: say(s, "|d forecast / d value|", "|d 预测 / d 值|") };
  return p.strips.filter((name) => d.window[name]).map((name) => {
    const top = seriesTop(d.window[name][d.horizon - 1]);
    return { label: [names[name], step, ", 0–", top > 0 && top < 0.01 ? brief(top) : num(top, 2)].join(""), draw: bar(top) };
  });
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const d = pickWindow(trace, s);
  const p = seriesPlace(d, s);
  const history = seriesHistory(d, p, s);
  const body = [history[0], seriesAxes(d, p, s).join(""), history.slice(1).join(""), seriesFuture(d, p, s).join("")];
  body.push(seriesStrips(d, p, s).join(""), seriesErrors(d, p, s).join(""));
  const bottom = box(meta, s).height - 18;
  const stripKeys = seriesStripKeys(d, p, s);
  body.push(keyRow(seriesKeys(d, s), { x: 32, y: bottom - (p.strips.length ? 22 : 0), state: s, gap: 18 }));
  if (stripKeys.length) body.push(keyRow(stripKeys, { x: 32, y: bottom, state: s, gap: 18 }));
  const points = d.window.lookback === 1 ? say(s, "the last point", "最近 1 个点") : say(s, ["the last ", d.window.lookback, " points"].join(""), ["最近 ", d.window.lookback, " 个点"].join(""));
  const steps = d.window.pred_y.length;
  const said = say(s, ["the model reads ", points, " and predicts the next ", steps === 1 ? "one" : steps].join(""), ["模型读", points, "，预测其后 ", steps, " 个"].join(""));
  const subtitle = d.f.series ? [d.f.series, ": ", said].join("") : said;
  const caption = d.n === 1 ? [d.window.lookback, steps].join(" → ") : null;
  return page(meta, trace, s, { body: body, t: d.k + 1, n: d.n, frame: d.k, desc: describe(trace, s), subtitle: subtitle, caption: caption, data: { "data-lookback": String(d.window.lookback) } });
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return { columns: [], rows: [] };
  const d = pickWindow(trace, s);
  const times = timeNames(d.f);
  const n = d.f.hist_t.length;
  const from = Math.max(0, n - d.window.lookback);
  const none = d.names.map(() => null);
  const rows = range(n - from).map((i) => [times[from + i], isSeen(d.f, from + i) ? d.f.hist_y[from + i] : null, null, null].concat(none));
  d.window.pred_y.forEach((v, z) => rows.push([times[n + z], null, v, isTrueSeen(d.f, z) ? d.f.true_y[z] : null].concat(d.names.map((q) => d.window.q[q][z]))));
  return { columns: ["time", "history", "prediction", "truth"].concat(d.names.map((q) => ["quantile ", q].join(""))), rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return say(s, "No forecast was recorded.", "没有记录预测。");
  const d = pickWindow(trace, s);
  const scored = d.window.mae !== null && d.window.mae !== undefined;
  const points = d.window.lookback === 1 ? "From the last point" : ["From the last ", d.window.lookback, " points"].join("");
  const en = [points, " of history the model predicts ", d.window.pred_y.length, d.window.pred_y.length === 1 ? " step" : " steps"];
  const zh = ["模型由最近 ", d.window.lookback, " 个历史点预测 ", d.window.pred_y.length, " 步"];
  if (scored) en.push("; mean absolute error ", num(d.window.mae, 3), " ", d.f.unit);
  if (scored) zh.push("；平均绝对误差 ", num(d.window.mae, 3), " ", d.f.unit);
  return say(s, en.concat(["."]).join(""), zh.concat(["。"]).join(""));
}

export function frames(trace, state) {
  return windowFrames(trace, meta);
}

export function stateAt(trace, state, k) {
  return windowState(meta, state, k);
}
