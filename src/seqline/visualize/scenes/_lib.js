// What every scene shares: numbers, escaping, colours, themes, text, labels, heat grids, legends and the figure's frame.
//
// A scene is `scenes/<id>.js`: `import { … } from "./_lib.js"` lines, then
//   export const meta = { id, title: {en, zh}, needs: ["attention", "encoder.gates|decoder.gates"], state: {defaults}, size: [960, 540] };
//   export function scene(trace, state)  -> SVG string          export function table(trace, state)    -> { columns, rows }
//   export function describe(trace, state) -> 1-2 sentences     export function frames(trace, state)   -> number >= 1
//   export function stateAt(trace, state, k) -> state of frame k (0-based)
// link.py gives each scene a scope of its own; other top-level names of a scene start with its id (`alignCell`).
// Start every exported function with `const s = settle(meta, state)`, and `scene` with
//   const gap = firstMissing(trace, meta.needs); if (gap) return missing(meta, trace, s, gap);
//
// NUMBERS   num(v, digits=3) printed number ("–" for null, never "-0.00") · xy(v) coordinate · clamp(v, lo, hi) · sum(xs) · maxOf(xs) · minOf(xs)
//           meanAbs(xs) · argmax(xs) · range(n) · fnv(ints) hash of 16-bit integers · fnvText(text) · softmaxOf(logits, temperature)
// STATE     COMMON defaults of every view · withState(state, changes) copy · settle(meta, state) defaults filled in · say(state, en, zh) · plain(v) · one(trace) first trace of a bundle · many(trace) [{trace, label}]
//           has(trace, path) · firstMissing(trace, needs) · missing(meta, trace, state, path)
// TIME      stepCount(trace) N · stepOf(trace, state) current t (state.t null = N) · producedBy(trace, t) tokens written up to t
//           tOfOutput(trace, j) t that wrote token j · nowOutput(trace, state) the token of the current t, or the last one written (-1 none)
// COLOUR    theme(state) {bg panel ink soft line faint accent accentInk warm now empty encoder attention decoder output bridge}
//           sequential(state) 64 colours · DIVERGING 64 colours · colour(table, u in 0..1) · signedColour(v, limit) · inkOn(colour) black or white
//           scaled(v, mode, rowMax) abs|sqrt|row -> 0..1 · partColour(state, part)
// SHAPES    tag(name, attrs, inner) · group(attrs, parts) · rect(x, y, w, h, attrs) · line(x1, y1, x2, y2, attrs) · path(d, attrs) · circle(x, y, r, attrs)
//           arrow(x1, y1, x2, y2, attrs) line with a head · text(x, y, string, {size fill anchor dir rotate opacity attrs}) y = middle of the line
//           pill(x, y, w, h, string, {fill ink size}) · wrap(string, maxEm) lines · isolate(string, dir) · em(string) width in em · fit(string, maxEm) cut with …
// TOKENS    tokenLabel(token, level) · labelWidth(string, w_em) · axisTokens(trace, axis) [{token, block, j}] · items(trace, axis, state)
//           -> [{text, w, dir, special, idx: [axis positions], span, faint}], honours state.level and state.special (hide drops them)
//           aggregate(matrix, rowItems, colItems) rows: mean of queries, columns: sum of keys · hiddenMass(row, colItems)
//           pickBlock(trace, state) attention block (state.attention = name or kind) · pickMatrix(block, state) {values, layer, head, label, reduced}
// LABELS    columnPlan(items, cellWidth, size, maxHeight) {mode, height, right, every} · columnLabels(items, plan, {x, y, cw, size, state, now})
//           rowLabels(items, {x, y, ch, size, state, anchor, now, maxEm})
// GRIDS     heat({x, y, cw, ch, rows, cols, value(r, c), index(v, r, c) 0..63, table, state, digits, numbers, masked(r, c), now: {row, col}, order})
//           rects up to 1,600 cells, beyond that one indexed PNG with data-grid
// WORDS     axisName(state, axis) · kindName(state, kind) · reducedText(state) · attentionNotes(state, values, cols) lines for `notes` · grouped(count) 12,345
// FRAME     box(meta, state) {x, y, w, h} free area · page(meta, trace, state, {body: [strings], t, n, frame, subtitle, notes, caption}) whole SVG
//           legend({x, y, w, lo, hi, mode, table, label, state, middle}) · badge(x, y, string, key, state, anchor) · sentence(trace) · describeModel(trace)
// Rules: no DOM, Date, Math.random, Intl, console; no `+=` on strings; no spread over data; cut strings with Array.from only;
// no font-weight, dominant-baseline, direction, class or var(); numbers by num(), coordinates by xy().

function ramp(rows) {
  const digits = rows.join("");
  const table = [];
  for (let i = 0; i < digits.length; i = i + 6) table.push(["#", digits.slice(i, i + 6)].join(""));
  return table;
}

const RAMP_VIRIDIS = ramp([
  "44015446075a470d6047136548186a481d6f482374482878472d7b46327e453781443b844240864045883e49893d4e8a",
  "3a538b38588c365c8d34608d32648e31688e2f6c8e2d708e2c738e2a778e297b8e277f8e26828e24868e238a8d218e8d",
  "20928c1f968b1f9a8a1f9e891fa18721a58523a98326ad812ab07f2fb47c35b7793bbb7542be714ac16d52c5695ac864",
  "65cb5e6ece5877d15381d34d8bd64695d840a0da39aadc32b5de2bc0df25cae11fd5e21adfe318eae51af4e61efde725",
]);
const RAMP_CIVIDIS = ramp([
  "00224e00255400285b002b62002e6a0030700533711235701a386f213b6e273e6e2d416d32436d36466c3b496c3f4c6c",
  "444f6c48526c4c556c50576c545a6d575d6d5b606e5e636f62656f656870696b716c6e727071737374757777767a7a78",
  "7e7d788280798683798a86788e8978928c78958f779992779d9576a19975a59c74a99f73ada272b1a570b6a96fbaac6d",
  "bfb06bc3b369c7b767ccba64d0be62d4c15fd9c55cddc858e1cc55e6d051ead34cefd748f3db42f8df3cfde334fee838",
]);
const RAMP_GREYS = ramp([
  "f7f8faf3f4f6f0f1f3ecedefe8e9ece5e6e8e1e2e4dddee1d9dbddd6d7d9d2d3d6ced0d2cbcccfc7c8cbc3c5c7c0c1c4",
  "bcbdc0b8babcb4b6b9b1b2b5adafb2a9abaea6a7aaa2a4a79ea0a39b9ca097999c9395988f91958c8e91888a8d84868a",
  "8183867d7f83797b7f76787b7274786e70746a6d7067696d6365695f62665c5e62585a5e54575b5153574d4f54494c50",
  "45484c4244493e41453a3d4137393e33363a2f32372c2e33282b2f24272c2023281d2024191c2115181d12151a0e1116",
]);
const RAMP_DIVERGING = ramp([
  "0b3c8c0e4191124697154b9c1950a21c55a7205aad235fb22763b72a68bd2e6dc23573c63d7ac94581cc4e87cf568ed2",
  "5f95d6679cd970a2dc78a9df80b0e28ab6e596bee7a1c5eaadccedb9d3efc4dbf2d0e2f5dce9f7e8f0faf3f8fcffffff",
  "fffffffef8f1fdf0e2fce9d4fce2c6fbdab7fad3a9f9cc9bf8c48cf7bd7ef6b570f4af66f1a85eefa256ec9b4ee99546",
  "e68e3fe38837e0812fde7b27db741fd66e19cf6917c76414c05f12b8590fb0540da94f0aa14a08994405923f038a3a00",
]);

