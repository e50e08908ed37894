// The right side of the page: what is happening in words, the sentence, the numbers of this step, the explanation.
function panelFill(holder, figure, config) {
  const lang = figure.lang2();
  const say = (key, values) => pageSay(lang, key, values);
  const trace = figure.drawn();
  const one = trace.schema === "bundle/1" ? trace.traces[0] : trace;
  const about = PAGE_ABOUT[figure.view];
  const sections = [
    panelSection(say("step1", { k: figure.frame + 1, n: figure.n }), [
      figureMake("p", { class: "say", text: SCENES[figure.view].describe(trace, figure.state) }),
      figureMake("p", { class: "reading", text: say("nothingHere") }),
      ...panelNotes(figure, one, say),
    ]),
  ];
  if (one.source?.tokens?.length && one.task !== "forecasting") sections.push(panelSection(say("sentence"), [panelSentence(one, figure, say)]));
  const candidates = panelCandidates(one, figure, config, say);
  if (candidates) sections.push(panelSection(say("candidates"), [candidates]));
  if (about) {
    sections.push(panelSection(say("about"), [
      figureMake("p", { class: "formula", text: about.formula, dir: "ltr" }),
      figureMake("p", { text: about[lang] ?? about.en }),
    ]));
  }
  if (one.model) sections.push(panelSection(say("provenance"), [panelModel(one, config, say)]));
  const focused = holder.contains(document.activeElement) ? document.activeElement.dataset.token : null;
  holder.replaceChildren(...sections);
  panelRove(holder.querySelector(".sentence") ?? holder);
  if (focused) holder.querySelector(`[data-token="${focused}"]`)?.focus();
  const now = holder.querySelector(".tokens .now");
  const box = now?.closest(".sentence");
  if (box) box.scrollTop = now.offsetTop - box.offsetTop - box.clientHeight / 2;
}

function panelSection(title, children) {
  return figureMake("section", {}, [figureMake("h2", { text: title }), ...children]);
}

function panelModel(one, config, say) {
  const values = {
    arch: one.model.arch, hash: one.model.weights_sha256?.slice(0, 12) ?? say("unknown"),
    seed: one.meta?.seed ?? say("unknown"), version: (one.meta?.toolkit ?? config.version).replace(/^seqline /, ""),
  };
  return figureMake("p", { class: "fine", text: say("modelLine", values) });
}

// A token that selects its row or column; one tab stop for all of them, arrows walk.
function panelChip(figure, token, lang, id, place, state) {
  const chip = panelToken(token, lang, state);
  if (!place) return chip;
  const pressed = figure.state[place.key] === place.index;
  const button = figureMake("button", { type: "button", class: chip.className, lang: chip.lang, dir: chip.dir, text: chip.textContent, title: chip.title });
  button.setAttribute("aria-pressed", String(pressed));
  Object.assign(button.dataset, { token: id });
  button.tabIndex = -1;
  button.addEventListener("click", () => figure.set(figurePick(figure, place.key, place.index)));
  return button;
}

// Where each token stands in the present attention map, "source 3" -> {key, index}: a row if it is one, else a column.
function panelPlaces(figure, one) {
  const places = new Map();
  const defaults = SCENES[figure.view].meta.state ?? {};
  if (!one.attention?.length || !("row" in defaults) || !("col" in defaults)) return places;
  const block = seqlineLib.pickBlock(one, figure.state);
  for (const [key, axis] of [["col", block.key], ["row", block.query]]) {
    const tokens = seqlineLib.axisTokens(one, axis);
    seqlineLib.items(one, axis, figure.state).forEach((item, index) => {
      for (const at of item.idx) places.set(`${tokens[at].block} ${tokens[at].j}`, { key, index });
    });
  }
  return places;
}

function panelRove(holder) {
  const chips = [...holder.querySelectorAll("button[data-token]")];
  if (!chips.length) return;
  (chips.find((chip) => chip.getAttribute("aria-pressed") === "true") ?? chips[0]).tabIndex = 0;
  holder.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = chips.indexOf(document.activeElement);
    if (!by || at < 0 || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    chips[Math.min(Math.max(at + by, 0), chips.length - 1)].focus();
  });
}

