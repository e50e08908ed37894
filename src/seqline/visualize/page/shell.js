// The page of one figure: views on the left, the figure and its player, numbers and words on the right.
const SCENES = seqlineViews;
const PAGE_KEYS = new Set(["t", "theme", "palette", "lang", "width", "height", "font"]);
let pageFonts = null;

// What Python knew when it wrote the page: first view, fonts, missing glyphs, version.
function FIGURE_CONFIG() {
  pageFonts ??= pageConfig();
  return pageFonts;
}

class Studio {
  constructor() {
    this.config = FIGURE_CONFIG();
    const { theme, m, ...own } = this.config.state ?? {};
    this.begin = own;
    this.shared = { lang: this.config.lang, theme: ["light", "dark"].includes(theme) ? theme : undefined, m: m ?? 0 };
    this.tableOn = false;
    this.find();
    this.figure.shared = this.shared;
    this.wire();
    this.ready = this.start();
  }

  get trace() { return this.figure.trace; }
  get view() { return this.figure.view; }
  get state() { return this.figure.state; }
  get svg() { return this.figure.svg; }
  get strings() { return PAGE_STRINGS; }
  get views() { return Object.keys(SCENES); }

  find() {
    const at = (name) => document.getElementById(name);
    Object.assign(this, {
      figure: at("figure"), nav: at("views"), settings: at("settings"), panel: at("panel"), title: at("view-title"), live: at("spoken"),
      tableBox: at("table-twin"), tableButton: at("table-button"), exportButton: at("export-button"), exportMenu: at("export-menu"),
      helpButton: at("help-button"), help: at("help"), themeButton: at("theme-button"), langButton: at("lang-button"),
      search: at("search"), found: at("found"), notices: at("notices"), picker: at("recording"), said: at("said"), heading: at("page-title"),
    });
  }

  async start() {
    try {
      await this.loadFonts();
      if (this.config.trace) this.receive(await pageTrace(this.config.trace), true);
      else document.body.dataset.empty = "1"; // a live page before its first sentence
      await this.painted();
      document.body.dataset.ready = "1";
    } catch (error) {
      this.figure.fail(error);
      document.body.dataset.ready = "error";
    }
    return this;
  }

  async loadFonts() {
    const families = [].concat(this.config.font ?? []);
    await Promise.all(families.map((family) => document.fonts.load(`12px "${family}"`).catch(() => [])));
    await document.fonts.ready;
  }

  painted() {
    // A hidden tab gets no animation frames: do not wait for them for ever.
    return new Promise((resolve) => {
      requestAnimationFrame(() => requestAnimationFrame(resolve));
      setTimeout(resolve, 400);
    });
  }

  // Another recording in the same page. fonts: {css, font: [families], missing: {chars, fix}} when its letters are new.
  async setTrace(json, fonts = null) {
    document.body.dataset.ready = "0";
    const trace = await decodeTrace(typeof json === "string" ? JSON.parse(json) : json);
    if (fonts) {
      document.getElementById("seqline-fonts").textContent = fonts.css ?? "";
      Object.assign(this.config, { font: fonts.font ?? this.config.font, missing: fonts.missing ?? null });
      await this.loadFonts();
    }
    this.receive(trace, !this.trace);
    await this.painted();
    document.body.dataset.ready = "1";
    return trace;
  }

  receive(trace, first) {
    delete document.body.dataset.empty;
    if (first) this.figure.view = this.config.view in SCENES ? this.config.view : Object.keys(SCENES)[0];
    if (first) this.figure.own = { ...this.begin };
    else for (const key of ["t", "row", "col", "beat"]) delete this.figure.own[key];
    this.figure.trace = trace;
    if (!first || !this.fromHash()) this.figure.setTrace(trace);
    this.heading.textContent = this.config.title || seqlineLib.sentence(trace) || "seqline";
    this.words();
  }

  // --- state in the address ---------------------------------------------------------------------------------------
  fromHash() {
    if (location.hash.length < 2 || location.hash === this.written) return false;
    const { view, state } = hashRead(location.hash);
    if (view && !(view in SCENES)) return false;
    this.figure.view = view ?? this.figure.view;
    const known = SCENES[this.figure.view].meta.state ?? {};
    if (state.lang === "en" || state.lang === "zh") this.shared.lang = state.lang;
    if (["light", "dark"].includes(state.theme)) this.shared.theme = state.theme;
    if (Number.isInteger(state.m)) this.shared.m = state.m;
    this.tableOn = state.table === 1;
    const own = {};
    for (const [key, value] of Object.entries(state)) {
      if ((key in known || PAGE_KEYS.has(key)) && !["lang", "theme", "font"].includes(key)) own[key] = value;
    }
    this.figure.own = own;
    this.figure.setTrace(this.figure.trace);
    return true;
  }

