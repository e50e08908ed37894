// Gradient by lag: how far one unit more at each point of the history moves the forecast.

import { colour, colourIndex, sequential, theme } from "./_colour.js";
import { box, group, line, missing, page, rect, text } from "./_draw.js";
import { heat } from "./_grid.js";
import { pickWindow, windowFrames, windowState } from "./_series.js";
import { brief, maxOf, minOf, num, powerOfTen, range, sum, ticks } from "./_text.js";
import { firstMissing, say, settle } from "./_trace.js";

export const meta = {
  id: "lag",
  title: { en: "Gradient by lag", zh: "按滞后的梯度" },
  needs: ["forecast.windows.0.gradient"],
  state: { t: null, lookback: null, horizon: 1, log: false },
  size: [960, 580],
};

const SHARE = 0.9;
const DECADES = 6;

// Rows of the window by lag: 1 = the last value. reach: points that hold 90 % of the absolute sum.
function lagData(trace, s) {
  const d = pickWindow(trace, s);
  d.rows = d.window.gradient.map((row) => row.slice().reverse());
  d.row = d.rows[d.horizon - 1];
  const sizes = d.row.map((v) => Math.abs(v));
  const whole = sum(sizes);
  let so = 0;
  d.reach = 0;
  while (d.reach < sizes.length && so < SHARE * whole) {
    so = so + sizes[d.reach];
    d.reach = d.reach + 1;
  }
  d.total = sum(d.row);
  d.top = maxOf(d.f.windows.filter((each) => each.gradient).map((each) => maxOf(each.gradient.map((row) => maxOf(row.map((v) => Math.abs(v)))))));
  return d;
}

function lagPlace(d, s) {
  const area = box(meta, s);
  const many = d.rows.length > 1;
  const map = many ? Math.min(150, 22 * d.rows.length) : 0;
  const p = { x: area.x + 56, y: area.y + 14, w: area.w - 56 - 196, map: map, cols: d.row.length };
  p.h = area.h - 58 - (many ? map + 34 : 0);
  p.feet = p.y + p.h + 14;
  p.grid = p.y + p.h + 58;
  p.step = p.w / p.cols;
  p.px = (i) => p.x + i * p.step;
  // The scale of one step: from the windows together, so that the bars can be compared while the slider moves.
  const all = d.f.windows.filter((each) => each.gradient).map((each) => each.gradient[d.horizon - 1]);
  const low = Math.min(0, minOf(all.map(minOf)));
  const high = Math.max(0, maxOf(all.map(maxOf)));
  const pad = (high - low || 1) * 0.05;
  p.low = low < 0 ? low - pad : 0;
  p.high = high > 0 || low === 0 ? high + pad : 0;
  p.py = (v) => p.y + ((p.high - v) / (p.high - p.low)) * p.h;
  const most = maxOf(all.map((row) => maxOf(row.map((v) => Math.abs(v)))));
  p.decade = most > 0 ? Math.ceil(Math.log10(most)) : 0;
  p.plog = (v) => {
    const e = v === 0 ? -Infinity : Math.log10(Math.abs(v));
    return p.y + p.h - Math.max(0, (e - p.decade + DECADES) / DECADES) * p.h;
  };
  return p;
}

function lagAxes(d, p, s) {
  const colours = theme(s);
  const soft = (x, y, string, anchor) => text(x, y, string, { size: 12, fill: colours.soft, anchor: anchor });
  const parts = [];
  const rule = (y, label) => parts.push(line(p.x, y, p.x + p.w, y, { stroke: colours.faint }), soft(p.x - 8, y, label, "end"));
  if (s.log) range(DECADES + 1).forEach((k) => rule(p.y + (k / DECADES) * p.h, powerOfTen(p.decade - k)));
  else ticks(p.low, p.high, 5).forEach((v) => rule(p.py(v), brief(v)));
  const every = Math.ceil(30 / p.step);
  range(p.cols).forEach((i) => { if (i === 0 || ((i + 1) % every === 0 && i >= every / 2)) parts.push(soft(p.px(i + 0.5), p.feet, String(i + 1), "middle")); });
  parts.push(text(p.x + p.w, p.feet + 18, say(s, "lag: 1 is the last value, larger is longer ago →", "滞后：1 为最后一个值，越大越久远 →"), { size: 12, fill: colours.ink, anchor: "end" }));
  const name = s.log ? say(s, "|d forecast / d value|, log scale", "|d 预测 / d 值|，对数刻度") : say(s, "d forecast / d value", "d 预测 / d 值");
  parts.push(text(p.x, p.y - 12, name, { size: 12, fill: colours.ink }));
  return parts;
}

// Upward: a higher value raises the forecast. A bar of a negative slope is hollow, also on the log scale.
function lagBars(d, p, s) {
  const colours = theme(s);
  const zero = s.log ? p.y + p.h : p.py(0);
  const gap = p.step >= 6 ? 0.14 * p.step : 0;
  const parts = [rect(p.x, p.y, d.reach * p.step, p.h, { fill: colours.panel, "data-reach": String(d.reach) })];
  const bars = d.row.map((v, i) => {
    const y = s.log ? p.plog(v) : p.py(v);
    const up = v >= 0;
    return rect(p.px(i) + gap, Math.min(y, zero), p.step - 2 * gap, Math.abs(zero - y), {
      fill: up ? colours.accent : colours.bg, stroke: up ? null : colours.warm, "stroke-width": up ? null : 1.4, "data-lag": String(i + 1), "data-v": num(v, 4),
    });
  });
  return { back: parts.join(""), bars: bars.concat([line(p.x, zero, p.x + p.w, zero, { stroke: colours.soft })]).join("") };
}

