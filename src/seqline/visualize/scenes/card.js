// Model card: what the model is, where its parameters are, how it decoded, and which checks held.
import { theme } from "./_colour.js";
import { box, group, line, missing, missingSentence, page, pill, rect, text } from "./_draw.js";
import { brief, em, fit, grouped, maxOf, sum, wrap } from "./_text.js";
import { firstMissing, many, one, say, settle, toolkitName, withState } from "./_trace.js";

export const meta = {
  id: "card",
  title: { en: "Model card", zh: "模型卡片" },
  needs: ["model", "meta"],
  state: {},
  size: [1120, 640],
};

const CARD_PARTS = 14;
const CARD_READS = {
  never: ["once, as the first state", "只作初始状态"], every_step_same: ["the same summary every step", "每步同一摘要"], before_cell: ["attention before the cell", "单元之前的注意力"],
  after_cell: ["attention after the cell", "单元之后的注意力"], in_each_block: ["attention in each block", "每块内的注意力"],
};

function cardChoices(t, s) {
  const m = t.model;
  const readsSource = m.num_layers.encoder > 0 && (m.num_layers.decoder > 0 || m.reads_memory !== "never");
  const reads = readsSource ? say(s, CARD_READS[m.reads_memory][0], CARD_READS[m.reads_memory][1]) : "–";
  const value = (v) => (v === null || v === undefined || v === "-" || v === "" ? "–" : String(v));
  return [
    [say(s, "layer", "层"), value(m.layer)], [say(s, "encoder", "编码器"), value(m.encoder)], [say(s, "bridge", "桥接"), value(m.bridge)],
    [say(s, "reads the source", "读取源句"), reads], [say(s, "score", "得分"), value(m.score)], [say(s, "window", "窗口"), value(m.window)], [say(s, "positions", "位置"), value(m.positions)],
    [say(s, "layers", "层数"), say(s, [m.num_layers.encoder, " read, ", m.num_layers.decoder, " write"].join(""), [m.num_layers.encoder, " 读，", m.num_layers.decoder, " 写"].join(""))],
    [say(s, "directions", "方向数"), value(m.num_directions)], [say(s, "heads", "头数"), value(m.num_heads)],
    [say(s, "width", "宽度"), m.head_width ? say(s, [m.width, ", a head ", m.head_width].join(""), [m.width, "，每头 ", m.head_width].join("")) : value(m.width)],
    [say(s, "parameters", "参数量"), grouped(m.num_parameters)],
  ];
}

function cardRun(t, s) {
  const rows = [];
  if (t.decode) {
    rows.push([say(s, "decoding", "解码"), [t.decode.mode, t.beam ? [" ", t.beam.beam_size].join("") : "", say(s, ", temperature ", "，温度 "), brief(t.decode.temperature)].join("")]);
    rows.push([say(s, "stopped by", "停止于"), say(s, [t.decode.stopped_by, ", at most ", t.decode.max_len].join(""), [t.decode.stopped_by, "，至多 ", t.decode.max_len].join(""))]);
  }
  rows.push([say(s, "seed", "随机种子"), String(t.meta.seed)]);
  rows.push([say(s, "checkpoint", "检查点"), t.model.weights_sha256 ? t.model.weights_sha256.slice(0, 12) : say(s, "not recorded", "未记录")]);
  rows.push([say(s, "ran on", "运行于"), [t.meta.device, ", ", t.meta.dtype].join("")]);
  rows.push([say(s, "made with", "制作"), [toolkitName(t.meta), t.meta.torch ? [", torch ", t.meta.torch].join("") : ""].join("")]);
  return rows;
}

// The largest parts with what is left in one row, so that the rows add up to the whole model.
function cardParts(t, s) {
  const parts = (t.model.parts || []).map((part, i) => ({ name: part.name, shape: part.shape.join(" × "), n: part.num_parameters, i: i }));
  const listed = sum(parts.map((part) => part.n));
  const ranked = parts.slice().sort((a, b) => b.n - a.n || a.i - b.i);
  const kept = ranked.slice(0, parts.length > CARD_PARTS ? CARD_PARTS - 1 : CARD_PARTS).sort((a, b) => a.i - b.i);
  const others = ranked.slice(kept.length);
  if (others.length) kept.push({ name: say(s, ["and ", others.length, " smaller parts"].join(""), ["另外 ", others.length, " 个较小部件"].join("")), shape: "", n: sum(others.map((part) => part.n)) });
  const rest = t.model.num_parameters - listed;
  if (parts.length && rest !== 0) kept.push({ name: rest > 0 ? say(s, "not listed", "未列出") : say(s, "shared, counted once", "共享，只计一次"), shape: "", n: rest });
  return kept;
}

