// Positional encoding: the table as a map, four dimensions as curves, and how similar two positions are by their distance.
import { DIVERGING, inkOn, signedColour, signedIndex, theme } from "./_colour.js";
import { box, circle, group, keyRow, legend, line, marker, page, path, rect, text } from "./_draw.js";
import { heat } from "./_grid.js";
import { clamp, em, fit, maxOf, minOf, num, range, sum, ticks } from "./_text.js";
import { tokenLabel } from "./_tokens.js";
import { firstMissing, one, say, settle, withState } from "./_trace.js";

export const meta = {
  id: "pe",
  title: { en: "Positional encoding", zh: "位置编码" },
  needs: ["positions"],
  state: { row: null, dims: null },
  size: [960, 540],
};

const PE_ROWS = 4;
const PE_COLUMNS = 6;
const PE_MOST = 256;

function peAbsent(trace, s) {
  const kind = one(trace).model.positions;
  if (kind === "none") return say(s, "No positions block: this model adds no position.", "没有 positions 数据块：此模型不加位置（this model adds no position）。");
  if (kind === "rotary" || kind === "alibi" || kind === "relative") {
    return say(s, ["No positions block: positions are ", kind, ", they act inside attention and nothing is added to the vectors."].join(""),
      ["没有 positions 数据块：位置方式为 ", kind, "，在注意力内部起作用，向量上不加任何东西。"].join(""));
  }
  return say(s, "This trace has no positions block, which this view draws.", "此记录没有 positions 数据块，而本视图要画它。");
}

function peData(trace, s) {
  const block = one(trace).positions;
  const rows = block.table.slice(0, PE_MOST);
  const width = rows[0].length;
  const asked = (s.dims || []).filter((d) => d < width).slice(0, 4);
  const chosen = asked.length ? asked : [0, 1, Math.floor(width / 4), Math.floor(width / 2)].filter((d) => d < width);
  const dims = chosen.filter((d, i) => chosen.indexOf(d) === i);
  const p = clamp(s.row === null ? 0 : Math.round(s.row), 0, rows.length - 1);
  const limit = Math.max(1e-6, maxOf(rows.map((row) => maxOf(row.map(Math.abs)))));
  const dots = rows.map((row) => sum(row.map((v, d) => v * rows[p][d])));
  const place = block.used.indexOf(p);
  const tokens = one(trace).source.tokens;
  const word = place >= 0 && place < tokens.length ? tokenLabel(tokens[place], "word") : "";
  return { rows: rows, width: width, dims: dims, p: p, limit: limit > 0.999 && limit <= 1.001 ? 1 : limit, dots: dots, word: word, cut: block.table.length - rows.length };
}

function peMap(s, d, x, y, w, h) {
  const colours = theme(s);
  const ch = h / d.rows.length;
  const cw = w / d.width;
  const parts = [heat({ x: x, y: y, cw: cw, ch: ch, rows: d.rows.length, cols: d.width, value: (r, c) => d.rows[r][c], index: (v) => signedIndex(v, d.limit), table: DIVERGING, state: s, numbers: false })];
  const every = Math.max(1, Math.ceil(14 / ch));
  for (let r = 0; r < d.rows.length; r++) {
    const isNow = r === d.p;
    if (!isNow && (r % every !== 0 || Math.abs(r - d.p) < every)) continue;
    parts.push(text(x - 8, y + (r + 0.5) * ch, String(r), { size: 11, fill: isNow ? colours.now : colours.soft, anchor: "end", attrs: { "data-label": "row", "data-i": r } }));
  }
  const step = Math.max(1, Math.ceil(d.width / 8));
  for (let c = 0; c < d.width; c = c + step) parts.push(text(x + (c + 0.5) * cw, y - 9, String(c), { size: 11, fill: colours.soft, anchor: "middle" }));
  parts.push(rect(x - 1, y + d.p * ch - 1, w + 2, Math.max(3, ch + 1), { fill: "none", stroke: colours.now, "stroke-width": 2, "data-now": "1" }));
  return parts.join("");
}

