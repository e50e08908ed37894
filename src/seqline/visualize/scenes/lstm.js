// The cell in beats: LSTM forget, write, update, read; GRU reset, candidate, mix. Line width and colour are the values.
import { DIVERGING, inkOn, signedColour, theme } from "./_colour.js";
import { box, circle, group, legend, line, missing, page, path, rect, text } from "./_draw.js";
import { clamp, em, fit, meanAbs, num } from "./_text.js";
import { tokenLabel } from "./_tokens.js";
import { firstMissing, has, one, say, settle, stepCount, stepOf, withState } from "./_trace.js";

export const meta = {
  id: "lstm",
  title: { en: "Inside the gated cell", zh: "门控单元内部" },
  needs: ["encoder.gates|decoder.gates"],
  state: { t: null, beat: null, part: null, layer: 0, dir: 0, unit: 0, pos: null },
  size: [960, 540],
};

const LSTM_BEATS = { lstm: ["forget", "write", "update", "read"], gru: ["reset", "candidate", "mix"] };

function lstmPart(trace, s) {
  const found = ["encoder", "decoder"].filter((part) => has(trace, [part, ".gates"].join("")));
  return found.indexOf(s.part) >= 0 ? [s.part] : found;
}

// Every run of a cell that has gates, in time order: {t, part, pos}.
function lstmRuns(trace, s) {
  const tr = one(trace);
  const parts = lstmPart(trace, s);
  const runs = [];
  for (const step of tr.schedule) {
    for (const event of step.events) {
      if (parts.indexOf(event.part) < 0 || event.pos === null || event.pos === undefined) continue;
      if (event.part === "encoder" && event.dir && (event.dir === "backward") !== (s.dir === 1)) continue;
      if (event.part === "decoder" && event.pos >= tr.decoder.h[0].length) continue;
      if (!runs.some((run) => run.part === event.part && run.pos === event.pos)) runs.push({ t: step.t, part: event.part, pos: event.pos });
    }
  }
  return runs;
}

function lstmRunAt(runs, t, s) {
  let found = runs[0];
  for (const run of runs) {
    if (run.t > t) continue;
    if (s.pos !== null && s.pos !== undefined && run.t === t && run.pos > s.pos) continue;
    found = run;
  }
  return found;
}

function lstmPick(vector, unit) {
  return unit === "mean" ? meanAbs(vector) : vector[clamp(unit, 0, vector.length - 1)];
}

function lstmValues(trace, run, s) {
  const block = one(trace)[run.part];
  const layer = clamp(s.layer || 0, 0, block.h.length - 1);
  const inner = (array) => (run.part === "encoder" ? array[layer][clamp(s.dir || 0, 0, array[layer].length - 1)] : array[layer]);
  const h = inner(block.h);
  const backward = run.part === "encoder" && s.dir === 1 && block.h[layer].length > 1;
  const before = backward ? run.pos + 1 : run.pos - 1;
  const previous = (list, start) => (before >= 0 && before < h.length ? inner(list)[before] : start ? inner(start) : h[0].map(() => 0));
  const out = { layer: layer, width: h[0].length, h: lstmPick(h[run.pos], s.unit), hprev: lstmPick(previous(block.h, block.h0), s.unit) };
  for (const gate of Object.keys(block.gates)) out[gate] = lstmPick(inner(block.gates[gate])[run.pos], s.unit);
  if (block.gates.f) {
    out.c = lstmPick(inner(block.c)[run.pos], s.unit);
    out.cprev = lstmPick(previous(block.c, block.c0), s.unit);
  }
  return out;
}

function lstmData(trace, s) {
  const runs = lstmRuns(trace, s);
  const run = lstmRunAt(runs, stepOf(trace, s), s);
  const v = lstmValues(trace, run, s);
  const kind = v.f === undefined ? "gru" : "lstm";
  const beats = LSTM_BEATS[kind];
  const beat = s.beat === null || s.beat === undefined ? beats.length : clamp(Math.round(s.beat), 1, beats.length);
  return { runs: runs, run: run, v: v, kind: kind, beats: beats, beat: beat, index: runs.indexOf(run) * beats.length + beat - 1 };
}

function lstmWord(trace, run) {
  const tr = one(trace);
  if (run.part === "encoder") return tokenLabel(tr.source.tokens[run.pos], "word");
  if (run.pos === 0) return tr.target && tr.target.bos ? tokenLabel(tr.target.bos, "word") : "";
  return tr.target && tr.target.tokens[run.pos - 1] ? tokenLabel(tr.target.tokens[run.pos - 1], "word") : "";
}

