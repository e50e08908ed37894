// What leaves the page: drawing, picture, numbers, table, link. Nothing is sent anywhere; files are saved by the browser.
function exportName(figure, suffix) {
  const id = figure.drawn().meta?.id ?? "trace";
  return `${id}-${figure.view}-${figure.frame + 1}.${suffix}`.replace(/[^\w.-]+/g, "-");
}

function exportSave(name, blob) {
  const link = figureMake("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function exportSvgText(figure, embedFonts) {
  const face = embedFonts ? document.getElementById("seqline-fonts")?.textContent ?? "" : "";
  return face ? figure.svg.replace(/^(<svg[^>]*>)/, (open) => `${open}<style>${face}</style>`) : figure.svg;
}

function exportProvenance(figure) {
  return new DOMParser().parseFromString(figure.svg, "image/svg+xml").querySelector("desc")?.textContent ?? "";
}

// The drawing as a picture. An image sees no fonts of its page, so the drawing carries them itself.
async function exportPng(figure, scale) {
  const { width, height } = figure.root.viewBox.baseVal;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(exportSvgText(figure, true))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return new Blob([exportPngText(bytes, "Description", exportProvenance(figure))], { type: "image/png" });
}

// A PNG with one more text chunk (iTXt, UTF-8) after its head: which model, seed and program made it.
function exportPngText(bytes, keyword, text) {
  const encode = (string) => new TextEncoder().encode(string);
  const body = [...encode("iTXt"), ...encode(keyword), 0, 0, 0, 0, 0, ...encode(text)];
  const chunk = new Uint8Array(body.length + 8);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, body.length - 4);
  chunk.set(body, 4);
  view.setUint32(body.length + 4, exportCrc(body));
  const out = new Uint8Array(bytes.length + chunk.length);
  out.set(bytes.subarray(0, 33));
  out.set(chunk, 33);
  out.set(bytes.subarray(33), 33 + chunk.length);
  return out;
}

function exportCrc(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

function exportCell(value) {
  return value === null || value === undefined ? "" : String(value);
}

function exportCsv({ columns, rows }) {
  const quote = (value) => (/[",\n\r]/.test(value) ? `"${value.replace(/"/g, '""')}"` : value);
  return [columns, ...rows].map((row) => row.map((cell) => quote(exportCell(cell))).join(",")).join("\r\n").concat("\r\n");
}

function exportMarkdown({ columns, rows }) {
  const clean = (cell) => exportCell(typeof cell === "number" ? Number(cell.toFixed(4)) : cell).replace(/\|/g, "\\|").replace(/\s+/g, " ");
  const line = (cells) => `| ${cells.map(clean).join(" | ")} |`;
  return [line(columns), line(columns.map(() => "---")), ...rows.map(line)].join("\n").concat("\n");
}

// What the reader's own recording is called, as far as a page can know.
const EXPORT_RECORDING = "run.json";

// One word for a shell, whatever it holds.
function exportQuoted(word) {
  return /^[\w.,/-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}

// The command that makes an animation of what is seen now; the page itself makes none.
function exportCommand(figure, suffix) {
  const defaults = SCENES[figure.view].meta.state ?? {};
  const { theme, lang } = figure.shared;
  const state = { ...figure.own, theme, lang: lang === "en" ? undefined : lang };
  const words = ["seqline", "explain", EXPORT_RECORDING, "--view", figure.view];
  for (const [key, value] of Object.entries(state)) {
    if (!(key in defaults || PAGE_KEYS.has(key)) || ["t", "beat", "row", "col", "font"].includes(key)) continue;
    // A default needs no word, and the command line has none for "nothing".
    if (value === undefined || value === null || JSON.stringify(value) === JSON.stringify(defaults[key])) continue;
    words.push("--set", `${key}=${typeof value === "object" ? JSON.stringify(value) : value}`);
  }
  return [...words, "--out", `${figure.view}.${suffix}`].map(exportQuoted).join(" ");
}

async function exportCopy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // no permission, or not a secure place: the page shows the line instead
  }
}