function peNumbers(s, d, x, y, w) {
  const colours = theme(s);
  const first = clamp(d.p - 1, 0, Math.max(0, d.rows.length - PE_ROWS));
  const cols = Math.min(PE_COLUMNS, d.width);
  const cw = w / cols;
  const parts = [];
  for (let r = first; r < Math.min(d.rows.length, first + PE_ROWS); r++) {
    const top = y + (r - first) * 25;
    parts.push(text(x - 8, top + 12, String(r), { size: 11, fill: r === d.p ? colours.now : colours.soft, anchor: "end" }));
    for (let c = 0; c < cols; c++) {
      const fill = signedColour(d.rows[r][c], d.limit);
      parts.push(group({ "data-print": [r, c].join(" "), "data-v": num(d.rows[r][c], 4) }, [
        rect(x + c * cw, top, cw - 2, 23, { fill: fill, rx: 3 }),
        text(x + c * cw + cw / 2 - 1, top + 11.5, num(d.rows[r][c], 3), { size: 12, fill: inkOn(fill), anchor: "middle" }),
      ]));
    }
  }
  return parts.join("");
}

// Axes of a small chart: grid lines with numbers; returns the two scales and the marks.
function peAxes(s, o) {
  const colours = theme(s);
  const at = (v) => o.y + o.h - ((v - o.lo) / (o.hi - o.lo)) * o.h;
  const across = (v) => o.x + ((v - o.from) / Math.max(1, o.to - o.from)) * o.w;
  const parts = [];
  for (const v of ticks(o.lo, o.hi, 4)) {
    parts.push(line(o.x, at(v), o.x + o.w, at(v), { stroke: colours.faint, "stroke-width": 1 }));
    parts.push(text(o.x - 8, at(v), num(v, o.hi - o.lo < 4 ? 1 : 0), { size: 11, fill: colours.soft, anchor: "end" }));
  }
  for (const v of ticks(o.from, o.to, 6)) if (Math.round(v) === v) parts.push(text(across(v), o.y + o.h + 12, String(v), { size: 11, fill: colours.soft, anchor: "middle" }));
  return { at: at, across: across, parts: parts };
}

const PE_DASHES = [null, "6 3", "2 3", "9 3 2 3"];

function peCurves(s, d, x, y, w, h) {
  const colours = theme(s);
  const inks = [colours.accent, colours.attention, colours.decoder, colours.output];
  const axes = peAxes(s, { x: x, y: y, w: w, h: h, lo: -d.limit, hi: d.limit, from: 0, to: d.rows.length - 1 });
  const parts = axes.parts;
  parts.push(line(axes.across(d.p), y, axes.across(d.p), y + h, { stroke: colours.now, "stroke-width": 1.5 }));
  d.dims.forEach((c, k) => {
    const points = d.rows.map((row, p) => [p ? "L" : "M", axes.across(p), axes.at(row[c])]).reduce((all, each) => all.concat(each), []);
    parts.push(path(points, { stroke: inks[k], "stroke-width": 2, "stroke-dasharray": PE_DASHES[k], "data-dim": c }));
    parts.push(marker(k, axes.across(d.p), axes.at(d.rows[d.p][c]), 5, inks[k]));
  });
  const entries = d.dims.map((c, k) => ({
    label: say(s, ["dim ", c].join(""), ["维 ", c].join("")),
    draw: (kx, ky) => [line(kx, ky, kx + 28, ky, { stroke: inks[k], "stroke-width": 2, "stroke-dasharray": PE_DASHES[k] }), marker(k, kx + 14, ky, 4, inks[k])].join(""),
  }));
  parts.push(keyRow(entries, { x: x, y: y - 14, state: s, gap: 16 }));
  return parts.join("");
}

