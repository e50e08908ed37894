// The grid of heads: one small map a layer and head, beside them the named summaries (mean, max, rollout).
import { attentionNotes, headCount, kindName, layerCount, pickBlock, pickMatrix, reducedText } from "./_attention.js";
import { colourIndex, scaled, sequential, theme } from "./_colour.js";
import { badge, box, group, legend, line, missing, missingSentence, page, rect, text } from "./_draw.js";
import { heat } from "./_grid.js";
import { clamp, em, fnv, maxOf, num, range, sum } from "./_text.js";
import { aggregate, axisTokens, items } from "./_tokens.js";
import { firstMissing, say, settle, withState } from "./_trace.js";

export const meta = {
  id: "heads",
  title: { en: "All heads", zh: "所有注意力头" },
  needs: ["attention"],
  state: { attention: null, layer: null, head: null, level: "piece", special: "show", scale: "abs", sort: "index", summaries: true },
  choices: { sort: ["index", "entropy", "diagonal", "previous"] },
  size: [960, 540],
};

function headsEntropy(values) {
  let total = 0;
  for (const row of values) for (let c = 0; c < row.length; c++) if (row[c] > 0) total = total - row[c] * Math.log(row[c]);
  return total / values.length;
}

// Mean weight on the same place (`shift` 0) or the place before (`shift` 1), along the diagonal of unequal lengths too.
function headsDiagonal(values, shift) {
  const q = values.length;
  const total = values.map((row, r) => {
    const c = q === row.length ? r - shift : Math.round((r * (row.length - 1)) / Math.max(1, q - 1)) - shift;
    return c >= 0 && c < row.length ? row[c] : 0;
  });
  return sum(total) / q;
}

// Attention rollout: half the mean map, half the identity (the residual), multiplied layer by layer; self-attention only.
function headsRollout(means) {
  const out = [];
  for (let l = 0; l < means.length; l++) {
    const mixed = means[l].map((row, r) => row.map((v, c) => 0.5 * v + (r === c ? 0.5 : 0)));
    const before = l ? out[l - 1] : null;
    out.push(!before ? mixed : mixed.map((row) => {
      const total = row.map(() => 0);
      for (let k = 0; k < row.length; k++) if (row[k] > 0) for (let c = 0; c < row.length; c++) total[c] = total[c] + row[k] * before[k][c];
      return total;
    }));
  }
  return out;
}

function headsData(trace, s) {
  const block = pickBlock(trace, s);
  const rows = items(trace, block.query, s);
  const cols = items(trace, block.key, s);
  const at = (layer, head) => pickMatrix(block, withState(s, { layer: layer, head: head })).values;
  const whole = rows.length === axisTokens(trace, block.query).length && cols.length === axisTokens(trace, block.key).length;
  const shown = (values) => (whole ? values : aggregate(values, rows, cols));
  const layers = range(layerCount(block));
  const count = headCount(block);
  const tiles = layers.map((l) => {
    const list = range(count).map((h) => ({ layer: l, head: h, raw: at(l, h) }));
    for (const each of list) {
      each.values = shown(each.raw);
      each.entropy = headsEntropy(each.raw);
      each.score = s.sort === "diagonal" || s.sort === "previous" ? headsDiagonal(each.raw, s.sort === "previous" ? 1 : 0) : each.entropy;
    }
    if (s.sort === "entropy") list.sort((a, b) => a.score - b.score || a.head - b.head);
    else if (s.sort !== "index") list.sort((a, b) => b.score - a.score || a.head - b.head);
    return list;
  });
  const named = [];
  if (s.summaries && (count > 1 || layers.length > 1)) {
    const means = layers.map((l) => at(l, "mean"));
    if (count > 1) named.push({ name: "mean", maps: means }, { name: "max", maps: layers.map((l) => at(l, "max")) });
    if (means[0].length === means[0][0].length && block.kind !== "cross") named.push({ name: "rollout", maps: headsRollout(means) });
  }
  for (const each of named) each.values = each.maps.map(shown);
  return { block: block, rows: rows, cols: cols, tiles: tiles, named: named, count: count, layers: layers.length, reduced: Boolean(block.reduced) };
}

function headsHash(values) {
  const ints = [];
  for (const row of values) for (let c = 0; c < row.length; c++) ints.push((row[c] * 65535 + 0.5) | 0);
  return fnv(ints);
}

