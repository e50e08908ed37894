// The architecture of this very model as a block diagram; the parts that run at t are lit.
import { DIAGRAM_W, diagramArrow, diagramBlocks, diagramBox, diagramCells, diagramTable, diagramWidth } from "./_blocks.js";
import { inkOn, partColour, theme } from "./_colour.js";
import { arrow, box, circle, group, line, missing, missingSentence, page, rect, text } from "./_draw.js";
import { fit, grouped, maxOf } from "./_text.js";
import { axisTokens, labelWidth, tokenLabel } from "./_tokens.js";
import { firstMissing, has, one, producedBy, say, settle, stepCount, stepOf, withState } from "./_trace.js";

export const meta = {
  id: "diagram",
  title: { en: "The model as a diagram", zh: "模型结构图" },
  needs: ["model", "schedule"],
  state: { t: null, level: "word" },
  size: [1120, 640],
};

const DIAGRAM_X = { encoder: 204, middle: 452, decoder: 700, panel: 868 };

// What the model consists of, from its words, its parts and the blocks that were recorded.
function diagramModel(trace) {
  const t = one(trace);
  const m = t.model;
  const kinds = (t.attention || []).map((block) => block.kind);
  const names = (m.parts || []).map((part) => [part.name, part.type].join(" ")).join(" ");
  const events = [];
  for (const step of t.schedule) for (const event of step.events) events.push(event);
  const turns = events.some((event) => event.part === "encoder" && event.dir);
  const writes = Boolean(t.target);
  const alone = t.task === "language_model";
  const blocky = /attention|convolution|TTT/i;
  const reader = turns ? "recurrent" : kinds.indexOf("encoder_self") >= 0 || blocky.test(m.encoder) ? "blocks" : "plain";
  const writer = m.reads_memory === "in_each_block" || kinds.indexOf("decoder_self") >= 0 || blocky.test(m.layer) || has(t, "ttt") ? "blocks" : "recurrent";
  const feed = (m.parts || []).filter((part) => /feed_forward|FeedForward/.test([part.name, part.type].join(" ")) && part.shape.length === 2)[0];
  return {
    t: t, m: m, cell: m.layer.replace(/Cell$/, ""), encoder: alone ? null : reader, decoder: alone || writes && m.num_layers.decoder > 0 ? writer : null, alone: alone,
    added: has(t, "positions") || m.positions === "sinusoidal" || m.positions === "learned", cross: kinds.indexOf("cross") >= 0 || m.reads_memory === "in_each_block",
    norm: /PreNorm/.test(names) ? "pre" : /PostNorm/.test(names) ? "post" : "unknown", after: { encoder: /encoder\.after /.test(names), decoder: /(decoder|^)\.?after /.test(names) },
    inner: feed ? maxOf(feed.shape) : null, events: events,
  };
}

function diagramLit(trace, s, d) {
  const t = stepOf(trace, s);
  const now = [];
  const past = [];
  for (const step of d.t.schedule) for (const event of step.events) (step.t === t ? now : step.t < t ? past : []).push(event);
  const parts = now.map((event) => event.part);
  const many = d.events.some((event) => event.part === "encoder" && event.layer > 0);
  const wrote = [];
  const read = [];
  for (const event of now) {
    for (const id of event.writes) if (/^y:\d+$/.test(id)) wrote.push(Number(id.slice(2)));
    for (const id of event.reads) if (/^x:\d+$/.test(id) && event.part === "encoder") read.push(Number(id.slice(2)));
  }
  if (wrote.length && parts.indexOf("output") < 0) parts.push("output");
  const layers = (part) => now.filter((event) => event.part === part && event.layer !== null).map((event) => event.layer);
  return { t: t, now: now, parts: parts, past: past.map((event) => event.part), wrote: wrote, read: read, layer: { encoder: many ? layers("encoder") : null, decoder: null } };
}