// Every step to come as a row: the same sizes as colours.
function lagMap(d, p, s) {
  if (!p.map) return "";
  const colours = theme(s);
  const ch = p.map / d.rows.length;
  const every = Math.ceil(14 / ch);
  const parts = [text(p.x, p.grid - 12, say(s, "all steps to come ↓, |d forecast / d value|", "所有预测步 ↓，|d 预测 / d 值|"), { size: 12, fill: colours.ink })];
  const size = (v) => Math.abs(v);
  parts.push(heat({
    x: p.x, y: p.grid, cw: p.step, ch: ch, rows: d.rows.length, cols: p.cols, value: (r, c) => d.rows[r][c], index: (v) => colourIndex(d.top ? size(v) / d.top : 0),
    table: sequential(s), state: s, numbers: false, now: { row: d.horizon - 1 },
  }));
  range(d.rows.length).forEach((r) => {
    const isNow = r === d.horizon - 1;
    if (isNow || (r % every === 0 && Math.abs(r - d.horizon + 1) >= every)) parts.push(text(p.x - 8, p.grid + (r + 0.5) * ch, ["+", r + 1].join(""), { size: 12, fill: isNow ? colours.now : colours.soft, anchor: "end" }));
  });
  return parts.join("");
}

function lagFacts(d, p, s) {
  const colours = theme(s);
  const x = p.x + p.w + 26;
  const say2 = (y, string, size, fill, attrs) => text(x, y, string, { size: size, fill: fill, attrs: attrs });
  const near = d.reach === 0 ? say(s, "no value", "无") : d.reach === 1 ? say(s, "the last value", "最后一个值") : say(s, ["the last ", d.reach, " values"].join(""), ["最近 ", d.reach, " 个值"].join(""));
  const parts = [
    say2(p.y + 10, say(s, ["forecast of step +", d.horizon].join(""), ["第 +", d.horizon, " 步预测"].join("")), 13, colours.ink),
    say2(p.y + 40, say(s, "90 % of the slope is in", "90 % 的斜率在"), 12, colours.soft),
    say2(p.y + 62, near, 17, colours.accent, { "data-reach-now": String(d.reach) }),
    say2(p.y + 84, say(s, ["of ", d.window.lookback, " read"].join(""), ["共读 ", d.window.lookback, " 个"].join("")), 12, colours.soft),
    say2(p.y + 114, say(s, "all values 1 higher:", "所有值都加 1："), 12, colours.soft),
    say2(p.y + 136, [d.total < 0 ? "−" : "+", brief(Math.abs(d.total))].join(""), 17, colours.accent, { "data-total": num(d.total, 4) }),
  ];
  const sample = (y, label, attrs) => parts.push(rect(x, y - 6, 14, 12, attrs), text(x + 22, y, label, { size: 12, fill: colours.soft }));
  sample(p.y + 172, say(s, "raises the forecast", "使预测升高"), { fill: colours.accent });
  sample(p.y + 192, say(s, "lowers it", "使预测降低"), { fill: colours.bg, stroke: colours.warm, "stroke-width": 1.4 });
  if (p.map) {
    const y = p.grid + 8;
    const bar = range(32).map((i) => rect(x + i * 4, y + 12, 4.4, 10, { fill: colour(sequential(s), i / 31), "shape-rendering": "crispEdges" }));
    parts.push(group({ "data-legend": ["0", brief(d.top), "abs"].join(" ") }, [
      text(x, y, say(s, "size of the slope", "斜率大小"), { size: 12, fill: colours.soft }), bar.join(""),
      text(x, y + 34, "0", { size: 12, fill: colours.soft }), text(x + 128, y + 34, brief(d.top), { size: 12, fill: colours.soft, anchor: "end" }),
    ]));
  }
  return parts;
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap || !pickWindow(trace, s).window.gradient) return missing(meta, trace, s, meta.needs[0]);
  const d = lagData(trace, s);
  const p = lagPlace(d, s);
  const drawn = lagBars(d, p, s);
  const body = [drawn.back, lagAxes(d, p, s).join(""), drawn.bars, lagMap(d, p, s), lagFacts(d, p, s).join("")];
  const said = say(s, "how far the forecast moves when one value of the history is one unit higher", "历史中某个值高一个单位时，预测移动多少");
  const subtitle = d.f.series ? [d.f.series, ": ", said].join("") : said;
  return page(meta, trace, s, {
    body: body, t: d.k + 1, n: d.n, frame: d.k, desc: describe(trace, s), subtitle: subtitle, data: { "data-lookback": String(d.window.lookback) },
    notes: [say(s, "shaded: the values that hold 90 % of the absolute slope, counted from the last one; scaling of the history is part of the slope", "阴影：从最后一个值数起，占绝对斜率 90 % 的值；斜率包含对历史的缩放")],
  });
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs) || !pickWindow(trace, s).window.gradient) return { columns: [], rows: [] };
  const d = lagData(trace, s);
  const columns = ["lag"].concat(d.rows.map((row, z) => ["step +", z + 1].join("")));
  return { columns: columns, rows: d.row.map((v, i) => [i + 1].concat(d.rows.map((row) => row[i]))) };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs) || !pickWindow(trace, s).window.gradient) return say(s, "No gradient of a forecast was recorded.", "没有记录预测的梯度。");
  const d = lagData(trace, s);
  return say(s, ["Of ", d.window.lookback, " values read, the last ", d.reach, " hold 90 % of the absolute slope of the forecast of step +", d.horizon, "."].join(""),
    ["读入的 ", d.window.lookback, " 个值中，最近 ", d.reach, " 个占第 +", d.horizon, " 步预测绝对斜率的 90 %。"].join(""));
}

export function frames(trace, state) {
  return windowFrames(trace, meta);
}

export function stateAt(trace, state, k) {
  return windowState(meta, state, k);
}
