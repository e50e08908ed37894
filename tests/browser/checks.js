// Measured in the page: text boxes that overlap or are cut off, contrast of text in a drawing, small controls.
function checkLabels() {
  const svg = studio.figure.root;
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim());
  const boxes = texts.map((text) => ({ text: text.textContent, rect: text.getBoundingClientRect(), turned: text.hasAttribute("transform") }));
  const bad = boxes
    .filter(({ rect }) => rect.left < frame.left - 2 || rect.right > frame.right + 2 || rect.top < frame.top - 2 || rect.bottom > frame.bottom + 2)
    .map(({ text }) => `clipped: ${text}`);
  const flat = boxes.filter((box) => !box.turned);
  for (let i = 0; i < flat.length; i += 1) {
    for (let j = i + 1; j < flat.length; j += 1) {
      const [a, b] = [flat[i].rect, flat[j].rect];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const air = 0.2 * Math.min(a.height, b.height); // a text box is taller than its ink
      const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) - air;
      if (wide > 2 && tall > 2) bad.push(`overlap: ${flat[i].text} | ${flat[j].text}`);
    }
  }
  return bad;
}

// Each text against the last shapes below it that cover its middle.
function checkContrast() {
  const svg = studio.figure.root;
  const rgb = (colour) => [1, 3, 5].map((at) => parseInt(colour.length === 4 ? colour[(at + 1) / 2].repeat(2) : colour.slice(at, at + 2), 16));
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const mix = (top, under, share) => top.map((v, i) => v * share + under[i] * (1 - share));
  const opacity = (element) => {
    let share = 1;
    for (let at = element; at !== svg; at = at.parentElement) share *= Number(at.getAttribute("opacity") ?? 1);
    return share;
  };
  const shapes = [...svg.querySelectorAll("rect, circle, path, text")];
  const bad = [];
  shapes.forEach((text, n) => {
    if (text.tagName !== "text" || !text.textContent.trim()) return;
    const box = text.getBoundingClientRect();
    const middle = new DOMPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    let under = [255, 255, 255];
    for (const shape of shapes.slice(0, n)) {
      const fill = shape.getAttribute("fill");
      if (shape.tagName === "text" || !fill || fill === "none" || fill.startsWith("url")) continue;
      if (!shape.isPointInFill(middle.matrixTransform(shape.getScreenCTM().inverse()))) continue;
      under = mix(rgb(fill), under, opacity(shape) * Number(shape.getAttribute("fill-opacity") ?? 1));
    }
    const ink = mix(rgb(text.getAttribute("fill") ?? "#000"), under, opacity(text));
    const [high, low] = [light(ink), light(under)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) bad.push(`${text.textContent}: ${ratio.toFixed(2)}`);
  });
  return bad;
}

function checkTargets(least) {
  return [...document.querySelectorAll("button, select, input, a")]
    .map((element) => ({ element, box: element.getBoundingClientRect() }))
    .filter(({ element, box }) => box.width > 0 && box.bottom > 0 && element.checkVisibility({ visibilityProperty: true }))
    .filter(({ box }) => box.width < least || box.height < least)
    .map(({ element, box }) => `${element.outerHTML.slice(0, 90)} ${box.width} x ${box.height}`);
}

// The element that has the focus, and its ring.
function checkFocus() {
  const element = document.activeElement;
  const style = getComputedStyle(element);
  return {
    name: element.id || element.dataset.view || element.className || element.tagName,
    width: parseFloat(style.outlineWidth), style: style.outlineStyle, end: element === document.body,
  };
}

function checkHeadings() {
  return [...document.querySelectorAll("h1, h2, h3")].filter((h) => h.checkVisibility()).map((h) => Number(h.tagName[1]));
}

// The box of the first row label inside the drawing at its natural size.
function checkRowLabel() {
  const { root } = studio.figure;
  root.style.minWidth = root.style.maxWidth = `${root.getAttribute("width")}px`;
  const [box, frame] = [root.querySelector('[data-label="row"]').getBoundingClientRect(), root.getBoundingClientRect()];
  return [box.x - frame.x, box.y - frame.y, box.right - frame.x, box.bottom - frame.y];
}

function checkMoving() {
  return [...document.querySelectorAll("*")].filter((element) => {
    const style = getComputedStyle(element);
    return parseFloat(style.transitionDuration) > 0 || style.animationName !== "none";
  }).length;
}
