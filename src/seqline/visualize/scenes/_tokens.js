// Tokens and words as labels: their text and width, words of several pieces, and rows and columns of labels.
//
// tokenLabel(token, level) · labelWidth(string, w_em) · axisTokens(trace, axis) [{token, block, j}]
// items(trace, axis, state) -> [{text, name, w, dir, special, idx: [axis positions], span, faint}] (a character of several tokens has its text at the first, its name at all), honours state.level and state.special (hide drops them)
// aggregate(matrix, rowItems, colItems) rows: mean of queries, columns: sum of keys
// columnPlan(items, cellWidth, size, maxHeight) {mode, height, right, every} · columnLabels(items, plan, {x, y, cw, size, state, now, order})
// footLabels(items, plan, o) the same under the columns · rowLabels(items, {x, y, ch, size, state, anchor, now, maxEm})
import { theme } from "./_colour.js";
import { text } from "./_draw.js";
import { WIDE, em, fit, range } from "./_text.js";
import { joined, one } from "./_trace.js";

function visible(string) {
  return String(string).replace(/\n/g, "⏎").replace(/ /g, "␣");
}

// Markers (▁ Ġ @@) show in the piece view only; a part of a character shows the whole character; a word that the vocabulary lacks says so.
export function tokenLabel(token, level) {
  if (level === "piece" && !token.part && token.piece) return visible(token.piece);
  const shown = token.text === "" || token.text === undefined ? token.piece : token.text;
  if (token.special === "unk" && shown !== "<unk>") return [String(shown).trim(), " <unk>"].join("");
  return token.special || String(shown).trim() === "" ? visible(shown) : String(shown).trim();
}

export function labelWidth(string, w) {
  return Math.max(w || 0, em(string) * 1.05);
}

// Token places of an axis name: source, target.out, target.in, sequence, sequence.out.
export function axisTokens(trace, axis) {
  const t = one(trace);
  const place = (block, j) => ({ token: t[block].tokens[j], block: block, j: j });
  const source = range(t.source.tokens.length).map((j) => place("source", j));
  const out = t.target ? range(t.target.tokens.length).map((j) => place("target", j)) : [];
  if (axis === "source") return source;
  if (axis === "target.out") return out;
  if (axis === "sequence") return source.concat(out.slice(0, -1));
  if (axis === "sequence.out") return source.slice(1).concat(out);
  // A forecast that reads no values is fed the number of each step instead.
  if (t.task === "forecasting" && !t.target.bos) return out.map((place, j) => ({ token: stepToken(j + 1), block: "target", j: -1 }));
  const bos = t.target.bos || { id: -1, piece: "<s>", text: "<s>", word: null, special: "bos", dir: "neutral", w_em: 1.8 };
  return [{ token: bos, block: "target", j: -1 }].concat(out.slice(0, -1));
}

function stepToken(number) {
  const name = ["+", number].join("");
  return { id: -1, piece: name, text: name, word: null, special: null, dir: "neutral", w_em: em(name) };
}

function spanOf(places, i) {
  const token = places[i].token;
  if (!token.part) return 1;
  let n = 1;
  while (i + n < places.length && n < token.part[1] && places[i + n].token.part && places[i + n].token.word === token.word) n = n + 1;
  return n;
}

function pieceItems(places) {
  const list = [];
  let covered = 0;
  for (let i = 0; i < places.length; i++) {
    const token = places[i].token;
    const first = covered === 0;
    if (first) covered = spanOf(places, i);
    const label = first ? tokenLabel(token, "piece") : "";
    list.push({
      text: label, name: tokenLabel(token, "piece"), w: first ? labelWidth(label, token.w_em) : 0, dir: token.dir, special: token.special, idx: [i],
      span: first ? covered : 1,
    });
    covered = covered - 1;
  }
  return list;
}

function wordItems(trace, places) {
  const list = [];
  for (let i = 0; i < places.length; i++) {
    const place = places[i];
    const last = list.length ? list[list.length - 1] : null;
    const word = place.token.word;
    if (last && word !== null && last.word === word && last.block === place.block) {
      last.idx.push(i);
      last.text = one(trace)[place.block].words[word].text;
      last.name = last.text;
      last.w = labelWidth(last.text, one(trace)[place.block].words[word].w_em);
      continue;
    }
    const known = word === null || place.j < 0 ? null : one(trace)[place.block].words[word];
    const label = known ? known.text : tokenLabel(place.token, "word");
    list.push({
      text: label, name: label, w: labelWidth(label, known ? known.w_em : place.token.w_em), dir: known ? known.dir : place.token.dir,
      special: place.token.special, idx: [i], span: 1, word: word, block: place.block,
    });
  }
  return list;
}

export function items(trace, axis, state) {
  const places = axisTokens(trace, axis);
  const list = state.level === "word" ? wordItems(trace, places) : pieceItems(places);
  const kept = state.special === "hide" ? list.filter((item) => !item.special) : list;
  return kept.map((item, i) => joined(item, { i: i, faint: Boolean(state.special === "grey" && item.special) }));
}

export function aggregate(matrix, rowItems, colItems) {
  return rowItems.map((row) => colItems.map((col) => {
    let total = 0;
    for (const r of row.idx) for (const c of col.idx) total = total + matrix[r][c];
    return total / row.idx.length;
  }));
}

const MAX_LABEL_EM = 14;

