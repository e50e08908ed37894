// Reading what a scene is given: the state with its defaults, the trace or bundle, and its time steps.
//
// A scene is `scenes/<id>.js`: `import { … } from "./_name.js";` lines, then
//   export const meta = { id, title: {en, zh}, needs: ["attention", "encoder.gates|decoder.gates"], state: {defaults}, size: [960, 540],
//     choices: {key: [the only values it takes]} where `_state.js` does not list them already };
//   export function scene(trace, state)  -> SVG string          export function table(trace, state)    -> { columns, rows }
//   export function describe(trace, state) -> 1-2 sentences     export function frames(trace, state)   -> number >= 1
//   export function stateAt(trace, state, k) -> state of frame k (0-based)
// Every exported function starts with `const s = settle(meta, state)`, and `scene` with
//   const gap = firstMissing(trace, meta.needs); if (gap) return missing(meta, trace, s, gap);
// link.py gives each scene a scope of its own; all files named `_…` share one, and so must not use a name twice.
//
// COMMON defaults of every view · settle(meta, state) defaults filled in, wrong values put right · withState(state, changes) copy · joined(a, b) · say(state, en, zh) · plain(v)
// one(trace) first trace of a bundle · many(trace) [{trace, label}] · has(trace, path) · firstMissing(trace, needs)
// stepCount(trace) N · stepOf(trace, state) current t (state.t null = N) · producedBy(trace, t) tokens written up to t
// tOfOutput(trace, j) t that wrote token j · nowOutput(trace, state) the token of the current t, or the last one written (-1 none)
// writeTimes(trace, part, dir) position -> t · sentence(trace) · describeModel(trace)
import { soundValue } from "./_state.js";
import { clamp, isolate } from "./_text.js";

export const COMMON = {
  t: null, theme: "light", palette: "viridis", lang: "en", font: ["DejaVu Sans"], width: null, height: null,
};

export function settle(meta, state) {
  const out = joined(COMMON, meta.state);
  for (const key of Object.keys(state || {})) {
    const fallback = out[key] === undefined ? null : out[key];
    if (state[key] !== undefined) out[key] = soundValue(key, state[key], fallback, (meta.choices || {})[key]);
  }
  return out;
}

export function say(state, en, zh) {
  return state.lang === "zh" ? zh : en;
}

export function plain(value) {
  return JSON.parse(JSON.stringify(value));
}

export function withState(state, changes) {
  const out = {};
  for (const key of Object.keys(state || {})) out[key] = state[key];
  for (const key of Object.keys(changes)) out[key] = changes[key];
  return out;
}

export function many(trace) {
  if (!trace || !trace.traces) return [{ trace: trace, label: trace && trace.model ? trace.model.arch : "" }];
  return trace.traces.map((each, i) => ({ trace: each, label: trace.labels ? trace.labels[i] : each.model.arch }));
}

export function one(trace, index) {
  return trace && trace.traces ? trace.traces[clamp(index || 0, 0, trace.traces.length - 1)] : trace;
}

export function has(trace, path) {
  let at = one(trace);
  for (const key of path.split(".")) {
    if (at === null || at === undefined) return false;
    at = at[key];
  }
  return at !== null && at !== undefined && !(Array.isArray(at) && at.length === 0);
}

// The first of `needs` that the trace lacks, or null. "a|b" is met by either.
export function firstMissing(trace, needs) {
  for (const need of needs) {
    if (!need.split("|").some((path) => has(trace, path))) return need;
  }
  return null;
}

export function stepCount(trace) {
  return Math.max(1, (one(trace).schedule || []).length);
}

export function stepOf(trace, state) {
  const n = stepCount(trace);
  return state.t === null || state.t === undefined ? n : clamp(Math.round(state.t), 1, n);
}

function written(step) {
  const list = [];
  for (const event of step.events) {
    for (const id of event.writes || []) if (id.slice(0, 2) === "y:") list.push(Number(id.slice(2)));
  }
  return list;
}

export function producedBy(trace, t) {
  let count = 0;
  for (const step of one(trace).schedule || []) {
    if (step.t > t) continue;
    for (const j of written(step)) if (j + 1 > count) count = j + 1;
  }
  return count;
}

export function tOfOutput(trace, j) {
  for (const step of one(trace).schedule || []) if (written(step).indexOf(j) >= 0) return step.t;
  return stepCount(trace);
}

export function nowOutput(trace, state) {
  return producedBy(trace, stepOf(trace, state)) - 1;
}

export function joined(first, second) {
  const out = {};
  for (const key of Object.keys(first)) out[key] = first[key];
  for (const key of Object.keys(second || {})) out[key] = second[key];
  return out;
}

export function sentence(trace) {
  const t = one(trace);
  const source = t.source && t.source.text ? isolate(t.source.text, t.source.dir) : "";
  return t.target && t.target.text ? [source, isolate(t.target.text, t.target.dir)].filter((part) => part).join("  →  ") : source;
}

// Which version made the recording: the name stands in the field already, or is written before it.
export function toolkitName(info) {
  const name = info.toolkit || "unknown";
  return /^seqline\b/.test(name) ? name : ["seqline ", name].join("");
}

export function describeModel(trace) {
  const t = one(trace);
  const checkpoint = t.model.weights_sha256 ? t.model.weights_sha256.slice(0, 12) : "none";
  return ["Model ", t.model.arch, ", checkpoint ", checkpoint, ", seed ", t.meta.seed, ", ", toolkitName(t.meta), "."].join("");
}

// When a part writes a place: position -> t, from the schedule's events. dir "forward", "backward" or null for any.
export function writeTimes(trace, part, dir) {
  const byPlace = {};
  let whole = null;
  for (const step of one(trace).schedule || []) {
    for (const event of step.events) {
      if (event.part !== part || (dir && event.dir && event.dir !== dir)) continue;
      if (event.pos === null || event.pos === undefined) whole = step.t;
      else if (byPlace[event.pos] === undefined) byPlace[event.pos] = step.t;
    }
  }
  return (pos) => (byPlace[pos] !== undefined ? byPlace[pos] : whole !== null ? whole : pos + 1);
}
