// From a word to the vector that enters the model: word, one-hot vector, row of the embedding table, plus position where one is added.
import { DIVERGING, inkOn, signedColour, signedIndex, theme } from "./_colour.js";
import { arrow, box, group, legend, missing, missingSentence, page, pill, rect, text } from "./_draw.js";
import { heat } from "./_grid.js";
import { clamp, em, fit, maxOf, num, range } from "./_text.js";
import { axisTokens, labelWidth, tokenLabel } from "./_tokens.js";
import { firstMissing, has, one, say, settle, withState } from "./_trace.js";

export const meta = {
  id: "embed",
  title: { en: "From word to vector", zh: "从词到向量" },
  needs: ["embeddings"],
  state: { row: null, side: "source", level: "word" },
  size: [960, 540],
};

const EMBED_CELLS = 8;

// The table of this side gives the size of the vocabulary: the part whose width is the vectors' and that has a row for every id.
function embedVocabulary(t, side, width, most) {
  const tables = (t.model.parts || []).filter((part) => part.shape.length === 2 && part.shape[1] === width && part.shape[0] > most && /embed/i.test([part.name, part.type].join(" ")));
  const own = tables.filter((part) => part.name.indexOf(side) >= 0 || part.name.indexOf(side === "source" ? "encoder" : "decoder") >= 0);
  const found = own.length ? own[0] : tables[0];
  return found ? found.shape[0] : null;
}

function embedData(trace, s) {
  const t = one(trace);
  const side = s.side === "target" && t.embeddings.target && t.target ? "target" : "source";
  const places = axisTokens(t, side === "target" ? "target.in" : "source");
  const vectors = t.embeddings[side];
  const count = Math.min(places.length, vectors.length);
  const i = clamp(s.row === null ? 0 : Math.round(s.row), 0, count - 1);
  const token = places[i].token;
  const most = maxOf(places.map((place) => place.token.id));
  const width = vectors[i].length;
  const used = has(t, "positions.table") ? (side === "source" && i < t.positions.used.length ? t.positions.used[i] : i) : null;
  const row = used !== null && t.positions.table[used] && t.positions.table[used].length === width ? t.positions.table[used] : null;
  const total = row ? vectors[i].map((v, d) => v + row[d]) : null;
  const limit = Math.max(1e-6, maxOf([vectors[i], row || [], total || []].map((each) => maxOf([0].concat(each.map(Math.abs))))));
  return {
    t: t, side: side, places: places.slice(0, count), i: i, token: token, word: tokenLabel(token, s.level), vector: vectors[i], position: row, at: used, total: total,
    width: width, limit: limit, vocabulary: embedVocabulary(t, side, width, most), count: count, rtl: t[side].dir === "rtl",
  };
}

// The sentence as chips: all of it, or the words around the current one.
function embedChips(s, d, x, y, w) {
  const colours = theme(s);
  const labels = d.places.map((place) => fit(tokenLabel(place.token, s.level), 12));
  const widths = labels.map((label, i) => Math.max(28, labelWidth(label, labels[i] === tokenLabel(d.places[i].token, s.level) ? d.places[i].token.w_em : 0) * 14 + 20));
  let from = d.i;
  let to = d.i;
  let used = widths[d.i];
  for (let grown = true; grown; ) {
    grown = false;
    if (to + 1 < labels.length && used + widths[to + 1] + 8 <= w - 60) {
      to = to + 1;
      used = used + widths[to] + 8;
      grown = true;
    }
    if (from > 0 && used + widths[from - 1] + 8 <= w - 60) {
      from = from - 1;
      used = used + widths[from] + 8;
      grown = true;
    }
  }
  const parts = [];
  let at = d.rtl ? x + w - (from > 0 ? 30 : 0) : x + (from > 0 ? 30 : 0);
  const dots = (left) => text(left, y + 15, "…", { size: 16, fill: colours.soft, anchor: "middle" });
  if (from > 0) parts.push(dots(d.rtl ? x + w - 14 : x + 14));
  for (let i = from; i <= to; i++) {
    const isNow = i === d.i;
    const left = d.rtl ? at - widths[i] : at;
    parts.push(pill(left, y, widths[i], 30, labels[i], { fill: isNow ? colours.accent : colours.panel, ink: isNow ? colours.accentInk : colours.ink, size: 14, dir: d.places[i].token.dir, attrs: { "data-token": i, "data-now": isNow ? "1" : null } }));
    at = d.rtl ? left - 8 : at + widths[i] + 8;
  }
  if (to + 1 < labels.length) parts.push(dots(d.rtl ? at - 12 : at + 12));
  return parts.join("");
}

