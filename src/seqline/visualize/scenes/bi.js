// Two directions: one lane reads from the first word on, one from the last word back, and their states are joined.

import { DIVERGING, theme } from "./_colour.js";
import { arrow, box, legend, missing, page, rect, text } from "./_draw.js";
import { COLUMN_UNITS, colourColumn } from "./_grid.js";
import { clamp, maxOf, range } from "./_text.js";
import { columnPlan, footLabels, items } from "./_tokens.js";
import { firstMissing, one, say, settle, withState, writeTimes } from "./_trace.js";

export const meta = {
  id: "bi",
  title: { en: "Reading in two directions", zh: "双向读取" },
  needs: ["encoder.h"],
  state: { t: null, layer: 0, level: "piece", col: null },
  size: [960, 540],
};

const BI_LEFT = 128;
const BI_TALL = 62;
const BI_GRID = 1600;

function biGap(trace) {
  const gap = firstMissing(trace, meta.needs);
  if (gap) return gap;
  return one(trace).encoder.h[0].length === 2 ? null : "encoder.h (R = 2)";
}

function biData(trace, s) {
  const enc = one(trace).encoder;
  const layer = clamp(s.layer, 0, enc.h.length - 1);
  const forward = writeTimes(trace, "encoder", "forward");
  const backward = writeTimes(trace, "encoder", "backward");
  const list = items(trace, "source", { level: "piece", special: "show" });
  const n = enc.h[layer][0].length;
  const cols = range(n).map((pos) => ({ pos: pos, item: list[pos], f: enc.h[layer][0][pos], b: enc.h[layer][1][pos], tf: forward(pos), tb: backward(pos) }));
  const last = maxOf(cols.map((each) => Math.max(each.tf, each.tb)));
  const t = s.t === null ? last : clamp(Math.round(s.t), 1, last);
  return { cols: cols, n: n, t: t, last: last, layer: layer, rtl: one(trace).source.dir === "rtl", units: enc.h[layer][0][0].length };
}

function biPlace(d, s) {
  const area = box(meta, s);
  const cw = clamp((area.w - BI_LEFT) / d.n, 8, 150);
  const plan = columnPlan(d.cols.map((each) => each.item), cw, 14, 52);
  const width = Math.max(area.width, 32 + BI_LEFT + cw * d.n + 32);
  const p = { x: area.x + BI_LEFT, cw: cw, plan: plan, width: width, joined: area.y + 6, w: clamp(cw * 0.5, 5, 26) };
  p.backward = p.joined + 2 * BI_TALL + 40;
  p.forward = p.backward + BI_TALL + 30;
  p.words = p.forward + BI_TALL + 16;
  p.order = (pos) => (d.rtl ? d.n - 1 - pos : pos);
  p.cx = (pos) => p.x + (p.order(pos) + 0.5) * cw;
  return p;
}

function biColumn(d, p, s, pos, y, values, ink, now, lane) {
  const many = d.n * Math.min(d.units, COLUMN_UNITS) * 4 > BI_GRID;
  return colourColumn({ x: p.cx(pos) - p.w / 2, y: y, w: p.w, h: BI_TALL, values: values, limit: 1, state: s, c: String(pos), image: many,
    stroke: now ? theme(s).now : ink, width: now ? 2.5 : 1.3, attrs: { "data-lane": lane, "data-pos": String(pos) } });
}

// A lane: the states written so far, and the arrow that carried each from the one before.
function biLane(d, p, s, lane) {
  const colours = theme(s);
  const ahead = lane === "forward";
  const ink = ahead ? colours.encoder : colours.decoder;
  const y = p[lane];
  const parts = [];
  for (const each of d.cols) {
    const t = ahead ? each.tf : each.tb;
    const before = each.pos + (ahead ? -1 : 1);
    const cx = p.cx(each.pos);
    if (t > d.t) {
      parts.push(rect(cx - p.w / 2, y, p.w, BI_TALL, { fill: colours.empty }));
      continue;
    }
    const now = t === d.t;
    if (before >= 0 && before < d.n && p.cw >= 16) {
      const side = p.cx(before) < cx ? 1 : -1;
      parts.push(arrow(p.cx(before) + side * (p.w / 2 + 1), y + BI_TALL / 2, cx - side * (p.w / 2 + 2), y + BI_TALL / 2, { stroke: now ? colours.now : ink, "stroke-width": now ? 2.2 : 1.4 }));
    }
    parts.push(biColumn(d, p, s, each.pos, y, ahead ? each.f : each.b, ink, now, lane));
  }
  return parts.join("");
}