function diagramBase(k, side, x, bottom, sentenceLine) {
  const d = k.d;
  const s = k.s;
  const part = side === "source" && !d.alone ? "encoder:embedding" : "decoder";
  const width = diagramWidth(d.t, side);
  const shape = diagramTable(d.t, side, width);
  const y = bottom + (d.added ? 48 : 24);
  diagramArrow(k, [x, y + 58, x, y + 36], part);
  diagramBox(k, x, y, 150, 36, say(s, "embedding", "嵌入"), part, shape ? shape.join(" × ") : String(width));
  if (d.added) {
    const colours = theme(s);
    k.out.push(line(x, y, x, y - 12, { stroke: colours.soft, "stroke-width": 1.4 }), circle(x, y - 22, 10, { fill: colours.bg, stroke: colours.soft, "stroke-width": 1.4, "data-position": d.m.positions }));
    k.out.push(text(x, y - 22, "+", { size: 15, fill: colours.ink, anchor: "middle" }), arrow(x + 58, y - 22, x + 11, y - 22, { stroke: colours.soft, "stroke-width": 1.4 }));
    k.out.push(text(x + 63, y - 22, say(s, "position", "位置"), { size: 11, fill: colours.soft }));
    diagramArrow(k, [x, y - 32, x, bottom], part);
  } else diagramArrow(k, [x, y, x, bottom], part);
  const rows = side === "source" ? d.t.source.tokens.length : d.t.target ? d.t.target.tokens.length : 0;
  k.out.push(text(x + 8, bottom + 12, [rows, " × ", width].join(""), { size: 11, fill: theme(s).soft, attrs: { "data-size": [rows, width].join(" ") } }));
  k.out.push(text(x, y + 70, fit(sentenceLine.text, 22), { size: 14, fill: sentenceLine.now ? theme(s).now : theme(s).ink, anchor: "middle", dir: sentenceLine.dir, attrs: { "data-feed": side } }));
}

function diagramWord(token, s) {
  return tokenLabel(token, s.level);
}

function diagramTexts(k) {
  const d = k.d;
  const s = k.s;
  const tokens = d.t.source.tokens;
  const read = k.lit.read;
  const short = read.length && read.length <= 3 && read.length < tokens.length;
  const source = short ? read.slice().sort((a, b) => a - b).map((i) => diagramWord(tokens[i], s)).join(" · ") : d.t.source.text;
  const j = k.lit.wrote.length ? k.lit.wrote[0] : -1;
  const inputs = d.t.target ? axisTokens(d.t, "target.in") : [];
  const done = d.t.target ? d.t.target.tokens.slice(0, producedBy(d.t, k.lit.t)).map((token) => diagramWord(token, s)) : [];
  return {
    source: { text: source, now: read.length > 0, dir: d.t.source.dir },
    fed: { text: j >= 0 && inputs[j] ? diagramWord(inputs[j].token, s) : say(s, "the word before", "前一个词"), now: j >= 0, dir: j >= 0 && inputs[j] ? inputs[j].token.dir : "ltr" },
    out: j >= 0 && d.t.target ? d.t.target.tokens[j] : null, done: done,
  };
}

function diagramHead(k, x, top, texts) {
  const d = k.d;
  const s = k.s;
  const colours = theme(s);
  const heads = (d.m.parts || []).filter((part) => /output|head/i.test(part.name) && part.shape.length === 2);
  const shape = heads.length ? heads[heads.length - 1].shape : null;
  const size = d.t.task === "tagging" || d.t.task === "classification" ? say(s, "scores of labels", "标签得分") : shape ? shape.join(" × ") : "";
  diagramBox(k, x, top - 36, 150, 36, d.t.task === "forecasting" ? say(s, "linear", "线性层") : say(s, "linear, softmax", "线性层，softmax"), "output", size);
  diagramArrow(k, [x, top - 36, x, top - 56], "output");
  const label = texts.out ? diagramWord(texts.out, s) : d.decoder ? say(s, "next word", "下一个词") : say(s, "output", "输出");
  const w = Math.max(64, labelWidth(label, texts.out ? texts.out.w_em : 0) * 15 + 24);
  const fill = texts.out ? colours.now : colours.panel;
  k.out.push(rect(x - w / 2, top - 84, w, 27, { rx: 13, fill: fill, stroke: colours.line, "stroke-width": texts.out ? null : 1 }));
  k.out.push(text(x, top - 70.5, label, { size: 14, fill: texts.out ? inkOn(fill) : colours.soft, anchor: "middle", dir: texts.out ? texts.out.dir : "ltr", attrs: { "data-writes": texts.out ? label : "" } }));
}

