// The settings above a figure, made from the keys of the view's state and from what the trace holds.
const CONTROL_LISTS = {
  level: () => ["piece", "word"],
  scale: () => ["abs", "sqrt", "row"],
  special: () => ["show", "grey", "hide"],
  palette: () => ["viridis", "cividis", "greys"],
  order: () => ["auto", "ltr", "rtl"],
  pick: () => ["top", "min", "cover"],
  sort: (one, view) => (view === "heads" ? ["index", "entropy", "diagonal", "previous"] : ["index", "variance"]),
  dir: (one) => (one.encoder?.h?.[0]?.length > 1 ? ["forward", "backward"] : []).map((name, i) => [i, name]),
  temperature: (one) => [[null, "valueAsRun"], ...(one.decoder?.steps?.[0]?.temps ?? []).map((value) => [value, String(value)])],
  // None: the one that the player is at.
  lookback: (one) => (one.forecast?.windows.length > 1 ? [[null, "valueAuto"]] : []).concat((one.forecast?.windows ?? []).map((window) => [window.lookback, String(window.lookback)])),
};
// Numbers that are typed: from, to and the step of the field.
const CONTROL_NUMBERS = {
  k: () => [1, 20, 1], top: () => [1, 20, 1], min: () => [0, 1, 0.01], cover: () => [0, 1, 0.05],
  horizon: (one) => [1, one.forecast?.pred_y?.length ?? 1, 1],
};
// A setting that means something only while another one has this value.
const CONTROL_WHEN = { top: ["pick", "top"], min: ["pick", "min"], cover: ["pick", "cover"] };
// Keys that other parts of the page set: the player, the pointer, the theme switch.
const CONTROL_SKIP = new Set(["t", "beat", "row", "col", "theme", "lang", "font", "width", "height", "frame", "dims", "pos"]);

function controlCount(trace, view, key, state) {
  const one = trace.schema === "bundle/1" ? trace.traces[0] : trace;
  const needs = (SCENES[view].meta.needs ?? []).join(" ");
  if (needs.includes("attention") && one.attention?.length) {
    const block = seqlineLib.pickBlock(one, state);
    return key === "layer" ? seqlineLib.layerCount(block) : seqlineLib.headCount(block);
  }
  if (key === "head") return one.qkv ? new Set(one.qkv.map((item) => item.head)).size : 0;
  const part = one[state.part]?.h ? one[state.part] : needs.includes("encoder") && one.encoder?.h ? one.encoder : one.decoder?.h ? one.decoder : one.encoder;
  return part?.h?.length ?? 0;
}

// The choices of a key as {value, text}; a list with fewer than two has no control.
function controlChoices(trace, view, key, state) {
  const say = (name) => pageSay(state.lang, name);
  const meta = SCENES[view].meta;
  const own = typeof meta.controls === "function" ? meta.controls(trace)[key] : meta.controls?.[key];
  if (Array.isArray(own)) return own.map((value) => ({ value, text: controlWord(value, state.lang) }));
  const one = trace.schema === "bundle/1" ? trace.traces[0] : trace;
  if (key === "layer" || key === "head") {
    const count = controlCount(trace, view, key, state);
    const list = Array.from({ length: count }, (_, i) => ({ value: i, text: `${say(key === "layer" ? "stateLayer" : "stateHead")} ${i + 1}` }));
    const named = key === "head" && count > 1 && (one.attention?.length ?? 0) > 0 && view !== "qkv";
    return named ? [{ value: "mean", text: say("valueMean") }, { value: "max", text: say("valueMax") }, ...list] : list;
  }
  if (key === "attention") {
    return (one.attention ?? []).map((block) => ({ value: block.name, text: controlWord(block.name, state.lang) }));
  }
  if (key === "part") {
    const parts = ["encoder", "decoder"].filter((part) => one[part]?.h);
    return (parts.length > 1 ? [null, ...parts] : []).map((value) => ({ value, text: controlWord(value, state.lang) }));
  }
  const values = CONTROL_LISTS[key]?.(one, view) ?? (typeof meta.state[key] === "boolean" ? [true, false] : []);
  return values.map((value) => (Array.isArray(value)
    ? { value: value[0], text: controlWord(value[1], state.lang) } : { value, text: controlWord(value, state.lang) }));
}

