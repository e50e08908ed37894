// The inner loss: a layer whose memory W is itself trained, one gradient step a token, while it reads.

import { DIVERGING, signedIndex, theme } from "./_colour.js";
import { box, circle, group, keyRow, legend, line, missing, page, rect, tag, text } from "./_draw.js";
import { heat } from "./_grid.js";
import { brief, clamp, maxOf, num, range } from "./_text.js";
import { columnPlan, footLabels, items } from "./_tokens.js";
import { firstMissing, one, say, settle, withState } from "./_trace.js";

export const meta = {
  id: "ttt",
  title: { en: "A memory that learns while it reads", zh: "边读边学的记忆" },
  needs: ["ttt"],
  state: { t: null },
  size: [960, 540],
};

const TTT_TALL = 166;

function tttTokens(trace) {
  const t = one(trace).ttt;
  const n = t.loss_before.length;
  const out = one(trace).target ? "target.in" : "source";
  for (const axis of [t.where === "encoder" ? "source" : out, "sequence", "source", out]) {
    if (axis !== "source" && !one(trace).target) continue;
    const list = items(trace, axis, { level: "piece", special: "show" });
    if (list.length === n) return list;
  }
  return range(n).map((i) => ({ i: i, text: String(i + 1), w: 1.5, dir: "ltr", span: 1 }));
}

function tttData(trace, s) {
  const t = one(trace).ttt;
  const n = t.loss_before.length;
  const now = s.t === null ? n - 1 : clamp(Math.round(s.t), 1, n) - 1;
  let limit = 0;
  let change = 0;
  if (t.w) {
    for (const w of t.w) for (const row of w) for (const v of row) limit = Math.max(limit, Math.abs(v));
    range(n).forEach((i) => t.w[i].forEach((row, r) => row.forEach((v, c) => { change = Math.max(change, Math.abs(t.w[i + 1][r][c] - v)); })));
  }
  return { t: t, n: n, now: now, tokens: tttTokens(trace), limit: limit || 1, change: change || 1, fell: range(n).map((i) => t.loss_after[i] <= t.loss_before[i]) };
}

function tttMatrix(d, s, o) {
  const colours = theme(s);
  const rows = o.values.length;
  const cols = o.values[0].length;
  const cell = Math.min(TTT_TALL / rows, TTT_TALL / cols);
  return group(o.attrs, [
    text(o.x, o.y - 12, o.label, { size: 13, fill: colours.ink }),
    heat({ x: o.x, y: o.y, cw: cell, ch: cell, rows: rows, cols: cols, table: DIVERGING, state: s, numbers: false, value: (r, c) => o.values[r][c], index: (v) => signedIndex(v, o.limit) }),
    rect(o.x, o.y, cell * cols, cell * rows, { fill: "none", stroke: o.stroke || colours.line, "stroke-width": o.stroke ? 2 : 1 }),
  ]);
}

// W before, the change that this token makes, W after.
function tttMemory(d, s) {
  const colours = theme(s);
  const y = box(meta, s).y + 28;
  const w = d.t.w;
  if (!w) return text(32, y + 40, say(s, "W itself was not recorded; its norms are below.", "未记录 W 本身；其范数见下。"), { size: 14, fill: colours.soft });
  const before = w[d.now];
  const after = w[d.now + 1];
  const delta = after.map((row, r) => row.map((v, c) => v - before[r][c]));
  const wide = TTT_TALL * Math.min(1, before[0].length / before.length);
  const gap = 54;
  const xs = [32, 32 + wide + gap, 32 + 2 * (wide + gap)];
  const mid = y + TTT_TALL / 2;
  return [
    tttMatrix(d, s, { x: xs[0], y: y, values: before, limit: d.limit, label: say(s, "W before", "更新前 W"), attrs: { "data-w": String(d.now) } }),
    text(xs[1] - gap / 2, mid, "+", { size: 24, fill: colours.soft, anchor: "middle" }),
    tttMatrix(d, s, { x: xs[1], y: y, values: delta, limit: d.change, label: say(s, "change −η·∇", "变化 −η·∇"), attrs: { "data-dw": String(d.now) } }),
    text(xs[2] - gap / 2, mid, "=", { size: 24, fill: colours.soft, anchor: "middle" }),
    tttMatrix(d, s, { x: xs[2], y: y, values: after, limit: d.limit, label: say(s, "W after", "更新后 W"), stroke: colours.now, attrs: { "data-w": String(d.now + 1), "data-now": "1" } }),
  ].join("");
}

