// Logits to token: for one step the best candidates with logit and probability, the rest, and the temperature.
import { theme } from "./_colour.js";
import { box, circle, group, line, missing, page, rect, text } from "./_draw.js";
import { clamp, em, fit, isolate, maxOf, minOf, num, range, sum } from "./_text.js";
import { labelWidth, tokenLabel } from "./_tokens.js";
import { firstMissing, nowOutput, one, say, settle, stepCount, tOfOutput, withState } from "./_trace.js";

export const meta = {
  id: "softmax",
  title: { en: "Softmax: from logits to a token", zh: "Softmax：从 logit 到词" },
  needs: ["decoder.steps"],
  state: { t: null, temperature: null, k: 8 },
  size: [960, 540],
};

function softmaxStepAt(trace, s) {
  return clamp(nowOutput(trace, s), 0, one(trace).decoder.steps.length - 1);
}

// The temperature of the figure: the nearest stored one; null = as decoded, drawn from the stored p.
function softmaxTemperature(step, s) {
  if (s.temperature === null || s.temperature === undefined) return null;
  let best = 0;
  step.temps.forEach((value, i) => {
    if (Math.abs(value - s.temperature) < Math.abs(step.temps[best] - s.temperature)) best = i;
  });
  return best;
}

function softmaxAt(step, at) {
  if (at === null) return step.topk.map((each) => each.p);
  const powers = step.topk.map((each) => each.logit / step.temps[at]).concat([step.rest_lse[at] === null ? -Infinity : step.rest_lse[at]]);
  const top = maxOf(powers);
  const weights = powers.map((z) => Math.exp(z - top));
  const total = sum(weights);
  return weights.slice(0, -1).map((w) => w / total);
}

function softmaxData(trace, s) {
  const tr = one(trace);
  const j = softmaxStepAt(trace, s);
  const step = tr.decoder.steps[j];
  const at = softmaxTemperature(step, s);
  const all = softmaxAt(step, at);
  const k = clamp(Math.round(s.k || 8), 1, step.topk.length);
  const shown = range(k);
  if (step.chosen_rank >= k && step.chosen_rank < step.topk.length) shown[k - 1] = step.chosen_rank;
  const decoded = tr.decode && tr.decode.temperature !== null && tr.decode.temperature !== undefined ? tr.decode.temperature : 1;
  const rows = shown.map((i) => ({
    label: tokenLabel(step.topk[i], "piece"), text: step.topk[i].text, w: labelWidth(tokenLabel(step.topk[i], "piece"), step.topk[i].w_em), logit: step.topk[i].logit, p: all[i], rank: i, chosen: i === step.chosen_rank, id: step.topk[i].id,
  }));
  return { j: j, step: step, rows: rows, rest: Math.max(0, 1 - sum(rows.map((row) => row.p))), at: at, temperature: at === null ? decoded : step.temps[at] };
}

function softmaxSentence(trace, j) {
  const tr = one(trace);
  const words = [];
  let word = null;
  for (let i = 0; i < j; i++) {
    const token = tr.target.tokens[i];
    if (token.special) continue;
    if (words.length && token.word !== word && tr.target.text.indexOf(" ") >= 0) words.push(" ");
    words.push(tokenLabel(token, "word"));
    word = token.word;
  }
  return words.join("");
}

function softmaxMark(row, s) {
  if (row.rank === 0 && row.chosen) return say(s, "highest, chosen", "最高，被选");
  if (row.rank === 0) return say(s, "highest", "最高");
  return row.chosen ? say(s, "chosen", "被选") : "";
}