function biJoined(d, p, s) {
  const colours = theme(s);
  const parts = [];
  for (const each of d.cols) {
    const cx = p.cx(each.pos);
    const t = Math.max(each.tf, each.tb);
    if (t > d.t) {
      parts.push(rect(cx - p.w / 2, p.joined, p.w, 2 * BI_TALL, { fill: colours.empty }));
      continue;
    }
    const now = t === d.t;
    parts.push(biColumn(d, p, s, each.pos, p.joined, each.f, colours.encoder, now, "joined"));
    parts.push(biColumn(d, p, s, each.pos, p.joined + BI_TALL, each.b, colours.decoder, now, "joined"));
    if (p.cw >= 16) parts.push(arrow(cx, p.backward - 4, cx, p.joined + 2 * BI_TALL + 4, { stroke: now ? colours.now : colours.line, "stroke-width": now ? 2.2 : 1.4 }));
  }
  return parts.join("");
}

function biNames(d, p, s) {
  const colours = theme(s);
  const label = (y, string, ink, size) => text(32, y, string, { size: size, fill: ink });
  const to = d.rtl ? "←" : "→";
  const fro = d.rtl ? "→" : "←";
  return [
    label(p.joined + BI_TALL - 9, say(s, "joined", "拼接"), colours.ink, 15), label(p.joined + BI_TALL + 11, say(s, "forward on top", "上为前向"), colours.soft, 12),
    label(p.backward + BI_TALL / 2 - 9, [say(s, "backward ", "后向 "), fro].join(""), colours.decoder, 15), label(p.backward + BI_TALL / 2 + 11, say(s, "what comes later", "后面的词"), colours.soft, 12),
    label(p.forward + BI_TALL / 2 - 9, [say(s, "forward ", "前向 "), to].join(""), colours.encoder, 15), label(p.forward + BI_TALL / 2 + 11, say(s, "what came before", "前面的词"), colours.soft, 12),
  ].join("");
}

// A soft band over the position that the reader picked, through all lanes.
function biPinned(d, p, s) {
  if (s.col === null || s.col < 0 || s.col >= d.n) return "";
  return rect(p.cx(s.col) - p.cw / 2, p.joined - 6, p.cw, p.words - p.joined + 26, { fill: theme(s).accent, opacity: 0.12, rx: 6, "data-pinned": String(s.col) });
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = biGap(trace);
  if (gap) return missing(meta, trace, s, gap);
  const d = biData(trace, s);
  const p = biPlace(d, s);
  const reading = d.cols.filter((each) => each.tf === d.t)[0];
  const back = d.cols.filter((each) => each.tb === d.t)[0];
  const labels = footLabels(d.cols.map((each) => each.item), p.plan, { x: p.x, y: p.words, cw: p.cw, size: 14, state: s, now: reading ? reading.pos : null, also: back ? back.pos : null, order: p.order });
  const shown = d.units > COLUMN_UNITS ? say(s, ["the first ", COLUMN_UNITS, " of ", d.units, " units"].join(""), [d.units, " 个单元中的前 ", COLUMN_UNITS, " 个"].join("")) : say(s, [d.units, " units a direction"].join(""), ["每个方向 ", d.units, " 个单元"].join(""));
  const note = [say(s, ["layer ", d.layer + 1].join(""), ["第 ", d.layer + 1, " 层"].join("")), shown].join(", ");
  const area = box(meta, s);
  const key = legend({ x: p.width - 32 - 220, y: area.height - 50, w: 220, lo: "−1", middle: "0", hi: "1", mode: "", table: DIVERGING, label: say(s, "state h", "状态 h"), state: s });
  const body = [biPinned(d, p, s), biNames(d, p, s), biJoined(d, p, s), biLane(d, p, s, "backward"), biLane(d, p, s, "forward"), labels, key];
  return page(meta, trace, withState(s, { width: p.width }), { body: body, t: d.t, n: d.last, frame: d.t - 1, desc: describe(trace, s), notes: [note] });
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (biGap(trace)) return { columns: [], rows: [] };
  const d = biData(trace, s);
  const columns = ["word", "direction", "t"].concat(range(d.units).map((u) => ["unit ", u].join("")));
  const rows = [];
  for (const each of d.cols) {
    rows.push([each.item.text, "forward", each.tf].concat(each.f));
    rows.push([each.item.text, "backward", each.tb].concat(each.b));
  }
  return { columns: columns, rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  if (biGap(trace)) return say(s, "This encoder reads in one direction only.", "该编码器只向一个方向读取。");
  const d = biData(trace, s);
  const names = (key) => d.cols.filter((each) => each[key] === d.t).map((each) => each.item.text).join(" ");
  return say(s, ["At t", d.t, " of ", d.last, " the forward lane reads ", names("tf"), " and the backward lane reads ", names("tb"), "."].join(""),
    ["在 t", d.t, "（共 ", d.last, "），前向读 ", names("tf"), "，后向读 ", names("tb"), "。"].join(""));
}

export function frames(trace, state) {
  return biGap(trace) ? 1 : biData(trace, settle(meta, state)).last;
}

export function stateAt(trace, state, k) {
  return withState(settle(meta, state), { t: k + 1 });
}
