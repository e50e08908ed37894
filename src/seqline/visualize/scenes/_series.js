// What the views of a forecast share: which window is shown, its bands, its times.
//
// pickWindow(trace, s) {f, k, n, window, horizon, bands, middle} state.lookback names a window, state.t counts from 1; else the longest
// windowFrames(trace, meta) · windowState(meta, state, k) a frame for each window, which the player leads through
// percent(q) "2.5" · timeNames(f) of the history and of the steps to come · isSeen(f, i) · isTrueSeen(f, z) whether a value was observed
import { clamp, maxOf, num, range } from "./_text.js";
import { firstMissing, one, settle } from "./_trace.js";

// Quantiles as bands, the widest first: [lower, upper]; an odd one in the middle is a line.
function bandsOf(window) {
  const names = window.q ? Object.keys(window.q).sort((a, b) => Number(a) - Number(b)) : [];
  const half = Math.floor(names.length / 2);
  return { bands: range(half).map((i) => [names[i], names[names.length - 1 - i]]), middle: names.length % 2 ? names[half] : null, names: names };
}

export function pickWindow(trace, s) {
  const f = one(trace).forecast;
  const n = f.windows.length;
  let k = s.t === null ? n - 1 : clamp(Math.round(s.t), 1, n) - 1;
  if (s.lookback !== null) f.windows.forEach((each, i) => { if (each.lookback === Number(s.lookback)) k = i; });
  const window = f.windows[k];
  const horizon = clamp(Math.round(s.horizon), 1, window.pred_y.length);
  const found = bandsOf(window);
  return { f: f, k: k, n: n, window: window, horizon: horizon, bands: found.bands, middle: found.middle, names: found.names };
}

export function windowFrames(trace, meta) {
  return firstMissing(trace, meta.needs) ? 1 : one(trace).forecast.windows.length;
}

export function windowState(meta, state, k) {
  const s = settle(meta, state);
  s.t = k + 1;
  s.lookback = null;
  return s;
}

export function timeNames(f) {
  const n = f.hist_t.length;
  const most = maxOf(f.windows.map((each) => each.pred_y.length));
  if (f.times && f.times.length >= n + most) return f.times;
  const gap = n > 1 ? f.hist_t[n - 1] - f.hist_t[n - 2] : 1;
  return f.hist_t.concat(range(most).map((z) => f.hist_t[n - 1] + (z + 1) * gap));
}

export function isSeen(f, i) {
  return f.hist_y[i] !== null && (!f.observed || f.observed[i] === 1);
}

export function isTrueSeen(f, z) {
  return Boolean(f.true_y) && f.true_y[z] !== null && (!f.true_observed || f.true_observed[z] === 1);
}

export function percent(q) {
  return num(Number(q) * 100, 1).replace(/\.0$/, "");
}
