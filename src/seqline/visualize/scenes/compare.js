// Two traces side by side under one player, and where both hold the same words, their difference.

import { headCount, layerCount, pickBlock, pickMatrix } from "./_attention.js";
import { DIVERGING, colourIndex, sequential, signedIndex, theme } from "./_colour.js";
import { box, group, legend, missing, page, text } from "./_draw.js";
import { heat } from "./_grid.js";
import { brief, clamp, fit, maxOf, num, range } from "./_text.js";
import { aggregate, columnLabels, columnPlan, items, rowLabels } from "./_tokens.js";
import { has, many, producedBy, say, settle, stepCount, stepOf, withState, writeTimes } from "./_trace.js";

export const meta = {
  id: "compare",
  title: { en: "Two traces compared", zh: "比较两条记录" },
  needs: [],
  bundle: "only",
  state: { t: null, a: null, b: null, what: null, attention: null, layer: null, head: "mean", level: "word", special: "show", row: null, col: null },
  size: [960, 540],
};

const COMPARE_WHATS = ["attention", "encoder.h", "decoder.h"];

// The pair and the quantity: what was asked for, else the first pair that has attention, else states.
function comparePick(trace, s) {
  const all = many(trace);
  const whats = s.what ? [s.what] : COMPARE_WHATS;
  const [first, second] = [s.a, s.b].map((index) => (index === null ? null : Math.min(index, all.length - 1)));
  for (const what of whats) {
    for (let a = 0; a < all.length; a++) {
      for (let b = a + 1; b < all.length; b++) {
        const asked = (first === null || first === a || first === b) && (second === null || second === a || second === b);
        if (!asked || !has(all[a].trace, what) || !has(all[b].trace, what)) continue;
        const swap = first === b || second === a;
        return { what: what, a: swap ? all[b] : all[a], b: swap ? all[a] : all[b] };
      }
    }
  }
  return null;
}

function compareGap(trace, s) {
  if (many(trace).length < 2) return say(s, "second trace", "第二条记录");
  return comparePick(trace, s) ? null : s.what || COMPARE_WHATS.join("|");
}

// One side: a matrix with its labels, and how much of it is written at t.
function compareSide(each, what, s) {
  const t = each.trace;
  const now = stepOf(t, s);
  if (what === "attention") {
    const block = pickBlock(t, s);
    const rows = items(t, block.query, s);
    const cols = items(t, block.key, s);
    const place = withState(s, { layer: s.layer === null ? null : Math.min(s.layer, layerCount(block) - 1), head: s.head === "mean" || s.head === "max" ? s.head : Math.min(s.head, headCount(block) - 1) });
    const chosen = pickMatrix(block, place);
    const before = block.query === "sequence.out" ? t.source.tokens.length - 1 : 0;
    const done = block.query === "source" ? Infinity : before + producedBy(t, now);
    return { name: each.label, note: chosen.label, rows: rows, cols: cols, values: aggregate(chosen.values, rows, cols), known: (r) => rows[r].idx[rows[r].idx.length - 1] < done };
  }
  const part = what.split(".")[0];
  const h = t[part].h;
  const layer = s.layer === null ? h.length - 1 : clamp(s.layer, 0, h.length - 1);
  const states = part === "encoder" ? h[layer][0] : h[layer];
  const cols = items(t, part === "encoder" ? "source" : "target.out", withState(s, { level: "piece", special: "show" })).slice(0, states.length);
  const rows = range(states[0].length).map((u) => ({ i: u, text: String(u), w: 1.3, dir: "ltr", span: 1, idx: [u] }));
  const times = writeTimes(t, part, part === "encoder" ? "forward" : null);
  return { name: each.label, note: say(s, ["layer ", layer + 1].join(""), ["第 ", layer + 1, " 层"].join("")), rows: rows, cols: cols, values: rows.map((_, u) => states.map((state) => state[u])), known: (r, c) => times(c) <= now };
}

function compareSameWords(a, b) {
  return a.length === b.length && a.every((item, i) => item.text === b[i].text);
}

function compareData(trace, s) {
  const pick = comparePick(trace, s);
  const a = compareSide(pick.a, pick.what, s);
  const b = compareSide(pick.b, pick.what, s);
  const rowsSame = compareSameWords(a.rows, b.rows);
  const colsSame = compareSameWords(a.cols, b.cols);
  const d = { what: pick.what, first: pick.a.trace, a: a, b: b, same: rowsSame && colsSame, signed: pick.what !== "attention", diff: null, limit: 1 };
  d.why = d.same ? "" : d.signed && colsSame ? say(s, "No difference map: the two traces have different numbers of units.", "无差值图：两条记录的单元数不同。")
    : say(s, "No difference map: the two traces have different tokens.", "无差值图：两条记录的词元不同。");
  if (d.same) {
    d.diff = a.values.map((row, r) => row.map((v, c) => v - b.values[r][c]));
    d.limit = maxOf(d.diff.map((row) => maxOf(row.map(Math.abs)))) || 1;
  }
  d.bound = d.signed ? Math.max(1, maxOf(a.values.concat(b.values).map((row) => maxOf(row.map(Math.abs))))) : 1;
  return d;
}

