// What the pointer and the keys do inside a figure. Scenes mark their parts: data-v data-r data-c on a value,
// data-label data-i on a word, data-grid on a picture of many values, data-t on a step, data-set on anything else
// that changes the state (a JSON object of state keys).

// The value under the pointer: {r, c, element} or {r, c, rect} inside a picture of cells.
function figureCell(figure, event) {
  const element = event.target.closest?.("[data-r][data-c]");
  if (element && figure.root.contains(element)) {
    return { r: Number(element.dataset.r), c: Number(element.dataset.c), v: element.dataset.v, element, rect: element.getBoundingClientRect() };
  }
  const grid = event.target.closest?.("[data-grid]");
  return grid ? figureGridCell(figure, grid, event.clientX, event.clientY) : null;
}

function figureGridCell(figure, grid, clientX, clientY) {
  const [x0, y0, width, height, rows, columns] = grid.dataset.grid.split(/[ ,]+/).map(Number);
  const screen = grid.getScreenCTM();
  const point = new DOMPoint(clientX, clientY).matrixTransform(screen.inverse());
  const r = Math.floor((point.y - y0) / height);
  const c = Math.floor((point.x - x0) / width);
  if (r < 0 || c < 0 || r >= rows || c >= columns) return null;
  const from = new DOMPoint(x0 + c * width, y0 + r * height).matrixTransform(screen);
  const to = new DOMPoint(x0 + (c + 1) * width, y0 + (r + 1) * height).matrixTransform(screen);
  return { r, c, element: grid, rect: new DOMRect(from.x, from.y, to.x - from.x, to.y - from.y) };
}

// Words of a cell: its own data-tip, else its row and column labels, else the table's header cells.
function figureCellText(figure, cell) {
  const own = cell.element.dataset.tip;
  if (own) return own;
  const word = (side, index) => figure.root.querySelector(`[data-label="${side}"][data-i="${index}"]`)?.textContent;
  let [row, col, value] = [word("row", cell.r), word("col", cell.c), cell.v];
  if (row === undefined || col === undefined || value === undefined) {
    const { columns, rows } = figure.table();
    const shift = Math.max(0, (rows[cell.r] ?? []).findIndex((each) => typeof each === "number"));
    row ??= rows[cell.r]?.[0];
    col ??= columns[cell.c + shift];
    value ??= rows[cell.r]?.[cell.c + shift];
  }
  const number = Number(value);
  const shown = value === undefined || Number.isNaN(number) ? value ?? "" : figureNumber(number);
  if (row === undefined || col === undefined) return String(shown);
  return `${pageSay(figure.lang2(), "hoverReads", { row: `\u2068${row}\u2069`, col: `\u2068${col}\u2069` })}  ${shown}`;
}

function figureNumber(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return value.toExponential(2);
  return value.toFixed(size >= 100 ? 1 : 3);
}

// A faint row and column through the cell, in every map that has it (two maps side by side light up together).
function figureBands(figure, cell) {
  figure.querySelectorAll(".sf-band").forEach((band) => band.remove());
  const frame = figure.holder.getBoundingClientRect();
  const twins = cell.element.dataset.grid ? [cell.rect] : [...figure.root.querySelectorAll(`[data-r="${cell.r}"][data-c="${cell.c}"]`)].map((twin) => twin.getBoundingClientRect());
  for (const rect of twins) {
    const band = figureMake("i", { class: "sf-band" });
    band.style.cssText = `left:${rect.x - frame.x}px;top:${rect.y - frame.y}px;width:${rect.width}px;height:${rect.height}px`;
    figure.holder.append(band);
  }
}

// What a click changes, or null.
function figurePatch(figure, event) {
  const target = event.target;
  const defaults = SCENES[figure.view].meta.state ?? {};
  const set = target.closest?.("[data-set]");
  if (set) return JSON.parse(set.dataset.set);
  const warmth = target.closest?.("[data-temperature]");
  if (warmth && warmth !== figure.root) return { temperature: Number(warmth.dataset.temperature) };
  const window = target.closest?.("[data-mae]");
  if (window) return { lookback: null, t: Number(window.dataset.mae) + 1 };
  const cell = figureCell(figure, event);
  if (cell && "row" in defaults && "col" in defaults) {
    const same = figure.state.row === cell.r && figure.state.col === cell.c;
    return same ? { row: undefined, col: undefined } : { row: cell.r, col: cell.c };
  }
  const label = target.closest?.("[data-label][data-i]");
  if (label) {
    const key = label.dataset.label === "col" ? "col" : "row";
    const index = Number(label.dataset.i);
    if (key in defaults) return figurePick(figure, key, index);
  }
  const step = target.closest?.("[data-t]");
  if (step && step !== figure.root && "t" in defaults) return { t: Number(step.dataset.t) };
  return null;
}

// Selects a row or a column by its word, or takes the selection back.
function figurePick(figure, key, index) {
  if (figure.own[key] === index) return { row: undefined, col: undefined };
  const other = key === "col" ? "row" : "col";
  return other in (SCENES[figure.view].meta.state ?? {}) ? { [key]: index, [other]: null } : { [key]: index };
}