// Rows of the one-hot vector that are drawn: the first ones, those around the 1, the last; null stands for a gap.
function embedRows(d) {
  const id = d.token.id;
  const wanted = [0, 1, id - 1, id, id + 1];
  if (d.vocabulary) wanted.push(d.vocabulary - 1);
  const kept = wanted.filter((v, k) => v >= 0 && (!d.vocabulary || v < d.vocabulary) && wanted.indexOf(v) === k).sort((a, b) => a - b);
  const rows = [];
  kept.forEach((v, k) => {
    if (k && v !== kept[k - 1] + 1) rows.push(null);
    rows.push(v);
  });
  if (!d.vocabulary) rows.push(null);
  return rows;
}

function embedOneHot(s, d, x, y) {
  const colours = theme(s);
  const parts = [];
  const step = 26;
  const table = { x: x + 62, w: 92 };
  let lit = y;
  embedRows(d).forEach((id, k) => {
    const top = y + k * step;
    if (id === null) {
      parts.push(text(x + 15, top + 12, "⋮", { size: 15, fill: colours.soft, anchor: "middle" }));
      parts.push(text(table.x + table.w / 2, top + 12, "⋮", { size: 15, fill: colours.soft, anchor: "middle" }));
      return;
    }
    const isOne = id === d.token.id;
    if (isOne) lit = top + 12;
    parts.push(text(x - 10, top + 12, String(id), { size: 12, fill: isOne ? colours.now : colours.soft, anchor: "end" }));
    parts.push(group({ "data-hot": id, "data-v": isOne ? "1" : "0", "data-now": isOne ? "1" : null }, [
      rect(x, top, 30, 24, { rx: 3, fill: isOne ? colours.accent : colours.empty }), text(x + 15, top + 12, isOne ? "1" : "0", { size: 13, fill: isOne ? colours.accentInk : colours.soft, anchor: "middle" }),
    ]));
    parts.push(rect(table.x, top, table.w, 24, { rx: 3, fill: isOne ? colours.panel : colours.empty, stroke: isOne ? colours.now : null, "stroke-width": isOne ? 2 : null }));
    if (isOne) for (let c = 0; c < Math.min(EMBED_CELLS, d.width); c++) parts.push(rect(table.x + 4 + c * 10.5, top + 4, 9.5, 16, { fill: signedColour(d.vector[c], d.limit), "data-row-cell": c }));
  });
  const foot = y + embedRows(d).length * step;
  parts.push(arrow(x + 33, lit, table.x - 3, lit, { stroke: colours.now, "stroke-width": 2 }));
  const size = d.vocabulary ? say(s, ["size ", d.vocabulary].join(""), ["大小 ", d.vocabulary].join("")) : say(s, "size not recorded", "大小未记录");
  parts.push(text(x + 15, foot + 12, size, { size: 12, fill: colours.soft, anchor: "middle", attrs: { "data-vocabulary": d.vocabulary || "unknown" } }));
  parts.push(text(table.x + table.w / 2, foot + 12, [d.vocabulary || "V", " × ", d.width].join(""), { size: 12, fill: colours.soft, anchor: "middle" }));
  return { svg: parts.join(""), lit: lit, right: table.x + table.w };
}

