// Word to word: who reads whom, as lines whose width and opacity are the weight, with the ranked list of the selected word.
import { attentionNotes, axisName, kindName, pickBlock, pickMatrix, reducedText } from "./_attention.js";
import { theme } from "./_colour.js";
import { badge, box, group, line, missing, missingSentence, page, path, rect, text } from "./_draw.js";
import { clamp, em, fit, num, sum } from "./_text.js";
import { aggregate, items } from "./_tokens.js";
import { firstMissing, say, settle, withState } from "./_trace.js";

export const meta = {
  id: "lines",
  title: { en: "Word to word", zh: "词与词之间的连线" },
  needs: ["attention"],
  state: { attention: null, layer: null, head: 0, level: "piece", special: "show", row: 0, col: null, pick: "top", top: 5, cover: 0.75, min: 0.05 },
  size: [960, 540],
};

const linesLIST = 8;
const linesSTEP = 15;

function linesData(trace, s) {
  const block = pickBlock(trace, s);
  const matrix = pickMatrix(block, s);
  const rows = items(trace, block.query, s);
  const cols = items(trace, block.key, s);
  return { block: block, matrix: matrix, rows: rows, cols: cols, values: aggregate(matrix.values, rows, cols) };
}

// The parts of one character share one label, which stands at the first of them.
function linesName(list, i) {
  let at = i;
  while (at > 0 && list[at].text === "") at = at - 1;
  return list[at].text;
}

function linesSelected(s, data) {
  if (s.row !== null && s.row !== undefined && data.rows.length) return { side: "row", i: clamp(Math.round(s.row), 0, data.rows.length - 1) };
  if (s.col !== null && s.col !== undefined && data.cols.length) return { side: "col", i: clamp(Math.round(s.col), 0, data.cols.length - 1) };
  return null;
}

// All partners of the selected word, the strongest first; `shown` of them get a line.
function linesRanked(s, data, chosen) {
  const weights = chosen.side === "row" ? data.values[chosen.i] : data.values.map((row) => row[chosen.i]);
  const ranked = weights.map((v, i) => ({ i: i, v: v })).sort((a, b) => b.v - a.v || a.i - b.i);
  let shown = 0;
  if (s.pick === "min") shown = ranked.filter((each) => each.v >= s.min).length;
  else if (s.pick === "cover") {
    const whole = sum(weights);
    let covered = 0;
    while (shown < ranked.length && covered < s.cover * whole - 1e-9) {
      covered = covered + ranked[shown].v;
      shown = shown + 1;
    }
  } else shown = Math.min(s.top, ranked.length);
  const list = ranked.slice(0, shown);
  const whole = chosen.side === "row" ? 1 : sum(weights);
  return { list: list, others: ranked.length - shown, rest: Math.max(0, whole - sum(list.map((each) => each.v))) };
}

// Where labels stand: every word where there is room, else the important ones, moved apart, and what fits between them.
function linesPlaces(list, y, h, first) {
  const pitch = Math.min(34, h / list.length);
  const top = y + (h - pitch * list.length) / 2;
  const ticks = list.map((_, i) => top + (i + 0.5) * pitch);
  const labels = ticks.map((at, i) => (pitch >= linesSTEP && list[i].text !== "" ? at : null));
  if (pitch >= linesSTEP) return { ticks: ticks, labels: labels, pitch: pitch };
  const chosen = first.slice().sort((a, b) => a - b);
  let last = -Infinity;
  for (const i of chosen) {
    labels[i] = Math.max(ticks[i], last + linesSTEP);
    last = labels[i];
  }
  let bottom = y + h;
  for (const i of chosen.slice().reverse()) {
    labels[i] = Math.min(labels[i], bottom);
    bottom = labels[i] - linesSTEP;
  }
  for (let i = 0; i < list.length; i++) {
    if (labels[i] === null && list[i].text !== "" && labels.every((at) => at === null || Math.abs(at - ticks[i]) >= linesSTEP)) labels[i] = ticks[i];
  }
  return { ticks: ticks, labels: labels, pitch: pitch };
}

