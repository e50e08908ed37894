// Cache growth: every step adds one column of keys and values a layer and reuses all the others.

import { seriesColour, theme } from "./_colour.js";
import { box, group, keyRow, line, marker, missing, page, rect, tag, text } from "./_draw.js";
import { brief, clamp, maxOf, num, range, ticks, xy } from "./_text.js";
import { columnPlan, footLabels, items } from "./_tokens.js";
import { firstMissing, has, nowOutput, one, say, settle, stepCount, stepOf, tOfOutput, withState } from "./_trace.js";

export const meta = {
  id: "kv",
  title: { en: "The cache of keys and values", zh: "键值缓存" },
  needs: ["decoder.steps"],
  gap: kvGap,
  state: { t: null },
  size: [960, 540],
};

const KV_NONE = "key/value cache";

function kvGap(trace) {
  const gap = firstMissing(trace, meta.needs);
  if (gap) return gap;
  const caches = one(trace).decoder.steps.map((step) => step.cache).filter((cache) => cache);
  if (!caches.length) return "decoder.steps.cache";
  return caches.every(kvIsState) || (caches.length > 1 && caches.every((cache) => cache.len === 1)) ? KV_NONE : null;
}

// A window that is full from the first step on is a state of one size.
function kvIsState(cache) {
  return cache.window !== null && cache.window !== undefined && cache.len === cache.window;
}

function kvNoneSays(s) {
  return say(s, "This model carries a state of one size from step to step; it keeps no keys and values.", "此模型每步传递大小不变的状态，没有键值缓存。");
}

function kvAbsent(trace, s, gap) {
  if (gap !== KV_NONE) return missing(meta, trace, s, gap);
  const area = box(meta, s);
  const body = [
    rect(area.x, area.y, area.w, area.h, { fill: theme(s).panel, rx: 10 }),
    text(area.x + area.w / 2, area.y + area.h / 2, kvNoneSays(s), { size: 16, fill: theme(s).ink, anchor: "middle", attrs: { "data-missing": gap } }),
  ];
  return page(meta, trace, s, { body: body, t: 1, n: 1, frame: 0, desc: kvNoneSays(s) });
}

function kvData(trace, s) {
  const t = one(trace);
  const steps = t.decoder.steps;
  const now = clamp(nowOutput(t, s), 0, steps.length - 1);
  const layers = Math.max(1, t.model.num_layers.decoder || t.model.num_layers.encoder);
  const sequence = t.attention && t.attention.some((block) => block.query === "sequence.out");
  const caches = steps.map((step) => step.cache);
  const longest = maxOf(caches.map((cache) => (cache ? cache.len : 0)));
  let labels = items(t, "target.in", { level: "piece", special: "show" });
  if (sequence || longest > labels.length) labels = items(t, "sequence", { level: "piece", special: "show" });
  const times = (name) => steps.map((step) => (step.ms && step.ms[name] !== null && step.ms[name] !== undefined ? step.ms[name] : null));
  return { trace: t, steps: steps, caches: caches, now: now, layers: layers, longest: longest, labels: labels, total: times("total"), without: times("total_without_cache") };
}

function kvSize(bytes) {
  if (bytes < 1000) return [bytes, " B"].join("");
  if (bytes < 1e6) return [brief(bytes / 1000), " kB"].join("");
  return [brief(bytes / 1e6), bytes < 1e9 ? " MB" : ""].join("");
}

// One block a layer and cached position; what this step added stands out, what is not kept yet is empty.
function kvBlocks(d, s, p) {
  const colours = theme(s);
  const cache = d.caches[d.now] || { len: 0, bytes: 0 };
  const before = d.now > 0 && d.caches[d.now - 1] ? d.caches[d.now - 1].len : 0;
  const fresh = Math.max(1, cache.len - before);
  const first = cache.window ? Math.max(0, d.now + 1 - cache.len) : 0;
  const gap = p.cw >= 10 ? 2 : 0.5;
  const parts = [];
  for (let l = 0; l < d.layers; l++) {
    const y = p.y + (d.layers - 1 - l) * p.ch;
    if (p.ch >= 13) parts.push(text(p.x - 10, y + p.ch / 2, say(s, ["layer ", l + 1].join(""), ["第 ", l + 1, " 层"].join("")), { size: 12, fill: colours.soft, anchor: "end" }));
    if (d.layers * p.n > 1600) {
      const edge = first + cache.len - fresh;
      const span = (from, to, ink, kind) => (to > from ? rect(p.x + from * p.cw, y, (to - from) * p.cw, p.ch - gap, { fill: ink, "data-block": kind }) : "");
      parts.push(span(0, first, colours.empty, null), span(first, edge, colours.decoder, "kept"), span(edge, first + cache.len, colours.now, "new"), span(first + cache.len, p.n, colours.empty, null));
      continue;
    }
    for (let c = 0; c < p.n; c++) {
      const kept = c >= first && c < first + cache.len;
      const isNew = kept && c >= first + cache.len - fresh;
      parts.push(rect(p.x + c * p.cw, y, p.cw - gap, p.ch - gap, { fill: isNew ? colours.now : kept ? colours.decoder : colours.empty, "data-block": kept ? (isNew ? "new" : "kept") : null, rx: p.cw >= 10 ? 3 : 0 }));
    }
  }
  return group({ "data-len": String(cache.len), "data-bytes": String(cache.bytes) }, parts);
}