function tttNumbers(d, s) {
  const colours = theme(s);
  const area = box(meta, s);
  const x = area.x + area.w - 214;
  const y = area.y + 28;
  const item = d.tokens[d.now];
  const fell = d.fell[d.now];
  const facts = [
    [say(s, "inner loss before", "内部损失，前"), brief(d.t.loss_before[d.now])], [say(s, "inner loss after", "内部损失，后"), brief(d.t.loss_after[d.now])],
    [say(s, "step η", "步长 η"), brief(d.t.eta[d.now])], ["‖ΔW‖", brief(d.t.dw_norm[d.now])], ["‖W‖", brief(d.t.w_norm[d.now])],
  ];
  const parts = [
    rect(x, y, 214, TTT_TALL, { rx: 10, fill: colours.panel }),
    text(x + 14, y + 20, item.text || "·", { size: 16, fill: colours.now, dir: item.dir }),
    text(x + 200, y + 20, [fell ? "✓ " : "✗ ", fell ? say(s, "loss fell", "损失下降") : say(s, "loss rose", "损失上升")].join(""), { size: 13, fill: fell ? colours.accent : colours.warm, anchor: "end" }),
  ];
  facts.forEach((fact, i) => {
    parts.push(text(x + 14, y + 48 + i * 24, fact[0], { size: 13, fill: colours.soft }), text(x + 200, y + 48 + i * 24, fact[1], { size: 14, fill: colours.ink, anchor: "end" }));
  });
  return parts.join("");
}

// A column a token: the loss before (hollow) and after (filled), the mark, the change's norm as a bar.
function tttTokensRow(d, s) {
  const colours = theme(s);
  const area = box(meta, s);
  const x = area.x + 58;
  const cw = clamp((area.w - 58) / d.n, 8, 110);
  const top = area.y + TTT_TALL + 66;
  const tall = 66;
  const bars = 26;
  const high = maxOf(d.t.loss_before.concat(d.t.loss_after)) || 1;
  const most = maxOf(d.t.dw_norm) || 1;
  const py = (v) => top + tall * (1 - v / high);
  const base = top + tall + 14 + bars;
  const parts = [
    text(x - 10, top, brief(high), { size: 12, fill: colours.soft, anchor: "end" }), text(x - 10, top + tall, "0", { size: 12, fill: colours.soft, anchor: "end" }),
    text(x - 10, base - bars / 2, "‖ΔW‖", { size: 12, fill: colours.soft, anchor: "end" }),
    line(x, top, x + cw * d.n, top, { stroke: colours.faint }), line(x, top + tall, x + cw * d.n, top + tall, { stroke: colours.line }),
    rect(x + d.now * cw, top - 12, cw, base - top + 14, { fill: colours.panel, rx: 4 }),
  ];
  const every = Math.ceil(16 / cw);
  const r = clamp(cw * 0.16, 1.5, 4.5);
  d.tokens.forEach((item, i) => {
    const shown = i <= d.now;
    const cx = x + (i + 0.5) * cw;
    const mark = i === d.now || (i % every === 0 && Math.abs(i - d.now) >= every);
    const word = d.fell[i] ? say(s, "loss fell", "损失下降") : say(s, "loss rose", "损失上升");
    const own = [tag("title", {}, [d.fell[i] ? "✓ " : "✗ ", word].join(""))];
    if (shown) {
      const ink = d.fell[i] ? colours.accent : colours.warm;
      own.push(line(cx, py(d.t.loss_before[i]), cx, py(d.t.loss_after[i]), { stroke: ink, "stroke-width": 2 }));
      own.push(circle(cx, py(d.t.loss_before[i]), r, { fill: colours.bg, stroke: ink, "stroke-width": 1.5 }), circle(cx, py(d.t.loss_after[i]), r, { fill: ink }));
      if (mark) own.push(text(cx, top - 22, d.fell[i] ? "✓" : "✗", { size: 13, fill: ink, anchor: "middle" }));
      const h = (d.t.dw_norm[i] / most) * bars;
      own.push(rect(cx - cw * 0.28, base - h, cw * 0.56, h, { fill: i === d.now ? colours.now : colours.soft, "data-dw-norm": num(d.t.dw_norm[i], 4) }));
    }
    parts.push(group({ "data-token": String(i), "data-fell": d.fell[i] ? "1" : "0", "data-before": num(d.t.loss_before[i], 4), "data-after": num(d.t.loss_after[i], 4) }, own));
  });
  const plan = columnPlan(d.tokens, cw, 13, 54);
  parts.push(footLabels(d.tokens, plan, { x: x, y: base + 4, cw: cw, size: 13, state: s, now: d.now }));
  return { svg: parts.join(""), right: x + cw * d.n };
}

