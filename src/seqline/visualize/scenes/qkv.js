// One query in numbers, in five beats: q·k, divide by √d, mask, softmax, weighted sum of values.
import { headCount, kindName, layerCount, pickBlock, pickMatrix, reducedText } from "./_attention.js";
import { DIVERGING, signedIndex, theme } from "./_colour.js";
import { badge, box, group, legend, line, missing, missingSentence, page, rect, text } from "./_draw.js";
import { heat } from "./_grid.js";
import { clamp, em, fit, maxOf, num, range, sum } from "./_text.js";
import { axisTokens, tokenLabel } from "./_tokens.js";
import { firstMissing, has, nowOutput, one, say, settle, withState } from "./_trace.js";

export const meta = {
  id: "qkv",
  title: { en: "One query in numbers", zh: "一个查询的数字演算" },
  needs: ["qkv|attention"],
  state: { attention: null, layer: null, head: null, row: null, beat: null, level: "word", special: "show" },
  size: [1120, 640],
};

const QKV_KEYS = 12;

function qkvEntry(t, s) {
  for (const each of t.qkv || []) {
    if (s.layer !== null && each.layer !== s.layer) continue;
    if (typeof s.head === "number" && each.head !== s.head) continue;
    if (s.attention && each.kind !== pickBlock(t, s).kind) continue;
    return each;
  }
  return null;
}

// Where no q, k, v were recorded but the context is the weighted sum of encoder states, those states are the values.
function qkvStates(t, block, weights, q) {
  if (block.kind !== "cross" || !has(t, "encoder.h") || !has(t, "decoder.context")) return null;
  const top = t.encoder.h[t.encoder.h.length - 1];
  const out = t.decoder.context[q];
  const v = weights.map((_, m) => (top[0].length > m ? top.reduce((whole, dir) => whole.concat(dir[m]), []) : []));
  if (!out || !v[0] || v[0].length !== out.length) return null;
  const off = out.map((each, d) => Math.abs(each - sum(weights.map((w, m) => w * (v[m][d] || 0)))));
  return maxOf(off) < 0.02 ? { v: v, out: out } : null;
}

function qkvRow(t, s, rows) {
  if (s.row !== null && s.row !== undefined) return clamp(Math.round(s.row), 0, rows.length - 1);
  if (s.t !== null && s.t !== undefined && rows.length === (t.target ? t.target.tokens.length : -1)) return Math.max(0, nowOutput(t, s));
  return Math.floor((rows.length - 1) / 2);
}

function qkvSoftmax(scores, masked) {
  const top = maxOf(scores.map((v, m) => (masked[m] ? -Infinity : v)));
  const powers = scores.map((v, m) => (masked[m] ? 0 : Math.exp(v - top)));
  const total = sum(powers) || 1;
  return powers.map((p) => p / total);
}

// Always one row a token: `level` only says whether labels carry the markers of pieces.
function qkvItems(t, axis, s) {
  return axisTokens(t, axis).map((place) => ({ text: tokenLabel(place.token, s.level), dir: place.token.dir }));
}

// Everything about one query: per key the product, the score, the mask and the weight; null: nothing to draw.
function qkvData(trace, s) {
  const t = one(trace);
  const entry = qkvEntry(t, s);
  const blocks = t.attention || [];
  const block = entry ? blocks.filter((each) => each.kind === entry.kind)[0] || null : blocks.length ? pickBlock(t, s) : null;
  if (!block) return null;
  const layer = entry ? entry.layer : clamp(s.layer === null ? layerCount(block) - 1 : s.layer, 0, layerCount(block) - 1);
  const head = entry ? entry.head : clamp(typeof s.head === "number" ? s.head : 0, 0, headCount(block) - 1);
  if (!entry && !block.scores) return null;
  const queries = qkvItems(t, block.query, s);
  const keys = qkvItems(t, block.key, s);
  const i = qkvRow(t, s, queries);
  const factor = entry ? (entry.scale > 1 ? 1 / entry.scale : entry.scale) : 1;
  const raw = entry ? entry.k.map((k) => sum(k.map((v, d) => v * entry.q[i][d]))) : null;
  const scores = block.scores ? block.scores[layer][head][i] : raw.map((v) => v * factor);
  const masked = keys.map((_, m) => Boolean(block.mask) && !block.mask[i][m]);
  const sparse = Boolean(block.reduced);
  const weights = sparse ? qkvSoftmax(scores, masked) : pickMatrix(block, withState(s, { layer: layer, head: head })).values[i];
  const states = entry ? { v: entry.v, out: entry.out[i] } : qkvStates(t, block, weights, i);
  return {
    t: t, block: block, layer: layer, head: head, queries: queries, keys: keys, i: i, factor: factor, q: entry ? entry.q[i] : null, k: entry ? entry.k : null,
    raw: raw, scores: scores, masked: masked, weights: weights, v: states ? states.v : null, out: states ? states.out : null, reduced: sparse,
    name: t.model.score, fromStates: !entry && Boolean(states),
  };
}

