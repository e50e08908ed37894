// Setting a row of attention: an output word, and the source word that it alone reads, or weights of one's own.
class LiveRow {
  constructor(panel) {
    this.panel = panel;
    const at = (name) => document.getElementById(`live-row${name}`);
    Object.assign(this, { button: at("-button"), box: at(""), step: at("-step"), source: at("-source"), where: at("-where"), whereLabel: at("-where-label") });
    Object.assign(this, { apply: at("-apply"), shares: at("-shares"), weights: at("-weights"), sum: at("-sum") });
    this.button.addEventListener("click", () => this.toggle());
    this.apply.addEventListener("click", () => this.set());
    this.shares.addEventListener("toggle", () => this.fillWeights());
    for (const select of [this.step, this.where]) select.addEventListener("change", () => this.fillWeights());
    this.weights.addEventListener("input", () => this.showSum());
  }

  // The attention to the source of the recording shown, null where there is none.
  block() {
    const { one, model } = this.panel.shown();
    const block = one.attention?.find((each) => each.kind === "cross");
    return block?.weights && one.target ? { one, model, block } : null;
  }

  toggle(on = this.box.hidden) {
    this.box.hidden = !on;
    this.button.setAttribute("aria-expanded", String(on));
    if (on) {
      this.of = null;
      this.fill();
      this.step.focus();
    }
  }

  // The choices follow the recording; a cell that is pinned in the attention map is chosen already.
  fill() {
    const found = this.block();
    this.button.hidden = !found;
    if (!found) {
      this.toggle(false);
      return;
    }
    if (this.box.hidden) return;
    const { state } = this.panel.studio;
    const pinned = this.panel.studio.view === "align" && state.level !== "word" ? [state.row, state.col, state.layer, state.head] : [];
    const key = JSON.stringify([this.panel.traceId, found.model, this.panel.wordsIn, pinned]);
    if (key === this.of) return;
    this.of = key;
    const { one, block } = found;
    const was = [this.step.value, this.source.value, this.where.value];
    const options = (tokens) => tokens.map((token, i) => liveMake("option", { value: i, text: `${i + 1}  ${token.text || token.piece}`, dir: token.dir === "neutral" ? "auto" : token.dir }));
    this.step.replaceChildren(...options(one.target.tokens));
    this.source.replaceChildren(...options(one.source.tokens));
    const layers = block.weights.length;
    const heads = block.weights[0].length;
    const places = [["", this.panel.say("rowAll")]];
    for (let layer = 0; layer < layers; layer += 1) {
      if (layers > 1) places.push([`${layer}`, this.panel.say("rowLayer", { layer })]);
      if (heads > 1) for (let head = 0; head < heads; head += 1) places.push([`${layer} ${head}`, this.panel.say("rowOne", { layer, head })]);
    }
    this.where.replaceChildren(...places.map(([value, text]) => liveMake("option", { value, text })));
    this.whereLabel.hidden = places.length === 1;
    const [row, column] = pinned;
    this.choose(this.step, row ?? was[0]);
    this.choose(this.source, column ?? was[1]);
    this.choose(this.where, was[2]);
    this.fillWeights();
  }

  choose(select, value) {
    select.value = value ?? "";
    if (select.selectedIndex < 0) select.selectedIndex = 0;
  }

  place() {
    const [layer, head] = this.where.value.split(" ").filter(Boolean).map(Number);
    return { layer: layer ?? null, head: head ?? null };
  }

  // One field a source token, filled with what the model itself read (the mean over the layers and heads chosen).
  fillWeights() {
    const found = this.block();
    if (!found || !this.shares.open) return;
    const { layer, head } = this.place();
    const layers = layer === null ? found.block.weights : [found.block.weights[layer]];
    const rows = layers.flatMap((heads) => (head === null ? heads : [heads[head]])).map((map) => map[Number(this.step.value)]);
    this.weights.replaceChildren(...found.one.source.tokens.map((token, i) => {
      const mean = rows.reduce((sum, row) => sum + row[i], 0) / rows.length;
      const field = liveMake("input", { type: "number", min: 0, max: 1, step: 0.01, value: mean.toFixed(2) });
      return liveMake("label", {}, [liveMake("span", { text: token.text || token.piece, dir: "auto" }), field]);
    }));
    this.showSum();
  }

  own() {
    return [...this.weights.querySelectorAll("input")].map((field) => Math.max(0, Number(field.value) || 0));
  }

  showSum() {
    const sum = this.own().reduce((all, value) => all + value, 0);
    this.sum.textContent = sum > 0 ? this.panel.say("rowSum", { sum: sum.toFixed(2) }) : this.panel.say("rowNothing");
  }

  set() {
    const found = this.block();
    if (!found) return;
    const { one, model } = found;
    let weights = one.source.tokens.map((_, i) => (i === Number(this.source.value) ? 1 : 0));
    let label = `“${this.source.selectedOptions[0].textContent.replace(/^\d+\s+/, "")}”`;
    if (this.shares.open) {
      const own = this.own();
      const sum = own.reduce((all, value) => all + value, 0);
      if (!(sum > 0)) return;
      weights = own.map((value) => value / sum);
      label = this.panel.say("heldMixed");
    }
    this.panel.hold({ kind: "row", model, step: Number(this.step.value) + 1, weights, ...this.place(), label }, one);
  }
}