function peDots(s, d, x, y, w, h) {
  const colours = theme(s);
  const low = Math.min(0, minOf(d.dots));
  const high = Math.max(maxOf(d.dots), low + 1e-6);
  const axes = peAxes(s, { x: x, y: y, w: w, h: h, lo: low, hi: high, from: -d.p, to: d.rows.length - 1 - d.p });
  const parts = axes.parts;
  const points = d.dots.map((v, q) => [q ? "L" : "M", axes.across(q - d.p), axes.at(v)]).reduce((all, each) => all.concat(each), []);
  parts.push(path(points, { stroke: colours.accent, "stroke-width": 2 }));
  d.dots.forEach((v, q) => {
    if (d.rows.length <= 40 || q === d.p) parts.push(circle(axes.across(q - d.p), axes.at(v), q === d.p ? 5 : 3, { fill: q === d.p ? colours.now : colours.accent, "data-dot": q - d.p, "data-v": num(v, 4) }));
  });
  return parts.join("");
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const area = box(meta, s);
  const colours = theme(s);
  if (firstMissing(trace, meta.needs)) {
    const why = peAbsent(trace, s);
    const size = Math.min(16, (area.w - 40) / em(why));
    const body = [rect(area.x, area.y, area.w, area.h, { fill: colours.panel, rx: 10 }), text(area.x + area.w / 2, area.y + area.h / 2, why, { size: size, fill: colours.ink, anchor: "middle", attrs: { "data-missing": "positions" } })];
    return page(meta, trace, s, { body: body, t: 1, n: 1, frame: 0, desc: why });
  }
  const d = peData(trace, s);
  const x = area.x + 34;
  const right = area.x + 500;
  const heading = (left, top, string) => text(left, top, string, { size: 13, fill: colours.ink });
  const soft = (left, top, string, anchor) => text(left, top, string, { size: 12, fill: colours.soft, anchor: anchor });
  const body = [
    heading(x, area.y + 4, say(s, "position ↓   dimension →", "位置 ↓   维度 →")), peMap(s, d, x, area.y + 36, 400, 208),
    heading(x, area.y + 268, say(s, "the first dimensions in numbers", "前几维的数值")), peNumbers(s, d, x, area.y + 282, 400),
    heading(right - 30, area.y + 4, say(s, "value by position", "随位置变化的值")), peCurves(s, d, right, area.y + 46, 390, 118),
    soft(right + 390, area.y + 190, say(s, "position", "位置"), "end"),
    heading(right - 30, area.y + 214, say(s, ["PE(", d.p, ") · PE(q) by distance q − ", d.p].join(""), ["PE(", d.p, ") · PE(q)，按距离 q − ", d.p].join(""))),
    peDots(s, d, right, area.y + 234, 390, 104), soft(right + 390, area.y + 364, say(s, "distance", "距离"), "end"),
    legend({ x: right, y: area.y + 376, w: 220, lo: num(-d.limit, d.limit === 1 ? 0 : 2), hi: num(d.limit, d.limit === 1 ? 0 : 2), middle: "0", mode: "abs", table: DIVERGING, state: s, label: say(s, "colour: value of the encoding", "颜色：编码的值") }),
  ];
  const where = say(s, ["position ", d.p, d.word ? [" · “", d.word, "”"].join("") : ""].join(""), ["位置 ", d.p, d.word ? [" · “", d.word, "”"].join("") : ""].join(""));
  return page(meta, trace, s, {
    body: body, t: d.p + 1, n: d.rows.length, frame: d.p, desc: describe(trace, state), caption: fit(where, 24), subtitle: peFormula(trace, s, d),
    notes: [d.cut > 0 ? say(s, ["The first ", d.rows.length, " positions; ", d.cut, " more are not drawn."].join(""), ["只画前 ", d.rows.length, " 个位置，另有 ", d.cut, " 个。"].join("")) : ""],
  });
}

function peFormula(trace, s, d) {
  const kind = one(trace).model.positions;
  if (kind === "sinusoidal") return ["PE(p, 2i) = sin(p / 10000^(2i/D)),  PE(p, 2i+1) = cos(p / 10000^(2i/D)),  D = ", d.width].join("");
  return say(s, [kind, " positions, D = ", d.width].join(""), [kind === "learned" ? "学习得到的" : kind, "位置，D = ", d.width].join(""));
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return { columns: [], rows: [] };
  const d = peData(trace, s);
  const columns = [say(s, "position", "位置"), say(s, ["dot product with ", d.p].join(""), ["与 ", d.p, " 的点积"].join(""))].concat(range(d.width).map((c) => say(s, ["dim ", c].join(""), ["维 ", c].join(""))));
  return { columns: columns, rows: d.rows.map((row, p) => [p, d.dots[p]].concat(row)) };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return peAbsent(trace, s);
  const d = peData(trace, s);
  const ranked = range(d.rows.length).filter((q) => q !== d.p).sort((a, b) => d.dots[b] - d.dots[a] || a - b);
  const near = ranked.length ? say(s, [" Position ", ranked[0], " is the most similar to it."].join(""), ["位置 ", ranked[0], " 与它最相似。"].join("")) : "";
  return say(s, ["Position ", d.p, " adds a vector of ", d.width, " numbers.", near].join(""), ["位置 ", d.p, " 加上一个 ", d.width, " 维向量。", near].join(""));
}

export function frames(trace, state) {
  return firstMissing(trace, meta.needs) ? 1 : peData(trace, settle(meta, state)).rows.length;
}

export function stateAt(trace, state, k) {
  return withState(state, { row: k });
}