// The rows drawn: every key, or the most read ones in their order and one row that stands for all others.
function qkvShown(d) {
  if (d.keys.length <= QKV_KEYS) return { keys: range(d.keys.length), others: [] };
  const ranked = range(d.keys.length).sort((a, b) => d.weights[b] - d.weights[a] || a - b);
  const kept = ranked.slice(0, QKV_KEYS - 1).sort((a, b) => a - b);
  return { keys: kept, others: ranked.slice(QKV_KEYS - 1) };
}

function qkvOthers(d, others) {
  const open = others.filter((m) => !d.masked[m]);
  const top = maxOf(open.map((m) => d.scores[m]));
  const lse = open.length ? top + Math.log(sum(open.map((m) => Math.exp(d.scores[m] - top)))) : null;
  return { lse: lse, w: sum(others.map((m) => d.weights[m])) };
}

function qkvPlan(d, area) {
  const wide = d.q ? 262 : 0;
  const values = d.v ? (d.q ? 262 : 420) : 0;
  const columns = d.q ? [84, 84, 84, 116] : [0, 116, 116, 170];
  const total = 124 + wide + sum(columns) + values + 40;
  const left = area.x + Math.max(0, (area.w - total) / 2);
  const xs = [];
  let x = left + 124 + wide + (wide ? 14 : 0);
  for (const w of columns) {
    xs.push(x);
    x = x + w;
  }
  return { label: left + 116, k: left + 124, wide: wide, xs: xs, ws: columns, v: x + 18, values: values, top: area.y + 112, left: left, right: x + 18 + values };
}

function qkvTitles(s, d) {
  const divisor = 1 / d.factor;
  const scaled = Math.abs(divisor - 1) > 1e-6;
  return [
    ["q · k", say(s, "product", "点积")], [d.q && scaled ? ["÷ ", num(divisor, 2)].join("") : say(s, "score", "得分"), d.q ? (scaled ? "÷ √d" : say(s, "not divided", "不缩放")) : d.name],
    [say(s, "mask", "掩码"), say(s, "allowed?", "可读吗？")], ["softmax", say(s, "weights, sum 1", "权重，和为 1")],
    [d.fromStates ? "Σ w · h" : "Σ w · v", d.fromStates ? say(s, "states of the encoder", "编码器状态") : say(s, "values", "值")],
  ];
}

function qkvHeads(s, d, p, area, beat) {
  const colours = theme(s);
  const parts = [];
  qkvTitles(s, d).forEach((title, b) => {
    if ((b === 0 && !d.q) || (b === 4 && !d.v)) return;
    const x = b === 4 ? p.v : p.xs[b];
    const w = b === 4 ? p.values : p.ws[b];
    const isNow = b === beat;
    const fill = isNow ? colours.accent : colours.panel;
    parts.push(group({ "data-step": b, "data-now": isNow ? "1" : null }, [
      rect(x + 2, area.y - 2, w - 6, 40, { rx: 7, fill: fill }),
      text(x + w / 2 - 1, area.y + 11, title[0], { size: 14, fill: isNow ? colours.accentInk : b < beat ? colours.ink : colours.soft, anchor: "middle" }),
      text(x + w / 2 - 1, area.y + 28, fit(title[1], (w - 8) / 11), { size: 11, fill: isNow ? colours.accentInk : colours.soft, anchor: "middle" }),
    ]));
  });
  return parts.join("");
}

function qkvVector(s, name, values, x, y, w, h, limit, label) {
  const cw = w / values.length;
  const value = (r, c) => values[c];
  return [
    group({ "data-vector": name }, [heat({ x: x, y: y, cw: cw, ch: h, rows: 1, cols: values.length, value: value, index: (v) => signedIndex(v, limit), table: DIVERGING, state: s, digits: 2 })]),
    label ? text(x - 8, y + h / 2, label, { size: 13, fill: theme(s).ink, anchor: "end" }) : "",
  ].join("");
}

