// Cells of the table twin, and finding a token in the present view.
function tableCell(cell, i) {
  const number = typeof cell === "number";
  const text = number && !Number.isInteger(cell) ? figureNumber4(cell) : exportCell(cell);
  return figureMake(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, dir: number ? null : "auto", "data-v": number ? String(cell) : null, text });
}

function figureNumber4(value) {
  return Math.abs(value) < 1e-3 && value !== 0 ? value.toExponential(3) : value.toFixed(4);
}

// State patches that show each token whose text holds `wish`: a row, a column, or the step that wrote it.
function searchHits(figure, wish) {
  const trace = seqlineLib.one(figure.drawn());
  const state = SCENES[figure.view].meta.state ?? {};
  const holds = (token) => (token.text || token.piece).toLowerCase().includes(wish);
  const hits = [];
  if ("row" in state && trace.attention?.length) {
    const block = seqlineLib.pickBlock(trace, figure.state);
    seqlineLib.axisTokens(trace, block.query).forEach(({ token }, i) => holds(token) && hits.push({ row: i, col: null }));
    if ("col" in state) seqlineLib.axisTokens(trace, block.key).forEach(({ token }, i) => holds(token) && hits.push({ col: i, row: null }));
  } else if ("t" in state || "t" in figure.state) {
    trace.target?.tokens?.forEach((token, j) => holds(token) && hits.push({ t: seqlineLib.tOfOutput(trace, j) }));
  }
  return hits;
}