function embedVector(s, d, values, o) {
  const colours = theme(s);
  const cells = Math.min(EMBED_CELLS, values.length);
  const more = values.length > cells;
  const cw = (o.w - (more ? 24 : 0)) / cells;
  const parts = [text(o.x, o.y, o.title, { size: 13, fill: colours.ink }), text(o.x + o.w, o.y, o.aside || "", { size: 12, fill: colours.soft, anchor: "end" })];
  for (let c = 0; c < cells; c++) {
    const fill = signedColour(values[c], d.limit);
    parts.push(rect(o.x + c * cw, o.y + 14, cw - 2, 28, { rx: 3, fill: fill, stroke: colours.faint, "stroke-width": 1 }));
    parts.push(text(o.x + c * cw + cw / 2 - 1, o.y + 28, num(values[c], 2), { size: 13, fill: inkOn(fill), anchor: "middle" }));
  }
  if (more) parts.push(text(o.x + o.w - 10, o.y + 28, "…", { size: 15, fill: colours.soft, anchor: "middle" }));
  parts.push(heat({ x: o.x, y: o.y + 47, cw: o.w / values.length, ch: 14, rows: 1, cols: values.length, value: (r, c) => values[c], index: (v) => signedIndex(v, d.limit), table: DIVERGING, state: s, numbers: false }));
  parts.push(rect(o.x, o.y + 47, o.w, 14, { fill: "none", stroke: colours.line, "stroke-width": 1 }));
  if (o.sign) parts.push(text(o.x - 24, o.y + 28, o.sign, { size: 24, fill: colours.now, anchor: "middle" }));
  return group({ "data-vector": o.name }, parts);
}

function embedNoPosition(s, d) {
  const kind = d.t.model.positions;
  if (kind === "none") return say(s, "No position is added: this model learns the order by reading in order.", "不加位置：此模型按顺序读取，由此得知次序。");
  if (d.side === "target" || kind === "sinusoidal" || kind === "learned") return say(s, "The position added here was not recorded.", "此处所加的位置未记录。");
  return say(s, ["Nothing is added here: ", kind, " positions act inside attention."].join(""), ["此处不加任何东西：", kind, " 位置在注意力内部起作用。"].join(""));
}

function embedScaled(d) {
  const scale = d.t.embeddings.scale;
  return scale && Math.abs(scale - 1) > 1e-6 ? scale : null;
}

function embedColours(s, d) {
  const scale = embedScaled(d);
  const row = scale ? say(s, [" (the row in E: × ", num(scale, 2), ")"].join(""), ["（表 E 中的行：× ", num(scale, 2), "）"].join("")) : "";
  return [say(s, "colour: value", "颜色：数值"), row].join("");
}