// How column labels fit: flat, else 45 degrees, else 90; CJK up to 2 glyphs stay upright.
export function columnPlan(list, cw, size, maxHeight) {
  let widest = 0;
  let short = true;
  for (const item of list) {
    const room = item.span || 1;
    if (item.w * size > cw * room - 4) short = short && Array.from(item.text).length <= 2 && WIDE.test(item.text) && cw >= size * 1.1;
    widest = Math.max(widest, item.w);
  }
  const flat = list.every((item) => item.w * size <= cw * (item.span || 1) - 4);
  if (flat) return { mode: 0, height: size * 1.6, right: 0, every: 1 };
  if (short) return { mode: "stack", height: size * 2.6, right: 0, every: 1 };
  const limit = Math.min(widest, MAX_LABEL_EM, (maxHeight || 130) / size);
  if (cw >= size * 1.5) return { mode: 45, height: limit * size * 0.72 + size, right: limit * size * 0.72, every: 1, limit: limit };
  return { mode: 90, height: limit * size + size * 0.6, right: 0, every: Math.ceil((size * 1.15) / cw), limit: limit };
}

function labelAttrs(kind, item, plan, now) {
  return { "data-label": kind, "data-i": item.i, "data-rot": plan || null, "data-now": now ? "1" : null };
}

// o: x, y (bottom of the labels), cw, size, state, now (index), order(i) -> column shown at place i
export function columnLabels(list, plan, o) {
  const colours = theme(o.state);
  const parts = [];
  const place = o.order || ((i) => i);
  for (let i = 0; i < list.length; i++) {
    const item = list[i];
    const isNow = o.now === i;
    const pinned = o.now !== undefined && o.now !== null && o.now >= 0;
    if (item.text === "" || (plan.every > 1 && !isNow && (i % plan.every !== 0 || (pinned && Math.abs(i - o.now) < plan.every)))) continue;
    const span = item.span || 1;
    const at = place(i);
    const cx = o.x + (at + (place(0) > 0 ? 1 - span / 2 : span / 2)) * o.cw;
    const fill = isNow ? colours.now : item.faint ? colours.line : colours.ink;
    const attrs = labelAttrs("col", item, plan.mode === 45 || plan.mode === 90 ? plan.mode : null, isNow);
    const label = plan.limit ? fit(item.text, plan.limit) : item.text;
    if (plan.mode === "stack") {
      const glyphs = Array.from(label);
      glyphs.forEach((c, k) => parts.push(text(cx, o.y - (glyphs.length - k - 0.5) * o.size * 1.15, c, { size: o.size, fill: fill, anchor: "middle", attrs: k ? {} : attrs })));
    } else if (plan.mode === 0) parts.push(text(cx, o.y - o.size * 0.8, label, { size: o.size, fill: fill, anchor: "middle", dir: item.dir, attrs: attrs }));
    else parts.push(text(cx, o.y - o.size * 0.5, label, { size: o.size, fill: fill, dir: item.dir, rotate: -plan.mode, attrs: attrs }));
  }
  return parts.join("");
}

// o: x, y (top), ch, size, state, anchor ("end" left of the grid, "start" right of it), now, maxEm
export function rowLabels(list, o) {
  const colours = theme(o.state);
  const parts = [];
  const every = Math.max(1, Math.ceil((o.size * 1.15) / o.ch));
  for (let i = 0; i < list.length; i++) {
    const item = list[i];
    const isNow = o.now === i;
    const pinned = o.now !== undefined && o.now !== null && o.now >= 0;
    if (item.text === "" || (every > 1 && !isNow && (i % every !== 0 || (pinned && Math.abs(i - o.now) < every)))) continue;
    const fill = isNow ? colours.now : item.faint ? colours.line : colours.ink;
    parts.push(text(o.x, o.y + (i + (item.span || 1) / 2) * o.ch, fit(item.text, o.maxEm || MAX_LABEL_EM), {
      size: o.size, fill: fill, anchor: o.anchor || "end", dir: item.dir, attrs: labelAttrs("row", item, null, isNow),
    }));
  }
  return parts.join("");
}

// Labels under a row of columns: each ends at its column. o: x, y (top), cw, size, state, now, also (a second current one), order; plan of columnPlan
export function footLabels(list, plan, o) {
  const colours = theme(o.state);
  const place = o.order || ((i) => i);
  const parts = [];
  for (let i = 0; i < list.length; i++) {
    const item = list[i];
    const isNow = o.now === i || o.also === i;
    const pinned = o.now !== undefined && o.now !== null && o.now >= 0;
    if (item.text === "" || (plan.every > 1 && !isNow && (i % plan.every !== 0 || (pinned && Math.abs(i - o.now) < plan.every)))) continue;
    const cx = o.x + (place(i) + (item.span || 1) / 2) * o.cw;
    const turned = plan.mode === 45 || plan.mode === 90;
    const label = plan.limit ? fit(item.text, plan.limit) : item.text;
    const look = { size: o.size, fill: isNow ? colours.now : item.faint ? colours.line : colours.ink, dir: item.dir };
    const attrs = labelAttrs("col", item, turned ? plan.mode : null, isNow);
    if (turned) parts.push(text(cx, o.y + o.size * 0.5, label, joined(look, { anchor: "end", rotate: -plan.mode, attrs: attrs })));
    else if (plan.mode === "stack") Array.from(label).forEach((c, k) => parts.push(text(cx, o.y + (k + 0.6) * o.size * 1.15, c, joined(look, { anchor: "middle", attrs: k ? {} : attrs }))));
    else parts.push(text(cx, o.y + o.size * 0.8, label, joined(look, { anchor: "middle", attrs: attrs })));
  }
  return parts.join("");
}