function softmaxRow(d, s, row, r, g) {
  const colours = theme(s);
  const y = g.y + (r + 0.5) * g.h;
  const thick = Math.min(20, g.h - 8);
  const fill = row.chosen ? colours.output : colours.accent;
  const zero = g.logitX + (g.zero / g.span) * g.logitW;
  const end = zero + (row.logit / g.span) * g.logitW;
  const mark = softmaxMark(row, s);
  const at = g.probX + Math.max(2, row.p * g.probW);
  const force = JSON.stringify({ step: d.j + 1, id: row.id });
  return group({ "data-row": r, "data-now": row.chosen ? "1" : null, "data-force": force }, [
    row.chosen ? rect(g.x - 8, y - g.h / 2 + 1, g.w + 16, g.h - 2, { fill: colours.panel, rx: 6 }) : "",
    text(g.x, y, fit(row.label, g.label / 15), { size: 15, fill: row.chosen ? colours.output : colours.ink, attrs: { "data-label": "row", "data-i": r } }),
    rect(Math.min(zero, end), y - thick / 2, Math.max(1.5, Math.abs(end - zero)), thick, { fill: fill, opacity: 0.45, rx: 2, "data-logit": num(row.logit, 4) }),
    text(g.logitX + g.logitW + 52, y, num(row.logit, 2), { size: 13, fill: colours.ink, anchor: "end" }),
    rect(g.probX, y - thick / 2, Math.max(1.5, row.p * g.probW), thick, { fill: fill, rx: 2, "data-v": num(row.p, 4), "data-r": r, "data-c": 0 }),
    text(at + 8, y, num(row.p, 3), { size: 13, fill: colours.ink }),
    mark ? text(at + 56, y, mark, { size: 12, fill: row.chosen ? colours.output : colours.soft, attrs: { "data-badge": row.rank === 0 ? "argmax" : "chosen" } }) : "",
  ]);
}

function softmaxRest(d, s, g) {
  const colours = theme(s);
  const y = g.y + (d.rows.length + 0.5) * g.h;
  const thick = Math.min(20, g.h - 8);
  return group({}, [
    text(g.x, y, say(s, "all other tokens", "其余所有词"), { size: 13, fill: colours.soft }),
    rect(g.probX, y - thick / 2, Math.max(1.5, d.rest * g.probW), thick, { fill: colours.line, rx: 2, "data-rest": num(d.rest, 4) }),
    text(g.probX + Math.max(2, d.rest * g.probW) + 8, y, num(d.rest, 3), { size: 13, fill: colours.soft }),
  ]);
}

function softmaxSlider(d, s, area) {
  const colours = theme(s);
  const y = area.y + area.h - 14;
  const x = area.x + 150;
  const w = 420;
  const temps = d.step.temps;
  const place = (i) => x + (temps.length > 1 ? (i / (temps.length - 1)) * w : 0);
  const parts = [text(area.x, y, say(s, "temperature", "温度"), { size: 13, fill: colours.soft }), line(x, y, x + w, y, { stroke: colours.line, "stroke-width": 2 })];
  temps.forEach((value, i) => {
    const on = Math.abs(value - d.temperature) < 1e-9;
    parts.push(circle(place(i), y, on ? 8 : 4, { fill: on ? colours.now : colours.line, "data-temperature": value, "data-on": on ? "1" : null }));
    parts.push(text(place(i), y + 20, num(value, value === Math.round(value) ? 0 : 2).replace(/0$/, (z) => (value === 0 ? z : "")), { size: 12, fill: on ? colours.now : colours.soft, anchor: "middle" }));
  });
  const shown = d.at === null ? say(s, "as decoded", "与解码时相同") : say(s, "stored grid", "存储的刻度");
  parts.push(text(x + w + 40, y, ["T = ", num(d.temperature, 2), ", ", shown].join(""), { size: 13, fill: colours.ink }));
  parts.push(text(x + w + 40, y + 20, [say(s, "entropy ", "熵 "), num(d.step.entropy, 2), say(s, " nats as decoded", " 纳特（解码时）")].join(""), { size: 12, fill: colours.soft }));
  return parts;
}

function softmaxHead(trace, d, s, area) {
  const colours = theme(s);
  const made = softmaxSentence(trace, d.j);
  const out = d.rows.filter((row) => row.chosen);
  const shown = made ? fit(isolate(made, one(trace).target.dir), 30) : say(s, "(start)", "（开始）");
  const next = out.length ? out[0].text || out[0].label : d.step.out;
  const parts = [text(area.x, area.y + 12, say(s, "so far", "已写"), { size: 13, fill: colours.soft }), text(area.x + 70, area.y + 12, shown, { size: 18, fill: colours.ink })];
  const x = area.x + 70 + em(shown) * 18 + 18;
  parts.push(text(x, area.y + 12, "+", { size: 18, fill: colours.soft }));
  parts.push(text(x + 24, area.y + 12, fit(next, 12), { size: 18, fill: colours.output }));
  return parts;
}