// ---- drawing: coordinates of a box of 960 x 540 --------------------------------------------------------------------------

function lstmWire(s, points, v, dashed) {
  const width = 2.5 + 6 * clamp(Math.abs(v), 0, 1);
  const d = ["M"].concat(points.slice(0, 2), points.length > 2 ? ["L"] : [], points.slice(2));
  return [
    path(d, { stroke: theme(s).soft, "stroke-width": width + 1.6, "stroke-linejoin": "round", "stroke-dasharray": dashed }),
    path(d, { stroke: signedColour(v, 1), "stroke-width": width, "stroke-linejoin": "round", "stroke-dasharray": dashed }),
  ].join("");
}

// A line whose number the trace does not hold: it has no width and no colour to read.
function lstmPlain(s, points) {
  return path(["M"].concat(points.slice(0, 2), ["L"], points.slice(2)), { stroke: theme(s).soft, "stroke-width": 2, "stroke-dasharray": "5 4" });
}

function lstmGate(s, x, y, name, v, on) {
  const fill = signedColour(v, 1);
  return [
    rect(x - 29, y - 21, 58, 42, { rx: 8, fill: fill, stroke: on ? theme(s).now : theme(s).soft, "stroke-width": on ? 3 : 1.2 }),
    text(x, y - 8, name, { size: 14, fill: inkOn(fill), anchor: "middle" }),
    text(x, y + 9, num(v, 3), { size: 12, fill: inkOn(fill), anchor: "middle" }),
  ].join("");
}

function lstmNode(s, x, y, sign, on) {
  return [
    circle(x, y, 14, { fill: theme(s).bg, stroke: on ? theme(s).now : theme(s).soft, "stroke-width": on ? 3 : 1.5 }),
    text(x, y, sign, { size: 17, fill: theme(s).ink, anchor: "middle" }),
  ].join("");
}

function lstmSays(s, x, y, string, anchor, on) {
  return text(x, y, string, { size: 13, fill: on ? theme(s).now : theme(s).ink, anchor: anchor });
}

// Each beat is one group; the one of now carries data-now, later ones are faint.
function lstmBeat(d, name, draw) {
  const k = d.beats.indexOf(name) + 1;
  const on = k === d.beat;
  return group({ "data-beat": name, "data-now": on ? "1" : null, opacity: k > d.beat ? 0.2 : null }, draw(on));
}

function lstmGru(d, s, o) {
  const v = d.v;
  return [
    lstmWire(s, [o.left, o.top, 300, o.top], v.hprev),
    lstmBeat(d, "reset", (on) => [
      lstmWire(s, [176, o.top, 176, o.top + 16], v.hprev), lstmPlain(s, [176, o.top + 38, 176, o.mid]), lstmWire(s, [176, o.gate, 176, o.mid], v.r), lstmGate(s, 176, o.gate, "r", v.r, on),
      rect(160, o.top + 16, 32, 22, { rx: 6, fill: theme(s).bg, stroke: theme(s).soft, "stroke-width": 1.5 }), text(176, o.top + 27, "U", { size: 13, fill: theme(s).ink, anchor: "middle" }),
      lstmPlain(s, [190, o.mid, 408, o.mid, 408, o.gate - 20]), lstmNode(s, 176, o.mid, "×", on),
      lstmSays(s, 196, o.mid - 15, "r ⊙ (U h(t−1))", "start", on),
    ]),
    lstmBeat(d, "candidate", (on) => [lstmGate(s, 408, o.gate, "n", v.n, on), lstmSays(s, 408, o.gate + 33, say(s, "candidate", "候选"), "middle", on)]),
    lstmBeat(d, "mix", (on) => [
      lstmWire(s, [300, o.gate, 300, o.top + 12], v.z), lstmGate(s, 300, o.gate, "z", v.z, on),
      lstmWire(s, [300, o.top, 492, o.top], v.z * v.hprev), lstmNode(s, 300, o.top, "×", on), lstmSays(s, 322, o.top - 22, ["z × h = ", num(v.z * v.hprev, 3)].join(""), "start", on),
      lstmWire(s, [436, o.gate, 492, o.gate, 492, o.mid + 8], v.n), lstmWire(s, [492, o.mid - 8, 492, o.top + 12], (1 - v.z) * v.n),
      lstmNode(s, 492, o.mid, "×", on), lstmSays(s, 512, o.mid, ["(1−z) n = ", num((1 - v.z) * v.n, 3)].join(""), "start", on),
      lstmWire(s, [492, o.top, o.right, o.top], v.h), lstmNode(s, 492, o.top, "+", on),
    ]),
    lstmEnd(s, o.left, o.top, "h(t−1)", v.hprev, "end"), lstmEnd(s, o.right, o.top, "h(t)", d.beat === 3 ? v.h : null, "start"),
  ];
}

