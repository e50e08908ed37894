// Alignment heatmap: each produced word is a row, each word that could be read a column, depth is the attention weight.
import { hiddenMass, pickBlock, pickMatrix, sinkIn } from "./_attention.js";
import { colourIndex, scaled, sequential, theme } from "./_colour.js";
import { badge, box, group, legend, line, missing, page, rect, text } from "./_draw.js";
import { heat } from "./_grid.js";
import { clamp, fit, maxOf, num, range, sum } from "./_text.js";
import { aggregate, columnLabels, columnPlan, items, rowLabels } from "./_tokens.js";
import { firstMissing, producedBy, say, settle, stepCount, stepOf, tOfOutput, withState } from "./_trace.js";

export const meta = {
  id: "align",
  title: { en: "Alignment: which word is read", zh: "对齐：读了哪个词" },
  needs: ["attention"],
  state: { t: null, attention: null, layer: null, head: 0, level: "piece", scale: "abs", special: "show", row: null, col: null, order: "auto" },
  size: [960, 540],
};

const ALIGN_PANEL = 236;
const ALIGN_SIZE = 14;

function alignFits(trace, block) {
  return block.query === "source" ? 0 : block.query === "sequence.out" ? trace.source.tokens.length - 1 : 0;
}

// All that the figure, the table and the sentence share: labels, values and which rows are written at step t.
function alignData(trace, s) {
  const block = pickBlock(trace, s);
  const chosen = pickMatrix(block, s);
  const rows = items(trace, block.query, s);
  const fed = items(trace, block.query_in, withState(s, { special: "show" }));
  const cols = items(trace, block.key, s);
  const values = aggregate(chosen.values, rows, cols);
  const done = block.query === "source" ? Infinity : alignFits(trace, block) + producedBy(trace, stepOf(trace, s));
  const shown = rows.filter((row) => row.idx[row.idx.length - 1] < done).length;
  const now = s.row === null || s.row === undefined ? (block.query === "source" ? -1 : shown - 1) : clamp(s.row, 0, rows.length - 1);
  const masked = (r, c) => Boolean(block.mask) && rows[r].idx.every((q) => cols[c].idx.every((m) => !block.mask[q][m]));
  return { block: block, chosen: chosen, rows: rows, fed: fed, cols: cols, values: values, shown: shown, now: now, masked: masked };
}

function alignFed(d, r) {
  const first = d.rows[r].idx[0];
  const found = d.fed.filter((item) => item.idx.indexOf(first) >= 0);
  return found.length ? found[0] : { text: "", w: 0, dir: "neutral" };
}

function alignRtl(trace, s, d) {
  if (s.order === "ltr" || s.order === "rtl") return s.order === "rtl";
  return d.block.key === "source" || d.block.key === "sequence" ? trace.source.dir === "rtl" : trace.target.dir === "rtl";
}

function alignPlan(trace, s, d, area) {
  const rtl = alignRtl(trace, s, d);
  const cap = 11;
  const label = (list) => Math.min(cap, maxOf(list.map((item) => item.w).concat([2]))) * ALIGN_SIZE;
  const rowWidth = label(d.rows) + 16;
  const fedWidth = label(range(d.rows.length).map((r) => alignFed(d, r))) * 0.8 + 18;
  const dense = (area.h - 120) / Math.max(1, d.rows.length) < 14;
  const side = rowWidth + (dense ? 0 : fedWidth);
  const sumWidth = dense ? 12 : 66;
  const room = area.w - ALIGN_PANEL - 28 - side - sumWidth;
  const cw = clamp(room / Math.max(1, d.cols.length), 6, 108);
  const plan = columnPlan(d.cols, cw, ALIGN_SIZE, 120);
  const top = area.y + 22 + plan.height;
  const ch = clamp((area.y + area.h - top - 8) / Math.max(1, d.rows.length), 6, 64);
  const gridWidth = cw * d.cols.length;
  const x = rtl ? area.x + sumWidth + (plan.mode === 45 ? 20 : 0) : area.x + side;
  return { rtl: rtl, rowWidth: rowWidth, fedWidth: fedWidth, side: side, sumWidth: sumWidth, cw: cw, ch: ch, x: x, y: top, plan: plan, cap: cap,
    gridWidth: gridWidth, gridHeight: ch * d.rows.length, height: top + ch * d.rows.length + 60,
    width: Math.max(x + gridWidth + (rtl ? side : sumWidth), area.x) + Math.max(28, plan.right - (rtl ? side : sumWidth)) + ALIGN_PANEL + 32 };
}