function comparePanel(d, s, o) {
  const colours = theme(s);
  const side = o.side;
  const signed = o.diff || d.signed;
  return group({ "data-panel": o.key }, [
    text(o.x, o.top, fit(o.title, (o.w - 4) / 15), { size: 15, fill: colours.ink }),
    text(o.x, o.top + 19, fit(o.note || "", (o.w - 4) / 12), { size: 12, fill: colours.soft }),
    columnLabels(side.cols, o.plan, { x: o.gx, y: o.y - 2, cw: o.cw, size: o.size, state: s, now: s.col, order: o.order }),
    o.labels ? rowLabels(side.rows, { x: o.gx - 8, y: o.y, ch: o.ch, size: o.size, state: s, now: s.row, maxEm: 7 }) : "",
    heat({
      x: o.gx, y: o.y, cw: o.cw, ch: o.ch, rows: side.rows.length, cols: side.cols.length, table: signed ? DIVERGING : sequential(s), state: s, order: o.order,
      value: (r, c) => (side.known(r, c) ? o.values[r][c] : null), index: (v) => (signed ? signedIndex(v, o.limit) : colourIndex(v)),
      numbers: o.cw >= 36, now: { row: s.row, col: s.col },
    }),
  ]);
}

function comparePanels(d, s) {
  const area = box(meta, s);
  const size = 13;
  const count = d.diff ? 3 : 2;
  const gap = 28;
  const labelled = (k) => k === 0 || !d.diff;
  const widest = (side) => clamp(maxOf(side.rows.map((item) => item.w)) * size + 14, 22, 7 * size + 14);
  const sides = [d.a, d.b].concat(d.diff ? [d.a] : []);
  const labels = sides.map((side, k) => (labelled(k) ? widest(side) : 0));
  const total = labels.reduce((x, y) => x + y, 0) + gap * (count - 1);
  const columns = Math.max(d.a.cols.length, d.b.cols.length);
  const rows = Math.max(d.a.rows.length, d.b.rows.length);
  const cw = clamp((area.w - total) / (count * columns), 5, 90);
  const plans = sides.map((side) => columnPlan(side.cols, cw, size, 84));
  const head = 30 + maxOf(plans.map((plan) => plan.height));
  const ch = clamp((area.h - head - 62) / rows, 5, 52);
  const parts = [];
  let x = area.x;
  const rtl = d.first.source.dir === "rtl";
  const kinds = ["a", "b", "diff"];
  const titles = [d.a.name, d.b.name, [d.a.name, " − ", d.b.name].join("")];
  const notes = [d.a.note, d.b.note, say(s, "orange: the first is higher", "橙色：前者更大")];
  sides.forEach((side, k) => {
    const gx = x + labels[k];
    const w = labels[k] + cw * side.cols.length;
    const order = rtl ? (c) => side.cols.length - 1 - c : null;
    parts.push(comparePanel(d, s, { key: kinds[k], x: gx, gx: gx, w: cw * side.cols.length, top: area.y + 8, y: area.y + 8 + head, cw: cw, ch: ch, side: side, plan: plans[k], size: size, order: order,
      labels: labelled(k), title: titles[k], note: notes[k], values: k === 2 ? d.diff : side.values, diff: k === 2, limit: k === 2 ? d.limit : d.bound }));
    x = x + w + gap;
  });
  return { svg: parts.join(""), width: Math.max(area.width, x - gap + 32), bottom: area.y + 8 + head + ch * rows };
}

function compareLegends(d, s, width, y) {
  const value = d.signed ? { lo: ["−", brief(d.bound)].join(""), middle: "0", hi: brief(d.bound), mode: "", table: DIVERGING } : { lo: "0", hi: "1", mode: "abs", table: sequential(s) };
  const name = d.signed ? say(s, "state h", "状态 h") : say(s, "attention weight", "注意力权重");
  const parts = [legend(withState(value, { x: 32, y: y, w: 200, label: name, state: s }))];
  if (d.diff) parts.push(legend({ x: width - 232, y: y, w: 200, lo: ["−", brief(d.limit)].join(""), middle: "0", hi: brief(d.limit), mode: "", table: DIVERGING, label: say(s, "difference", "差值"), state: s }));
  else parts.push(text(260, y + 17, d.why, { size: 14, fill: theme(s).warm, attrs: { "data-why": "1" } }));
  return parts.join("");
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = compareGap(trace, s);
  if (gap) return missing(meta, trace, s, gap);
  const d = compareData(trace, s);
  const panels = comparePanels(d, s);
  const height = Math.max(box(meta, s).height, panels.bottom + 66);
  const body = [panels.svg, compareLegends(d, s, panels.width, height - 52)];
  const n = stepCount(d.first);
  const t = stepOf(d.first, s);
  return page(meta, d.first, withState(s, { width: panels.width, height: height }), { body: body, t: t, n: n, frame: t - 1, desc: describe(trace, s) });
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (compareGap(trace, s)) return { columns: [], rows: [] };
  const d = compareData(trace, s);
  const rows = [];
  const sides = d.diff ? [d.a] : [d.a, d.b];
  for (const side of sides) {
    side.rows.forEach((row, r) => side.cols.forEach((col, c) => rows.push([side === d.a ? d.a.name : d.b.name, row.text, col.text, side.values[r][c]].concat(d.diff ? [d.b.values[r][c], d.diff[r][c]] : []))));
  }
  return { columns: ["trace", "row", "column", "value"].concat(d.diff ? [d.b.name, "difference"] : []), rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  if (compareGap(trace, s)) return say(s, "Comparing takes two traces with the same kind of values.", "比较需要两条含同类数值的记录。");
  const d = compareData(trace, s);
  const tail = d.diff ? say(s, [" Largest difference: ", num(d.limit, 3), "."].join(""), ["最大差值：", num(d.limit, 3), "。"].join("")) : [" ", d.why].join("");
  return [say(s, [d.what, " of ", d.a.name, " and ", d.b.name, "."].join(""), [d.a.name, " 与 ", d.b.name, " 的 ", d.what, "。"].join("")), tail].join("");
}

export function frames(trace, state) {
  const s = settle(meta, state);
  return compareGap(trace, s) ? 1 : stepCount(comparePick(trace, s).a.trace);
}

export function stateAt(trace, state, k) {
  return withState(settle(meta, state), { t: k + 1 });
}