function linesColumn(o) {
  const colours = theme(o.state);
  const parts = [];
  const size = clamp(o.places.pitch * 0.55, 11, 16);
  const sign = o.side === "col" ? -1 : 1;
  o.list.forEach((item, i) => {
    const y = o.places.ticks[i];
    const isNow = o.now === i;
    const lit = o.lit.indexOf(i) >= 0;
    const ink = isNow ? colours.accentInk : lit ? colours.ink : item.faint ? colours.line : colours.soft;
    parts.push(rect(o.x - 3, y - Math.min(4, o.places.pitch * 0.35), 6, Math.min(8, o.places.pitch * 0.7), { rx: 2, fill: isNow ? colours.now : lit ? colours.accent : colours.line }));
    const at = o.places.labels[i];
    if (at === null) return;
    const x = o.x + sign * 18;
    const label = fit(linesName(o.list, i), 190 / size);
    if (Math.abs(at - y) > 0.5) parts.push(line(o.x + sign * 4, y, x - sign * 3, at, { stroke: colours.line, "stroke-width": 1 }));
    if (isNow) {
      const w = em(label) * size * 1.06 + 16;
      parts.push(rect(sign > 0 ? x - 6 : x + 6 - w, at - size * 0.85, w, size * 1.7, { rx: 6, fill: colours.accent }));
    }
    parts.push(text(x + sign * 2, at, label, { size: size, fill: ink, anchor: sign < 0 ? "end" : "start", dir: item.dir, attrs: { "data-label": o.side, "data-i": i, "data-now": isNow ? "1" : null } }));
  });
  return parts.join("");
}

function linesCurve(o, q, m, v, attrs) {
  const bend = (o.right - o.left) * 0.45;
  const out = { "stroke-width": Math.max(0.6, v * 11), opacity: clamp(0.3 + v * 0.7, 0.3, 1) };
  for (const key of Object.keys(attrs)) out[key] = attrs[key];
  const y1 = o.keys.ticks[m];
  const y2 = o.queries.ticks[q];
  return path(["M", o.left + 5, y1, "C", o.left + bend, y1, o.right - bend, y2, o.right - 5, y2], out);
}

function linesBundle(s, data, chosen, ranked, o) {
  const colours = theme(s);
  const parts = [];
  const strongest = data.rows.length * data.cols.length > 400;
  data.values.forEach((row, q) => row.forEach((v, m) => {
    if (v < (strongest ? 0.3 : 0.1) || (chosen && (chosen.side === "row" ? q : m) === chosen.i)) return;
    parts.push(linesCurve(o, q, m, v, { stroke: chosen ? colours.line : colours.accent, "stroke-width": v * (chosen ? 5 : 9), opacity: chosen ? 0.15 + 0.4 * v : v, "data-other": "1" }));
  }));
  if (!ranked) return parts.join("");
  for (const each of ranked.list.slice().reverse()) {
    const q = chosen.side === "row" ? chosen.i : each.i;
    const m = chosen.side === "row" ? each.i : chosen.i;
    parts.push(linesCurve(o, q, m, each.v, { stroke: colours.accent, "data-line": "1", "data-v": num(each.v, 4), "data-r": q, "data-c": m }));
  }
  return parts.join("");
}