function lstmLstm(d, s, o) {
  const v = d.v;
  const kept = v.f * v.cprev;
  const added = v.i * v.g;
  const squashed = Math.tanh(v.c);
  return [
    lstmWire(s, [o.left, o.top, 190, o.top], v.cprev), lstmWire(s, [o.left, o.low, 520, o.low], v.hprev),
    lstmBeat(d, "forget", (on) => [
      lstmWire(s, [190, o.low, 190, o.top], v.f), lstmGate(s, 190, o.gate, "f", v.f, on), lstmWire(s, [190, o.top, 350, o.top], kept),
      lstmNode(s, 190, o.top, "×", on), lstmSays(s, 212, o.top - 22, ["f × c = ", num(kept, 3)].join(""), "start", on),
    ]),
    lstmBeat(d, "write", (on) => [
      lstmWire(s, [306, o.low, 306, o.mid, 350, o.mid], v.i), lstmWire(s, [394, o.low, 394, o.mid, 350, o.mid], v.g), lstmGate(s, 306, o.gate, "i", v.i, on),
      lstmGate(s, 394, o.gate, "g", v.g, on), lstmWire(s, [350, o.mid, 350, o.top + 12], added), lstmNode(s, 350, o.mid, "×", on),
      lstmSays(s, 372, o.mid - 24, ["i × g = ", num(added, 3)].join(""), "start", on),
    ]),
    lstmBeat(d, "update", (on) => [lstmWire(s, [350, o.top, o.right, o.top], v.c), lstmNode(s, 350, o.top, "+", on), lstmSays(s, 372, o.top - 22, ["c = ", num(v.c, 3)].join(""), "start", on)]),
    lstmBeat(d, "read", (on) => [
      lstmWire(s, [604, o.top, 604, o.gate], squashed), rect(574, o.mid - 13, 60, 26, { rx: 13, fill: theme(s).bg, stroke: theme(s).soft, "stroke-width": 1.5 }),
      text(604, o.mid, "tanh", { size: 13, fill: theme(s).ink, anchor: "middle" }), lstmWire(s, [520, o.low, 520, o.gate, 604, o.gate], v.o), lstmGate(s, 520, o.gate, "o", v.o, on),
      lstmWire(s, [604, o.gate, 604, o.low, o.right, o.low], v.h), lstmNode(s, 604, o.gate, "×", on),
    ]),
    lstmEnd(s, o.left, o.top, "c(t−1)", v.cprev, "end"), lstmEnd(s, o.right, o.top, "c(t)", d.beat >= 3 ? v.c : null, "start"),
    lstmEnd(s, o.left, o.low, "h(t−1)", v.hprev, "end"), lstmEnd(s, o.right, o.low, "h(t)", d.beat === 4 ? v.h : null, "start"),
  ];
}

function lstmEnd(s, x, y, name, v, anchor) {
  const at = anchor === "end" ? x - 8 : x + 8;
  return [text(at, y - 9, name, { size: 13, fill: theme(s).soft, anchor: anchor }), v === null ? "" : text(at, y + 9, num(v, 3), { size: 14, fill: theme(s).ink, anchor: anchor })].join("");
}

function lstmEquations(d, s) {
  const v = d.v;
  const n = (x) => (x < 0 ? ["(", num(x, 3), ")"].join("") : num(x, 3));
  if (d.kind === "gru") {
    return [
      [say(s, "reset", "重置"), say(s, "r lets n see part of U h(t−1)", "r 决定候选能看到多少 U h(t−1)"), ["r = ", num(v.r, 3)].join("")],
      [say(s, "candidate", "候选"), "n = tanh(W x + b + r ⊙ (U h(t−1) + b′))", ["n = ", num(v.n, 3)].join("")],
      [say(s, "mix", "混合"), "h = (1 − z) ⊙ n + z ⊙ h(t−1)", ["(1 − ", num(v.z, 3), ") × ", n(v.n), " + ", num(v.z, 3), " × ", n(v.hprev), " = ", num(v.h, 3)].join("")],
    ];
  }
  return [
    [say(s, "forget", "遗忘"), "f ⊙ c(t−1)", [num(v.f, 3), " × ", n(v.cprev), " = ", num(v.f * v.cprev, 3)].join("")],
    [say(s, "write", "写入"), "i ⊙ g", [num(v.i, 3), " × ", n(v.g), " = ", num(v.i * v.g, 3)].join("")],
    [say(s, "update", "更新"), "c = f ⊙ c(t−1) + i ⊙ g", [num(v.f * v.cprev, 3), " + ", n(v.i * v.g), " = ", num(v.c, 3)].join("")],
    [say(s, "read", "读出"), "h = o ⊙ tanh(c)", [num(v.o, 3), " × tanh ", n(v.c), " = ", num(v.h, 3)].join("")],
  ];
}

