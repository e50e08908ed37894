// <seq-figure data-trace="id" data-view="align" data-state='{"t":3}' data-player="small|full|none">:
// one figure with its player. It draws with the scenes, steps, pins and reads numbers off; it knows no page around it.
const FIGURE_SPEEDS = [0.25, 0.5, 1, 2, 4];
const FIGURE_ICONS = {
  first: "M6 5h2v14H6zM19 5v14L9 12z", back: "M16 5v14L7 12z", play: "M8 5v14l11-7z", pause: "M7 5h4v14H7zM13 5h4v14h-4z",
  forward: "M8 5v14l9-7z", last: "M16 5h2v14h-2zM5 5v14l10-7z",
};

function figureMake(tag, attributes = {}, children = []) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

function figureIcon(name) {
  const holder = document.createElement("span");
  holder.className = "icon";
  holder.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d="${FIGURE_ICONS[name]}"/></svg>`;
  return holder;
}

function figureDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

// What a view asks for and this trace lacks: a path such as "decoder.gates", or "" when all is there.
function figureLacks(trace, view) {
  const traces = trace.schema === "bundle/1" ? trace.traces : [trace];
  const has = (path) => traces.some((one) => path.split(".").reduce((node, key) => node?.[key], one) != null);
  for (const need of SCENES[view].meta.needs ?? []) {
    if (!need.split("|").some((path) => has(path.trim()))) return need;
  }
  const { gap } = SCENES[view].meta; // a view that asks for more than that a block is there
  return (gap && gap(trace)) || "";
}

// Views that lay several recordings over or beside one another.
function figureTakesBundle(view) {
  return SCENES[view].meta.bundle ?? ["compare", "context", "grad"].includes(view);
}

class SeqFigure extends HTMLElement {
  connectedCallback() {
    if (this.box) return;
    this.own = JSON.parse(this.dataset.state || "{}");
    this.view = this.dataset.view || "timeline";
    this.shared = {};
    this.speed = 1;
    this.timer = 0;
    this.svg = "";
    this.build();
    this.wire();
    this.ready = new Promise((resolve) => { this.finish = resolve; });
    if (this.hasAttribute("data-manual")) return; // the page gives the trace itself
    const watcher = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      pageTrace(this.dataset.trace).then((trace) => this.setTrace(trace), (error) => this.fail(error));
    }, { rootMargin: "600px" });
    watcher.observe(this);
  }

  // --- building -------------------------------------------------------------------------------------------------
  build() {
    this.box = figureMake("div", { class: "sf-box", tabindex: "0", role: "group" });
    this.holder = figureMake("div", { class: "sf-svg" });
    this.bands = [figureMake("i", { class: "sf-band" }), figureMake("i", { class: "sf-band" })];
    this.tip = figureMake("div", { class: "sf-tip", hidden: true, "aria-hidden": "true" });
    this.box.append(this.holder);
    this.stage = figureMake("div", { class: "sf-stage" }, [this.box, this.tip]);
    this.append(this.stage);
    this.player = figureMake("div", { class: "sf-player", role: "group" });
    if (this.dataset.player !== "none") this.append(this.player);
    const small = this.dataset.player === "small" || !this.dataset.player;
    const names = small ? ["back", "play", "forward"] : ["first", "back", "play", "forward", "last"];
    this.buttons = {};
    for (const name of names) {
      const button = figureMake("button", { type: "button", class: `sf-${name}` }, [figureIcon(name)]);
      button.addEventListener("click", () => this.press(name));
      this.buttons[name] = button;
    }
    this.range = figureMake("input", { type: "range", min: "1", max: "1", value: "1", class: "sf-range" });
    this.range.addEventListener("input", () => this.later(() => this.go(Number(this.range.value) - 1)));
    this.ticks = figureMake("div", { class: "sf-ticks", "aria-hidden": "true" });
    this.count = figureMake("output", { class: "sf-count" });
    this.pace = figureMake("select", { class: "sf-speed" });
    for (const speed of FIGURE_SPEEDS) this.pace.append(figureMake("option", { value: speed, text: `${speed}×`, selected: speed === 1 }));
    this.pace.addEventListener("change", () => { this.speed = Number(this.pace.value); });
    const scrub = figureMake("div", { class: "sf-scrub" }, [this.range, this.ticks]);
    this.player.append(figureMake("div", { class: "sf-buttons" }, Object.values(this.buttons)), scrub, this.count);
    if (!small) this.player.append(this.pace);
  }

  wire() {
    this.box.addEventListener("pointermove", (event) => this.hover(event));
    this.box.addEventListener("pointerleave", () => this.unhover());
    this.box.addEventListener("click", (event) => this.click(event));
    this.box.addEventListener("scroll", () => figureStick(this), { passive: true });
    if (!this.hasAttribute("data-manual")) this.addEventListener("keydown", (event) => this.key(event));
    for (const query of ["(prefers-color-scheme: dark)", "print"]) {
      matchMedia(query).addEventListener("change", () => this.trace && this.draw());
    }
    if (this.hasAttribute("data-manual")) return; // the shell sets theme and language of its one figure itself
    new MutationObserver(() => this.trace && this.draw()).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "lang"] });
  }

  // Words of the page in its language; called again when the language changes.
  label() {
    const say = (key, values) => pageSay(this.lang2(), key, values);
    for (const [name, button] of Object.entries(this.buttons)) {
      const key = name === "play" && this.timer ? "pause" : name;
      button.setAttribute("aria-label", say(key));
      button.title = say(key);
    }
    this.player.setAttribute("aria-label", say("player"));
    this.range.setAttribute("aria-label", say("step"));
    this.pace.setAttribute("aria-label", say("speed"));
  }

  lang2() {
    return this.shared.lang ?? (document.documentElement.lang.startsWith("zh") ? "zh" : "en");
  }

  // --- state ----------------------------------------------------------------------------------------------------
  setTrace(trace) {
    this.trace = trace;
    this.tableOf = null;
    this.draw();
    this.finish(this);
  }

  fail(error) {
    this.holder.textContent = pageSay(this.lang2(), "failed", { reason: error.message });
    this.finish(this);
  }

  // The trace that the present view draws: some take the whole bundle, others one of its traces.
  drawn() {
    if (this.trace.schema !== "bundle/1" || figureTakesBundle(this.view)) return this.trace;
    const index = Math.min(Math.max(Number(this.shared.m ?? this.dataset.member ?? 0) || 0, 0), this.trace.traces.length - 1);
    return this.trace.traces[index];
  }

  theme() {
    if (matchMedia("print").matches) return "print";
    const wish = this.shared.theme ?? document.documentElement.dataset.theme;
    return wish === "light" || wish === "dark" ? wish : figureDark() ? "dark" : "light";
  }

  // Exactly what the scene receives.
  get state() {
    const config = FIGURE_CONFIG();
    const state = { ...SCENES[this.view].meta.state, ...this.own, theme: this.theme(), lang: this.lang2() };
    if (config.font) state.font = config.font;
    return state;
  }

  set(patch) {
    for (const [key, value] of Object.entries(patch)) {
      if (value === undefined) delete this.own[key]; // the view's own default
      else this.own[key] = value;
    }
    this.draw();
  }

  show(view, patch = {}) {
    this.stop();
    const keep = SCENES[view].meta.state ?? {};
    const own = {};
    for (const [key, value] of Object.entries(this.own)) if (key in keep && key !== "row" && key !== "col") own[key] = value;
    this.view = view;
    this.own = { ...own, ...patch };
    this.box.scrollTop = 0;
    this.box.scrollLeft = 0;
    this.draw();
  }

  // Another view with a state of its own; the page around may do it instead.
  open(view, state) {
    const event = new CustomEvent("seq-open", { bubbles: true, cancelable: true, detail: { view, state } });
    if (this.dispatchEvent(event)) this.show(view, state);
  }

  draw() {
    const scene = SCENES[this.view];
    const trace = this.drawn();
    const state = this.state;
    this.svg = [scene.scene(trace, state)].join("");
    this.holder.innerHTML = this.svg;
    this.root = this.holder.firstElementChild;
    this.n = Math.max(1, scene.frames(trace, state));
    this.frame = Math.min(Number(this.root?.dataset.frame) || 0, this.n - 1);
    this.tableOf = null;
    this.dataset.drawn = "1";
    this.box.dataset.testid = `view-${this.view}`;
    this.box.dataset.t = this.root?.dataset.t ?? "";
    const title = scene.meta.title[this.lang2()] ?? scene.meta.title.en;
    this.box.setAttribute("aria-label", title);
    this.fit();
    this.unhover();
    this.showPlayer();
    this.dispatchEvent(new CustomEvent("seq-change", { bubbles: true, detail: { view: this.view, frame: this.frame, n: this.n } }));
  }

  // Never smaller than readable: the drawing shrinks to the box down to 78 %, then the box scrolls.
  fit() {
    if (!this.root) return;
    const [, , width, height] = (this.root.getAttribute("viewBox") ?? "0 0 960 540").split(/[ ,]+/).map(Number);
    const least = Number(this.dataset.least ?? 0.78);
    this.root.style.width = "100%";
    this.root.style.height = "auto";
    this.root.style.minWidth = `${Math.round(width * least)}px`;
    this.root.style.maxWidth = `${Math.round(width * 1.25)}px`;
    this.root.style.aspectRatio = `${width} / ${height}`;
    figureHeads(this);
  }

  // --- player ---------------------------------------------------------------------------------------------------
  showPlayer() {
    const many = this.n > 1;
    this.player.hidden = !many;
    this.range.max = String(this.n);
    this.range.value = String(this.frame + 1);
    this.range.setAttribute("aria-valuetext", pageSay(this.lang2(), "step1", { k: this.frame + 1, n: this.n }));
    this.count.textContent = `${this.frame + 1} / ${this.n}`;
    for (const name of ["first", "back"]) this.buttons[name]?.setAttribute("aria-disabled", String(this.frame === 0));
    for (const name of ["forward", "last"]) this.buttons[name]?.setAttribute("aria-disabled", String(this.frame === this.n - 1));
    if (this.ticks.dataset.n !== String(this.n)) {
      this.ticks.dataset.n = String(this.n);
      const every = Math.ceil(this.n / 12);
      this.ticks.replaceChildren(...Array.from({ length: this.n }, (_, k) => k)
        .filter((k) => k % every === 0)
        .map((k) => figureMake("span", { text: String(k + 1), style: `--at:${this.n > 1 ? k / (this.n - 1) : 0}` })));
    }
    this.label();
  }

  go(k) {
    if (!this.trace) return;
    const frame = Math.min(Math.max(k, 0), this.n - 1);
    const next = SCENES[this.view].stateAt(this.drawn(), this.state, frame);
    const defaults = this.state;
    for (const [key, value] of Object.entries(next)) {
      if (JSON.stringify(value) !== JSON.stringify(defaults[key])) this.own[key] = value;
    }
    this.draw();
  }

  press(name) {
    const target = { first: 0, back: this.frame - 1, forward: this.frame + 1, last: this.n - 1 };
    if (name === "play") this.toggle();
    else {
      this.stop();
      this.go(target[name]);
    }
  }

  toggle() {
    if (this.timer) {
      this.stop();
      return;
    }
    if (this.frame >= this.n - 1) this.go(0);
    const tick = () => {
      if (this.frame >= this.n - 1) {
        this.stop();
        return;
      }
      this.go(this.frame + 1);
      this.timer = setTimeout(tick, 1000 / this.speed);
    };
    this.timer = setTimeout(tick, 600 / this.speed);
    this.playing(true);
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.playing(false);
  }

  playing(on) {
    this.toggleAttribute("data-playing", on);
    this.buttons.play?.replaceChildren(figureIcon(on ? "pause" : "play"));
    this.label();
  }

  later(work) {
    cancelAnimationFrame(this.pending);
    this.pending = requestAnimationFrame(work);
  }

  // Keys while a figure among prose has the focus; on the page of one figure the shell listens.
  key(event) {
    if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (figureKey(this, event)) event.preventDefault();
  }

  // --- reading numbers off ----------------------------------------------------------------------------------------
  table() {
    this.tableOf ??= SCENES[this.view].table(this.drawn(), this.state);
    return this.tableOf;
  }

  hover(event) {
    const cell = figureCell(this, event);
    if (!cell) {
      this.unhover();
      return;
    }
    this.hovered = cell;
    const text = figureCellText(this, cell);
    this.tip.textContent = text;
    this.tip.hidden = false;
    const frame = this.stage.getBoundingClientRect();
    const left = Math.min(event.clientX - frame.left + 14, frame.width - this.tip.offsetWidth - 4);
    this.tip.style.transform = `translate(${Math.max(4, left)}px, ${event.clientY - frame.top + 18}px)`;
    figureBands(this, cell);
    this.dispatchEvent(new CustomEvent("seq-hover", { bubbles: true, detail: { ...cell, text } }));
  }

  unhover() {
    if (this.hovered) this.dispatchEvent(new CustomEvent("seq-hover", { bubbles: true, detail: null }));
    this.hovered = null;
    this.tip.hidden = true;
    this.querySelectorAll(".sf-band").forEach((band) => band.remove());
  }

  click(event) {
    const force = event.target.closest?.("[data-force]");
    if (force) this.dispatchEvent(new CustomEvent("seq-force", { bubbles: true, detail: JSON.parse(force.dataset.force) }));
    const tile = event.target.closest?.("[data-tile]");
    if (tile) {
      const [layer, head] = tile.dataset.tile.split(" ").map(Number);
      this.open("align", { attention: this.state.attention, layer, head });
      return;
    }
    const patch = figurePatch(this, event);
    if (patch) {
      this.stop();
      this.set(patch);
    }
  }
}