export const SEQUENTIAL = { viridis: RAMP_VIRIDIS, cividis: RAMP_CIVIDIS, greys: RAMP_GREYS };
export const DIVERGING = RAMP_DIVERGING;
export const GRID_LIMIT = 1600;

const LIGHT = {
  bg: "#ffffff", panel: "#f3f6fb", ink: "#16202f", soft: "#505c70", line: "#b9c4d4", faint: "#e3e9f1", empty: "#eef2f7",
  accent: "#1b5cb8", accentInk: "#ffffff", warm: "#a84b00", now: "#c2410c",
  encoder: "#1b5cb8", attention: "#a84b00", decoder: "#6a3aa8", output: "#0b6b63", bridge: "#566173",
};
const DARK = {
  bg: "#0f1420", panel: "#192131", ink: "#eef2f9", soft: "#aab6c9", line: "#4a5870", faint: "#252f42", empty: "#1d2637",
  accent: "#7fb4ff", accentInk: "#0b1220", warm: "#ffb765", now: "#ff9d4d",
  encoder: "#7fb4ff", attention: "#ffb765", decoder: "#c9a6ff", output: "#5fd6c9", bridge: "#aab6c9",
};
const PRINT = {
  bg: "#ffffff", panel: "#ffffff", ink: "#000000", soft: "#333333", line: "#8a8a8a", faint: "#d4d4d4", empty: "#f2f2f2",
  accent: "#003a80", accentInk: "#ffffff", warm: "#7a3400", now: "#000000",
  encoder: "#003a80", attention: "#7a3400", decoder: "#4a1f80", output: "#00504a", bridge: "#333333",
};
// Advance widths of ASCII 32..126 in hundredths of an em, DejaVu Sans.
const WIDTHS = [
  32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 53,
  100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69, 61, 69, 39, 34, 39, 84, 50,
  50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84,
];
const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const WIDE = /[\u1100-\u115f\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]/;
const MARK = /[\u0300-\u036f\u064b-\u065f\u200b-\u200f\u2066-\u2069\ufe0e\ufe0f]/;

// ---- numbers ---------------------------------------------------------------------------------------------------------

export function num(v, digits) {
  if (v === null || v === undefined || v !== v) return "–";
  if (v === Infinity) return "∞";
  if (v === -Infinity) return "−∞";
  const printed = v.toFixed(Math.min(digits === undefined ? 3 : digits, 4));
  return Number(printed) === 0 && printed[0] === "-" ? printed.slice(1) : printed;
}

export function xy(v) {
  const printed = num(v, 2);
  return printed.indexOf(".") < 0 ? printed : printed.replace(/\.?0+$/, "");
}

export function clamp(v, lo, hi) {
  return v < lo ? lo : v > hi ? hi : v;
}

export function range(n) {
  const list = [];
  for (let i = 0; i < n; i++) list.push(i);
  return list;
}

export function sum(xs) {
  let total = 0;
  for (let i = 0; i < xs.length; i++) total = total + xs[i];
  return total;
}

export function maxOf(xs) {
  let best = -Infinity;
  for (let i = 0; i < xs.length; i++) if (xs[i] > best) best = xs[i];
  return best;
}

export function minOf(xs) {
  let best = Infinity;
  for (let i = 0; i < xs.length; i++) if (xs[i] < best) best = xs[i];
  return best;
}

export function meanAbs(xs) {
  let total = 0;
  for (let i = 0; i < xs.length; i++) total = total + Math.abs(xs[i]);
  return xs.length ? total / xs.length : 0;
}

export function argmax(xs) {
  let at = -1;
  for (let i = 0; i < xs.length; i++) if (at < 0 || xs[i] > xs[at]) at = i;
  return at;
}

export function softmaxOf(logits, temperature) {
  const top = maxOf(logits);
  const powers = logits.map((z) => Math.exp((z - top) / temperature));
  const total = sum(powers);
  return powers.map((p) => p / total);
}

// FNV-1a, 32 bits, over each integer's two bytes, the low one first; 8 hexadecimal digits.
export function fnv(ints) {
  let h = 2166136261;
  for (let i = 0; i < ints.length; i++) {
    h = Math.imul(h ^ (ints[i] & 255), 16777619);
    h = Math.imul(h ^ ((ints[i] >> 8) & 255), 16777619);
  }
  return ["0000000", (h >>> 0).toString(16)].join("").slice(-8);
}

export function fnvText(string) {
  const ints = [];
  for (let i = 0; i < string.length; i++) ints.push(string.charCodeAt(i));
  return fnv(ints);
}

// ---- state and trace -------------------------------------------------------------------------------------------------

export const COMMON = {
  t: null, theme: "light", palette: "viridis", lang: "en", font: ["DejaVu Sans"], width: null, height: null,
};