// A token as HTML: its own language and direction, apart from the text around it.
function panelToken(token, lang, state = {}) {
  const dir = token.dir === "neutral" ? "auto" : token.dir;
  return figureMake("span", { class: `tok${token.special ? " special" : ""}${state.now ? " now" : ""}${state.later ? " later" : ""}`, lang, dir, text: token.text || token.piece, title: token.piece });
}

function panelSentence(one, figure, say) {
  const made = seqlineLib.producedBy(one, seqlineLib.stepOf(one, figure.state));
  const places = panelPlaces(figure, one);
  const chips = (name, stateOf) => one[name].tokens.map((token, j) => panelChip(figure, token, one[name].lang, `${name} ${j}`, places.get(`${name} ${j}`), stateOf(j)));
  const rows = [["source", chips("source", () => ({}))]];
  if (one.target?.tokens) rows.push(["target", chips("target", (j) => ({ now: j === made - 1, later: j >= made }))]);
  const long = rows.some(([, tokens]) => tokens.length > 24);
  return figureMake("div", { class: "sentence", tabindex: long ? "0" : null, role: long ? "group" : null, "aria-label": long ? say("sentence") : null },
    rows.map(([key, tokens]) => figureMake("div", { class: "tokens", dir: one[key].dir }, [figureMake("span", { class: "key", text: say(key), dir: "auto" }), ...tokens])));
}

function panelCandidates(one, figure, config, say) {
  const steps = one.decoder?.steps;
  if (!steps?.length) return null;
  const index = seqlineLib.producedBy(one, seqlineLib.stepOf(one, figure.state)) - 1;
  if (index < 0 || !steps[index]) return figureMake("p", { class: "fine", text: say("notStep") });
  const step = steps[index];
  const list = figureMake("ol", { class: "candidates" });
  step.topk.slice(0, 5).forEach((item, rank) => {
    const chosen = item.piece === step.out;
    const word = figureMake(config.force ? "button" : "span", { class: "tok", type: config.force ? "button" : null, lang: one.target?.lang, dir: "auto", text: item.text || item.piece });
    if (config.force) word.addEventListener("click", () => figure.dispatchEvent(new CustomEvent("seq-force", { bubbles: true, detail: { step: index + 1, id: item.id } })));
    list.append(figureMake("li", { class: chosen ? "chosen" : null, style: `--p:${item.p}` }, [
      word,
      figureMake("span", { class: "p", text: item.p.toFixed(3) }),
      ...(chosen ? [figureMake("span", { class: "mark", text: say("chosen") })] : []),
    ]));
    list.lastChild.dataset.rank = String(rank);
  });
  return list;
}

// What a reader of attention maps should know: reading is not reasoning, and where one key swallows a row.
function panelNotes(figure, one, say) {
  if (!(SCENES[figure.view].meta.needs ?? []).some((need) => need.startsWith("attention")) || !one.attention?.length) return [];
  const notes = [figureMake("p", { class: "note", text: say("noteWhy") })];
  const block = seqlineLib.pickBlock(one, figure.state);
  const sink = block && panelSink(one, block, figure.state);
  if (sink) notes.push(figureMake("p", { class: "note", text: say("noteSink", sink) }));
  if (block?.reduced) notes.push(figureMake("p", { class: "note warn", text: say("reduced"), "data-badge": "reduced" }));
  return notes;
}

function panelSink(one, block, state) {
  const { values } = seqlineLib.pickMatrix(block, { layer: null, head: "mean", ...state });
  const keys = seqlineLib.axisTokens(one, block.key);
  for (const row of values) {
    const at = seqlineLib.argmax(row);
    const token = keys[at]?.token;
    if (token && row[at] > 0.5 && (token.special || /^[\p{P}\p{S}]+$/u.test(token.text))) {
      return { token: token.text || token.piece, share: `${Math.round(row[at] * 100)} %` };
    }
  }
  return null;
}
