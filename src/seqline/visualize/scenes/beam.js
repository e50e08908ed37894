// The beam tree: which partial outputs were kept at each step, which were dropped, and the path that won.

import { colourIndex, sequential, theme } from "./_colour.js";
import { box, group, keyRow, legend, line, missing, page, path, rect, tag, text } from "./_draw.js";
import { heat } from "./_grid.js";
import { clamp, em, fit, maxOf, num } from "./_text.js";
import { columnLabels, columnPlan, items, rowLabels, tokenLabel } from "./_tokens.js";
import { firstMissing, one, say, settle, withState } from "./_trace.js";

export const meta = {
  id: "beam",
  title: { en: "Beam search", zh: "束搜索" },
  needs: ["beam"],
  state: { t: null, node: null, pruned: true },
  size: [960, 540],
};

const BEAM_PANEL = 220;
const BEAM_FOOT = 70;

// Nodes by step, the likeliest on top; node.state decides whether a dropped one is drawn.
function beamData(trace, s) {
  const b = one(trace).beam;
  const byId = {};
  for (const node of b.nodes) byId[node.id] = node;
  const times = [];
  for (const node of b.nodes) if (times.indexOf(node.t) < 0) times.push(node.t);
  times.sort((x, y) => x - y);
  const t = s.t === null ? times.length : clamp(Math.round(s.t), 1, times.length);
  const pathOf = (id) => {
    const list = [];
    for (let at = byId[id]; at; at = at.parent === null ? null : byId[at.parent]) list.unshift(at.id);
    return list;
  };
  const chosen = byId[s.node] ? s.node : b.best;
  const columns = times.map((time) => b.nodes.filter((node) => node.t === time && (s.pruned || node.state !== "pruned")).sort((x, y) => x.rank - y.rank || x.id - y.id));
  return { b: b, byId: byId, times: times, t: t, best: pathOf(b.best), chosen: chosen, path: pathOf(chosen), columns: columns };
}

// Pieces joined to text: ▁ and Ġ begin a word, @@ says that the word goes on; without either, pieces are words.
function beamText(d, ids) {
  const tokens = ids.map((id) => d.byId[id].token).filter((token) => !token.special);
  const pieces = tokens.map((token) => token.piece);
  if (pieces.some((piece) => /^[▁Ġ]/.test(piece))) return pieces.join("").replace(/[▁Ġ]/g, " ").trim();
  if (pieces.some((piece) => /@@$/.test(piece))) return pieces.join(" ").replace(/@@ /g, "");
  const whole = tokens.map((token) => token.text);
  return whole.join(whole.every((each) => /[\u3000-\u9fff]/.test(each)) ? "" : " ");
}

function beamPlace(d, s) {
  const area = box(meta, s);
  const panel = d.b.attention ? BEAM_PANEL + 24 : 0;
  const most = maxOf(d.columns.map((each) => each.length)) || 1;
  const n = d.columns.length;
  const cw = clamp((area.w - panel - 8) / n, 84, 190);
  const tall = area.h - BEAM_FOOT - 26;
  const ch = Math.min(tall / most, 62);
  const pw = Math.min(cw * 0.72, 112);
  const p = { area: area, cw: cw, ch: ch, pw: pw, ph: clamp(ch * 0.6, 7, 24), top: area.y + 26, most: most, panel: area.x + cw * n + 24, n: n, pillSize: clamp(ch * 0.5, 7, 12) };
  p.width = Math.max(area.width, area.x + cw * n + panel + 32);
  p.x = (column) => area.x + column * cw + (cw - pw) - 4;
  p.y = (row) => p.top + (row + 0.5) * ch;
  return p;
}

function beamSpots(d, p) {
  const spots = {};
  d.columns.forEach((column, c) => column.forEach((node, r) => { spots[node.id] = { x: p.x(c), y: p.y(r), c: c }; }));
  return spots;
}

function beamEdge(d, p, s, node, spots) {
  const colours = theme(s);
  const to = spots[node.id];
  const from = node.parent === null ? { x: to.x - (p.cw - p.pw) - p.pw * 0.1, y: p.y((d.columns[0].length - 1) / 2), root: true } : spots[node.parent];
  if (!from) return "";
  const prob = Math.exp(node.logp);
  const won = d.path.indexOf(node.id) >= 0;
  const x1 = from.root ? Math.max(p.area.x + 2, from.x) : from.x + p.pw;
  const mid = (x1 + to.x) / 2;
  return path(["M", x1, from.y, "C", mid, from.y, mid, to.y, to.x, to.y], {
    stroke: won ? colours.now : node.state === "pruned" ? colours.line : colours.accent, "stroke-width": 0.8 + 5 * prob + (won ? 0.8 : 0),
    "stroke-dasharray": node.state === "pruned" ? "4 3" : null, opacity: node.state === "pruned" ? 0.8 : null, "data-edge": String(node.id), "data-p": num(prob, 4),
  });
}