// One key pressed: true when it did something. The same keys everywhere.
function figureKey(figure, event) {
  if (!figure.trace) return false;
  const { key, shiftKey } = event;
  const button = event.target.closest?.("button, a, summary, [role=tab]");
  if ((key === " " || key === "Enter") && button) return false;
  const arrows = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  if (key in arrows && (shiftKey || figureInGrid(figure))) return figureMove(figure, ...arrows[key]);
  const steps = { ArrowLeft: figure.frame - 1, ArrowRight: figure.frame + 1, Home: 0, End: figure.n - 1 };
  if (key in steps && figure.n > 1) {
    figure.stop();
    figure.go(steps[key]);
    return true;
  }
  if (key === " " && figure.n > 1) {
    figure.toggle();
    return true;
  }
  if (key === "," || key === ".") return figureTurn(figure, "layer", key === "." ? 1 : -1);
  if (key === "[" || key === "]") return figureTurn(figure, "head", key === "]" ? 1 : -1);
  if (key === "Enter" && figureInGrid(figure)) {
    const { attention, layer, head } = figure.state;
    figure.open("align", { attention, layer: layer ?? 0, head: head ?? 0 });
    return true;
  }
  if (key === "Escape" && (figure.own.row !== undefined || figure.own.col !== undefined)) {
    figure.set({ row: undefined, col: undefined });
    return true;
  }
  return false;
}

// In the grid of heads the arrows walk over the tiles, and Enter opens one.
function figureInGrid(figure) {
  return figure.view === "heads" && document.activeElement === figure.box;
}

function figureMove(figure, down, right) {
  const state = figure.state;
  if (figure.view === "heads") {
    if (right) return figureTurn(figure, "head", right);
    return figureTurn(figure, "layer", down);
  }
  if (!("row" in state) || !("col" in state)) return false;
  const size = figureSize(figure);
  const clamp = (value, last) => Math.min(Math.max(value, 0), last);
  const [row, col] = state.row == null || state.col == null ? [0, 0] : [state.row + down, state.col + right];
  figure.set({ row: clamp(row, size.rows - 1), col: clamp(col, size.columns - 1) });
  return true;
}

function figureSize(figure) {
  const grid = figure.root.querySelector("[data-grid]");
  if (grid) {
    const [, , , , rows, columns] = grid.dataset.grid.split(/[ ,]+/).map(Number);
    return { rows, columns };
  }
  const size = { rows: 1, columns: 1 };
  for (const cell of figure.root.querySelectorAll("[data-r][data-c]")) {
    size.rows = Math.max(size.rows, Number(cell.dataset.r) + 1);
    size.columns = Math.max(size.columns, Number(cell.dataset.c) + 1);
  }
  return size;
}

// The next or the previous choice of a setting that has several (layer, head).
function figureTurn(figure, key, by) {
  const choices = controlChoices(figure.drawn(), figure.view, key, figure.state);
  if (choices.length < 2) return false;
  const at = choices.findIndex((choice) => String(choice.value) === String(figure.state[key]));
  const next = choices[Math.min(Math.max(at + by, 0), choices.length - 1)];
  figure.set({ [key]: next.value });
  return true;
}

// --- heads that stay in sight while a large map scrolls -----------------------------------------------------------
function figureHeads(figure) {
  figure.querySelectorAll(".sf-stuck").forEach((element) => element.remove());
  figure.stuck = [];
  const { box, root } = figure;
  if (!root.querySelector('[data-label="col"]')) return;
  const tall = box.scrollHeight > box.clientHeight + 4;
  const wide = box.scrollWidth > box.clientWidth + 4;
  if (tall) figureStuck(figure, "col");
  if (wide) figureStuck(figure, "row");
  figureStick(figure);
}

function figureStuck(figure, side) {
  const labels = [...figure.root.querySelectorAll(`[data-label="${side}"]`)];
  if (!labels.length) return;
  const frame = figure.root.getBoundingClientRect();
  const scale = frame.width / figure.root.viewBox.baseVal.width;
  let [low, high] = [Infinity, 0];
  for (const label of labels) {
    const rect = label.getBoundingClientRect();
    low = Math.min(low, (side === "col" ? rect.top - frame.top : rect.left - frame.left) / scale);
    high = Math.max(high, (side === "col" ? rect.bottom - frame.top : rect.right - frame.left) / scale);
  }
  const { width, height } = figure.root.viewBox.baseVal;
  const [from, size] = [Math.max(0, low - 4), high - Math.max(0, low - 4) + 4];
  const viewBox = side === "col" ? `0 ${from} ${width} ${size}` : `${from} 0 ${size} ${height}`;
  const copy = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  copy.setAttribute("viewBox", viewBox);
  copy.setAttribute("aria-hidden", "true");
  copy.setAttribute("class", `sf-stuck sf-stuck-${side}`);
  copy.style.width = `${(side === "col" ? width : size) * scale}px`;
  copy.style.height = `${(side === "col" ? size : height) * scale}px`;
  for (const label of labels) copy.append(label.cloneNode(true));
  for (const twin of copy.querySelectorAll("[data-label]")) twin.removeAttribute("data-label");
  figure.holder.append(copy);
  figure.stuck.push({ copy, side, from: from * scale });
}

function figureStick(figure) {
  for (const { copy, side, from } of figure.stuck ?? []) {
    const moved = side === "col" ? figure.box.scrollTop : figure.box.scrollLeft;
    copy.style.visibility = moved > from ? "visible" : "hidden";
    copy.style.transform = side === "col" ? `translateY(${moved}px)` : `translateX(${moved}px)`;
  }
}
