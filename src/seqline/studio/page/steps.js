// What is held fixed: tokens and rows of attention that the reader set, and the beginnings that they were set upon.
class HeldSteps {
  constructor() {
    this.items = []; // {kind: "token"|"row", model, step, id, label} or {..., weights, layer, head, label}
    this.beginnings = new Map(); // model -> ids of the output before the first item, as they were shown
  }

  get size() { return this.items.length; }

  clear() {
    this.items = [];
    this.beginnings.clear();
  }

  // Hold something at a step of the output shown. What comes later in that output is free again: it follows from this.
  hold(item, shownIds) {
    const earlier = (one) => one.model !== item.model || one.step < item.step || (one.step === item.step && one.kind !== item.kind);
    this.items = [...this.items.filter(earlier), item].sort((a, b) => a.step - b.step);
    this.beginnings.set(item.model, shownIds.slice(0, item.step - 1));
  }

  remove(item) {
    this.items = this.items.filter((one) => one !== item);
    const ids = this.beginnings.get(item.model) ?? [];
    if (this.items.some((one) => one.model === item.model)) this.beginnings.set(item.model, ids.slice(0, item.step - 1));
    else this.beginnings.delete(item.model);
  }

  // A page that is opened again shows what is held, if it was this window that held it.
  keep(traceId) {
    const state = JSON.stringify({ traceId, items: this.items, beginnings: [...this.beginnings] });
    try {
      sessionStorage.setItem("seqline-held", state);
    } catch {
      // storage is switched off: what is held is then forgotten with the page
    }
  }

  restore(traceId) {
    try {
      const state = JSON.parse(sessionStorage.getItem("seqline-held"));
      if (!traceId || state?.traceId !== traceId) return;
      this.items = state.items;
      this.beginnings = new Map(state.beginnings);
    } catch {
      this.clear();
    }
  }

  // The lists of a request, for the runs that are chosen.
  asked(models) {
    const mine = this.items.filter((item) => models.includes(item.model));
    const force = [];
    for (const [model, ids] of this.beginnings) {
      if (!models.includes(model)) continue;
      const set = new Set(mine.filter((item) => item.kind === "token" && item.model === model).map((item) => item.step));
      ids.forEach((id, i) => { if (!set.has(i + 1)) force.push({ step: i + 1, id, model }); });
    }
    for (const { kind, step, id, model } of mine) if (kind === "token") force.push({ step, id, model });
    const rows = mine.filter((item) => item.kind === "row").map(({ step, weights, layer, head, model }) => ({ step, weights, layer, head, model }));
    return { force, attention_rows: rows };
  }
}