// What stands between encoder and decoder of a recurrent model: bridge, summary or attention.
function diagramBetween(k, reader, writer, bottom) {
  const d = k.d;
  const s = k.s;
  const x = DIAGRAM_X.middle;
  const from = DIAGRAM_X.encoder + DIAGRAM_W / 2 + 22;
  const to = DIAGRAM_X.decoder - DIAGRAM_W / 2 - 22;
  const reads = d.m.reads_memory;
  const low = bottom - 34;
  if (d.m.bridge !== "-" && reader === "recurrent" && d.decoder === "recurrent") {
    diagramArrow(k, [from, low, x - 62, low], "bridge");
    diagramBox(k, x, low - 17, 124, 34, say(s, ["bridge: ", d.m.bridge].join(""), ["桥接：", d.m.bridge].join("")), "bridge", say(s, "first state", "初始状态"));
    diagramArrow(k, [x + 62, low, to, low], "bridge");
  }
  if (reads === "never") return;
  const y = bottom - 140;
  const context = d.t.decoder && d.t.decoder.context ? d.t.decoder.context[0].length : null;
  const size = context ? ["c: ", context].join("") : "c";
  const rows = [d.t.source.tokens.length, context || d.m.width].join(" × ");
  if (reads === "every_step_same") {
    diagramArrow(k, [from, y + 24, x - 62, y + 24], "encoder", rows, [from + 4, y + 14]);
    diagramBox(k, x, y, 124, 48, say(s, "one summary", "单一摘要"), "decoder", say(s, "the same every step", "每步相同"));
    diagramArrow(k, [x + 62, y + 24, to, y + 24], "decoder", size, [to - 4, y + 14, "end"]);
    return;
  }
  diagramArrow(k, [from, y + 24, x - 62, y + 24], "attention", rows, [x - 66, y + 14, "end"]);
  diagramBox(k, x, y, 124, 48, say(s, "attention", "注意力"), "attention", d.m.score);
  if (reads === "before_cell") {
    diagramArrow(k, [to, y + 10, x + 62, y + 10], "attention", say(s, "query", "查询"), [(to + x + 62) / 2, y - 1, "middle"]);
    diagramArrow(k, [x + 62, y + 38, to, y + 38], "attention", size, [(to + x + 62) / 2, y + 50, "middle"]);
    return;
  }
  diagramArrow(k, [to, y + 34, x + 62, y + 34], "attention", say(s, "query", "查询"), [(to + x + 62) / 2, y + 46, "middle"]);
  diagramArrow(k, [x, y, x, writer.top - 17, DIAGRAM_X.decoder - 75, writer.top - 17], "attention", size, [x + 10, writer.top - 27]);
}

function diagramTowers(k, area) {
  const d = k.d;
  const texts = diagramTexts(k);
  const bottom = area.y + area.h - (d.encoder === "blocks" || d.decoder === "blocks" ? 130 : 180);
  const xe = d.decoder ? DIAGRAM_X.encoder : DIAGRAM_X.middle;
  const xd = d.encoder ? DIAGRAM_X.decoder : DIAGRAM_X.middle;
  const draw = (kind, side, x) => (kind === "blocks" ? diagramBlocks(k, side, x, bottom) : kind === "recurrent" ? diagramCells(k, side, x, bottom) : { top: bottom - 20, frame: bottom, cross: null });
  let reader = null;
  if (d.encoder) {
    diagramBase(k, "source", xe, bottom, texts.source);
    if (d.encoder === "plain") diagramArrow(k, [xe, bottom, xe, bottom - 20], "encoder");
    reader = draw(d.encoder, "encoder", xe);
  }
  if (!d.decoder) {
    diagramHead(k, xe, reader.top, texts);
    return;
  }
  diagramBase(k, d.alone ? "source" : "target", xd, bottom, d.alone ? (texts.out && producedBy(d.t, k.lit.t) > 1 ? texts.fed : texts.source) : texts.fed);
  const writer = draw(d.decoder, "decoder", xd);
  let top = writer.top;
  if (d.encoder && d.decoder === "blocks" && writer.cross) {
    const label = say(k.s, ["memory ", d.t.source.tokens.length, " × ", d.m.width].join(""), ["记忆 ", d.t.source.tokens.length, " × ", d.m.width].join(""));
    const mid = DIAGRAM_X.middle + 26;
    diagramArrow(k, [xe, reader.top, mid, reader.top, mid, writer.cross.middle, writer.cross.left, writer.cross.middle], "attention", label, [mid - 8, reader.top - 10, "end"]);
  } else if (d.encoder) diagramBetween(k, d.encoder, writer, bottom);
  if (d.decoder === "recurrent" && d.m.reads_memory === "after_cell" && d.encoder) {
    const z = d.t.decoder && d.t.decoder.z ? [" ", d.t.decoder.z[0].length].join("") : "";
    diagramBox(k, xd, top - 34, 150, 34, say(k.s, "join state and context", "合并状态与上下文"), "decoder", ["z", z].join(""));
    diagramArrow(k, [xd, top - 34, xd, top - 54], "decoder");
    top = top - 54;
  }
  diagramHead(k, xd, top, texts);
}