function qkvMatrix(s, name, rows, x, y, w, rh, limit) {
  const cols = rows[0].length;
  const value = (r, c) => rows[r][c];
  return group({ "data-matrix": name }, [heat({ x: x, y: y, cw: w / cols, ch: rh, rows: rows.length, cols: cols, value: value, index: (v) => signedIndex(v, limit), table: DIVERGING, state: s, digits: 2 })]);
}

function qkvHatch(s, x, y, w, h) {
  const colours = theme(s);
  const parts = [rect(x, y, w, h, { fill: colours.empty })];
  for (let at = 0; at < w + h; at = at + 8) {
    const x1 = x + Math.min(w, at);
    const y1 = y + Math.max(0, at - w);
    parts.push(line(x1, y1, x + Math.max(0, at - h), y + Math.min(h, at), { stroke: colours.line, "stroke-width": 1 }));
  }
  return parts.join("");
}

function qkvCell(s, o) {
  const colours = theme(s);
  const attrs = { "data-beat": o.beat, "data-r": o.r, "data-v": o.v === null ? null : num(o.v, 4), "data-masked": o.masked ? "1" : null };
  const parts = [o.masked && o.beat === 2 ? qkvHatch(s, o.x + 2, o.y + 1, o.w - 6, o.h - 3) : rect(o.x + 2, o.y + 1, o.w - 6, o.h - 3, { fill: o.now ? colours.panel : colours.bg, stroke: colours.faint, "stroke-width": 1 })];
  if (o.bar !== undefined) parts.push(rect(o.x + 2, o.y + 1, (o.w - 6) * clamp(o.bar, 0, 1), o.h - 3, { fill: colours.accent, opacity: 0.22 }));
  if (o.masked && o.beat === 2) parts.push(rect(o.x + o.w / 2 - 17, o.y + o.h / 2 - 9, 32, 17, { rx: 4, fill: colours.bg }));
  parts.push(text(o.x + o.w / 2 - 1, o.y + o.h / 2, o.shown, { size: 13, fill: o.masked ? colours.soft : colours.ink, anchor: "middle" }));
  return group(attrs, parts);
}

function qkvLine(s, d, p, m, r, rh, beat) {
  const parts = [];
  const y = p.top + r * rh;
  const masked = d.masked[m];
  const item = d.keys[m];
  parts.push(text(p.label, y + rh / 2, fit(item.text, 108 / 14), { size: 14, fill: masked ? theme(s).soft : theme(s).ink, anchor: "end", dir: item.dir, attrs: { "data-label": "row", "data-i": m } }));
  const values = [d.raw ? d.raw[m] : null, d.scores[m], masked ? null : d.scores[m], masked ? 0 : d.weights[m]];
  for (let b = d.q ? 0 : 1; b < 4; b++) {
    if (b > beat) {
      parts.push(rect(p.xs[b] + 2, y + 1, p.ws[b] - 6, rh - 3, { fill: "none", stroke: theme(s).faint, "stroke-width": 1, "stroke-dasharray": "3 3" }));
      continue;
    }
    const shown = b === 2 && masked ? "−∞" : num(values[b], 3);
    parts.push(qkvCell(s, { beat: b, r: m, v: values[b], shown: shown, masked: masked && b >= 2, x: p.xs[b], y: y, w: p.ws[b], h: rh, now: b === beat, bar: b === 3 ? values[3] : undefined }));
  }
  return parts.join("");
}

function qkvOtherLine(s, d, p, others, r, rh, beat) {
  const y = p.top + r * rh;
  const rest = qkvOthers(d, others);
  const colours = theme(s);
  const parts = [text(p.label, y + rh / 2, say(s, [others.length, " others"].join(""), ["其余 ", others.length, " 个"].join("")), { size: 12, fill: colours.soft, anchor: "end" })];
  if (beat >= 1) parts.push(text(p.xs[1] + p.ws[1] / 2, y + rh / 2, "log Σ exp", { size: 11, fill: colours.soft, anchor: "middle" }));
  if (beat >= 2) parts.push(qkvCell(s, { beat: 2, r: "other", v: rest.lse, shown: num(rest.lse, 3), x: p.xs[2], y: y, w: p.ws[2], h: rh }));
  if (beat >= 3) parts.push(qkvCell(s, { beat: 3, r: "other", v: rest.w, shown: num(rest.w, 3), x: p.xs[3], y: y, w: p.ws[3], h: rh, bar: rest.w }));
  return parts.join("");
}

