// Colours: fixed ramps of 64 steps, the three themes, and the looks of the series of a chart.
//
// theme(state) {bg panel ink soft line faint accent accentInk warm now empty encoder attention decoder output bridge} · partColour(state, part)
// sequential(state) 64 colours · DIVERGING 64 colours · colour(table, u in 0..1) · colourIndex(u) 0..63 · signedColour(v, limit) · signedIndex(v, limit)
// scaled(v, mode, rowMax) abs|sqrt|row -> 0..1 · inkOn(colour) black or white · seriesColour(k, state) · seriesDash(k)
import { clamp } from "./_text.js";

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
const SEQUENTIAL = { viridis: RAMP_VIRIDIS, cividis: RAMP_CIVIDIS, greys: RAMP_GREYS };

export const DIVERGING = RAMP_DIVERGING;

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
  return u <= 0 ? 0 : u >= 1 ? 63 : Math.floor(u * 63 + 0.5);
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

export function seriesColour(k, state) {
  return (HUES[state.theme] || HUES.light)[k % 6];
}

export function seriesDash(k) {
  return DASHES[k % 6] || null;
}