function kvNumbers(d, s, x, y) {
  const colours = theme(s);
  const cache = d.caches[d.now] || { len: 0, bytes: 0 };
  const fact = (dy, label, value, ink, size) => [text(x + 16, y + dy, label, { size: 12, fill: colours.soft }), text(x + 16, y + dy + 24, value, { size: size, fill: ink })].join("");
  const positions = say(s, [cache.len, cache.len === 1 ? " position × " : " positions × ", d.layers, d.layers === 1 ? " layer" : " layers"].join(""), [cache.len, " 个位置 × ", d.layers, " 层"].join(""));
  const reused = cache.reused === null || cache.reused === undefined ? "–" : say(s, [cache.reused, " reused"].join(""), ["复用 ", cache.reused].join(""));
  return [
    rect(x, y, 196, 182, { rx: 10, fill: colours.panel }),
    fact(22, say(s, "kept in memory", "占用内存"), kvSize(cache.bytes), colours.decoder, 24),
    fact(78, say(s, "keys and values of", "键和值"), positions, colours.ink, 14),
    fact(130, say(s, "computed at this step", "本步计算"), [say(s, "1 new, ", "新 1，"), reused].join(""), colours.now, 14),
  ].join("");
}

function kvLine(d, values, k, p, s) {
  const ink = seriesColour(k, s);
  const points = [];
  const marks = [];
  const every = Math.ceil(values.length / 30);
  values.forEach((v, i) => {
    if (v === null || i > d.now) return;
    points.push([xy(p.cx(i)), xy(p.py(v))].join(","));
    if (i % every === 0 || i === d.now) marks.push(group({ "data-v": num(v, 4), "data-i": String(i) }, [marker(k, p.cx(i), p.py(v), i === d.now ? 5.5 : 3.5, ink)]));
  });
  return group({ "data-series": k ? "without" : "with", "data-dash": k ? "8 4" : "solid", "data-marker": String(k) }, [
    tag("polyline", { points: points.join(" "), fill: "none", stroke: ink, "stroke-width": 2, "stroke-dasharray": k ? "8 4" : null }), marks.join(""),
  ]);
}

// Milliseconds a step, with the cache and, where it was measured, without.
function kvTimes(d, s, area) {
  const colours = theme(s);
  const known = d.total.concat(d.without).filter((v) => v !== null);
  const y = area.y + 236;
  const tall = 118;
  const x = area.x + 74;
  const w = area.w - 74 - 216;
  if (!known.length) return text(area.x, y + 40, say(s, "No times were recorded.", "没有记录用时。"), { size: 14, fill: colours.soft });
  const high = maxOf(known) * 1.08 || 1;
  const n = d.steps.length;
  const p = { cx: (i) => x + ((i + 0.5) * w) / n, py: (v) => y + tall * (1 - v / high) };
  const parts = ticks(0, high, 4).map((v) => group({}, [line(x, p.py(v), x + w, p.py(v), { stroke: colours.faint }), text(x - 10, p.py(v), brief(v), { size: 12, fill: colours.soft, anchor: "end" })]));
  parts.push(text(x - 10, y - 18, say(s, "ms a step", "毫秒/步"), { size: 12, fill: colours.ink, anchor: "end" }));
  const every = Math.ceil(n / Math.max(1, Math.floor(w / 40)));
  for (let i = 0; i < n; i = i + every) parts.push(text(p.cx(i), y + tall + 16, String(i + 1), { size: 12, fill: colours.soft, anchor: "middle" }));
  parts.push(text(x + w, y + tall + 36, say(s, "output word →", "输出词 →"), { size: 12, fill: colours.ink, anchor: "end" }));
  const two = d.without.some((v) => v !== null);
  if (two) parts.push(kvLine(d, d.without, 1, p, s));
  parts.push(kvLine(d, d.total, 0, p, s));
  return parts.join("");
}