function cardPanel(s, x, y, w, h, title) {
  const colours = theme(s);
  return [rect(x, y, w, h, { rx: 10, fill: colours.panel, stroke: s.theme === "print" ? colours.line : null }), text(x + 16, y + 22, title, { size: 14, fill: colours.accent })].join("");
}

function cardPairs(s, rows, x, y, w, h) {
  const colours = theme(s);
  const parts = [];
  const left = maxOf(rows.map((row) => em(row[0]))) * 12 * 1.05 + 14;
  const lines = rows.map((row) => wrap(row[1], (w - left) / 12.4).slice(0, 2));
  const total = sum(lines.map((each) => 1 + (each.length - 1) * 0.7));
  const step = Math.min(34, h / total);
  let at = y;
  rows.forEach((row, i) => {
    parts.push(text(x, at + step / 2, row[0], { size: 12, fill: colours.soft }));
    lines[i].forEach((each, k) => parts.push(text(x + left, at + step / 2 + k * 15, fit(each, (w - left) / 12.2), { size: 12, fill: colours.ink, attrs: { "data-field": row[0] } })));
    at = at + step * (1 + (lines[i].length - 1) * 0.7);
  });
  return parts.join("");
}

function cardPartList(s, t, x, y, w, h) {
  const colours = theme(s);
  const rows = cardParts(t, s);
  if (!rows.length) return text(x, y + 14, say(s, "parts were not recorded", "未记录部件"), { size: 12, fill: colours.soft });
  const most = Math.max(1, maxOf(rows.map((row) => Math.abs(row.n))));
  const step = Math.min(32, (h - 34) / rows.length);
  const parts = [];
  rows.forEach((row, i) => {
    const top = y + i * step;
    parts.push(group({ "data-part-count": row.n }, [
      text(x, top + step / 2 - 2, cardName(row.name, (w - 150) / 11.5), { size: 11.5, fill: colours.ink }),
      text(x + w - 66, top + step / 2 - 2, row.shape, { size: 11, fill: colours.soft, anchor: "end" }),
      text(x + w, top + step / 2 - 2, grouped(row.n), { size: 12, fill: colours.ink, anchor: "end" }),
      rect(x, top + step - 5, w, 3, { rx: 1.5, fill: colours.faint }), rect(x, top + step - 5, (w * Math.abs(row.n)) / most, 3, { rx: 1.5, fill: colours.accent }),
    ]));
  });
  const foot = y + h - 22;
  parts.push(line(x, foot - 6, x + w, foot - 6, { stroke: colours.line, "stroke-width": 1 }));
  parts.push(text(x, foot + 10, say(s, "all parameters", "全部参数"), { size: 13, fill: colours.ink }));
  parts.push(text(x + w, foot + 10, grouped(t.model.num_parameters), { size: 13, fill: colours.ink, anchor: "end", attrs: { "data-total": t.model.num_parameters } }));
  return parts.join("");
}

// A long dotted name keeps its first and its last word.
function cardName(name, room) {
  const words = name.split(".");
  if (em(name) <= room || words.length < 3) return fit(name, room);
  for (let drop = 1; drop < words.length - 1; drop++) {
    const short = [words[0], "…"].concat(words.slice(1 + drop)).join(".").replace(".….", "…");
    if (em(short) <= room) return short;
  }
  return fit([words[0], "…", words[words.length - 1]].join(""), room);
}

function cardValue(v) {
  if (v === null || v === undefined) return "–";
  return typeof v === "number" ? brief(v) : String(v);
}

function cardWord(s, check) {
  return check.ok ? say(s, "passed", "通过") : say(s, "failed", "未通过");
}

// What a check says: recordings hold it in English; the ones known by their id have their own words in Chinese.
const CARD_CHECKS = {
  output_equal: "文本与模型自身的输出相同", rows_sum_1: "每行注意力权重之和为 1", shapes_named: "每个维度的长度与其词元数相等",
  gates_parity: "可读单元与所用层的 h、c 相等", attention_path: "显式注意力与所用路径的 logit 之差", packing_error: "打包后数值的最大变动",
};