function beamNode(d, p, s, node, spot) {
  const colours = theme(s);
  const won = d.path.indexOf(node.id) >= 0;
  const dropped = node.state === "pruned";
  const label = tokenLabel(node.token, "piece");
  const fill = won ? colours.now : dropped ? colours.bg : colours.panel;
  const ink = won ? (s.theme === "dark" ? "#000000" : "#ffffff") : dropped ? colours.soft : colours.ink;
  const facts = [num(node.sum, 2), " · ", num(node.norm, 2)].join("");
  const roomy = p.ch >= 44;
  const size = p.pillSize;
  const beside = !roomy && size >= 10 && p.pw >= 84;
  const own = [
    tag("title", {}, [label.replace(/[&<>]/g, " "), " sum ", num(node.sum, 3), " norm ", num(node.norm, 3), " p ", num(Math.exp(node.logp), 3), " ", node.state].join("")),
    rect(spot.x, spot.y - p.ph / 2, p.pw, p.ph, { rx: p.ph / 2, fill: fill, stroke: won ? colours.now : dropped ? colours.line : colours.accent, "stroke-width": 1.3, "stroke-dasharray": dropped ? "3 2" : null }),
    beside ? "" : text(spot.x + p.pw / 2, spot.y, fit(label, (p.pw - 8) / size), { size: size, fill: ink, anchor: "middle", dir: node.token.dir }),
    beside ? text(spot.x + 9, spot.y, fit(label, (p.pw - 24 - em(num(node.sum, 2)) * 10.5) / size), { size: size, fill: ink, dir: node.token.dir }) : "",
    beside ? text(spot.x + p.pw - 8, spot.y, num(node.sum, 2), { size: 10.5, fill: ink, anchor: "end" }) : "",
    roomy ? text(spot.x + p.pw / 2, spot.y + p.ph / 2 + 9, facts, { size: 10.5, fill: colours.soft, anchor: "middle" }) : "",
  ];
  return group({ "data-node": String(node.id), "data-state": node.state, "data-sum": num(node.sum, 4), "data-norm": num(node.norm, 4), "data-logp": num(node.logp, 4), "data-t": String(node.t), "data-path": won ? "1" : null }, own);
}

function beamTree(d, p, s) {
  const colours = theme(s);
  const spots = beamSpots(d, p);
  const edges = [];
  const thick = [];
  const nodes = [];
  const heads = [];
  for (let c = 0; c < d.t; c++) {
    const now = c === d.t - 1;
    heads.push(text(p.x(c) + p.pw / 2, p.top - 16, ["t", d.times[c]].join(""), { size: 12, fill: now ? colours.now : colours.soft, anchor: "middle", attrs: { "data-now": now ? "1" : null } }));
    for (const node of d.columns[c]) {
      (d.path.indexOf(node.id) >= 0 ? thick : edges).push(beamEdge(d, p, s, node, spots));
      nodes.push(beamNode(d, p, s, node, spots[node.id]));
    }
  }
  return [heads.join(""), edges.join(""), thick.join(""), nodes.join("")].join("");
}

// What the chosen path read: one row a word of it.
function beamReads(d, p, s, trace) {
  if (!d.b.attention) return "";
  const colours = theme(s);
  const shown = d.path.filter((id) => d.times.indexOf(d.byId[id].t) < d.t);
  const list = items(trace, "source", { level: "piece", special: "show" });
  const index = {};
  d.b.nodes.forEach((node, i) => { index[node.id] = i; });
  const rows = shown.map((id, i) => ({ i: i, text: tokenLabel(d.byId[id].token, "piece"), w: 3, dir: d.byId[id].token.dir }));
  const side = 78;
  const cw = Math.min(38, (BEAM_PANEL - side) / list.length);
  const plan = columnPlan(list, cw, 12, 74);
  const y = p.top + plan.height + 8;
  const ch = Math.min(30, (p.area.y + p.area.h - BEAM_FOOT - 60 - y) / Math.max(1, d.path.length));
  const rtl = one(trace).source.dir === "rtl";
  const order = rtl ? (c) => list.length - 1 - c : null;
  const ramp = sequential(s);
  return [
    text(p.panel, p.area.y + 10, say(s, "what this path read", "该路径读了什么"), { size: 12, fill: colours.soft }),
    columnLabels(list, plan, { x: p.panel + side, y: y - 2, cw: cw, size: 12, state: s, order: order }),
    rowLabels(rows, { x: p.panel + side - 8, y: y, ch: ch, size: 12, state: s, maxEm: 6 }),
    rows.length ? heat({ x: p.panel + side, y: y, cw: cw, ch: ch, rows: rows.length, cols: list.length, table: ramp, state: s, order: order, value: (r, c) => d.b.attention[index[shown[r]]][c], index: (v) => colourIndex(v) }) : "",
    legend({ x: p.panel + side, y: p.area.y + p.area.h - BEAM_FOOT - 42, w: BEAM_PANEL - side, lo: "0", hi: "1", mode: "abs", table: ramp, label: say(s, "weight", "权重"), state: s }),
  ].join("");
}

