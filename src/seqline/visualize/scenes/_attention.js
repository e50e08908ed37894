// Attention of a trace: which block, layer and head is shown, whole or reduced, and how it is named.
//
// pickBlock(trace, state) attention block (state.attention = name or kind) · pickMatrix(block, state) {values, layer, head, label, reduced}
// layerCount(block) · headCount(block) · hiddenMass(row) · axisName(state, axis) · kindName(state, kind) · reducedText(state)
// attentionNotes(state, values, cols, rows) lines for `notes` · sinkIn(values, rows, cols)
import { clamp, maxOf, range, sum } from "./_text.js";
import { one, say } from "./_trace.js";

export function hiddenMass(rowValues) {
  return Math.max(0, 1 - sum(rowValues));
}

export function pickBlock(trace, state) {
  const blocks = one(trace).attention || [];
  const wanted = state.attention;
  for (const block of blocks) if (wanted && (block.name === wanted || block.kind === wanted)) return block;
  for (const block of blocks) if (block.kind === "cross") return block;
  return blocks[0];
}

function sparse(block, layer, head) {
  const places = block.topk_idx[layer][head];
  const width = block.head_mean[layer][0].length;
  return places.map((row, q) => {
    const out = range(width).map(() => 0);
    for (let i = 0; i < row.length; i++) out[row[i]] = block.topk_w[layer][head][q][i];
    return out;
  });
}

function overHeads(heads, how) {
  return heads[0].map((row, q) => row.map((_, m) => {
    const values = heads.map((head) => head[q][m]);
    return how === "max" ? maxOf(values) : sum(values) / values.length;
  }));
}

function headValues(block, layer, head) {
  if (block.weights) {
    const heads = block.weights[layer];
    return head === "mean" || head === "max" ? overHeads(heads, head) : heads[head];
  }
  if (head === "mean") return block.head_mean[layer];
  if (head === "max") return overHeads(range(block.topk_idx[layer].length).map((h) => sparse(block, layer, h)), "max");
  const kept = block.reduced.kept_heads;
  for (let n = 0; n < kept.length; n++) if (kept[n][0] === layer && kept[n][1] === head) return block.kept[n];
  return sparse(block, layer, head);
}

export function headCount(block) {
  return block.weights ? block.weights[0].length : block.topk_idx[0].length;
}

export function layerCount(block) {
  return block.weights ? block.weights.length : block.head_mean.length;
}

// state.layer null = the last one; state.head a number, "mean" or "max".
export function pickMatrix(block, state) {
  const layers = layerCount(block);
  const layer = state.layer === null || state.layer === undefined ? layers - 1 : clamp(state.layer, 0, layers - 1);
  const named = state.head === "mean" || state.head === "max";
  const head = named ? state.head : clamp(state.head || 0, 0, headCount(block) - 1);
  const single = layers === 1 && headCount(block) === 1;
  const shown = named
    ? say(state, [head, " of ", headCount(block), " heads"].join(""), [headCount(block), " 个头的", head === "mean" ? "平均" : "最大"].join(""))
    : say(state, ["head ", head + 1].join(""), ["第 ", head + 1, " 头"].join(""));
  const label = single ? "" : say(state, ["layer ", layer + 1, ", ", shown].join(""), ["第 ", layer + 1, " 层，", shown].join(""));
  return { values: headValues(block, layer, head), layer: layer, head: head, label: label, reduced: Boolean(block.reduced) };
}

export function axisName(state, axis) {
  if (axis === "source") return say(state, "source word", "源词");
  if (axis === "target.out") return say(state, "output word", "输出词");
  return axis === "sequence.out" ? say(state, "next word", "下一个词") : say(state, "earlier word", "前面的词");
}

export function kindName(state, kind) {
  if (kind === "cross") return say(state, "attention from output to source", "输出对源句的注意力");
  return kind === "encoder_self" ? say(state, "self-attention of the encoder", "编码器自注意力") : say(state, "self-attention of the decoder", "解码器自注意力");
}

export function reducedText(state) {
  return say(state, "reduced: mean and top 8", "已精简：平均与前 8 项");
}

// Whether a mark takes more than half of a row; an end mark that reads an end mark is none (rows may be unknown).
export function sinkIn(values, rows, cols) {
  const isMark = cols.map((col) => Boolean(col.special) || /^[\p{P}\p{S}]+$/u.test(col.text.replace(/^▁/, "")));
  const isEnd = (item) => Boolean(item) && item.special === "eos";
  return values.some((row, r) => row.some((v, c) => isMark[c] && v > 0.5 && !(isEnd(cols[c]) && isEnd(rows && rows[r]))));
}

// What to know before reading weights, as lines for `notes`.
export function attentionNotes(state, values, cols, rows) {
  const first = say(state, "Weights show where the model read, not why.", "权重说明模型读了哪里，而非为什么。");
  const sinks = sinkIn(values, rows, cols);
  const sink = say(state, "Attention sink: a mark takes more than half of a row.", "注意力汇：某个符号占去一行的一半以上。");
  const notes = [sinks ? [first, sink].join("  ") : first];
  if (state.level === "word") notes.push(say(state, "Words: keys add up, queries average.", "按词：键求和，查询求平均。"));
  return notes;
}
