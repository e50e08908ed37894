// Gradient per time step: how much of the loss reaches a state many steps back, on a log scale.

import { seriesColour, seriesDash, theme } from "./_colour.js";
import { box, circle, group, line, marker, missing, page, rect, tag, text } from "./_draw.js";
import { brief, clamp, fit, maxOf, num, powerOfTen, range, xy } from "./_text.js";
import { many, say, settle } from "./_trace.js";

export const meta = {
  id: "grad",
  title: { en: "Gradient per time step", zh: "每个时间步的梯度" },
  needs: ["gradients"],
  bundle: true,
  state: { t: null },
  size: [960, 540],
};

const VANISHING = -6;
const EXPLODING = 2;
const FLOOR = 26;

// The lines of the chart: norms by distance from the loss, 0 = the last state read.
function gradLines(trace) {
  const list = [];
  for (const each of many(trace)) {
    const g = each.trace.gradients;
    if (!g) continue;
    list.push({ name: each.label, values: g.norm_h.slice().reverse(), of: g.of, radius: g.spectral_radius, clip: g.clip });
    if (g.norm_c) list.push({ name: [each.label, ": c"].join(""), values: g.norm_c.slice().reverse(), of: g.of, hollow: true });
  }
  return list;
}

function gradDecades(lines) {
  const found = { low: VANISHING - 2, high: EXPLODING + 1, zero: false };
  for (const each of lines) {
    for (const v of each.values) {
      if (v === 0) found.zero = true;
      if (v === null || v <= 0) continue;
      found.low = Math.min(found.low, Math.floor(Math.log10(v)));
      found.high = Math.max(found.high, Math.ceil(Math.log10(v)));
    }
  }
  return found;
}

function gradPlace(lines, s) {
  const area = box(meta, s);
  const decades = gradDecades(lines);
  const far = Math.max(1, maxOf(lines.map((each) => each.values.length)) - 1);
  const p = { x: area.x + 52, y: area.y, w: area.w - 52 - 250, h: area.h - 44, far: far, decades: decades };
  const tall = p.h - (decades.zero ? FLOOR : 0);
  p.at = (e) => p.y + ((decades.high - e) / (decades.high - decades.low)) * tall;
  p.px = (d) => p.x + 16 + (d / far) * (p.w - 32);
  p.py = (v) => (v > 0 ? p.at(Math.log10(v)) : p.y + p.h - 9);
  return p;
}

function gradBands(p, s) {
  const colours = theme(s);
  const band = (from, to, name, label, y) => group({ "data-band": name }, [
    rect(p.x, from, p.w, to - from, { fill: colours.empty }),
    line(p.x, name === "vanishing" ? from : to, p.x + p.w, name === "vanishing" ? from : to, { stroke: colours.soft, "stroke-dasharray": "6 4" }),
    text(p.x + 10, y, label, { size: 12, fill: colours.soft }),
  ]);
  const low = p.at(VANISHING);
  const bottom = p.at(p.decades.low);
  const top = p.at(EXPLODING);
  return [
    band(p.y, top, "exploding", say(s, "exploding > 10²", "爆炸 > 10²"), Math.max(p.y + 11, top - 13)),
    band(low, bottom, "vanishing", say(s, "vanishing < 10⁻⁶", "消失 < 10⁻⁶"), low + 14),
  ];
}

function gradAxes(p, s) {
  const colours = theme(s);
  const parts = gradBands(p, s);
  const label = (x, y, string, anchor, attrs) => parts.push(text(x, y, string, { size: 12, fill: colours.soft, anchor: anchor, attrs: attrs }));
  const every = Math.ceil((p.decades.high - p.decades.low) / 11);
  for (let e = Math.ceil(p.decades.low / every) * every; e <= p.decades.high; e = e + every) {
    parts.push(line(p.x, p.at(e), p.x + p.w, p.at(e), { stroke: colours.faint }));
    label(p.x - 8, p.at(e), powerOfTen(e), "end", { "data-tick": String(e) });
  }
  if (p.decades.zero) label(p.x - 8, p.y + p.h - 9, "0", "end", { "data-tick": "zero" });
  const step = Math.ceil((p.far + 1) / 14);
  for (let d = 0; d <= p.far; d = d + step) label(p.px(d), p.y + p.h + 16, String(d), "middle");
  parts.push(text(p.x + p.w / 2, p.y + p.h + 38, say(s, "steps back from the loss →", "距损失的步数 →"), { size: 13, fill: colours.ink, anchor: "middle" }));
  parts.push(rect(p.x, p.y, p.w, p.h, { fill: "none", stroke: colours.line }));
  return parts;
}