function beamFoot(d, p, s, trace) {
  const colours = theme(s);
  const y = p.area.y + p.area.h - BEAM_FOOT + 14;
  const shown = d.path.filter((id) => d.times.indexOf(d.byId[id].t) < d.t);
  if (!shown.length) return "";
  const last = d.byId[shown[shown.length - 1]];
  const string = beamText(d, shown);
  const name = d.chosen === d.b.best ? say(s, "best path", "最优路径") : say(s, "chosen path", "所选路径");
  const dir = one(trace).target ? one(trace).target.dir : "ltr";
  return [
    rect(32, y - 4, p.width - 64, 54, { rx: 10, fill: colours.panel }),
    text(48, y + 12, name, { size: 12, fill: colours.soft }), text(48, y + 34, fit(string, (p.width - 400) / 17), { size: 17, fill: colours.now, dir: dir, attrs: { "data-text": string } }),
    text(p.width - 48, y + 12, [say(s, "sum of log p", "log p 之和"), " · ", beamPenalty(d, s)].join(""), { size: 12, fill: colours.soft, anchor: "end" }),
    text(p.width - 48, y + 34, [num(last.sum, 3), " · ", num(last.norm, 3)].join(""), { size: 17, fill: colours.ink, anchor: "end" }),
  ].join("");
}

function beamPenalty(d, s) {
  const kind = d.b.length_penalty.kind;
  if (kind === "mean") return say(s, "norm: divided by length", "归一：除以长度");
  if (kind === "gnmt") return say(s, ["norm: length penalty, α = ", num(d.b.length_penalty.alpha, 2)].join(""), ["归一：长度惩罚 α = ", num(d.b.length_penalty.alpha, 2)].join(""));
  return say(s, "norm: the same sum", "归一：同一和");
}

function beamKeys(d, s) {
  const colours = theme(s);
  const stroke = (ink, w, dash) => (x, y) => line(x, y, x + 26, y, { stroke: ink, "stroke-width": w, "stroke-dasharray": dash });
  const entries = [{ label: say(s, "path", "路径"), draw: stroke(colours.now, 4) }, { label: say(s, "kept", "保留"), draw: stroke(colours.accent, 2.5) }];
  if (s.pruned) entries.push({ label: say(s, "dropped", "舍弃"), draw: stroke(colours.line, 2, "4 3") });
  else entries.push({ label: say(s, "dropped ones are hidden", "未画舍弃者"), draw: () => "" });
  entries.push({ label: say(s, ["width = p of the token; number = sum of log p; beam of ", d.b.beam_size].join(""), ["线宽 = 词元概率；数字 = log p 之和；束宽 ", d.b.beam_size].join("")), draw: () => "" });
  return keyRow(entries, { x: 32, y: box(meta, s).height - 18, state: s });
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const d = beamData(trace, s);
  const p = beamPlace(d, s);
  const body = [beamTree(d, p, s), beamReads(d, p, s, trace), beamFoot(d, p, s, trace), beamKeys(d, s)];
  return page(meta, trace, withState(s, { width: p.width }), { body: body, t: d.t, n: d.times.length, frame: d.t - 1, desc: describe(trace, s) });
}

export function table(trace, state) {
  if (firstMissing(trace, meta.needs)) return { columns: [], rows: [] };
  const rows = one(trace).beam.nodes.map((node) => [node.id, node.parent, node.t, node.token.piece, node.logp, node.sum, node.norm, node.rank, node.state]);
  return { columns: ["id", "parent", "t", "token", "logp", "sum", "norm", "rank", "state"], rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return say(s, "No beam was recorded.", "没有记录束搜索。");
  const d = beamData(trace, s);
  const best = d.byId[d.b.best];
  return say(s, ["A beam of ", d.b.beam_size, " looked at ", d.b.nodes.length, " partial outputs in ", d.times.length, " steps; the best is “", beamText(d, d.best), "”, sum ", num(best.sum, 3), "."].join(""),
    ["束宽 ", d.b.beam_size, "，", d.times.length, " 步共考察 ", d.b.nodes.length, " 个部分输出；最优为“", beamText(d, d.best), "”，和 ", num(best.sum, 3), "。"].join(""));
}

export function frames(trace, state) {
  return firstMissing(trace, meta.needs) ? 1 : beamData(trace, settle(meta, state)).times.length;
}

export function stateAt(trace, state, k) {
  return withState(settle(meta, state), { t: k + 1 });
}
