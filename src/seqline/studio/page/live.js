// The live panel: a sentence goes to the server, its recording comes back into the page; candidates and rows can be forced.
const LIVE_MOST_RUNS = 6;

function liveMake(tag, attributes = {}, children = []) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

class LivePanel {
  constructor(studio) {
    this.studio = studio;
    this.start = JSON.parse(document.getElementById("live-start").textContent);
    this.held = new HeldSteps();
    this.traceId = this.start.trace_id;
    this.models = [];
    this.chosen = [];
    for (const name of ["form", "text", "go", "runs", "beam", "tokens", "temperature", "seed", "status", "error"]) this[name] = this.at(name);
    if (!studio.config.trace && /^zh/i.test(navigator.language)) studio.shared.lang = "zh";
    this.row = new LiveRow(this);
    this.exports = new LiveExports(this);
    this.wire();
    this.load();
  }

  at(name) { return document.getElementById(`live-${name}`); }
  say(key, values) { return liveSay(this.studio.figure.lang2(), key, values); }

  wire() {
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.ask(true); });
    this.text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.ask(true);
    });
    this.runs.addEventListener("change", () => { this.choose(); this.again(); });
    for (const name of ["beam", "tokens", "temperature", "seed", "source-language", "target-language"]) this.at(name).addEventListener("change", () => this.again());
    this.studio.figure.addEventListener("seq-force", (event) => this.force(event.detail));
    document.addEventListener("seqline:change", () => this.words());
  }

  async load() {
    try {
      this.models = (await (await fetch("/api/models")).json()).models;
    } catch {
      this.fail(this.say("lost"));
      return;
    }
    const last = this.start.asked;
    const names = last ? [].concat(last.model) : [this.models[0].name];
    this.runs.append(...this.models.map((model) => liveMake("label", { title: model.arch }, [
      liveMake("input", { type: "checkbox", value: model.name, checked: names.includes(model.name) }), model.name, liveMake("small", { "data-size": model.num_parameters }),
    ])));
    for (const side of ["source", "target"]) {
      const options = LIVE_LANGUAGES.map(([code, name]) => liveMake("option", { value: code, text: name, lang: code }));
      this.at(`${side}-language`).append(liveMake("option", { value: "", "data-unsaid": true }), ...options);
      this.at(`${side}-language`).value = last?.lang[side] ?? "";
    }
    this.choose();
    if (last) {
      this.text.value = this.asked = last.text;
      this.beam.value = last.decode.beam_size ?? "";
      for (const name of ["temperature", "seed"]) this[name].value = last.decode[name];
      this.tokens.value = last.decode.max_tokens;
    }
    this.held.restore(this.traceId);
    this.showHeld();
    this.listen();
    this.wordsIn = ""; // names of runs and languages have come since
    this.words();
    this.text.focus();
    document.body.dataset.live = "1";
  }

  // --- what is chosen ---------------------------------------------------------------------------------------------
  choose() {
    this.chosen = [...this.runs.querySelectorAll("input:checked")].map((box) => box.value);
    const tasks = new Set(this.models.filter((model) => this.chosen.includes(model.name)).map((model) => model.task));
    for (const element of this.form.querySelectorAll("[data-task]")) element.hidden = !tasks.has(element.dataset.task);
    const own = this.models.find((model) => this.chosen.includes(model.name) && model.task === "translation")?.beam_size ?? 5;
    const was = this.beam.value;
    const sizes = [["", this.say("beamOwn", { n: own })], ["1", this.say("beamGreedy")], ...[2, 3, 4, 5, 8, 12, 16].map((n) => [String(n), String(n)])];
    this.beam.replaceChildren(...sizes.map(([value, text]) => liveMake("option", { value, text })));
    this.beam.value = was;
    this.text.required = !(tasks.size === 1 && tasks.has("language_model"));
    this.text.placeholder = this.say(this.text.required ? "hint" : "hintModel");
    this.showHeld();
  }

  body() {
    const decode = { max_tokens: Number(this.tokens.value) || 20, temperature: Number(this.temperature.value) || 0, seed: Number(this.seed.value) || 0 };
    if (this.beam.value) decode.beam_size = Number(this.beam.value);
    const lang = { source: this.at("source-language").value || null, target: this.at("target-language").value || null };
    return { model: this.chosen.length === 1 ? this.chosen[0] : this.chosen, text: this.text.value, decode, lang, ...this.held.asked(this.chosen) };
  }

  // A changed setting records the same text once more, if there was one.
  again() {
    if (this.studio.trace && this.chosen.length && this.text.value.trim()) this.ask(false);
  }

  async ask(isNew) {
    if (!this.chosen.length) return this.fail(this.say("chooseRun"));
    if (this.chosen.length > LIVE_MOST_RUNS) return this.fail(this.say("chooseFewer"));
    if (this.text.required && !this.text.value.trim()) return this.fail(this.say("blank"));
    if (isNew && this.text.value !== this.asked) this.held.clear();
    this.asked = this.text.value;
    const turn = (this.turn = (this.turn ?? 0) + 1);
    this.busy(true);
    try {
      const answer = await this.post("/api/trace", this.body());
      const id = answer.headers.get("Seqline-Trace");
      const [text, fonts] = await Promise.all([answer.text(), fetch(`/api/fonts/${id}`).then((found) => found.json())]);
      if (turn !== this.turn) return undefined; // a later question has been asked meanwhile
      this.traceId = id;
      this.held.keep(id);
      const view = this.studio.view;
      const state = this.keptState();
      const trace = await this.studio.setTrace(text, fonts);
      const count = trace.traces?.length ?? 1;
      this.studio.shared.m = Math.min(this.studio.shared.m, count - 1);
      if (state && view === this.studio.view) this.studio.setState(state);
      this.leaveEmptyView();
      this.fail("");
    } catch (error) {
      if (turn === this.turn) this.fail(error.message);
    } finally {
      if (turn === this.turn) this.busy(false);
      this.showHeld();
    }
    return undefined;
  }

  // After something was forced, the page stays at the step where it was forced.
  keptState() {
    const state = this.stay ? { t: this.studio.state.t } : null;
    this.stay = false;
    return state?.t ? state : null;
  }

  // Another run may not have what the present view draws.
  leaveEmptyView() {
    if (this.studio.nav.querySelector('[aria-current][aria-disabled="true"]')) this.studio.setState({ view: "timeline" });
  }

  async post(path, body) {
    for (let tries = 0; ; tries += 1) {
      let answer;
      try {
        answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
      } catch {
        throw new Error(this.say("lost"));
      }
      if (answer.ok) return answer;
      const seconds = Number(answer.headers.get("Retry-After"));
      if (answer.status !== 429 || tries > 4 || !seconds) throw new Error((await answer.json()).error);
      this.status.textContent = this.say("waiting", { seconds });
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    }
  }

  busy(on) {
    this.go.setAttribute("aria-disabled", String(on));
    document.body.dataset.busy = on ? "1" : "0";
    if (on) this.status.textContent = this.say("working");
  }

  fail(sentence) {
    this.error.textContent = sentence;
    this.error.hidden = !sentence;
    if (sentence) this.status.textContent = "";
  }

  // --- what the server tells --------------------------------------------------------------------------------------
  listen() {
    const source = new EventSource("/api/live");
    let began = performance.now();
    let steps = 0;
    source.addEventListener("begin", () => { began = performance.now(); steps = 0; });
    source.addEventListener("step", (event) => {
      const { t, of, parts, written, model } = JSON.parse(event.data);
      steps += 1;
      const values = { t, of, model: model ? `${model}: ` : "", parts: parts.map((part) => this.say(part)).join(", ") };
      this.status.textContent = this.say("step", { ...values, written: written.length ? this.say("wrote", { word: written[0] }) : "" });
    });
    source.addEventListener("end", () => {
      this.status.textContent = this.say("done", { n: steps, seconds: ((performance.now() - began) / 1000).toFixed(1) });
    });
    addEventListener("pagehide", () => source.close());
  }

  // --- forcing ----------------------------------------------------------------------------------------------------
  // The recording that forcing speaks about, and the name of its run.
  shown() {
    const drawn = this.studio.figure.drawn();
    const all = this.studio.trace;
    if (all.schema !== "bundle/1") return { one: all, model: this.label ?? this.chosen[0] };
    const index = drawn.schema === "bundle/1" ? 0 : this.studio.shared.m;
    return { one: all.traces[index], model: all.labels[index] };
  }

  force({ step, id }) {
    const { one, model } = this.shown();
    const candidate = one.decoder.steps[step - 1]?.topk.find((item) => item.id === id);
    if (!candidate) return;
    this.hold({ kind: "token", model, step, id, label: candidate.text || candidate.piece }, one);
  }

  hold(item, one) {
    this.held.hold(item, one.target.tokens.map((token) => token.id));
    this.stay = true;
    this.showHeld();
    this.ask(false);
  }

  showHeld() {
    const several = this.chosen.length > 1;
    const focused = this.at("held").contains(document.activeElement);
    this.at("held").replaceChildren(...this.held.items.filter((item) => this.chosen.includes(item.model)).map((item) => {
      const what = item.kind === "token" ? this.say("heldToken", { step: item.step, token: item.label }) : this.say("heldRow", { step: item.step, what: item.label });
      const text = several ? this.say("heldIn", { what, model: item.model }) : what;
      const remove = liveMake("button", { type: "button", "aria-label": `${this.say("remove")} ${text}`, text: "×" });
      remove.addEventListener("click", () => { this.held.remove(item); this.stay = true; this.showHeld(); this.ask(false); });
      return liveMake("li", { "data-kind": item.kind, "data-step": item.step }, [liveMake("span", { text, dir: "auto" }), remove]);
    }));
    if (focused) (this.at("held").querySelector("button") ?? this.text).focus();
  }

  // --- words ------------------------------------------------------------------------------------------------------
  words() {
    const lang = this.studio.figure.lang2();
    if (this.wordsIn !== lang) {
      this.wordsIn = lang;
      for (const element of this.form.querySelectorAll("[data-live]")) element.textContent = this.say(element.dataset.live);
      for (const element of this.form.querySelectorAll("[data-live-label]")) element.setAttribute("aria-label", this.say(element.dataset.liveLabel));
      for (const element of this.form.querySelectorAll("[data-unsaid]")) element.textContent = this.say("unsaid");
      const numbers = new Intl.NumberFormat(lang, { notation: "compact", maximumSignificantDigits: 2 });
      for (const element of this.runs.querySelectorAll("[data-size]")) {
        element.textContent = numbers.format(Number(element.dataset.size));
        element.title = this.say("size", { n: Number(element.dataset.size).toLocaleString(lang) });
      }
      this.choose();
    }
    if (this.studio.trace) this.row.fill();
    this.exports.fill();
  }
}

// The page's own script has run by then: both are modules, and this one stands before it.
document.addEventListener("DOMContentLoaded", () => { window.live = new LivePanel(window.studio); });