function linesList(s, data, chosen, ranked, x, y, w) {
  const colours = theme(s);
  const own = chosen.side === "row" ? data.rows : data.cols;
  const other = chosen.side === "row" ? data.cols : data.rows;
  const head = chosen.side === "row" ? say(s, "reads", "读取") : say(s, "is read by", "被以下词读取");
  const parts = [text(x, y + 8, fit(linesName(own, chosen.i), (w - 90) / 17), { size: 17, fill: colours.accent, dir: own[chosen.i].dir })];
  parts.push(text(x + w, y + 8, head, { size: 13, fill: colours.soft, anchor: "end" }));
  ranked.list.slice(0, linesLIST).forEach((each, k) => {
    const at = y + 46 + k * 30;
    parts.push(group({ "data-list": k, "data-i": each.i, "data-v": num(each.v, 4) }, [
      rect(x, at + 9, w, 4, { rx: 2, fill: colours.faint }),
      rect(x, at + 9, w * clamp(each.v, 0, 1), 4, { rx: 2, fill: colours.accent }),
      text(x, at - 2, fit(linesName(other, each.i), (w - 60) / 14), { size: 14, fill: colours.ink, dir: other[each.i].dir }),
      text(x + w, at - 2, num(each.v, 3), { size: 14, fill: colours.ink, anchor: "end" }),
    ]));
  });
  const more = ranked.list.slice(linesLIST);
  let at = y + 50 + Math.min(linesLIST, ranked.list.length) * 30;
  if (more.length) {
    parts.push(text(x, at, say(s, ["and ", more.length, " more lines"].join(""), ["另有 ", more.length, " 条线"].join("")), { size: 13, fill: colours.soft }));
    parts.push(text(x + w, at, num(sum(more.map((each) => each.v)), 3), { size: 13, fill: colours.soft, anchor: "end" }));
    at = at + 20;
  }
  parts.push(text(x, at, say(s, ["not shown (", ranked.others, ")"].join(""), ["未画出（", ranked.others, "）"].join("")), { size: 13, fill: colours.soft }));
  parts.push(text(x + w, at, num(ranked.rest, 3), { size: 13, fill: colours.soft, anchor: "end", attrs: { "data-rest": num(ranked.rest, 4) } }));
  return parts.join("");
}

function linesRule(s) {
  if (s.pick === "cover") return say(s, ["smallest set covering ", num(s.cover * 100, 0), " %"].join(""), ["覆盖 ", num(s.cover * 100, 0), "% 的最小集合"].join(""));
  if (s.pick === "min") return say(s, ["weights from ", num(s.min, 2)].join(""), ["权重不低于 ", num(s.min, 2)].join(""));
  return say(s, ["the ", s.top, " strongest"].join(""), ["最强的 ", s.top, " 个"].join(""));
}