function tttKeys(d, s) {
  const colours = theme(s);
  const y = box(meta, s).height - 18;
  return keyRow([
    { label: say(s, "loss before", "更新前损失"), draw: (x, at) => circle(x + 13, at, 4, { fill: colours.bg, stroke: colours.accent, "stroke-width": 1.5 }) },
    { label: say(s, "after: ✓ fell", "更新后：✓ 下降"), draw: (x, at) => circle(x + 13, at, 4, { fill: colours.accent }) },
    { label: say(s, "after: ✗ rose", "更新后：✗ 上升"), draw: (x, at) => circle(x + 13, at, 4, { fill: colours.warm }) },
  ], { x: 32, y: y, state: s });
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const d = tttData(trace, s);
  const row = tttTokensRow(d, s);
  const area = box(meta, s);
  const width = Math.max(area.width, row.right + 32);
  const key = (x, label, bound, w) => legend({ x: x, y: area.height - 50, w: w, lo: ["−", brief(bound)].join(""), middle: "0", hi: brief(bound), mode: "", table: DIVERGING, label: label, state: s });
  const body = [tttMemory(d, s), tttNumbers(d, s), row.svg, tttKeys(d, s)];
  if (d.t.w) body.push(key(width - 32 - 150, "W", d.limit, 150), key(width - 32 - 330, say(s, "change", "变化"), d.change, 150));
  const size = d.t.w_reduced ? say(s, ["W is ", d.t.w_reduced.join(" × "), ", drawn as averages of blocks"].join(""), ["W 为 ", d.t.w_reduced.join(" × "), "，按块平均绘制"].join("")) : "";
  const subtitle = [say(s, ["layer ", d.t.layer + 1, ": each token takes one gradient step on W"].join(""), ["第 ", d.t.layer + 1, " 层：每个词元对 W 做一步梯度下降"].join("")), size].filter((part) => part).join("; ");
  return page(meta, trace, withState(s, { width: width }), { body: body, t: d.now + 1, n: d.n, frame: d.now, desc: describe(trace, s), subtitle: subtitle });
}

export function table(trace, state) {
  if (firstMissing(trace, meta.needs)) return { columns: [], rows: [] };
  const d = tttData(trace, settle(meta, state));
  const rows = range(d.n).map((i) => [d.tokens[i].text, d.t.loss_before[i], d.t.loss_after[i], d.fell[i] ? "fell" : "rose", d.t.eta[i], d.t.w_norm[i], d.t.dw_norm[i]]);
  return { columns: ["token", "loss before", "loss after", "loss", "eta", "norm of W", "norm of the change"], rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return say(s, "No inner training was recorded.", "没有记录内部训练。");
  const d = tttData(trace, s);
  const many = d.fell.filter((fell) => fell).length;
  return say(s, ["At token ", d.now + 1, " (", d.tokens[d.now].text, ") the inner loss goes from ", brief(d.t.loss_before[d.now]), " to ", brief(d.t.loss_after[d.now]), "; it fell at ", many, " of ", d.n, " tokens."].join(""),
    ["在第 ", d.now + 1, " 个词元（", d.tokens[d.now].text, "）内部损失由 ", brief(d.t.loss_before[d.now]), " 变为 ", brief(d.t.loss_after[d.now]), "；", d.n, " 个词元中有 ", many, " 个下降。"].join(""));
}

export function frames(trace, state) {
  return firstMissing(trace, meta.needs) ? 1 : one(trace).ttt.loss_before.length;
}

export function stateAt(trace, state, k) {
  return withState(settle(meta, state), { t: k + 1 });
}