function kvKeys(d, s, area) {
  const colours = theme(s);
  const both = (k, dash) => (x, y) => [line(x, y, x + 26, y, { stroke: seriesColour(k, s), "stroke-width": 2, "stroke-dasharray": dash }), marker(k, x + 13, y, 3.5, seriesColour(k, s))].join("");
  const square = (ink) => (x, y) => rect(x + 6, y - 6, 14, 12, { fill: ink, rx: 3 });
  const entries = [{ label: say(s, "kept", "已存"), draw: square(colours.decoder) }, { label: say(s, "added now", "本步新增"), draw: square(colours.now) }];
  if (d.total.some((v) => v !== null)) entries.push({ label: say(s, "with cache", "有缓存"), draw: both(0, null) });
  if (d.without.some((v) => v !== null)) entries.push({ label: say(s, "without cache", "无缓存"), draw: both(1, "8 4") });
  else entries.push({ label: say(s, "time without cache was not recorded", "未记录无缓存用时"), draw: () => "" });
  return keyRow(entries, { x: 32, y: area.height - 18, state: s });
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = kvGap(trace);
  if (gap) return kvAbsent(trace, s, gap);
  const d = kvData(trace, s);
  const area = box(meta, s);
  const n = Math.max(d.longest, has(trace, "target") ? d.steps.length : 0);
  const cw = clamp((area.w - 74 - 216) / n, 6, 76);
  const ch = clamp(124 / d.layers, 5, 46);
  const width = Math.max(area.width, area.x + 74 + cw * n + 216 + 32);
  const p = { x: area.x + 74, y: area.y + 16 + (124 - ch * d.layers) / 2, cw: cw, ch: ch, n: n };
  const labels = range(n).map((i) => d.labels[i] || { i: i, text: "", w: 0, dir: "ltr" });
  const plan = columnPlan(labels, cw, 13, 58);
  const foot = footLabels(labels.map((item, i) => (i > d.now && i >= (d.caches[d.now] || { len: 0 }).len ? withState(item, { text: "" }) : item)), plan, { x: p.x, y: p.y + ch * d.layers + 4, cw: cw, size: 13, state: s });
  const body = [kvBlocks(d, s, p), foot, kvNumbers(d, s, width - 32 - 196, area.y + 8), kvTimes(d, s, area), kvKeys(d, s, area)];
  return page(meta, trace, withState(s, { width: width }), { body: body, t: stepOf(d.trace, s), n: stepCount(d.trace), frame: d.now, desc: describe(trace, s) });
}

export function table(trace, state) {
  if (kvGap(trace)) return { columns: [], rows: [] };
  const d = kvData(trace, settle(meta, state));
  const value = (cache, name) => (cache && cache[name] !== undefined ? cache[name] : null);
  const rows = d.steps.map((step, i) => [i + 1, step.out, value(d.caches[i], "len"), value(d.caches[i], "bytes"), value(d.caches[i], "reused"), d.total[i], d.without[i]]);
  return { columns: ["step", "output", "length", "bytes", "reused", "ms", "ms without cache"], rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  const gap = kvGap(trace);
  if (gap) return gap === KV_NONE ? kvNoneSays(s) : say(s, "No cache was recorded.", "没有记录缓存。");
  const d = kvData(trace, s);
  const cache = d.caches[d.now] || { len: 0, bytes: 0 };
  const tail = d.without.some((v) => v !== null) ? "" : say(s, " The time without a cache was not recorded.", "未记录无缓存时的用时。");
  return [say(s, ["At output word ", d.now + 1, " the cache holds ", cache.len, " positions in ", d.layers, " layers, ", kvSize(cache.bytes), "."].join(""),
    ["输出第 ", d.now + 1, " 个词时，缓存有 ", d.layers, " 层 ", cache.len, " 个位置，", kvSize(cache.bytes), "。"].join("")), tail].join("");
}

export function frames(trace, state) {
  return kvGap(trace) ? 1 : one(trace).decoder.steps.length;
}

export function stateAt(trace, state, k) {
  return withState(settle(meta, state), { t: tOfOutput(trace, k) });
}