function linesLegend(s, x, y, w) {
  const colours = theme(s);
  const parts = [
    text(x, y - 19, say(s, ["lines: ", linesRule(s)].join(""), ["画出：", linesRule(s)].join("")), { size: 12, fill: colours.soft }),
    text(x, y, say(s, "width and depth = weight, 0 to 1", "粗细与深浅 = 权重，0 到 1"), { size: 12, fill: colours.soft }),
  ];
  [0.1, 0.25, 0.5, 1].forEach((v, i) => {
    const left = x + (i * w) / 4;
    parts.push(line(left, y + 22, left + 22, y + 22, { stroke: colours.accent, "stroke-width": v * 11, opacity: 0.3 + v * 0.7 }));
    parts.push(text(left + 29, y + 22, num(v, 2), { size: 12, fill: colours.soft }));
  });
  return group({ "data-legend": "0 1 abs" }, parts);
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const data = linesData(trace, s);
  const chosen = linesSelected(s, data);
  const ranked = chosen ? linesRanked(s, data, chosen) : null;
  const area = box(meta, s);
  const colours = theme(s);
  const left = area.x + 190;
  const right = area.width - 452;
  const panel = { x: area.width - 272, w: 240 };
  const top = area.y + 24;
  const high = area.h - 30;
  const lit = ranked ? ranked.list.map((each) => each.i) : [];
  const mine = chosen ? [chosen.i] : [];
  const isRow = chosen && chosen.side === "row";
  const near = lit.slice(0, 14);
  const o = {
    left: left, right: right,
    keys: linesPlaces(data.cols, top, high, isRow ? near : mine), queries: linesPlaces(data.rows, top, high, isRow ? mine : near),
  };
  const body = [
    text(left + 2, area.y + 6, say(s, ["reads from: ", axisName(s, data.block.key)].join(""), ["被读：", axisName(s, data.block.key)].join("")), { size: 13, fill: colours.soft, anchor: "end" }),
    text(right - 2, area.y + 6, axisName(s, data.block.query), { size: 13, fill: colours.soft }),
    linesBundle(s, data, chosen, ranked, o),
    linesColumn({ state: s, list: data.cols, places: o.keys, x: left, side: "col", now: isRow || !chosen ? -1 : chosen.i, lit: isRow ? lit : [] }),
    linesColumn({ state: s, list: data.rows, places: o.queries, x: right, side: "row", now: isRow ? chosen.i : -1, lit: isRow || !chosen ? [] : lit }),
    rect(panel.x - 16, area.y - 8, panel.w + 32, area.h - 66, { rx: 10, fill: colours.panel }),
  ];
  if (ranked) body.push(linesList(s, data, chosen, ranked, panel.x, area.y + 10, panel.w));
  else body.push(text(panel.x, area.y + 20, say(s, "Select a word on either side.", "请选择任意一侧的一个词。"), { size: 14, fill: colours.soft }));
  body.push(linesLegend(s, panel.x - 16, area.y + area.h - 36, panel.w + 32));
  if (data.matrix.reduced) body.push(badge(left + (right - left) / 2, area.y - 16, reducedText(s), "reduced", s, "middle"));
  const n = frames(trace, s);
  const at = isRow ? chosen.i + 1 : n;
  const caption = isRow ? say(s, ["word ", at, " / ", n].join(""), ["第 ", at, " / ", n, " 个词"].join("")) : undefined;
  return page(meta, trace, s, {
    body: body, t: at, n: n, frame: at - 1, desc: describe(trace, state), caption: caption, notes: attentionNotes(s, data.values, data.cols, data.rows),
    subtitle: [kindName(s, data.block.kind), data.matrix.label].filter((part) => part).join(" · "),
  });
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return { columns: [], rows: [] };
  const data = linesData(trace, s);
  const chosen = linesSelected(s, data) || { side: "row", i: 0 };
  const own = chosen.side === "row" ? data.rows : data.cols;
  const other = chosen.side === "row" ? data.cols : data.rows;
  const all = linesRanked({ pick: "min", min: -1 }, data, chosen).list;
  const shown = linesRanked(s, data, chosen).list.length;
  return {
    columns: [say(s, "word", "词"), chosen.side === "row" ? say(s, "reads", "读取") : say(s, "is read by", "被读取"), say(s, "position", "位置"), say(s, "weight", "权重"), say(s, "line shown", "画出")],
    rows: all.map((each, k) => [linesName(own, chosen.i), linesName(other, each.i), each.i, each.v, k < shown ? 1 : 0]),
  };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missingSentence(s, gap);
  const data = linesData(trace, s);
  const chosen = linesSelected(s, data);
  if (!chosen) return say(s, "Every line joins a word with one that it reads; its width is the weight.", "每条线连接一个词和它所读的词，粗细为权重。");
  const own = chosen.side === "row" ? data.rows : data.cols;
  const other = chosen.side === "row" ? data.cols : data.rows;
  const best = linesRanked(s, data, chosen).list.slice(0, 3).map((each) => [linesName(other, each.i), " ", num(each.v, 2)].join(""));
  const name = linesName(own, chosen.i);
  if (chosen.side === "row") return say(s, ["“", name, "” reads ", best.join(", "), "."].join(""), ["“", name, "”读取：", best.join("，"), "。"].join(""));
  return say(s, ["“", name, "” is read by ", best.join(", "), "."].join(""), ["“", name, "”被读取：", best.join("，"), "。"].join(""));
}

export function frames(trace, state) {
  if (firstMissing(trace, meta.needs)) return 1;
  const s = settle(meta, state);
  return Math.max(1, items(trace, pickBlock(trace, s).query, s).length);
}

export function stateAt(trace, state, k) {
  return withState(state, { row: k, col: null });
}