function qkvFormula(s, name) {
  const formulas = {
    additive: "score = v · tanh(W s + U h)", dot: "score = s · h", general: "score = s · W h", concat: "score = v · tanh(W [s; h])", location: "score = (W s) at the position", scaled_dot: "score = q · k ÷ √d",
  };
  return [formulas[name] || "score", say(s, "   for every key", "   （对每个键）")].join("");
}

// The line of the figure that says what the beat did, with the numbers of the most read key.
function qkvEquation(s, d, beat) {
  const m = d.weights.indexOf(maxOf(d.weights));
  const name = ["“", d.keys[m].text, "”"].join("");
  if (beat === 0 && !d.q) return qkvFormula(s, d.name);
  if (beat === 0) {
    const products = d.q.slice(0, 3).map((v, e) => [num(v, 2), "·", num(d.k[m][e], 2)].join(""));
    return ["q · k(", name, ") = ", products.join(" + "), d.q.length > 3 ? " + …" : "", " = ", num(d.raw[m], 3)].join("");
  }
  if (beat === 1) return d.q ? [num(d.raw[m], 3), " ÷ ", num(1 / d.factor, 3), " = ", num(d.scores[m], 3), say(s, ["   for ", name].join(""), ["   （", name, "）"].join(""))].join("") : say(s, ["score of ", name, " = ", num(d.scores[m], 3)].join(""), [name, "的得分 = ", num(d.scores[m], 3)].join(""));
  const count = d.masked.filter((each) => each).length;
  if (beat === 2) return count ? say(s, [count, " of ", d.masked.length, " keys may not be read: −∞"].join(""), [d.masked.length, " 个键中有 ", count, " 个不可读：−∞"].join("")) : say(s, "every key may be read: nothing is masked", "所有键都可读：没有掩码");
  if (beat === 3) return ["exp(", num(d.scores[m], 3), ") / Σ exp = ", num(d.weights[m], 3), say(s, ["   for ", name].join(""), ["   （", name, "）"].join(""))].join("");
  const best = range(d.weights.length).sort((a, b) => d.weights[b] - d.weights[a] || a - b).slice(0, 3);
  return [d.fromStates ? "context = " : "out = ", best.map((each) => [num(d.weights[each], 3), " · v(“", d.keys[each].text, "”)"].join("")).join(" + "), d.weights.length > 3 ? " + …" : ""].join("");
}