function lstmLines(d, s, area, y) {
  const colours = theme(s);
  const parts = [];
  const mean = s.unit === "mean";
  lstmEquations(d, s).forEach((row, k) => {
    const cy = y + k * 28;
    const on = k + 1 === d.beat;
    const ink = on ? colours.ink : colours.soft;
    if (on) parts.push(rect(area.x - 8, cy - 13, area.w + 16, 26, { fill: colours.panel, rx: 6 }));
    parts.push(rect(area.x - 8, cy - 13, on ? 4 : 0, 26, { fill: colours.now, rx: 2 }));
    parts.push(text(area.x + 6, cy, [k + 1, ". ", row[0]].join(""), { size: 14, fill: on ? colours.now : ink }));
    parts.push(text(area.x + 130, cy, row[1], { size: 14, fill: ink }));
    if (!mean && k < d.beat) parts.push(text(area.x + 430, cy, row[2], { size: 14, fill: ink }));
  });
  return parts;
}

function lstmTokens(trace, d, s, area) {
  const colours = theme(s);
  const parts = [];
  let x = area.x;
  const around = d.runs.filter((run) => Math.abs(d.runs.indexOf(run) - d.runs.indexOf(d.run)) <= 5);
  for (const run of around) {
    const label = fit(lstmWord(trace, run), 7);
    const on = run === d.run;
    const w = Math.max(34, em(label) * 14 + 20);
    if (x + w > area.x + 650) break;
    parts.push(rect(x, area.y, w, 28, { rx: 8, fill: on ? colours.now : colours.panel }));
    parts.push(text(x + w / 2, area.y + 14, label, { size: 14, fill: on ? inkOn(colours.now) : colours.soft, anchor: "middle", attrs: { "data-label": "col", "data-i": d.runs.indexOf(run) } }));
    x = x + w + 6;
  }
  return parts;
}

function lstmPanel(d, s, x, y, w) {
  const colours = theme(s);
  // Name, value and the beat that computes it.
  const rows = d.kind === "gru" ? [["h(t−1)", d.v.hprev, 0], ["r", d.v.r, 1], ["n", d.v.n, 2], ["z", d.v.z, 3], ["h(t)", d.v.h, 3]]
    : [["c(t−1)", d.v.cprev, 0], ["h(t−1)", d.v.hprev, 0], ["f", d.v.f, 1], ["i", d.v.i, 2], ["g", d.v.g, 2], ["c(t)", d.v.c, 3], ["o", d.v.o, 4], ["h(t)", d.v.h, 4]];
  const parts = [legend({ x: x, y: y + 6, w: w, lo: "-1", middle: "0", hi: "1", mode: "value", table: DIVERGING, label: say(s, "width and colour: value", "粗细与颜色：数值"), state: s })];
  const zero = x + 62 + (w - 122) / 2;
  rows.forEach((row, k) => {
    const cy = y + 74 + k * 28;
    const size = ((w - 122) / 2) * clamp(Math.abs(row[1]), 0, 1);
    parts.push(text(x, cy, row[0], { size: 14, fill: colours.ink }));
    parts.push(rect(x + 62, cy - 7, w - 122, 14, { fill: colours.empty, rx: 3 }));
    if (row[2] <= d.beat) parts.push(rect(row[1] < 0 ? zero - size : zero, cy - 7, Math.max(1, size), 14, { fill: row[1] < 0 ? "#2f6fc4" : "#d9701a" }));
    parts.push(line(zero, cy - 9, zero, cy + 9, { stroke: colours.soft, "stroke-width": 1 }));
    parts.push(text(x + w, cy, row[2] <= d.beat ? num(row[1], 3) : "", { size: 14, fill: colours.ink, anchor: "end" }));
  });
  return parts.join("");
}

function lstmHooks(d) {
  const out = { "data-kind": d.kind, "data-part": d.run.part, "data-pos": d.run.pos, "data-beats": d.beats.join(" ") };
  for (const name of Object.keys(d.v)) if (name !== "layer" && name !== "width") out[name === "n" ? "data-candidate" : ["data-", name].join("")] = num(d.v[name], 4); // data-n is the number of steps
  return out;
}