function embedSteps(s, d, hot, x, w, y) {
  const colours = theme(s);
  const scale = embedScaled(d);
  const aside = scale ? say(s, ["row × ", num(scale, 2), ", ", d.width, " numbers"].join(""), ["该行 × ", num(scale, 2), "，", d.width, " 维"].join("")) : say(s, [d.width, " numbers"].join(""), [d.width, " 维"].join(""));
  const parts = [arrow(hot.right + 6, hot.lit, x - 12, y + 28, { stroke: colours.now, "stroke-width": 2 })];
  parts.push(embedVector(s, d, d.vector, { x: x, y: y, w: w, name: "embedding", title: say(s, ["embedding of “", fit(d.word, 9), "”"].join(""), ["“", fit(d.word, 9), "”的嵌入"].join("")), aside: aside }));
  if (!d.position) {
    parts.push(text(x, y + 92, embedNoPosition(s, d), { size: Math.min(13, w / em(embedNoPosition(s, d))), fill: colours.soft, attrs: { "data-no-position": "1" } }));
    return parts.join("");
  }
  parts.push(embedVector(s, d, d.position, { x: x, y: y + 96, w: w, name: "position", sign: "+", title: say(s, ["position ", d.at].join(""), ["位置 ", d.at].join("")), aside: d.t.model.positions }));
  parts.push(embedVector(s, d, d.total, { x: x, y: y + 192, w: w, name: "sum", sign: "=", title: say(s, "what enters the model", "进入模型的向量") }));
  return parts.join("");
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const d = embedData(trace, s);
  const area = box(meta, s);
  const colours = theme(s);
  const y = area.y + 92;
  const hot = embedOneHot(s, d, area.x + 206, y);
  const label = fit(d.word, 8);
  const wide = Math.max(70, em(label) * 18 + 26);
  const left = area.x + 2;
  const heading = (x, string, anchor) => text(x, y - 24, string, { size: 13, fill: colours.soft, anchor: anchor });
  const x = area.x + 440;
  const body = [
    embedChips(s, d, area.x, area.y + 2, area.w),
    heading(left, say(s, "token", "词元")), pill(left, hot.lit - 20, Math.min(wide, 132), 40, label, { fill: colours.accent, ink: colours.accentInk, size: Math.min(18, 112 / Math.max(1, em(label))), dir: d.token.dir }),
    text(left, hot.lit + 34, say(s, ["id ", d.token.id].join(""), ["编号 ", d.token.id].join("")), { size: 13, fill: colours.ink, attrs: { "data-id": d.token.id } }),
    arrow(left + Math.min(wide, 132) + 4, hot.lit, area.x + 206 - 44, hot.lit, { stroke: colours.now, "stroke-width": 2 }),
    heading(area.x + 206 + 15, "one-hot", "middle"), heading(area.x + 206 + 62 + 46, say(s, "table E", "嵌入表 E"), "middle"), hot.svg,
    heading(x, say(s, "the vector as colours, its first numbers above", "向量的颜色条，上方为前几个数")), embedSteps(s, d, hot, x, area.w - 440, y),
    legend({ x: x, y: area.y + area.h - 32, w: 220, lo: num(-d.limit, 2), hi: num(d.limit, 2), middle: "0", mode: "abs", table: DIVERGING, state: s, label: embedColours(s, d) }),
  ];
  const side = d.side === "source" ? say(s, "source", "源句") : say(s, "target, as fed in", "目标句（输入）");
  return page(meta, trace, s, {
    body: body, t: d.i + 1, n: d.count, frame: d.i, desc: describe(trace, state), subtitle: [say(s, "word → one-hot → row of the table", "词 → one-hot → 表中的一行"), d.position ? say(s, " → plus position", " → 加上位置") : "", " · ", side].join(""),
    caption: say(s, ["word ", d.i + 1, " / ", d.count].join(""), ["第 ", d.i + 1, " / ", d.count, " 个词"].join("")),
  });
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return { columns: [], rows: [] };
  const d = embedData(trace, s);
  const columns = [say(s, "dimension", "维"), say(s, "embedding", "嵌入"), say(s, "position", "位置"), say(s, "sum", "和")];
  return { columns: columns, rows: range(d.width).map((c) => [c, d.vector[c], d.position ? d.position[c] : null, d.total ? d.total[c] : d.vector[c]]) };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missingSentence(s, gap);
  const d = embedData(trace, s);
  const size = d.vocabulary ? say(s, [" of ", d.vocabulary].join(""), ["（共 ", d.vocabulary, "）"].join("")) : "";
  const after = d.position ? say(s, ["; position ", d.at, " is added"].join(""), ["，再加上位置 ", d.at].join("")) : "";
  return say(s, ["“", d.word, "” is number ", d.token.id, size, " in the vocabulary; that row of the table is its vector of ", d.width, " numbers", after, "."].join(""),
    ["“", d.word, "”在词表中的编号为 ", d.token.id, size, "；表中该行即其 ", d.width, " 维向量", after, "。"].join(""));
}

export function frames(trace, state) {
  return firstMissing(trace, meta.needs) ? 1 : embedData(trace, settle(meta, state)).count;
}

export function stateAt(trace, state, k) {
  return withState(state, { row: k });
}