function headsMap(s, x, y, size, values, attrs, isLit) {
  const colours = theme(s);
  const rows = values.length;
  const cols = values[0].length;
  const table = sequential(s);
  const w = size.w - 6;
  const h = size.h - 6 - size.label;
  const rowMax = values.map((row) => maxOf(row));
  const shared = { "data-hash": headsHash(values) };
  for (const key of Object.keys(attrs)) shared[key] = attrs[key];
  return group(shared, [
    rect(x, y, w, h, { fill: colours.empty }),
    heat({
      x: x, y: y, cw: w / cols, ch: h / rows, rows: rows, cols: cols, table: table, state: s, numbers: w / cols >= 34, value: (r, c) => values[r][c],
      index: (v, r) => colourIndex(scaled(v, s.scale, rowMax[r])),
    }),
    rect(x - 1, y - 1, w + 2, h + 2, { fill: "none", stroke: isLit ? colours.now : colours.line, "stroke-width": isLit ? 2.5 : 1 }),
  ]);
}

function headsLayout(s, data, area, notes) {
  const columns = data.count + data.named.length;
  const gap = data.named.length ? 18 : 0;
  const left = 62;
  const label = 16;
  const w = Math.min((area.w - left - gap) / columns, 320);
  const top = area.y + 24;
  // Below the maps: the legend, and every note beyond the first one.
  const below = 76 + 16 * Math.max(0, notes.filter((note) => note).length - 1);
  const h = Math.min((area.h - below) / data.layers, 320 * 0.9);
  const x = area.x + left;
  const summary = x + data.count * w + gap;
  return { left: x, top: top, w: w, h: h, summary: summary, label: s.sort === "index" || h < 44 ? 0 : label, wide: summary + data.named.length * w };
}

function headsNames(s) {
  return {
    mean: say(s, "mean", "平均"), max: say(s, "max", "最大"), rollout: say(s, "rollout", "逐层累积"),
    entropy: say(s, "entropy", "熵"), diagonal: say(s, "diagonal", "对角"), previous: say(s, "previous token", "前一个词"),
  };
}

function headsHeads(s, data, o) {
  const colours = theme(s);
  const names = headsNames(s);
  const parts = [];
  const every = o.w >= 26 ? 1 : 2;
  if (s.sort === "index") {
    for (let h = 0; h < data.count; h = h + every) {
      const word = o.w >= 60 ? say(s, ["head ", h + 1].join(""), ["头 ", h + 1].join("")) : String(h + 1);
      parts.push(text(o.left + (h + 0.5) * o.w - 3, o.top - 12, word, { size: 12, fill: colours.soft, anchor: "middle" }));
    }
  }
  data.named.forEach((each, i) => {
    const size = Math.min(12, (o.w - 4) / Math.max(1, em(names[each.name])));
    parts.push(text(o.summary + (i + 0.5) * o.w - 3, o.top - 12, names[each.name], { size: Math.max(9, size), fill: colours.warm, anchor: "middle" }));
  });
  if (data.named.length) parts.push(line(o.summary - 12, o.top - 20, o.summary - 12, o.top + data.layers * o.h - 6, { stroke: colours.line, "stroke-width": 1, "stroke-dasharray": "3 3" }));
  for (let l = 0; l < data.layers; l++) {
    const y = o.top + (l + 0.5) * o.h - 3;
    const isNow = s.layer === l;
    parts.push(text(o.left - 12, y, say(s, ["layer ", l + 1].join(""), ["层 ", l + 1].join("")), { size: 12, fill: isNow ? colours.now : colours.soft, anchor: "end", attrs: { "data-layer": l, "data-now": isNow ? "1" : null } }));
  }
  return parts.join("");
}