function lstmPlace(d, s) {
  const unit = s.unit === "mean" ? say(s, "mean of absolute values", "绝对值的平均") : say(s, ["unit ", d.v.unit].join(""), ["第 ", d.v.unit, " 单元"].join(""));
  return unit;
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs) || (lstmRuns(trace, s).length ? null : "schedule");
  if (gap) return missing(meta, trace, s, gap);
  const d = lstmData(trace, s);
  const colours = theme(s);
  const area = box(meta, s);
  d.v.unit = s.unit === "mean" ? -1 : clamp(s.unit || 0, 0, d.v.width - 1);
  const o = { left: 112, right: 640, top: area.y + 82, low: area.y + 262, gate: area.y + 208, mid: area.y + 140 };
  const body = lstmTokens(trace, d, s, area);
  body.push(rect(132, area.y + 44, 490, 244, { rx: 16, fill: colours.panel, stroke: colours.line, "stroke-width": 1.2 }));
  for (const part of d.kind === "gru" ? lstmGru(d, s, o) : lstmLstm(d, s, o)) body.push(part);
  const fed = [say(s, "x(t) = “", "x(t) =“"), fit(lstmWord(trace, d.run), 10), say(s, "” and h(t−1) feed every gate", "”与 h(t−1) 输入每个门")].join("");
  body.push(text(150, o.low + 15, fed, { size: 12, fill: colours.soft }));
  body.push(lstmPanel(d, s, area.x + area.w - 212, area.y, 212));
  for (const part of lstmLines(d, s, area, area.y + (d.kind === "gru" ? 322 : 318))) body.push(part);
  const names = { encoder: say(s, "encoder", "编码器"), decoder: say(s, "decoder", "解码器") };
  const subtitle = [names[d.run.part], say(s, ["layer ", d.v.layer + 1].join(""), ["第 ", d.v.layer + 1, " 层"].join("")),
    s.dir === 1 && d.run.part === "encoder" ? say(s, "backward", "反向") : "", lstmPlace(d, s), say(s, ["reads “", lstmWord(trace, d.run), "”"].join(""), ["读“", lstmWord(trace, d.run), "”"].join(""))];
  const note = s.unit === "mean" ? say(s, "Means of absolute values over all units: the equations hold for single units only.", "所有单元绝对值的平均：等式只对单个单元成立。") : "";
  const dashed = d.kind === "gru" ? say(s, "Dashed: U h(t−1) is not in the trace, so these lines have no number.", "虚线：记录中没有 U h(t−1)，所以没有数值。") : "";
  return page(meta, trace, s, { body: body, t: d.run.t, n: stepCount(trace), frame: d.index, desc: describe(trace, s), subtitle: subtitle.filter((p) => p).join(" · "), notes: [note, dashed].filter((each) => each), data: lstmHooks(d) });
}

export function table(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs) || !lstmRuns(trace, s).length) return { columns: [], rows: [] };
  const runs = lstmRuns(trace, s);
  const names = Object.keys(lstmValues(trace, runs[0], s)).filter((name) => name !== "layer" && name !== "width");
  const rows = runs.map((run) => [run.t, run.part, lstmWord(trace, run)].concat(names.map((name) => lstmValues(trace, run, s)[name])));
  return { columns: ["t", say(s, "part", "部件"), say(s, "reads", "读")].concat(names), rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs) || !lstmRuns(trace, s).length) return say(s, "This trace has no gates block.", "此记录没有 gates 数据块。");
  const d = lstmData(trace, s);
  const row = lstmEquations(d, s)[d.beat - 1];
  const word = lstmWord(trace, d.run);
  return say(s, ["t", d.run.t, ", ", row[0], ": the ", d.run.part, " reads “", word, "”; ", row[1], ": ", s.unit === "mean" ? "means of absolute values" : row[2], "."].join(""),
    ["t", d.run.t, "，", row[0], "：读“", word, "”；", row[1], "：", s.unit === "mean" ? "绝对值的平均" : row[2], "。"].join(""));
}

export function frames(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return 1;
  const runs = lstmRuns(trace, s);
  return runs.length ? runs.length * lstmData(trace, s).beats.length : 1;
}

export function stateAt(trace, state, k) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return withState(state, {});
  const runs = lstmRuns(trace, s);
  if (!runs.length) return withState(state, {});
  const beats = lstmData(trace, s).beats.length;
  const run = runs[clamp(Math.floor(k / beats), 0, runs.length - 1)];
  return withState(state, { t: run.t, pos: run.pos, beat: (k % beats) + 1 });
}
