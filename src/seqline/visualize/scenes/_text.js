// Numbers and text: printing, small sums over lists, hashes, escaping, direction, and how wide a text is.
//
// num(v, digits=3) printed number ("–" for null, never "-0.00") · xy(v) coordinate · brief(v) 3 digits or 2·10⁻⁹ · powerOfTen(e) "10⁻³"
// grouped(count) 12,345 · ticks(lo, hi, n) · clamp(v, lo, hi) · range(n) · sum maxOf minOf meanAbs argmax (lists)
// fnv(ints) hash of 16-bit integers · esc(value) for XML · isRtl(text) · isolate(text, dir)
// em(text) width in em · fit(text, maxEm) cut with … · wrap(text, maxEm) lines

// Advance widths of ASCII 32..126 in hundredths of an em, DejaVu Sans.
const WIDTHS = [
  32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 53,
  100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69, 61, 69, 39, 34, 39, 84, 50,
  50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84,
];
const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
export const WIDE = /[\u1100-\u115f\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]/;
const MARK = /[\u0300-\u036f\u064b-\u065f\u200b-\u200f\u2066-\u2069\ufe0e\ufe0f]/;

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

// FNV-1a, 32 bits, over each integer's two bytes, the low one first; 8 hexadecimal digits.
export function fnv(ints) {
  let h = 2166136261;
  for (let i = 0; i < ints.length; i++) {
    h = Math.imul(h ^ (ints[i] & 255), 16777619);
    h = Math.imul(h ^ ((ints[i] >> 8) & 255), 16777619);
  }
  return ["0000000", (h >>> 0).toString(16)].join("").slice(-8);
}

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\ufffd": "?", "\n": "⏎", "\r": "", "\t": "␣" };

export function esc(value) {
  // Control characters and lone surrogates are no XML.
  return String(value)
    .replace(/[&<>"\ufffd\n\r\t]/g, (c) => ESCAPES[c])
    .replace(/[\u0000-\u001f]/g, "")
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(^|[^\ud800-\udbff])[\udc00-\udfff]/g, "$1?");
}

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

const RAISED = ["⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];

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

// A count with a comma between thousands.
export function grouped(v) {
  const digits = Array.from(String(Math.abs(Math.round(v))));
  const parts = digits.map((c, i) => (i && (digits.length - i) % 3 === 0 ? [",", c].join("") : c));
  return [v < 0 ? "−" : "", parts.join("")].join("");
}