export function scene(trace, state) {
  const s = settle(meta, state);
  const gap = firstMissing(trace, meta.needs);
  if (gap) return missing(meta, trace, s, gap);
  const d = softmaxData(trace, s);
  const area = box(meta, s);
  const logits = d.rows.map((row) => row.logit).concat([0]);
  const top = area.y + 66;
  const label = clamp(maxOf(d.rows.map((row) => row.w)) * 15 + 14, 120, 190);
  const g = { x: area.x, y: top, w: area.w, h: clamp((area.h - 66 - 72) / (d.rows.length + 1), 18, 40), label: label, logitX: area.x + label + 10, logitW: 190,
    probX: area.x + label + 290, probW: area.w - label - 290 - 170, zero: -minOf(logits), span: maxOf(logits) - minOf(logits) || 1 };
  const colours = theme(s);
  const body = softmaxHead(trace, d, s, area);
  const head = (x, string) => body.push(text(x, top - 14, string, { size: 12, fill: colours.soft }));
  head(g.x, say(s, "candidate", "候选词"));
  head(g.logitX, say(s, "logit (score)", "logit（分数）"));
  head(g.probX, say(s, "probability after softmax, 0 to 1", "softmax 后的概率，0 到 1"));
  d.rows.forEach((row, r) => body.push(softmaxRow(d, s, row, r, g)));
  body.push(line(g.logitX + (g.zero / g.span) * g.logitW, top, g.logitX + (g.zero / g.span) * g.logitW, top + g.h * d.rows.length, { stroke: colours.soft, "stroke-width": 1 }));
  body.push(softmaxRest(d, s, g));
  for (const part of softmaxSlider(d, s, { x: area.x, y: area.y, h: area.h - 10 })) body.push(part);
  const grown = withState(s, { height: Math.max(area.height, g.y + g.h * (d.rows.length + 1) + 110) });
  const t = tOfOutput(trace, d.j);
  return page(meta, trace, grown, { body: body, t: t, n: stepCount(trace), frame: d.j, desc: describe(trace, s), notes: [],
    data: { "data-temperature": num(d.temperature, 4), "data-legend": "0 1 probability" } });
}

export function table(trace, state) {
  const s = settle(meta, state);
  const columns = [say(s, "token", "词"), "logit", "p", say(s, "rank", "名次"), say(s, "chosen", "被选")];
  if (firstMissing(trace, meta.needs)) return { columns: columns, rows: [] };
  const d = softmaxData(trace, s);
  const rows = d.rows.map((row) => [row.label, row.logit, row.p, row.rank, row.chosen ? 1 : 0]);
  return { columns: columns, rows: rows.concat([[say(s, "all other tokens", "其余所有词"), null, d.rest, null, 0]]) };
}

export function describe(trace, state) {
  const s = settle(meta, state);
  if (firstMissing(trace, meta.needs)) return say(s, "This trace has no decoder.steps block.", "此记录没有 decoder.steps 数据块。");
  const d = softmaxData(trace, s);
  const chosen = d.rows.filter((row) => row.chosen)[0];
  const label = chosen ? chosen.label : d.step.out;
  const p = chosen ? num(chosen.p, 3) : "?";
  return say(s, ["Step ", d.j + 1, " writes “", label, "” with probability ", p, " at temperature ", num(d.temperature, 2), "."].join(""),
    ["第 ", d.j + 1, " 步写出“", label, "”，概率 ", p, "，温度 ", num(d.temperature, 2), "。"].join(""));
}

export function frames(trace, state) {
  return firstMissing(trace, meta.needs) ? 1 : Math.max(1, one(trace).decoder.steps.length);
}

export function stateAt(trace, state, k) {
  return withState(state, { t: tOfOutput(trace, k) });
}