function alignSums(d, p, s) {
  const parts = [];
  if (p.ch < 14) return parts;
  for (let r = 0; r < d.shown; r++) {
    const total = sum(d.values[r]);
    const x = p.rtl ? p.x - 14 : p.x + p.gridWidth + 14;
    const hidden = s.special === "hide" ? hiddenMass(d.values[r]) : 0;
    const shown = hidden > 0.005 ? ["−", num(hidden, 2)].join("") : ["Σ ", num(total, 2)].join("");
    parts.push(text(x, p.y + (r + 0.5) * p.ch, shown, {
      size: 12, fill: hidden > 0.005 ? theme(s).warm : theme(s).soft, anchor: p.rtl ? "end" : "start",
      attrs: { "data-badge": hidden > 0.005 ? "hidden" : "sum", "data-i": r, "data-sum": num(total, 4) },
    }));
  }
  return parts;
}

function alignFedLabels(d, p, s) {
  const x = p.rtl ? p.x + p.gridWidth + p.side : p.x - p.side + 4;
  const parts = [];
  for (let r = 0; r < d.rows.length && p.ch >= 14; r++) {
    const item = alignFed(d, r);
    parts.push(text(x, p.y + (r + 0.5) * p.ch, fit(item.text, p.cap), {
      size: 11, fill: theme(s).soft, anchor: p.rtl ? "end" : "start", dir: item.dir, attrs: { "data-fed": r },
    }));
  }
  return parts;
}

function alignTitles(d, p, s, area) {
  const writes = d.block.query === "source" ? say(s, "source word ↓ reads", "源词 ↓ 读") : say(s, "output word ↓ reads", "输出词 ↓ 读");
  const reads = d.block.key === "source" ? say(s, "source word →", "源词 →") : say(s, "earlier word →", "前面的词 →");
  const x = p.rtl ? p.x + p.gridWidth : p.x;
  const y = area.y + 6;
  const parts = [text(x, y, [writes, " ", reads].join(""), { size: 12, fill: theme(s).soft, anchor: p.rtl ? "end" : "start" })];
  if (p.ch < 14) return parts;
  const fed = say(s, "fed in", "输入");
  parts.push(text(p.rtl ? p.x + p.gridWidth + p.side : p.x - p.side + 4, p.y - 11, fed, { size: 11, fill: theme(s).soft, anchor: p.rtl ? "end" : "start" }));
  return parts;
}

function alignRanked(d, r) {
  return range(d.cols.length).sort((a, b) => d.values[r][b] - d.values[r][a] || a - b);
}

function alignPanel(d, s, x, y, w) {
  const colours = theme(s);
  const parts = [];
  const table = sequential(s);
  const modes = { abs: say(s, "weight 0 to 1", "权重 0 到 1"), sqrt: say(s, "square root of the weight", "权重的平方根"), row: say(s, "scaled per row", "按行缩放") };
  parts.push(legend({ x: x, y: y + 6, w: w, lo: "0", hi: "1", mode: s.scale, table: table, label: modes[s.scale] || modes.abs, state: s }));
  let at = y + 66;
  if (d.chosen.label) {
    parts.push(text(x, at, [d.block.name, ": ", d.chosen.label].join(""), { size: 13, fill: colours.ink, attrs: { "data-badge": "head" } }));
    at = at + 30;
  }
  if (d.chosen.reduced) {
    parts.push(badge(x, at, say(s, "reduced: mean and top 8", "已精简：平均与前 8 项"), "reduced", s));
    at = at + 34;
  }
  if (d.now < 0 || d.now >= d.shown) return parts.join("");
  parts.push(line(x, at - 6, x + w, at - 6, { stroke: colours.faint, "stroke-width": 1 }));
  parts.push(text(x, at + 16, say(s, "writes", "写出"), { size: 12, fill: colours.soft }));
  parts.push(text(x, at + 40, fit(d.rows[d.now].name, w / 20), { size: 20, fill: colours.now, dir: d.rows[d.now].dir }));
  parts.push(text(x, at + 70, say(s, "reads most", "主要读取"), { size: 12, fill: colours.soft }));
  alignRanked(d, d.now).slice(0, 5).forEach((c, k) => {
    const v = d.values[d.now][c];
    const cy = at + 96 + k * 30;
    parts.push(rect(x, cy + 9, w, 4, { fill: colours.faint, rx: 2 }));
    parts.push(rect(x, cy + 9, w * clamp(v, 0, 1), 4, { fill: colours.attention, rx: 2 }));
    parts.push(text(x, cy - 2, fit(d.cols[c].name, 12), { size: 14, fill: colours.ink, dir: d.cols[c].dir }));
    parts.push(text(x + w, cy - 2, num(v, 2), { size: 14, fill: colours.ink, anchor: "end" }));
  });
  return parts.join("");
}

