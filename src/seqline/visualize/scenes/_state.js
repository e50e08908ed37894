// What a state may hold. It comes from an address, a command line or a notebook: a value of a wrong kind falls back to the
// default instead of failing the drawing, and a number that counts something is rounded and never negative.
//
// wholeNumber(value, fallback, lo, hi) rounded and clamped; the fallback for what is no number
// soundValue(key, value, fallback, choices) the value as this key takes it, or the fallback; keys of no known kind pass
import { clamp } from "./_text.js";

const STATE_WHOLE = ["t", "beat", "row", "col", "unit", "layer", "head", "dir", "pos", "node", "k", "top", "horizon", "lookback", "a", "b"];
const STATE_WORDS = { head: ["mean", "max"], unit: ["mean"] };
const STATE_REAL = { temperature: [0, 1e6], cover: [0, 1], min: [0, 1], smooth: [0, 1] };
const STATE_FLAGS = ["pruned", "log", "summaries"];
const STATE_CHOICES = {
  theme: ["light", "dark", "print"], lang: ["en", "zh"], palette: ["viridis", "cividis", "greys"], level: ["piece", "word"],
  special: ["show", "grey", "hide"], scale: ["abs", "sqrt", "row"], order: ["auto", "ltr", "rtl"], pick: ["top", "cover", "min"],
  side: ["source", "target"], part: ["encoder", "decoder"], what: ["attention", "encoder.h", "decoder.h"],
};
const STATE_MOST = 1e9;

function realNumber(value) {
  const isText = typeof value === "string" && value.trim() !== "";
  const number = typeof value === "number" || isText ? Number(value) : NaN;
  return Number.isFinite(number) ? number : null;
}

export function wholeNumber(value, fallback, lo, hi) {
  const number = realNumber(value);
  return number === null ? fallback : clamp(Math.round(number), lo, hi);
}

function wholeList(value, fallback) {
  if (!Array.isArray(value)) return fallback;
  const list = value.map((each) => wholeNumber(each, -1, -1, STATE_MOST)).filter((each) => each >= 0);
  return list.length ? list : fallback;
}

function fontList(value, fallback) {
  const list = [].concat(value).filter((each) => typeof each === "string" && each);
  return list.length ? list : fallback;
}

export function soundValue(key, value, fallback, choices) {
  const words = choices || STATE_CHOICES[key];
  // In `lines` no row is a choice of its own.
  if (value === null) return key === "row" ? null : fallback;
  if (words) return words.indexOf(value) >= 0 ? value : fallback;
  if (STATE_WORDS[key] && STATE_WORDS[key].indexOf(value) >= 0) return value;
  if (STATE_WHOLE.indexOf(key) >= 0) return wholeNumber(value, fallback, 0, STATE_MOST);
  if (STATE_REAL[key]) {
    const number = realNumber(value);
    return number === null ? fallback : clamp(number, STATE_REAL[key][0], STATE_REAL[key][1]);
  }
  if (STATE_FLAGS.indexOf(key) >= 0) return value === true || value === 1 ? true : value === false || value === 0 ? false : fallback;
  if (key === "dims" || key === "strips") return wholeList(value, fallback);
  if (key === "font") return fontList(value, fallback);
  if (key === "attention") return typeof value === "string" ? value : fallback;
  return value;
}