export function settle(meta, state) {
  const out = {};
  const layers = [COMMON, meta.state || {}, state || {}];
  for (const layer of layers) {
    for (const key of Object.keys(layer)) if (layer[key] !== undefined) out[key] = layer[key];
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

export function missingSentence(state, path) {
  const name = path.split("|").join(say(state, " or ", " 或 "));
  return say(state, ["This trace has no ", name, " block, which this view draws."].join(""), ["此记录没有 ", name, " 数据块，而本视图要画它。"].join(""));
}

export function missing(meta, trace, state, path) {
  const line = missingSentence(state, path);
  const area = box(meta, state);
  const colours = theme(state);
  const body = [
    rect(area.x, area.y, area.w, area.h, { fill: colours.panel, rx: 10 }),
    text(area.x + area.w / 2, area.y + area.h / 2, line, { size: 16, fill: colours.ink, anchor: "middle", attrs: { "data-missing": path } }),
  ];
  return page(meta, trace, state, { body: body, t: 1, n: 1, frame: 0, desc: line });
}

// ---- time ------------------------------------------------------------------------------------------------------------

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

// ---- colour ----------------------------------------------------------------------------------------------------------

export function theme(state) {
  return state.theme === "dark" ? DARK : state.theme === "print" ? PRINT : LIGHT;
}

export function partColour(state, part) {
  return theme(state)[part] || theme(state).bridge;
}

export function sequential(state) {
  const table = SEQUENTIAL[state.palette] || RAMP_VIRIDIS;
  return table === RAMP_GREYS && state.theme === "dark" ? table.slice().reverse() : table;
}

export function colourIndex(u) {
  return clamp(Math.floor(clamp(u, 0, 1) * 63 + 0.5), 0, 63);
}

export function colour(table, u) {
  return table[colourIndex(u)];
}

// -limit..limit to 0..63; 0 falls on 32, which is white.
export function signedIndex(v, limit) {
  const u = limit > 0 ? clamp(v / limit, -1, 1) : 0;
  return u < 0 ? clamp(Math.floor((1 + u) * 31 + 0.5), 0, 31) : clamp(32 + Math.floor(u * 31 + 0.5), 32, 63);
}

export function signedColour(v, limit) {
  return DIVERGING[signedIndex(v, limit)];
}

export function scaled(v, mode, rowMax) {
  if (mode === "sqrt") return Math.sqrt(clamp(v, 0, 1));
  if (mode === "row") return rowMax > 0 ? v / rowMax : 0;
  return v;
}

function channel(hex, at) {
  const c = parseInt(hex.slice(at, at + 2), 16) / 255;
  return c <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
}

export function inkOn(hex) {
  const y = 0.2126 * channel(hex, 1) + 0.7152 * channel(hex, 3) + 0.0722 * channel(hex, 5);
  return y > 0.18 ? "#000000" : "#ffffff";
}

// ---- shapes ----------------------------------------------------------------------------------------------------------

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\ufffd": "?", "\n": "⏎", "\r": "", "\t": "␣" };

export function esc(value) {
  // Control characters and lone surrogates are no XML.
  return String(value)
    .replace(/[&<>"\ufffd\n\r\t]/g, (c) => ESCAPES[c])
    .replace(/[\u0000-\u001f]/g, "")
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(^|[^\ud800-\udbff])[\udc00-\udfff]/g, "$1?");
}

export function tag(name, attrs, inner) {
  const parts = ["<", name];
  for (const key of Object.keys(attrs || {})) {
    const value = attrs[key];
    if (value === null || value === undefined) continue;
    parts.push(" ", key, '="', typeof value === "number" ? xy(value) : esc(value), '"');
  }
  if (inner === undefined || inner === null) parts.push("/>");
  else parts.push(">", Array.isArray(inner) ? inner.join("") : inner, "</", name, ">");
  return parts.join("");
}

export function joined(first, second) {
  const out = {};
  for (const key of Object.keys(first)) out[key] = first[key];
  for (const key of Object.keys(second || {})) out[key] = second[key];
  return out;
}

export function group(attrs, parts) {
  return tag("g", attrs, parts);
}

export function rect(x, y, w, h, attrs) {
  return tag("rect", joined({ x: x, y: y, width: Math.max(0, w), height: Math.max(0, h) }, attrs));
}

export function line(x1, y1, x2, y2, attrs) {
  return tag("line", joined({ x1: x1, y1: y1, x2: x2, y2: y2 }, attrs));
}

export function path(d, attrs) {
  return tag("path", joined({ d: Array.isArray(d) ? d.map((p) => (typeof p === "number" ? xy(p) : p)).join(" ") : d, fill: "none" }, attrs));
}

export function circle(x, y, r, attrs) {
  return tag("circle", joined({ cx: x, cy: y, r: r }, attrs));
}

export function arrow(x1, y1, x2, y2, attrs) {
  const a = joined({ stroke: "#000000", "stroke-width": 1.5 }, attrs);
  const length = Math.sqrt((x2 - x1) * (x2 - x1) + (y2 - y1) * (y2 - y1)) || 1;
  const ux = (x2 - x1) / length;
  const uy = (y2 - y1) / length;
  const s = a["head-size"] || 5 + a["stroke-width"];
  const bx = x2 - ux * s;
  const by = y2 - uy * s;
  delete a["head-size"];
  const head = ["M", x2, y2, "L", bx - uy * s * 0.5, by + ux * s * 0.5, "L", bx + uy * s * 0.5, by - ux * s * 0.5, "Z"];
  return group({ opacity: a.opacity }, [
    line(x1, y1, bx, by, joined(a, { opacity: null })),
    path(head, { fill: a.stroke }),
  ]);
}

// ---- text ------------------------------------------------------------------------------------------------------------

export function isRtl(string) {
  return RTL.test(string);
}

// The rasteriser knows no `direction`: both engines honour isolates instead.
export function isolate(string, dir) {
  if (dir === "rtl") return ["\u2067", string, "\u2069"].join("");
  return isRtl(string) ? ["\u2068", string, "\u2069"].join("") : string;
}

export function em(string) {
  let total = 0;
  for (const c of Array.from(String(string))) {
    const code = c.codePointAt(0);
    if (code >= 32 && code < 127) total = total + WIDTHS[code - 32] / 100;
    else if (!MARK.test(c)) total = total + (WIDE.test(c) || code > 0x1f000 ? 1 : 0.68);
  }
  return total;
}

export function fit(string, maxEm) {
  if (em(string) <= maxEm) return string;
  const kept = [];
  let width = 1;
  for (const c of Array.from(string)) {
    width = width + em(c);
    if (width > maxEm) break;
    kept.push(c);
  }
  return [kept.join("").trim(), "…"].join("");
}

export function wrap(string, maxEm) {
  const lines = [];
  let now = [];
  let width = 0;
  for (const word of String(string).split(/(?<=[\s\u3001-\u9fff\uff0c])/)) {
    const w = em(word);
    if (now.length && width + w > maxEm) {
      lines.push(now.join("").trim());
      now = [];
      width = 0;
    }
    now.push(word);
    width = width + w;
  }
  if (now.length) lines.push(now.join("").trim());
  return lines;
}

export function text(x, y, string, opts) {
  const o = opts || {};
  const size = o.size || 13;
  const attrs = {
    x: x, y: y + size * 0.35, "font-size": size, fill: o.fill || "#000000",
    "text-anchor": o.anchor && o.anchor !== "start" ? o.anchor : null, opacity: o.opacity,
    transform: o.rotate ? ["rotate(", xy(o.rotate), " ", xy(x), " ", xy(y), ")"].join("") : null,
  };
  return tag("text", joined(attrs, o.attrs), esc(isolate(String(string), o.dir)));
}

export function pill(x, y, w, h, string, opts) {
  const o = opts || {};
  return group(o.attrs || {}, [
    rect(x, y, w, h, { rx: Math.min(h / 2, o.rx === undefined ? 7 : o.rx), fill: o.fill, stroke: o.stroke, "stroke-width": o.stroke ? o.width || 1.5 : null }),
    text(x + w / 2, y + h / 2, string, { size: o.size || 13, fill: o.ink, anchor: "middle", dir: o.dir }),
  ]);
}

// ---- tokens ----------------------------------------------------------------------------------------------------------

function visible(string) {
  return String(string).replace(/\n/g, "⏎").replace(/ /g, "␣");
}

// Markers (▁ Ġ @@) show in the piece view only; a part of a character shows the whole character.
export function tokenLabel(token, level) {
  if (level === "piece" && !token.part && token.piece) return visible(token.piece);
  const shown = token.text === "" || token.text === undefined ? token.piece : token.text;
  return token.special || String(shown).trim() === "" ? visible(shown) : String(shown).trim();
}

export function labelWidth(string, w) {
  return Math.max(w || 0, em(string) * 1.05);
}

// Token places of an axis name: source, target.out, target.in, sequence, sequence.out.
export function axisTokens(trace, axis) {
  const t = one(trace);
  const place = (block, j) => ({ token: t[block].tokens[j], block: block, j: j });
  const source = range(t.source.tokens.length).map((j) => place("source", j));
  const out = t.target ? range(t.target.tokens.length).map((j) => place("target", j)) : [];
  if (axis === "source") return source;
  if (axis === "target.out") return out;
  if (axis === "sequence") return source.concat(out.slice(0, -1));
  if (axis === "sequence.out") return source.slice(1).concat(out);
  const bos = t.target.bos || { id: -1, piece: "<s>", text: "<s>", word: null, special: "bos", dir: "neutral", w_em: 1.8 };
  return [{ token: bos, block: "target", j: -1 }].concat(out.slice(0, -1));
}

function spanOf(places, i) {
  const token = places[i].token;
  if (!token.part) return 1;
  let n = 1;
  while (i + n < places.length && n < token.part[1] && places[i + n].token.part && places[i + n].token.word === token.word) n = n + 1;
  return n;
}

function pieceItems(places) {
  const list = [];
  let covered = 0;
  for (let i = 0; i < places.length; i++) {
    const token = places[i].token;
    const first = covered === 0;
    if (first) covered = spanOf(places, i);
    const label = first ? tokenLabel(token, "piece") : "";
    list.push({
      text: label, w: first ? labelWidth(label, token.w_em) : 0, dir: token.dir, special: token.special, idx: [i],
      span: first ? covered : 1,
    });
    covered = covered - 1;
  }
  return list;
}

function wordItems(trace, places) {
  const list = [];
  for (let i = 0; i < places.length; i++) {
    const place = places[i];
    const last = list.length ? list[list.length - 1] : null;
    const word = place.token.word;
    if (last && word !== null && last.word === word && last.block === place.block) {
      last.idx.push(i);
      last.text = one(trace)[place.block].words[word].text;
      last.w = labelWidth(last.text, one(trace)[place.block].words[word].w_em);
      continue;
    }
    const known = word === null || place.j < 0 ? null : one(trace)[place.block].words[word];
    const label = known ? known.text : tokenLabel(place.token, "word");
    list.push({
      text: label, w: labelWidth(label, known ? known.w_em : place.token.w_em), dir: known ? known.dir : place.token.dir,
      special: place.token.special, idx: [i], span: 1, word: word, block: place.block,
    });
  }
  return list;
}

export function items(trace, axis, state) {
  const places = axisTokens(trace, axis);
  const list = state.level === "word" ? wordItems(trace, places) : pieceItems(places);
  const kept = state.special === "hide" ? list.filter((item) => !item.special) : list;
  return kept.map((item, i) => joined(item, { i: i, faint: Boolean(state.special === "grey" && item.special) }));
}

export function aggregate(matrix, rowItems, colItems) {
  return rowItems.map((row) => colItems.map((col) => {
    let total = 0;
    for (const r of row.idx) for (const c of col.idx) total = total + matrix[r][c];
    return total / row.idx.length;
  }));
}

export function hiddenMass(rowValues) {
  return Math.max(0, 1 - sum(rowValues));
}

export function pickBlock(trace, state) {
  const blocks = one(trace).attention || [];
  const wanted = state.attention;
  for (const block of blocks) if (wanted && (block.name === wanted || block.kind === wanted)) return block;
  for (const block of blocks) if (block.kind === "cross") return block;
  return blocks[0];
}

function sparse(block, layer, head) {
  const places = block.topk_idx[layer][head];
  const width = block.head_mean[layer][0].length;
  return places.map((row, q) => {
    const out = range(width).map(() => 0);
    for (let i = 0; i < row.length; i++) out[row[i]] = block.topk_w[layer][head][q][i];
    return out;
  });
}

function overHeads(heads, how) {
  return heads[0].map((row, q) => row.map((_, m) => {
    const values = heads.map((head) => head[q][m]);
    return how === "max" ? maxOf(values) : sum(values) / values.length;
  }));
}

function headValues(block, layer, head) {
  if (block.weights) {
    const heads = block.weights[layer];
    return head === "mean" || head === "max" ? overHeads(heads, head) : heads[head];
  }
  if (head === "mean") return block.head_mean[layer];
  if (head === "max") return overHeads(range(block.topk_idx[layer].length).map((h) => sparse(block, layer, h)), "max");
  const kept = block.reduced.kept_heads;
  for (let n = 0; n < kept.length; n++) if (kept[n][0] === layer && kept[n][1] === head) return block.kept[n];
  return sparse(block, layer, head);
}

export function headCount(block) {
  return block.weights ? block.weights[0].length : block.topk_idx[0].length;
}

export function layerCount(block) {
  return block.weights ? block.weights.length : block.head_mean.length;
}

// state.layer null = the last one; state.head a number, "mean" or "max".
export function pickMatrix(block, state) {
  const layers = layerCount(block);
  const layer = state.layer === null || state.layer === undefined ? layers - 1 : clamp(state.layer, 0, layers - 1);
  const named = state.head === "mean" || state.head === "max";
  const head = named ? state.head : clamp(state.head || 0, 0, headCount(block) - 1);
  const single = layers === 1 && headCount(block) === 1;
  const shown = named
    ? say(state, [head, " of ", headCount(block), " heads"].join(""), [headCount(block), " 个头的", head === "mean" ? "平均" : "最大"].join(""))
    : say(state, ["head ", head + 1].join(""), ["第 ", head + 1, " 头"].join(""));
  const label = single ? "" : say(state, ["layer ", layer + 1, ", ", shown].join(""), ["第 ", layer + 1, " 层，", shown].join(""));
  return { values: headValues(block, layer, head), layer: layer, head: head, label: label, reduced: Boolean(block.reduced) };
}

// ---- labels ----------------------------------------------------------------------------------------------------------

const MAX_LABEL_EM = 14;

// How column labels fit: flat, else 45 degrees, else 90; CJK up to 2 glyphs stay upright.
export function columnPlan(list, cw, size, maxHeight) {
  let widest = 0;
  let short = true;
  for (const item of list) {
    const room = item.span || 1;
    if (item.w * size > cw * room - 4) short = short && Array.from(item.text).length <= 2 && WIDE.test(item.text) && cw >= size * 1.1;
    widest = Math.max(widest, item.w);
  }
  const flat = list.every((item) => item.w * size <= cw * (item.span || 1) - 4);
  if (flat) return { mode: 0, height: size * 1.6, right: 0, every: 1 };
  if (short) return { mode: "stack", height: size * 2.6, right: 0, every: 1 };
  const limit = Math.min(widest, MAX_LABEL_EM, (maxHeight || 130) / size);
  if (cw >= size * 1.5) return { mode: 45, height: limit * size * 0.72 + size, right: limit * size * 0.72, every: 1, limit: limit };
  return { mode: 90, height: limit * size + size * 0.6, right: 0, every: Math.ceil((size * 1.15) / cw), limit: limit };
}

function labelAttrs(kind, item, plan, now) {
  return { "data-label": kind, "data-i": item.i, "data-rot": plan || null, "data-now": now ? "1" : null };
}

// o: x, y (bottom of the labels), cw, size, state, now (index), order(i) -> column shown at place i
export function columnLabels(list, plan, o) {
  const colours = theme(o.state);
  const parts = [];
  const place = o.order || ((i) => i);
  for (let i = 0; i < list.length; i++) {
    const item = list[i];
    const isNow = o.now === i;
    const pinned = o.now !== undefined && o.now !== null && o.now >= 0;
    if (item.text === "" || (plan.every > 1 && !isNow && (i % plan.every !== 0 || (pinned && Math.abs(i - o.now) < plan.every)))) continue;
    const span = item.span || 1;
    const at = place(i);
    const cx = o.x + (at + (place(0) > 0 ? 1 - span / 2 : span / 2)) * o.cw;
    const fill = isNow ? colours.now : item.faint ? colours.line : colours.ink;
    const attrs = labelAttrs("col", item, plan.mode === 45 || plan.mode === 90 ? plan.mode : null, isNow);
    const label = plan.limit ? fit(item.text, plan.limit) : item.text;
    if (plan.mode === "stack") {
      const glyphs = Array.from(label);
      glyphs.forEach((c, k) => parts.push(text(cx, o.y - (glyphs.length - k - 0.5) * o.size * 1.15, c, { size: o.size, fill: fill, anchor: "middle", attrs: k ? {} : attrs })));
    } else if (plan.mode === 0) parts.push(text(cx, o.y - o.size * 0.8, label, { size: o.size, fill: fill, anchor: "middle", dir: item.dir, attrs: attrs }));
    else parts.push(text(cx, o.y - o.size * 0.5, label, { size: o.size, fill: fill, dir: item.dir, rotate: -plan.mode, attrs: attrs }));
  }
  return parts.join("");
}

// o: x, y (top), ch, size, state, anchor ("end" left of the grid, "start" right of it), now, maxEm
export function rowLabels(list, o) {
  const colours = theme(o.state);
  const parts = [];
  const every = Math.max(1, Math.ceil((o.size * 1.15) / o.ch));
  for (let i = 0; i < list.length; i++) {
    const item = list[i];
    const isNow = o.now === i;
    const pinned = o.now !== undefined && o.now !== null && o.now >= 0;
    if (item.text === "" || (every > 1 && !isNow && (i % every !== 0 || (pinned && Math.abs(i - o.now) < every)))) continue;
    const fill = isNow ? colours.now : item.faint ? colours.line : colours.ink;
    parts.push(text(o.x, o.y + (i + (item.span || 1) / 2) * o.ch, fit(item.text, o.maxEm || MAX_LABEL_EM), {
      size: o.size, fill: fill, anchor: o.anchor || "end", dir: item.dir, attrs: labelAttrs("row", item, null, isNow),
    }));
  }
  return parts.join("");
}

// ---- grids -----------------------------------------------------------------------------------------------------------

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const CRC = range(256).map((n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

function pushInt(bytes, v) {
  bytes.push((v >>> 24) & 255, (v >>> 16) & 255, (v >>> 8) & 255, v & 255);
}

function pushChunk(out, name, data) {
  pushInt(out, data.length);
  let crc = 0xffffffff;
  const start = out.length;
  for (let i = 0; i < 4; i++) out.push(name.charCodeAt(i));
  for (let i = 0; i < data.length; i++) out.push(data[i]);
  for (let i = start; i < out.length; i++) crc = CRC[(crc ^ out[i]) & 255] ^ (crc >>> 8);
  pushInt(out, (crc ^ 0xffffffff) >>> 0);
}

function stored(bytes) {
  const out = [0x78, 0x01];
  let a = 1;
  let b = 0;
  for (let at = 0; at < bytes.length; at = at + 65535) {
    const n = Math.min(65535, bytes.length - at);
    out.push(at + n >= bytes.length ? 1 : 0, n & 255, n >> 8, ~n & 255, (~n >> 8) & 255);
    for (let i = at; i < at + n; i++) {
      out.push(bytes[i]);
      a = (a + bytes[i]) % 65521;
      b = (b + a) % 65521;
    }
  }
  pushInt(out, ((b << 16) | a) >>> 0);
  return out;
}

function base64(bytes) {
  const parts = [];
  for (let i = 0; i < bytes.length; i = i + 3) {
    const n = (bytes[i] << 16) | ((bytes[i + 1] || 0) << 8) | (bytes[i + 2] || 0);
    parts.push(BASE64[n >> 18], BASE64[(n >> 12) & 63], i + 1 < bytes.length ? BASE64[(n >> 6) & 63] : "=", i + 2 < bytes.length ? BASE64[n & 63] : "=");
  }
  return parts.join("");
}

// An indexed PNG as a data: URI. indexes: rows of numbers into table; -1 = transparent.
export function pngUri(indexes, table) {
  const out = [137, 80, 78, 71, 13, 10, 26, 10];
  const head = [];
  pushInt(head, indexes[0].length);
  pushInt(head, indexes.length);
  head.push(8, 3, 0, 0, 0);
  pushChunk(out, "IHDR", head);
  const colours = [0, 0, 0];
  for (const hex of table) for (const at of [1, 3, 5]) colours.push(parseInt(hex.slice(at, at + 2), 16));
  pushChunk(out, "PLTE", colours);
  pushChunk(out, "tRNS", [0]);
  const pixels = [];
  for (const row of indexes) {
    pixels.push(0);
    for (let c = 0; c < row.length; c++) pixels.push(row[c] + 1);
  }
  pushChunk(out, "IDAT", stored(pixels));
  pushChunk(out, "IEND", []);
  return ["data:image/png;base64,", base64(out)].join("");
}

function imageGrid(o, place) {
  const indexes = [];
  for (let r = 0; r < o.rows; r++) {
    const row = range(o.cols).map(() => -1);
    for (let c = 0; c < o.cols; c++) {
      const v = o.value(r, c);
      if (v !== null && v !== undefined && !(o.masked && o.masked(r, c))) row[place(c)] = o.index(v, r, c);
    }
    indexes.push(row);
  }
  const grid = [xy(o.x), xy(o.y), xy(o.cw), xy(o.ch), o.rows, o.cols].join(" ");
  return tag("image", {
    x: o.x, y: o.y, width: o.cw * o.cols, height: o.ch * o.rows, preserveAspectRatio: "none", href: pngUri(indexes, o.table),
    "image-rendering": "optimizeSpeed", style: "image-rendering:pixelated", "data-grid": grid, "data-order": place(0) > 0 ? "rtl" : null,
  });
}

function oneCell(o, r, c, at, gap) {
  const v = o.value(r, c);
  const x = o.x + at * o.cw;
  const y = o.y + r * o.ch;
  const colours = theme(o.state);
  const faint = o.faint && o.faint(r, c);
  if (v === null || v === undefined) return rect(x, y, o.cw - gap, o.ch - gap, { fill: colours.empty });
  const masked = o.masked && o.masked(r, c);
  const fill = masked ? colours.empty : o.table[o.index(v, r, c)];
  const attrs = { fill: fill, "data-v": num(v, 4), "data-r": r, "data-c": c, opacity: faint ? 0.35 : null };
  const parts = [rect(x, y, o.cw - gap, o.ch - gap, attrs)];
  if (masked) parts.push(path(["M", x, y + o.ch - gap, "L", x + o.cw - gap, y], { stroke: colours.line, "stroke-width": 1 }));
  else if (o.numbers !== false && o.cw >= 26 && o.ch >= 15) {
    const size = Math.min(13, o.cw / 3, o.ch * 0.6);
    parts.push(text(x + (o.cw - gap) / 2, y + (o.ch - gap) / 2, num(v, o.digits === undefined ? 2 : o.digits), {
      size: Math.max(9, size), fill: faint ? colours.ink : inkOn(fill), anchor: "middle", attrs: { "pointer-events": "none" },
    }));
  }
  return parts.join("");
}

// o: x y cw ch rows cols value(r,c) index(v,r,c) table state [digits numbers masked faint now{row,col} order(c)]
export function heat(o) {
  const place = o.order || ((c) => c);
  const parts = [];
  if (o.rows * o.cols > GRID_LIMIT) parts.push(imageGrid(o, place));
  else {
    const gap = o.cw >= 12 && o.ch >= 10 ? 1 : 0;
    for (let r = 0; r < o.rows; r++) for (let c = 0; c < o.cols; c++) parts.push(oneCell(o, r, c, place(c), gap));
  }
  const now = o.now || {};
  const frame = { fill: "none", stroke: theme(o.state).now, "stroke-width": 2 };
  if (now.row >= 0 && now.row !== null) parts.push(rect(o.x - 1, o.y + now.row * o.ch - 1, o.cw * o.cols + 1, o.ch + 1, joined(frame, { "data-now": "1" })));
  if (now.col >= 0 && now.col !== null) parts.push(rect(o.x + place(now.col) * o.cw - 1, o.y - 1, o.cw + 1, o.ch * o.rows + 1, frame));
  return parts.join("");
}

// ---- frame -----------------------------------------------------------------------------------------------------------

// o: x y w lo hi mode table label state [middle: number printed in the middle] -> bar of 10 px with numbers below, label above
export function legend(o) {
  const colours = theme(o.state);
  const parts = [text(o.x, o.y, o.label || "", { size: 12, fill: colours.soft })];
  const step = o.w / o.table.length;
  o.table.forEach((hex, i) => parts.push(rect(o.x + i * step, o.y + 12, step + 0.4, 10, { fill: hex, "shape-rendering": "crispEdges" })));
  parts.push(rect(o.x, o.y + 12, o.w, 10, { fill: "none", stroke: colours.line, "stroke-width": 1 }));
  parts.push(text(o.x, o.y + 34, o.lo, { size: 12, fill: colours.soft }));
  parts.push(text(o.x + o.w, o.y + 34, o.hi, { size: 12, fill: colours.soft, anchor: "end" }));
  if (o.middle !== undefined) parts.push(text(o.x + o.w / 2, o.y + 34, o.middle, { size: 12, fill: colours.soft, anchor: "middle" }));
  const range3 = o.middle === undefined ? [o.lo, o.hi, o.mode] : [o.lo, o.middle, o.hi, o.mode];
  return group({ "data-legend": range3.join(" ").trim() }, parts);
}

export function badge(x, y, string, key, state, anchor) {
  const colours = theme(state);
  const w = em(string) * 12 + 20;
  const left = anchor === "end" ? x - w : anchor === "middle" ? x - w / 2 : x;
  return group({ "data-badge": key }, [
    rect(left, y - 11, w, 22, { rx: 11, fill: colours.panel, stroke: colours.warm, "stroke-width": 1 }),
    text(left + w / 2, y, string, { size: 12, fill: colours.warm, anchor: "middle" }),
  ]);
}

export function sentence(trace) {
  const t = one(trace);
  const source = t.source && t.source.text ? isolate(t.source.text, t.source.dir) : "";
  return t.target && t.target.text ? [source, isolate(t.target.text, t.target.dir)].filter((part) => part).join("  →  ") : source;
}

export function describeModel(trace) {
  const t = one(trace);
  const checkpoint = t.model.weights_sha256 ? t.model.weights_sha256.slice(0, 12) : "none";
  return ["Model ", t.model.arch, ", checkpoint ", checkpoint, ", seed ", t.meta.seed, ", seqline ", t.meta.toolkit || "unknown", "."].join("");
}

export function box(meta, state) {
  const w = state.width || meta.size[0];
  const h = state.height || meta.size[1];
  return { x: 32, y: 84, w: w - 64, h: h - 84 - 44, width: w, height: h };
}

function titleLine(meta, trace, state, o) {
  return [say(state, meta.title.en, meta.title.zh), ["t ", o.t, "/", o.n].join(""), o.subtitle === undefined ? sentence(trace) : o.subtitle].join(" – ");
}

// o: body [strings], t, n, frame, desc, [subtitle string, notes [strings], caption string, data {attributes of the root}]
export function page(meta, trace, state, o) {
  const colours = theme(state);
  const area = box(meta, state);
  const subtitle = o.subtitle === undefined ? sentence(trace) : o.subtitle;
  const caption = o.caption || ["t = ", o.t, " / ", o.n].join("");
  const parts = [
    tag("title", {}, esc(titleLine(meta, trace, state, o))),
    tag("desc", {}, esc([o.desc, describeModel(trace)].join(" "))),
    rect(0, 0, area.width, area.height, { fill: colours.bg, "data-background": "1" }),
    text(32, 32, say(state, meta.title.en, meta.title.zh), { size: 20, fill: colours.ink }),
    text(32, 58, fit(subtitle, (area.width - 64) / 13), { size: 13, fill: colours.soft }),
    text(area.width - 32, 32, caption, { size: 16, fill: colours.accent, anchor: "end", attrs: { "data-caption": "1" } }),
  ];
  for (const part of o.body) parts.push(part);
  (o.notes || []).filter((note) => note).forEach((note, i) => parts.push(
    text(32, area.height - 18 - i * 16, fit(note, (area.width - 64) / 12), { size: 12, fill: colours.soft, attrs: { "data-note": "1" } })));
  const root = {
    xmlns: "http://www.w3.org/2000/svg", viewBox: ["0 0", xy(area.width), xy(area.height)].join(" "), width: area.width, height: area.height,
    role: "img", "font-family": [].concat(state.font).map((name) => ["'", name, "'"].join("")).join(", "), "data-view": meta.id,
    "data-t": o.t, "data-n": o.n, "data-frame": o.frame,
  };
  return tag("svg", joined(root, o.data), parts);
}

// ---- charts ----------------------------------------------------------------------------------------------------------
// seriesColour(k, state) · seriesDash(k) · marker(k, x, y, r, colour, inside) k-th shape · ticks(lo, hi, n) · powerOfTen(e) "10⁻³" · brief(v) 3 digits or 2·10⁻⁹
// keyRow(entries [{label, draw(x, y)} with 28 px for the sample], {x, y, state, size, gap}) -> one line of legend entries
// colourColumn({x, y, w, h, values, limit, state, attrs, c, image}) one state as a column of signed colours (the first COLUMN_UNITS; say so when more)
// writeTimes(trace, part, dir) position -> t · footLabels(list, plan, o) labels under columns

const HUES = {
  light: ["#1b5cb8", "#a84b00", "#6a3aa8", "#0b6b63", "#8a1c4a", "#505c70"],
  dark: ["#7fb4ff", "#ffb765", "#c9a6ff", "#5fd6c9", "#ff9fc0", "#aab6c9"],
  print: ["#003a80", "#7a3400", "#4a1f80", "#00504a", "#6b1238", "#333333"],
};
const DASHES = ["", "8 4", "2 4", "10 4 2 4", "5 2", "14 3"];
const RAISED = ["⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];
export const COLUMN_UNITS = 32;

export function seriesColour(k, state) {
  return (HUES[state.theme] || HUES.light)[k % 6];
}

export function seriesDash(k) {
  return DASHES[k % 6] || null;
}

export function marker(k, x, y, r, ink, inside) {
  const attrs = { fill: inside || ink, stroke: ink, "stroke-width": 1.5 };
  const shape = (points) => path(["M", points.map((p) => [xy(x + p[0] * r), xy(y + p[1] * r)].join(" ")).join(" L "), "Z"].join(" "), attrs);
  const kind = k % 6;
  if (kind === 0) return circle(x, y, r, attrs);
  if (kind === 1) return rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8, attrs);
  if (kind === 2) return shape([[0, -1.2], [1.1, 0.8], [-1.1, 0.8]]);
  if (kind === 3) return shape([[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]]);
  if (kind === 4) return shape([[0, 1.2], [1.1, -0.8], [-1.1, -0.8]]);
  return shape([[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]]);
}

export function ticks(lo, hi, n) {
  const raw = (hi - lo) / n || 1;
  const base = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((m) => m * base).filter((s) => s >= raw * 0.999)[0];
  const first = Math.ceil(lo / step - 1e-9);
  const list = [];
  for (let k = first; k * step <= hi + step * 1e-9; k++) list.push(k * step);
  return list;
}

export function powerOfTen(e) {
  return ["10", e < 0 ? "⁻" : "", Array.from(String(Math.abs(e))).map((d) => RAISED[Number(d)]).join("")].join("");
}

export function brief(v) {
  if (v === null || v === undefined || v !== v) return "–";
  if (v === 0) return "0";
  const e = Math.floor(Math.log10(Math.abs(v)) + 1e-9);
  if (e < -3 || e > 4) return [num(v / Math.pow(10, e), 1), "·", powerOfTen(e)].join("");
  const printed = num(v, clamp(2 - e, 0, 3));
  return printed.indexOf(".") < 0 ? printed : printed.replace(/\.?0+$/, "");
}

export function keyRow(entries, o) {
  const colours = theme(o.state);
  const size = o.size || 12;
  const parts = [];
  let x = o.x;
  for (const entry of entries) {
    parts.push(entry.draw(x, o.y), text(x + 34, o.y, entry.label, { size: size, fill: colours.soft }));
    x = x + 34 + em(entry.label) * size * 1.05 + (o.gap || 20);
  }
  return group({ "data-key": "1" }, parts);
}

export function colourColumn(o) {
  const n = Math.min(o.values.length, COLUMN_UNITS);
  const ch = o.h / n;
  const parts = [];
  if (o.image) {
    const indexes = range(n).map((r) => [signedIndex(o.values[r], o.limit)]);
    parts.push(tag("image", {
      x: o.x, y: o.y, width: o.w, height: o.h, preserveAspectRatio: "none", href: pngUri(indexes, DIVERGING), "image-rendering": "optimizeSpeed",
      style: "image-rendering:pixelated", "data-grid": [xy(o.x), xy(o.y), xy(o.w), xy(ch), n, 1].join(" "), "data-c": o.c,
    }));
  }
  for (let r = 0; r < n && !o.image; r++) {
    parts.push(rect(o.x, o.y + r * ch, o.w, ch + 0.3, { fill: signedColour(o.values[r], o.limit), "data-v": num(o.values[r], 4), "data-r": r, "data-c": o.c }));
  }
  parts.push(rect(o.x, o.y, o.w, o.h, { fill: "none", stroke: o.stroke || theme(o.state).line, "stroke-width": o.w < 8 ? 0.5 : o.width || 1 }));
  return group(o.attrs || {}, parts);
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

// Labels under a row of columns: each ends at its column. o: x, y (top), cw, size, state, now, also (a second current one), order; plan of columnPlan
export function footLabels(list, plan, o) {
  const colours = theme(o.state);
  const place = o.order || ((i) => i);
  const parts = [];
  for (let i = 0; i < list.length; i++) {
    const item = list[i];
    const isNow = o.now === i || o.also === i;
    const pinned = o.now !== undefined && o.now !== null && o.now >= 0;
    if (item.text === "" || (plan.every > 1 && !isNow && (i % plan.every !== 0 || (pinned && Math.abs(i - o.now) < plan.every)))) continue;
    const cx = o.x + (place(i) + (item.span || 1) / 2) * o.cw;
    const turned = plan.mode === 45 || plan.mode === 90;
    const label = plan.limit ? fit(item.text, plan.limit) : item.text;
    const look = { size: o.size, fill: isNow ? colours.now : item.faint ? colours.line : colours.ink, dir: item.dir };
    const attrs = labelAttrs("col", item, turned ? plan.mode : null, isNow);
    if (turned) parts.push(text(cx, o.y + o.size * 0.5, label, joined(look, { anchor: "end", rotate: -plan.mode, attrs: attrs })));
    else if (plan.mode === "stack") Array.from(label).forEach((c, k) => parts.push(text(cx, o.y + (k + 0.6) * o.size * 1.15, c, joined(look, { anchor: "middle", attrs: k ? {} : attrs }))));
    else parts.push(text(cx, o.y + o.size * 0.8, label, joined(look, { anchor: "middle", attrs: attrs })));
  }
  return parts.join("");
}

// ---- attention, in words ---------------------------------------------------------------------------------------------

export function axisName(state, axis) {
  if (axis === "source") return say(state, "source word", "源词");
  if (axis === "target.out") return say(state, "output word", "输出词");
  return axis === "sequence.out" ? say(state, "next word", "下一个词") : say(state, "earlier word", "前面的词");
}

export function kindName(state, kind) {
  if (kind === "cross") return say(state, "attention from output to source", "输出对源句的注意力");
  return kind === "encoder_self" ? say(state, "self-attention of the encoder", "编码器自注意力") : say(state, "self-attention of the decoder", "解码器自注意力");
}

export function reducedText(state) {
  return say(state, "reduced: mean and top 8", "已精简：平均与前 8 项");
}

// What to know before reading weights, as lines for `notes`.
export function attentionNotes(state, values, cols) {
  const first = say(state, "Weights show where the model read, not why.", "权重说明模型读了哪里，而非为什么。");
  const isMark = cols.map((col) => Boolean(col.special) || /^[\p{P}\p{S}]+$/u.test(col.text.replace(/^▁/, "")));
  const sinks = values.some((row) => row.some((v, c) => isMark[c] && v > 0.5));
  const sink = say(state, "Attention sink: a mark takes more than half of a row.", "注意力汇：某个符号占去一行的一半以上。");
  const notes = [sinks ? [first, sink].join("  ") : first];
  if (state.level === "word") notes.push(say(state, "Words: keys add up, queries average.", "按词：键求和，查询求平均。"));
  return notes;
}

// A count with a comma between thousands.
export function grouped(v) {
  const digits = Array.from(String(Math.abs(Math.round(v))));
  const parts = digits.map((c, i) => (i && (digits.length - i) % 3 === 0 ? [",", c].join("") : c));
  return [v < 0 ? "−" : "", parts.join("")].join("");
}