function qkvBody(s, d, area, beat) {
  const colours = theme(s);
  const p = qkvPlan(d, area);
  const shown = qkvShown(d);
  const count = shown.keys.length + (shown.others.length ? 1 : 0);
  const rh = Math.min(d.q ? 34 : 44, (area.h - 112 - 122) / count);
  const foot = p.top + count * rh;
  const all = [d.q || [], d.out || []].concat(shown.keys.map((m) => (d.k ? d.k[m].concat(d.v[m]) : d.v ? d.v[m] : [])));
  const limit = Math.max(0.01, maxOf(all.map((row) => maxOf([0].concat(row.map(Math.abs))))));
  const parts = [qkvHeads(s, d, p, area, beat)];
  const query = fit(d.queries[d.i].text, 9);
  if (d.q) {
    parts.push(qkvVector(s, "q", d.q, p.k, area.y + 58, p.wide, 30, limit, ["q  ", query].join("")));
    parts.push(text(p.k + p.wide / 2, area.y + 12, say(s, "query q against every key k", "查询 q 与每个键 k"), { size: 13, fill: colours.soft, anchor: "middle" }));
    parts.push(text(p.k + p.wide / 2, area.y + 30, say(s, ["d = ", d.q.length].join(""), ["d = ", d.q.length].join("")), { size: 12, fill: colours.soft, anchor: "middle" }));
    parts.push(qkvMatrix(s, "k", shown.keys.map((m) => d.k[m]), p.k, p.top, p.wide, rh, limit));
  } else parts.push(text(p.label + 6, area.y + 72, say(s, ["query: ", query].join(""), ["查询：", query].join("")), { size: 14, fill: colours.accent, anchor: "end" }));
  shown.keys.forEach((m, r) => parts.push(qkvLine(s, d, p, m, r, rh, beat)));
  if (shown.others.length) parts.push(qkvOtherLine(s, d, p, shown.others, shown.keys.length, rh, beat));
  if (d.v) {
    parts.push(group({ opacity: beat >= 4 ? null : 0.35 }, [qkvMatrix(s, "v", shown.keys.map((m) => d.v[m]), p.v, p.top, p.values, rh, limit)]));
    if (beat >= 4) parts.push(qkvVector(s, "out", d.out, p.v, foot + 12, p.values, 30, limit, d.fromStates ? say(s, "context = Σ w·h", "上下文 = Σ w·h") : say(s, "out = Σ w·v", "输出 = Σ w·v")));
  }
  const equation = qkvEquation(s, d, beat);
  const size = Math.min(16, (area.w - 320) / em(equation));
  const low = area.y + area.h - 34;
  parts.push(rect(area.x, low - 14, area.w - 270, 40, { rx: 8, fill: colours.panel }));
  parts.push(text(area.x + 16, low + 6, equation, { size: size, fill: colours.ink, attrs: { "data-equation": beat } }));
  const names = d.q ? "q, k, v" : d.v ? "h" : "";
  if (names) parts.push(legend({ x: area.x + area.w - 230, y: low - 14, w: 230, lo: num(-limit, 2), hi: num(limit, 2), middle: "0", mode: "abs", table: DIVERGING, state: s, label: say(s, ["colour of ", names].join(""), [names, " 的颜色"].join("")) }));
  else parts.push(text(area.x + area.w, low + 6, say(s, "weights 0–1: bar", "权重 0–1：条形"), { size: 12, fill: colours.soft, anchor: "end", attrs: { "data-legend": "0 1 abs" } }));
  return parts;
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const d = qkvData(trace, s);
  if (!d) return missing(meta, trace, s, "qkv|attention.scores");
  const beat = s.beat === null ? 4 : clamp(Math.round(s.beat), 0, 4);
  const area = box(meta, s);
  const body = qkvBody(s, d, area, beat);
  if (d.reduced) body.push(badge(area.x + area.w, area.y - 22, reducedText(s), "reduced", s, "end"));
  const place = layerCount(d.block) * headCount(d.block) > 1 ? say(s, ["layer ", d.layer + 1, ", head ", d.head + 1].join(""), ["第 ", d.layer + 1, " 层，第 ", d.head + 1, " 头"].join("")) : "";
  const query = say(s, ["query “", d.queries[d.i].text, "”"].join(""), ["查询“", d.queries[d.i].text, "”"].join(""));
  return page(meta, trace, s, {
    body: body, t: beat + 1, n: 5, frame: beat, desc: describe(trace, state), subtitle: [kindName(s, d.block.kind), place, query].filter((part) => part).join(" · "),
    caption: say(s, ["beat ", beat + 1, " / 5"].join(""), ["第 ", beat + 1, " / 5 步"].join("")),
  });
}

export function table(trace, state) {
  const s = settle(meta, state);
  const d = firstMissing(trace, meta.needs) ? null : qkvData(trace, s);
  if (!d) return { columns: [], rows: [] };
  const columns = [say(s, "key", "键"), "q·k", say(s, "score", "得分"), say(s, "may be read", "可读"), say(s, "weight", "权重")];
  return { columns: columns, rows: d.keys.map((item, m) => [item.text, d.raw ? d.raw[m] : null, d.scores[m], d.masked[m] ? 0 : 1, d.masked[m] ? 0 : d.weights[m]]) };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  const d = gap ? null : qkvData(trace, s);
  if (!d) return missingSentence(s, gap || "qkv|attention.scores");
  const m = d.weights.indexOf(maxOf(d.weights));
  return say(s, ["The query “", d.queries[d.i].text, "” reads “", d.keys[m].text, "” most: score ", num(d.scores[m], 3), ", weight ", num(d.weights[m], 3), "."].join(""),
    ["查询“", d.queries[d.i].text, "”主要读取“", d.keys[m].text, "”：得分 ", num(d.scores[m], 3), "，权重 ", num(d.weights[m], 3), "。"].join(""));
}

export function frames(trace, state) {
  const d = firstMissing(trace, meta.needs) ? null : qkvData(trace, settle(meta, state));
  return d ? 5 : 1;
}

export function stateAt(trace, state, k) {
  return withState(state, { beat: k });
}