  hash() {
    const defaults = SCENES[this.figure.view].meta.state ?? {};
    const shared = Object.fromEntries(Object.entries(this.figure.own).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(defaults[key])));
    if (this.shared.theme) shared.theme = this.shared.theme;
    if (this.shared.lang !== this.config.lang) shared.lang = this.shared.lang;
    if (this.shared.m) shared.m = this.shared.m;
    if (this.tableOn) shared.table = 1;
    return hashWrite(this.figure.view, shared);
  }

  toHash() {
    clearTimeout(this.hashTimer);
    // Browsers refuse too many changes of the address in a short time, so scrubbing writes the last one only.
    this.hashTimer = setTimeout(() => {
      this.written = this.hash();
      try {
        history.replaceState(null, "", this.written);
      } catch {
        try {
          location.hash = this.written; // a sandboxed frame may set no history, but its own fragment
        } catch {
          this.written = "";
        }
      }
    }, 120);
  }

  setState(patch) {
    const { v, view = v, lang, theme, m, ...rest } = patch;
    if (lang) this.shared.lang = lang;
    if (theme) this.shared.theme = theme;
    if (m !== undefined) this.shared.m = m;
    if (view && view !== this.figure.view) this.figure.show(view, rest);
    else this.figure.set(rest);
    if (lang || theme) this.words();
  }

  // --- wiring -----------------------------------------------------------------------------------------------------
  wire() {
    this.figure.addEventListener("seq-change", () => this.changed());
    this.figure.addEventListener("seq-hover", (event) => this.reading(event.detail));
    this.figure.addEventListener("seq-open", (event) => {
      event.preventDefault();
      this.figure.show(event.detail.view, event.detail.state);
    });
    this.nav.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-view]");
      if (button && button.getAttribute("aria-disabled") !== "true") this.open(button.dataset.view);
    });
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault();
      this.figure.box.focus();
    });
    this.tableButton.addEventListener("click", () => this.toggleTable());
    this.exportButton.addEventListener("click", () => this.toggleExport());
    this.helpButton.addEventListener("click", () => this.help.showModal());
    this.help.addEventListener("click", (event) => { if (event.target.closest("button") || event.target === this.help) this.help.close(); });
    this.themeButton.addEventListener("click", () => this.turnTheme());
    this.langButton.addEventListener("click", () => this.setState({ lang: this.figure.lang2() === "zh" ? "en" : "zh" }));
    this.picker.addEventListener("change", () => this.setState({ m: this.picker.selectedIndex }));
    this.search.addEventListener("input", () => this.seek(0));
    this.search.addEventListener("keydown", (event) => { if (event.key === "Enter") this.seek(1); });
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("click", (event) => { if (!event.target.closest(".export")) this.toggleExport(false); });
    window.addEventListener("hashchange", () => this.trace && this.fromHash() && this.words());
    window.addEventListener("resize", () => this.figure.root && figureHeads(this.figure));
  }

  // Of several recordings a view is opened on one that has what it draws.
  open(view) {
    const { trace, figure } = this;
    if (trace.schema === "bundle/1" && !figureTakesBundle(view) && figureLacks(trace.traces[this.shared.m] ?? trace, view)) {
      this.shared.m = Math.max(0, trace.traces.findIndex((one) => !figureLacks(one, view)));
      this.picker.selectedIndex = this.shared.m;
    }
    figure.show(view);
    this.showCurrent();
  }

  // On a small screen the views are one line that scrolls: the open one stays in sight.
  showCurrent() {
    const [item, frame] = [this.nav.querySelector("[aria-current]"), this.nav].map((element) => element?.getBoundingClientRect());
    if (!item) return;
    this.nav.scrollLeft += item.left - frame.left - 40;
    if (item.bottom > frame.bottom) this.nav.scrollTop += item.bottom - frame.bottom + 12;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open || !this.trace) return;
    if (event.key === "Escape" && !this.exportMenu.hidden) {
      this.toggleExport(false);
      this.exportButton.focus();
      return;
    }
    if (!this.trace || event.target.matches?.("input, select, textarea, [contenteditable]")) return;
    const own = { t: () => this.toggleTable(), e: () => this.toggleExport(), "?": () => this.help.showModal() };
    const action = own[event.key.toLowerCase()];
    if (action) action();
    if (action || figureKey(this.figure, event)) event.preventDefault();
  }

  turnTheme() {
    const next = { undefined: "light", light: "dark", dark: undefined };
    this.shared.theme = next[this.shared.theme];
    this.figure.draw();
    this.words();
  }

  // --- what follows a change -------------------------------------------------------------------------------------
  changed() {
    const { figure } = this;
    const lang = figure.lang2();
    const title = SCENES[figure.view].meta.title;
    const name = title[lang] ?? title.en;
    document.documentElement.lang = lang === "zh" ? "zh-Hans" : "en";
    if (this.shared.theme) document.documentElement.dataset.theme = this.shared.theme;
    else delete document.documentElement.dataset.theme;
    document.title = seqlineLib.fit(figure.root?.querySelector("title")?.textContent ?? name, 90);
    this.title.textContent = name;
    const spoken = SCENES[figure.view].describe(figure.drawn(), figure.state);
    if (this.live.textContent !== spoken) this.live.textContent = spoken;
    document.body.dataset.view = figure.view;
    document.body.dataset.t = figure.root?.dataset.t ?? "";
    controlsFill(this.settings, figure);
    this.panelLater();
    for (const button of this.nav.querySelectorAll("button[data-view]")) {
      if (button.dataset.view === figure.view) button.setAttribute("aria-current", "page");
      else button.removeAttribute("aria-current");
    }
    this.showTable();
    this.toHash();
    document.dispatchEvent(new CustomEvent("seqline:change", { detail: { view: figure.view, state: figure.state } }));
  }

  // Once a frame is enough for the words beside the figure.
  panelLater() {
    if (this.panelWaits) return;
    this.panelWaits = true;
    const fill = () => {
      if (!this.panelWaits) return;
      this.panelWaits = false;
      panelFill(this.panel, this.figure, this.config);
    };
    requestAnimationFrame(fill);
    setTimeout(fill, 300);
  }

  reading(cell) {
    const place = this.panel.querySelector(".reading");
    if (place) place.textContent = cell?.text ?? pageSay(this.figure.lang2(), "nothingHere");
  }

  // Every word that does not depend on the step.
  words() {
    wordsFill(this);
    this.changed();
    this.showCurrent();
  }

  // --- table twin -------------------------------------------------------------------------------------------------
  toggleTable(on = !this.tableOn) {
    this.tableOn = on;
    this.showTable();
    this.toHash();
  }

  showTable() {
    this.tableButton.setAttribute("aria-pressed", String(this.tableOn));
    this.tableBox.hidden = !this.tableOn;
    this.figure.stage.hidden = this.tableOn;
    if (!this.tableOn) return this.tableBox.replaceChildren();
    const { columns, rows } = this.figure.table();
    const head = figureMake("tr", {}, columns.map((name) => figureMake("th", { scope: "col", dir: "auto", text: exportCell(name) })));
    const body = rows.map((row) => figureMake("tr", {}, row.map((cell, i) => tableCell(cell, i))));
    const caption = figureMake("caption", { text: document.title });
    this.tableBox.replaceChildren(figureMake("table", {}, [caption, figureMake("thead", {}, [head]), figureMake("tbody", {}, body)]));
    return undefined;
  }

  // --- export -----------------------------------------------------------------------------------------------------
  toggleExport(on = this.exportMenu.hidden) {
    this.exportMenu.hidden = !on;
    this.exportButton.setAttribute("aria-expanded", String(on));
    if (on) this.exportMenu.querySelector("button").focus();
    else this.said.textContent = "";
  }

  async export(kind) {
    const { figure } = this;
    const say = (key, values) => pageSay(figure.lang2(), key, values);
    const save = (suffix, content, type) => {
      const name = exportName(figure, suffix);
      exportSave(name, content instanceof Blob ? content : new Blob([content], { type }));
      this.said.textContent = say("saved", { name });
    };
    const show = async (text, before = "") => {
      const copied = await exportCopy(text);
      const words = before || (copied ? say("copied") : say("copyFailed"));
      this.said.replaceChildren(words, figureMake("code", { text }));
    };
    if (kind === "svg") save("svg", exportSvgText(figure, true), "image/svg+xml");
    else if (kind.startsWith("png")) save("png", await exportPng(figure, Number(kind.slice(3))));
    else if (kind === "csv") save("csv", exportCsv(figure.table()), "text/csv;charset=utf-8");
    else if (kind === "md") await show(exportMarkdown(figure.table()));
    else if (kind === "link") await show(`${location.href.split("#")[0]}${this.hash()}`);
    else await show(exportCommand(figure, "gif"), say("runLine"));
  }

  // --- search -----------------------------------------------------------------------------------------------------
  seek(forward) {
    const wish = this.search.value.trim().toLowerCase();
    if (!wish) {
      this.found.textContent = "";
      return;
    }
    const hits = searchHits(this.figure, wish);
    this.hit = forward ? ((this.hit ?? -1) + 1) % Math.max(1, hits.length) : 0;
    const say = (key, values) => pageSay(this.figure.lang2(), key, values);
    this.found.textContent = hits.length ? say("searchCount", { k: this.hit + 1, n: hits.length }) : say("searchNone");
    if (!hits.length) return;
    this.figure.set(hits[this.hit]);
    const mark = this.figure.root.querySelector('[data-label][data-now="1"]');
    mark?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

customElements.define("seq-figure", SeqFigure);
if (document.getElementById("figure")?.matches("seq-figure")) window.studio = new Studio();