function headsGrid(s, data, o) {
  const colours = theme(s);
  const parts = [];
  const size = { w: o.w, h: o.h, label: o.label };
  data.tiles.forEach((list, l) => {
    const y = o.top + l * o.h;
    list.forEach((tile, i) => {
      const x = o.left + i * o.w;
      const isLit = s.layer === l && (s.head === null || s.head === tile.head);
      parts.push(headsMap(s, x, y, size, tile.values, { "data-tile": [l, tile.head].join(" "), "data-score": num(tile.score, 4) }, isLit));
      if (o.label) {
        const shown = [o.w >= 84 ? say(s, "head ", "头 ") : "", tile.head + 1, o.w >= 60 ? ["  ", num(tile.score, 2)].join("") : ""].join("");
        parts.push(text(x + (o.w - 6) / 2, y + o.h - 12, shown, { size: 11, fill: colours.soft, anchor: "middle" }));
      }
    });
    data.named.forEach((each, i) => parts.push(headsMap(s, o.summary + i * o.w, y, size, each.values[l], { "data-summary": [l, each.name].join(" ") }, s.layer === l && s.head === each.name)));
  });
  return parts.join("");
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const data = headsData(trace, s);
  const area = box(meta, s);
  const flat = [], readers = [];
  for (const list of data.tiles) for (const tile of list) tile.values.forEach((row, r) => { flat.push(row); readers.push(data.rows[r]); });
  const notes = attentionNotes(s, flat, data.cols, readers);
  const o = headsLayout(s, data, area, notes);
  const modes = { abs: say(s, "weight 0 to 1", "权重 0 到 1"), sqrt: say(s, "square root of the weight", "权重的平方根"), row: say(s, "scaled per row", "按行缩放") };
  const foot = o.top + data.layers * o.h + 16;
  const colours = theme(s);
  const axes = say(s, "in each map: rows write ↓, columns are read →", "每张图：行为读取者 ↓，列为被读者 →");
  const body = [
    headsHeads(s, data, o), headsGrid(s, data, o),
    legend({ x: o.left, y: foot, w: 220, lo: "0", hi: "1", mode: s.scale, table: sequential(s), label: modes[s.scale] || modes.abs, state: s }),
    text(o.left + 250, foot + 17, axes, { size: 12, fill: colours.soft }),
  ];
  if (s.sort !== "index") body.push(text(o.left + 250, foot, say(s, ["heads of each layer sorted by ", headsNames(s)[s.sort]].join(""), ["每层的头按", headsNames(s)[s.sort], "排序"].join("")), { size: 12, fill: colours.warm }));
  if (data.reduced) body.push(badge(area.x + area.w, foot + 4, reducedText(s), "reduced", s, "end"));
  const known = s.layer === null ? data.layers : clamp(s.layer + 1, 1, data.layers);
  return page(meta, trace, s, {
    body: body, t: known, n: data.layers, frame: known - 1, desc: headsSentence(s, data), notes: notes,
    caption: s.layer === null ? say(s, [data.layers, " × ", data.count].join(""), [data.layers, " × ", data.count].join("")) : say(s, ["layer ", known, " / ", data.layers].join(""), ["第 ", known, " / ", data.layers, " 层"].join("")),
    subtitle: [kindName(s, data.block.kind), say(s, ["rows ", data.rows.length, ", columns ", data.cols.length].join(""), [data.rows.length, " 行 ", data.cols.length, " 列"].join(""))].join(" · "),
  });
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return { columns: [], rows: [] };
  const data = headsData(trace, s);
  const columns = [say(s, "layer", "层"), say(s, "head", "头"), say(s, "mean entropy (nats)", "平均熵（奈特）"), say(s, "diagonal", "对角"), say(s, "previous token", "前一个词"), say(s, "largest weight", "最大权重"), say(s, "hash", "哈希")];
  const rows = [];
  for (const list of data.tiles) {
    for (const tile of list) rows.push([tile.layer + 1, tile.head + 1, tile.entropy, headsDiagonal(tile.raw, 0), headsDiagonal(tile.raw, 1), maxOf(tile.raw.map(maxOf)), headsHash(tile.values)]);
  }
  return { columns: columns, rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missingSentence(s, gap);
  return headsSentence(s, headsData(trace, withState(s, { summaries: false })));
}

function headsSentence(s, data) {
  let best = null;
  for (const list of data.tiles) for (const tile of list) if (!best || tile.entropy < best.entropy) best = { entropy: tile.entropy, tile: tile };
  const place = [best.tile.layer + 1, best.tile.head + 1];
  return say(s, [data.layers * data.count, " maps, one a head. The sharpest is head ", place[1], " of layer ", place[0], ", mean entropy ", num(best.entropy, 2), " nats."].join(""),
    ["共 ", data.layers * data.count, " 张图，每头一张。最集中的是第 ", place[0], " 层第 ", place[1], " 头，平均熵 ", num(best.entropy, 2), "。"].join(""));
}

export function frames(trace, state) {
  return firstMissing(trace, meta.needs) ? 1 : layerCount(pickBlock(trace, settle(meta, state)));
}

export function stateAt(trace, state, k) {
  return withState(state, { layer: k });
}