function cardChecks(s, checks, x, y, w, h) {
  const colours = theme(s);
  if (!checks.length) return text(x, y + 14, say(s, "no checks were recorded", "未记录检查"), { size: 12, fill: colours.soft });
  const step = Math.min(44, h / checks.length);
  const parts = [];
  checks.forEach((check, i) => {
    const top = y + i * step;
    const ink = check.ok ? colours.output : colours.now;
    const numbers = say(s, ["value ", cardValue(check.value), ", tolerance ", cardValue(check.tol)].join(""), ["数值 ", cardValue(check.value), "，容差 ", cardValue(check.tol)].join(""));
    const own = Math.min(11, (w - 80) / (em(numbers) || 1));
    parts.push(group({ "data-check": check.id, "data-ok": check.ok ? "1" : "0" }, [
      pill(x, top, 60, 17, cardWord(s, check), { size: 11, fill: "none", stroke: ink, ink: ink, width: check.ok ? 1 : 2.5 }),
      text(x + 70, top + 9, fit(numbers, (w - 70) / own), { size: own, fill: colours.soft }),
      step >= 32 ? text(x, top + 26, fit(say(s, check.text, CARD_CHECKS[check.id] || check.text), w / 11.2), { size: 11, fill: colours.ink }) : "",
    ]));
  });
  return parts.join("");
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const t = one(trace);
  const area = box(meta, s);
  const top = area.y - 6;
  const high = area.h + 12;
  const a = { x: area.x, w: 312 };
  const b = { x: a.x + a.w + 14, w: 398 };
  const c = { x: b.x + b.w + 14, w: area.w - a.w - b.w - 28 };
  const run = cardRun(t, s);
  const low = run.length * 24 + 52;
  const body = [
    cardPanel(s, a.x, top, a.w, high, say(s, "What it is", "结构")), cardPairs(s, cardChoices(t, s), a.x + 16, top + 40, a.w - 32, high - 52),
    cardPanel(s, b.x, top, b.w, high, say(s, "Where the parameters are", "参数分布")), cardPartList(s, t, b.x + 16, top + 40, b.w - 32, high - 52),
    cardPanel(s, c.x, top, c.w, high - low - 12, say(s, "Checks of this recording", "本次记录的检查")), cardChecks(s, t.checks || [], c.x + 16, top + 42, c.w - 32, high - low - 62),
    cardPanel(s, c.x, top + high - low, c.w, low, say(s, "This run", "本次运行")), cardPairs(s, run, c.x + 16, top + high - low + 38, c.w - 32, run.length * 24),
  ];
  const note = say(s, "The bar of a part is its share of the largest part.", "部件的条形表示相对于最大部件的比例。");
  return page(meta, trace, s, { body: body, t: 1, n: 1, frame: 0, desc: describe(trace, state), caption: t.model.arch, notes: [note], data: { "data-legend": "0 max abs" } });
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return { columns: [], rows: [] };
  const columns = [say(s, "model", "模型"), say(s, "group", "组"), say(s, "name", "名称"), say(s, "value", "值"), say(s, "tolerance", "容差")];
  const rows = [];
  for (const each of many(trace)) {
    const t = each.trace;
    for (const row of cardChoices(t, s)) rows.push([each.label, say(s, "choice", "选择"), row[0], row[1], null]);
    for (const part of t.model.parts || []) rows.push([each.label, part.type, [part.name, " [", part.shape.join(", "), "]"].join(""), part.num_parameters, null]);
    for (const row of cardRun(t, s)) rows.push([each.label, say(s, "run", "运行"), row[0], row[1], null]);
    for (const check of t.checks || []) rows.push([each.label, cardWord(s, check), check.id, check.value, check.tol]);
  }
  return { columns: columns, rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missingSentence(s, gap);
  const t = one(trace);
  const checks = t.checks || [];
  const held = checks.filter((check) => check.ok).length;
  return say(s, ["The model ", t.model.arch, " has ", grouped(t.model.num_parameters), " parameters; ", held, " of ", checks.length, " checks passed."].join(""),
    ["模型 ", t.model.arch, " 有 ", grouped(t.model.num_parameters), " 个参数；", checks.length, " 项检查中通过 ", held, " 项。"].join(""));
}

export function frames() {
  return 1;
}

export function stateAt(trace, state) {
  return withState(state, {});
}