function alignNotes(d, s) {
  const notes = [say(s, "Weights show where the model read, not why.", "权重说明模型读了哪里，而非为什么。")];
  if (sinkIn(d.values.slice(0, d.shown), d.rows, d.cols)) notes[0] = [notes[0], say(s, "Attention sink: a mark takes more than half of a row.", "注意力汇：某个符号占去一行的一半以上。")].join("  ");
  if (s.special === "hide") {
    const hidden = d.shown ? sum(range(d.shown).map((r) => hiddenMass(d.values[r]))) / d.shown : 0;
    notes.push(say(s, ["Special marks are hidden: hidden mass ", num(hidden, 2), " a row, nothing renormalised."].join(""),
      ["特殊符号已隐藏：每行隐藏质量 ", num(hidden, 2), "，未重新归一化。"].join("")));
  }
  if (s.level === "word") notes.push(say(s, "Words: keys add up, queries average.", "按词：键求和，查询求平均。"));
  return notes;
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const d = alignData(trace, s);
  const area = box(meta, s);
  const p = alignPlan(trace, s, d, area);
  const grown = withState(s, { width: Math.max(area.width, p.width), height: Math.max(area.height, p.height) });
  const order = p.rtl ? (c) => d.cols.length - 1 - c : null;
  const rowMax = d.values.map((row) => maxOf(row));
  const body = alignTitles(d, p, s, area);
  body.push(columnLabels(d.cols, p.plan, { x: p.x, y: p.y - 2, cw: p.cw, size: ALIGN_SIZE, state: s, now: s.col === null ? -1 : s.col, order: order }));
  body.push(rowLabels(d.rows, { x: p.rtl ? p.x + p.gridWidth + 12 : p.x - 12, y: p.y, ch: p.ch, size: Math.min(ALIGN_SIZE, Math.max(10, p.ch * 0.8)), state: s,
    anchor: p.rtl ? "start" : "end", now: d.now, maxEm: p.cap }));
  body.push(group({ opacity: 0.9 }, alignFedLabels(d, p, s)));
  body.push(heat({ x: p.x, y: p.y, cw: p.cw, ch: p.ch, rows: d.rows.length, cols: d.cols.length, table: sequential(s), state: s, order: order,
    value: (r, c) => (r < d.shown ? d.values[r][c] : null), index: (v, r) => colourIndex(scaled(v, s.scale, rowMax[r])),
    masked: d.masked, faint: (r, c) => d.cols[c].faint, now: { row: d.now < d.shown ? d.now : -1, col: s.col === null ? -1 : s.col } }));
  for (const part of alignSums(d, p, s)) body.push(part);
  body.push(alignPanel(d, s, grown.width - 32 - ALIGN_PANEL, area.y, ALIGN_PANEL));
  const t = stepOf(trace, s);
  return page(meta, trace, grown, { body: body, t: t, n: stepCount(trace), frame: Math.max(0, d.shown - 1), desc: describe(trace, s), notes: alignNotes(d, s) });
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return { columns: [], rows: [] };
  const d = alignData(trace, s);
  const columns = [say(s, "output", "输出"), say(s, "fed in", "输入")].concat(d.cols.map((item) => item.text), [say(s, "sum", "和")]);
  const rows = range(d.shown).map((r) => [d.rows[r].text, alignFed(d, r).text].concat(d.values[r], [sum(d.values[r])]));
  return { columns: columns, rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return say(s, ["This trace has no ", gap, " block."].join(""), ["此记录没有 ", gap, " 数据块。"].join(""));
  const d = alignData(trace, s);
  if (d.now < 0 || d.now >= d.shown) return say(s, "Each row is a word, each column a word it may read.", "每行一个词，每列是它可以读的词。");
  const best = alignRanked(d, d.now)[0];
  const writes = d.rows[d.now].name;
  const reads = d.cols[best].name;
  const share = num(d.values[d.now][best], 2);
  return say(s, ["The output “", writes, "” reads “", reads, "” most, with weight ", share, "."].join(""),
    ["输出“", writes, "”主要读取“", reads, "”，权重 ", share, "。"].join(""));
}

export function frames(trace, state) {
  if (firstMissing(trace, meta.needs)) return 1;
  const block = pickBlock(trace, settle(meta, state));
  return block.query === "source" ? 1 : Math.max(1, trace.target.tokens.length);
}

export function stateAt(trace, state, k) {
  return withState(state, { t: tOfOutput(trace, k) });
}