function controlWord(value, lang) {
  if (typeof value === "boolean") return pageSay(lang, value ? "valueYes" : "valueNo");
  const key = String(value).startsWith("value") ? value : `value${String(value).charAt(0).toUpperCase()}${String(value).slice(1)}`;
  return key in PAGE_STRINGS.en ? pageSay(lang, key) : value === null ? pageSay(lang, "valueAuto") : String(value);
}

function controlName(key, lang) {
  const name = `state${key.charAt(0).toUpperCase()}${key.slice(1)}`;
  return name in PAGE_STRINGS.en ? pageSay(lang, name) : key.replace(/_/g, " ");
}

// {min, max, step} of a number that is typed or slid, or null.
function controlRange(trace, view, key, state) {
  const meta = SCENES[view].meta;
  const own = typeof meta.controls === "function" ? meta.controls(trace)[key] : meta.controls?.[key];
  if (own && !Array.isArray(own)) return own;
  const one = trace.schema === "bundle/1" ? trace.traces[0] : trace;
  if (key === "unit") {
    let width = one[state.part]?.h ?? one.encoder?.h ?? one.decoder?.h;
    while (Array.isArray(width?.[0])) width = width[0];
    return width ? { min: 0, max: width.length - 1, step: 1 } : null;
  }
  const known = CONTROL_NUMBERS[key]?.(one);
  return known ? { min: known[0], max: known[1], step: known[2] } : null;
}

// Fills `holder` with the settings of the figure's view; they keep their place while their values change.
function controlsFill(holder, figure) {
  const { view, state } = figure;
  const trace = figure.drawn();
  const made = [];
  for (const key of Object.keys(SCENES[view].meta.state ?? {})) {
    const [other, wanted] = CONTROL_WHEN[key] ?? [];
    if (CONTROL_SKIP.has(key) || (other && state[other] !== wanted)) continue;
    const choices = controlChoices(trace, view, key, state);
    if (choices.length > 1) made.push(controlSelect(figure, key, choices));
    else if (choices.length === 0) {
      const range = controlRange(trace, view, key, state);
      if (range) made.push(controlNumber(figure, key, range));
    }
  }
  const shape = made.map((element) => element.dataset.shape).join(";");
  if (holder.dataset.shape !== shape) {
    holder.dataset.shape = shape;
    holder.replaceChildren(...made);
  }
  holder.hidden = made.length === 0;
  for (const field of holder.querySelectorAll("[data-key]")) {
    const value = state[field.dataset.key];
    if (document.activeElement !== field || field.tagName === "SELECT") field.value = value === null || value === undefined ? field.dataset.none ?? "" : String(value);
  }
}

// What the scene takes when the state says nothing: the last layer, the block that it picks, the first of a list.
function controlDefault(figure, key, choices) {
  if (key === "layer") return String(choices.at(-1).value);
  if (key === "attention") return seqlineLib.pickBlock(seqlineLib.one(figure.drawn()), figure.state)?.name ?? "";
  return String(choices[0].value);
}

function controlSelect(figure, key, choices) {
  const select = figureMake("select", { "data-key": key });
  for (const choice of choices) select.append(figureMake("option", { value: String(choice.value), text: choice.text }));
  select.dataset.none = controlDefault(figure, key, choices);
  select.addEventListener("change", () => figure.set({ [key]: choices[select.selectedIndex].value }));
  const shape = `${key}:${figure.lang2()}:${choices.map((choice) => choice.value).join(",")}`;
  return figureMake("label", { class: "setting", "data-shape": `${figure.view}.${shape}` }, [figureMake("span", { text: controlName(key, figure.lang2()) }), select]);
}

function controlNumber(figure, key, range) {
  const field = figureMake("input", { type: "number", "data-key": key, min: range.min, max: range.max, step: range.step });
  field.addEventListener("input", () => {
    const value = field.valueAsNumber;
    if (field.validity.valid && !Number.isNaN(value)) figure.set({ [key]: value });
  });
  const shape = `${key}:${figure.lang2()}:${range.min}-${range.max}`;
  return figureMake("label", { class: "setting", "data-shape": `${figure.view}.${shape}` }, [figureMake("span", { text: controlName(key, figure.lang2()) }), field]);
}