const DIAGRAM_NAMES = { encoder: ["encoder", "编码器"], bridge: ["bridge", "桥接"], attention: ["attention", "注意力"], decoder: ["decoder", "解码器"], output: ["output", "输出"] };

function diagramPanel(k, area) {
  const s = k.s;
  const colours = theme(s);
  const x = DIAGRAM_X.panel;
  const w = area.x + area.w - x;
  const parts = [rect(x, area.y, w, area.h, { rx: 10, fill: colours.panel })];
  parts.push(text(x + 18, area.y + 26, say(s, ["runs at t = ", k.lit.t].join(""), ["t = ", k.lit.t, " 时运行"].join("")), { size: 15, fill: colours.ink }));
  let y = area.y + 62;
  for (const name of Object.keys(DIAGRAM_NAMES)) {
    if (k.lit.parts.indexOf(name) < 0) continue;
    parts.push(rect(x + 18, y - 8, 16, 16, { rx: 4, fill: partColour(s, name) }), text(x + 44, y, say(s, DIAGRAM_NAMES[name][0], DIAGRAM_NAMES[name][1]), { size: 14, fill: colours.ink, attrs: { "data-runs": name } }));
    y = y + 28;
  }
  const texts = diagramTexts(k);
  if (k.d.decoder) parts.push(text(x + 18, area.y + 226, say(s, "written so far", "已写出"), { size: 12, fill: colours.soft }));
  const shown = texts.done.slice(-9);
  shown.forEach((word, i) => parts.push(text(x + 18, area.y + 248 + i * 19, fit([i === 0 && shown.length < texts.done.length ? "… " : "", word].join(""), (w - 36) / 14), { size: 14, fill: i === shown.length - 1 && texts.out ? colours.now : colours.ink })));
  const low = area.y + area.h - 82;
  const rows = [[say(s, "runs now", "正在运行"), { fill: colours.accent, stroke: colours.accent }], [say(s, "ran before", "已运行"), { fill: colours.panel, stroke: colours.accent }], [say(s, "not yet", "尚未运行"), { fill: colours.panel, stroke: colours.accent, "stroke-dasharray": "5 3" }]];
  parts.push(group({ "data-legend": "now past not-yet" }, rows.map((row, i) => [rect(x + 18, low + i * 24 - 7, 26, 14, row[1]), text(x + 54, low + i * 24, row[0], { size: 12, fill: colours.soft })].join(""))));
  return parts.join("");
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const area = box(meta, s);
  const d = diagramModel(trace);
  const k = { s: s, d: d, out: [], lit: diagramLit(trace, s, d) };
  diagramTowers(k, area);
  const body = [diagramPanel(k, area)].concat(k.out);
  const notes = d.norm === "unknown" && (d.encoder === "blocks" || d.decoder === "blocks") ? say(s, "Where the norms stand was not recorded; drawn as published in 2017.", "归一化的位置未记录；按 2017 年论文画出。") : "";
  const n = stepCount(trace);
  return page(meta, trace, s, { body: body, t: k.lit.t, n: n, frame: k.lit.t - 1, desc: describe(trace, state), subtitle: diagramSubtitle(d, s), notes: [notes] });
}

function diagramSubtitle(d, s) {
  const count = grouped(d.m.num_parameters);
  return say(s, [d.m.arch, " · ", count, " parameters · sizes as rows × width"].join(""), [d.m.arch, " · ", count, " 个参数 · 尺寸为 行数 × 宽度"].join(""));
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return { columns: [], rows: [] };
  const columns = ["t", say(s, "part", "部件"), say(s, "layer", "层"), say(s, "direction", "方向"), say(s, "position", "位置"), say(s, "reads", "读"), say(s, "writes", "写")];
  const rows = [];
  for (const step of one(trace).schedule) for (const event of step.events) rows.push([step.t, event.part, event.layer, event.dir, event.pos, event.reads.join(" "), event.writes.join(" ")]);
  return { columns: columns, rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missingSentence(s, gap);
  const lit = diagramLit(trace, s, diagramModel(trace));
  const parts = lit.parts.filter((part, i) => lit.parts.indexOf(part) === i);
  const m = one(trace).model;
  return say(s, ["The model ", m.arch, " as blocks. At t = ", lit.t, " runs: ", parts.join(", ") || "nothing", "."].join(""), ["模型 ", m.arch, " 的结构图。t = ", lit.t, " 时运行：", parts.map((part) => (DIAGRAM_NAMES[part] || [part, part])[1]).join("、") || "无", "。"].join(""));
}

export function frames(trace) {
  return stepCount(trace);
}

export function stateAt(trace, state, k) {
  return withState(state, { t: k + 1 });
}