function gradLine(each, k, p, shown, s) {
  const ink = seriesColour(k, s);
  const every = Math.ceil((p.far + 1) / 22);
  const points = [];
  const marks = [];
  for (let d = 0; d < Math.min(each.values.length, shown); d++) {
    const v = each.values[d];
    if (v === null) continue;
    points.push([xy(p.px(d)), xy(p.py(v))].join(","));
    const big = d % every === k % every || d === shown - 1;
    const shape = big ? marker(k, p.px(d), p.py(v), 4.5, ink, each.hollow ? theme(s).bg : ink) : circle(p.px(d), p.py(v), 1.2, { fill: ink });
    const e = v > 0 ? Math.floor(Math.log10(v)) : 0;
    marks.push(group({ "data-d": String(d), "data-v": v > 0 ? [num(v / Math.pow(10, e), 4), e].join("e") : "0" }, [shape]));
  }
  const stroke = { points: points.join(" "), fill: "none", stroke: ink, "stroke-width": 2, "stroke-dasharray": seriesDash(k) };
  return group({ "data-series": String(k), "data-dash": seriesDash(k) || "solid", "data-marker": String(k % 6) }, [tag("polyline", stroke), marks.join("")]);
}

// On the right: a sample of each line, its name, what reaches the far end, the spectral radius.
function gradKey(lines, p, s) {
  const colours = theme(s);
  const x = p.x + p.w + 24;
  const step = Math.min(56, (p.h - 10) / lines.length);
  return lines.map((each, k) => {
    const y = p.y + 12 + k * step;
    const ink = seriesColour(k, s);
    const facts = [say(s, "farthest ", "最远 "), brief(each.values[each.values.length - 1])];
    if (each.radius !== null && each.radius !== undefined) facts.push("  ·  ρ(U) = ", num(each.radius, 2));
    return group({ "data-key": String(k) }, [
      line(x, y, x + 36, y, { stroke: ink, "stroke-width": 2, "stroke-dasharray": seriesDash(k) }),
      marker(k, x + 18, y, 4.5, ink, each.hollow ? colours.bg : ink),
      text(x + 46, y, fit(each.name, 13), { size: 13, fill: colours.ink }),
      step > 34 ? text(x + 46, y + 17, facts.join(""), { size: 12, fill: colours.soft }) : "",
    ]);
  });
}

// The bound on the norm of all parameters' gradients: another quantity than the axis, so it is said and not drawn.
function gradClip(lines, s) {
  const seen = [];
  for (const each of lines) if (each.clip && seen.indexOf(brief(each.clip)) < 0) seen.push(brief(each.clip));
  if (!seen.length) return "";
  const list = seen.join(say(s, " or ", " 或 "));
  return say(s, ["; the parameters' gradient is clipped at ", list].join(""), ["；参数的梯度裁剪于 ", list].join(""));
}

function gradShown(trace, s) {
  const n = frames(trace, s);
  return s.t === null ? n : clamp(Math.round(s.t), 1, n);
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const lines = gradLines(trace);
  if (!lines.length) return missing(meta, trace, s, "gradients");
  const p = gradPlace(lines, s);
  const shown = gradShown(trace, s);
  const n = frames(trace, s);
  const body = [gradAxes(p, s).join("")];
  lines.forEach((each, k) => body.push(gradLine(each, k, p, shown, s)));
  body.push(gradKey(lines, p, s).join(""));
  const subtitle = [say(s, "size of the gradient at each state, |∂L/∂h|; L = ", "各状态处的梯度大小 |∂L/∂h|；L = "), lines[0].of].join("");
  const scale = say(s, "shaded: vanishing below 10⁻⁶, exploding above 10²; log scale", "阴影：低于 10⁻⁶ 为消失，高于 10² 为爆炸；对数刻度");
  return page(meta, trace, s, { body: body, t: shown, n: n, frame: shown - 1, desc: describe(trace, s), subtitle: subtitle, notes: [[scale, gradClip(lines, s)].join("")] });
}

export function table(trace, state) {
  const lines = gradLines(trace);
  const rows = range(frames(trace, state)).map((d) => [d].concat(lines.map((each) => (d < each.values.length ? each.values[d] : null))));
  return { columns: ["steps back"].concat(lines.map((each) => each.name)), rows: rows };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  const lines = gradLines(trace);
  if (!lines.length) return say(s, "No gradients were recorded.", "没有记录梯度。");
  const facts = lines.map((each) => {
    const last = each.values[each.values.length - 1];
    return say(s, [each.name, ": ", brief(each.values[0]), " at the last state, ", brief(last), " after ", each.values.length - 1, " steps back"].join(""),
      [each.name, "：最后状态 ", brief(each.values[0]), "，回退 ", each.values.length - 1, " 步后 ", brief(last)].join(""));
  });
  return [say(s, "Norm of the gradient of the loss at each state. ", "各状态处损失梯度的范数。"), facts.join("; "), "."].join("");
}

export function frames(trace, state) {
  const lines = gradLines(trace);
  return lines.length ? maxOf(lines.map((each) => each.values.length)) : 1;
}

export function stateAt(trace, state, k) {
  const s = settle(meta, state);
  s.t = k + 1;
  return s;
}
