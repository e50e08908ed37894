// Heat grids: rects up to 1,600 cells, beyond that one indexed PNG made here.
//
// heat({x, y, cw, ch, rows, cols, value(r, c), index(v, r, c) 0..63, table, state, digits, numbers, masked(r, c), now: {row, col}, order})
// pngUri(indexes, table) data: URI · colourColumn({x, y, w, h, values, limit, state, attrs, c, image}) one state as a column of signed colours,
// the first COLUMN_UNITS of it (say so when there are more)
import { DIVERGING, inkOn, signedColour, signedIndex, theme } from "./_colour.js";
import { group, path, rect, tag, text } from "./_draw.js";
import { num, range, xy } from "./_text.js";
import { joined } from "./_trace.js";

const GRID_LIMIT = 1600;

// Every 12 bits as two letters, and the CRC of every byte: a picture of 6,400 cells is 9,000 bytes, and `heads` draws dozens.
const LETTERS = Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
const PAIRS = range(4096).map((n) => [LETTERS[n >> 6], LETTERS[n & 63]].join(""));
const CRC = new Int32Array(256);
for (let n = 0; n < 256; n++) {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  CRC[n] = c;
}

function putInt(bytes, at, v) {
  bytes[at] = (v >>> 24) & 255;
  bytes[at + 1] = (v >>> 16) & 255;
  bytes[at + 2] = (v >>> 8) & 255;
  bytes[at + 3] = v & 255;
}

// A chunk around n bytes that `fill(at)` writes from `at` on; returns where the next one begins.
function putChunk(out, at, name, n, fill) {
  putInt(out, at, n);
  for (let i = 0; i < 4; i++) out[at + 4 + i] = name.charCodeAt(i);
  fill(at + 8);
  const end = at + 8 + n;
  let crc = -1;
  for (let i = at + 4; i < end; i++) crc = CRC[(crc ^ out[i]) & 255] ^ (crc >>> 8);
  putInt(out, end, crc ^ -1);
  return end + 4;
}

// Rows of pixels as stored deflate blocks: a filter byte 0 a row, then the indexes, all plus one since 0 is transparent.
function putPixels(out, at, indexes) {
  const width = indexes[0].length;
  const total = indexes.length * (width + 1);
  out[at] = 0x78;
  out[at + 1] = 0x01;
  let to = at + 2;
  let left = 0;
  let done = 0;
  let a = 1;
  let b = 0;
  for (let r = 0; r < indexes.length; r++) {
    const row = indexes[r];
    for (let c = -1; c < width; c++) {
      if (left === 0) {
        left = Math.min(65535, total - done);
        out[to] = done + left >= total ? 1 : 0;
        out[to + 1] = left & 255;
        out[to + 2] = left >> 8;
        out[to + 3] = ~left & 255;
        out[to + 4] = (~left >> 8) & 255;
        to = to + 5;
      }
      const v = c < 0 ? 0 : row[c] + 1;
      out[to] = v;
      to = to + 1;
      left = left - 1;
      done = done + 1;
      a = a + v;
      b = b + a;
    }
    // Sums of one row stay far below 2^53, so that dividing once a row is enough.
    a = a % 65521;
    b = b % 65521;
  }
  putInt(out, to, (b * 65536 + a) | 0);
}

function base64(bytes, count) {
  const whole = count - (count % 3);
  const parts = [];
  for (let i = 0; i < whole; i = i + 3) parts.push(PAIRS[(bytes[i] << 4) | (bytes[i + 1] >> 4)], PAIRS[((bytes[i + 1] & 15) << 8) | bytes[i + 2]]);
  const rest = count - whole;
  if (rest === 1) parts.push(PAIRS[bytes[whole] << 4], "==");
  if (rest === 2) parts.push(PAIRS[(bytes[whole] << 4) | (bytes[whole + 1] >> 4)], LETTERS[(bytes[whole + 1] & 15) << 2], "=");
  return parts.join("");
}

// An indexed PNG as a data: URI. indexes: rows of numbers into table; -1 = transparent.
export function pngUri(indexes, table) {
  const pixels = indexes.length * (indexes[0].length + 1);
  const packed = 2 + pixels + 5 * Math.ceil(pixels / 65535) + 4;
  const colours = 3 * (table.length + 1);
  const out = new Uint8Array(8 + (12 + 13) + (12 + colours) + (12 + 1) + (12 + packed) + 12);
  out.set([137, 80, 78, 71, 13, 10, 26, 10]);
  let at = putChunk(out, 8, "IHDR", 13, (from) => {
    putInt(out, from, indexes[0].length);
    putInt(out, from + 4, indexes.length);
    out.set([8, 3, 0, 0, 0], from + 8);
  });
  at = putChunk(out, at, "PLTE", colours, (from) => table.forEach((hex, i) => [1, 3, 5].forEach((k, j) => {
    out[from + 3 * (i + 1) + j] = parseInt(hex.slice(k, k + 2), 16);
  })));
  at = putChunk(out, at, "tRNS", 1, () => null);
  at = putChunk(out, at, "IDAT", packed, (from) => putPixels(out, from, indexes));
  at = putChunk(out, at, "IEND", 0, () => null);
  return ["data:image/png;base64,", base64(out, at)].join("");
}

function imageGrid(o, place) {
  const indexes = [];
  for (let r = 0; r < o.rows; r++) {
    const row = new Int8Array(o.cols).fill(-1);
    for (let c = 0; c < o.cols; c++) {
      const v = o.value(r, c);
      if (v !== null && v !== undefined && !(o.masked && o.masked(r, c))) row[o.order ? place(c) : c] = o.index(v, r, c);
    }
    indexes.push(row);
  }
  const grid = [xy(o.x), xy(o.y), xy(o.cw), xy(o.ch), o.rows, o.cols].join(" ");
  return tag("image", {
    x: o.x, y: o.y, width: o.cw * o.cols, height: o.ch * o.rows, preserveAspectRatio: "none", href: pngUri(indexes, o.table),
    "image-rendering": "optimizeSpeed", style: "image-rendering:pixelated", "data-grid": grid, "data-order": place(0) > 0 ? "rtl" : null,
  });
}

function oneCell(o, r, c, at, gap) {
  const v = o.value(r, c);
  const x = o.x + at * o.cw;
  const y = o.y + r * o.ch;
  const colours = theme(o.state);
  const faint = o.faint && o.faint(r, c);
  if (v === null || v === undefined) return rect(x, y, o.cw - gap, o.ch - gap, { fill: colours.empty });
  const masked = o.masked && o.masked(r, c);
  const fill = masked ? colours.empty : o.table[o.index(v, r, c)];
  const attrs = { fill: fill, "data-v": num(v, 4), "data-r": r, "data-c": c, opacity: faint ? 0.35 : null };
  const parts = [rect(x, y, o.cw - gap, o.ch - gap, attrs)];
  if (masked) parts.push(path(["M", x, y + o.ch - gap, "L", x + o.cw - gap, y], { stroke: colours.line, "stroke-width": 1 }));
  else if (o.numbers !== false && o.cw >= 26 && o.ch >= 15) {
    const size = Math.min(13, o.cw / 3, o.ch * 0.6);
    parts.push(text(x + (o.cw - gap) / 2, y + (o.ch - gap) / 2, num(v, o.digits === undefined ? 2 : o.digits), {
      size: Math.max(9, size), fill: faint ? colours.ink : inkOn(fill), anchor: "middle", attrs: { "pointer-events": "none" },
    }));
  }
  return parts.join("");
}

// o: x y cw ch rows cols value(r,c) index(v,r,c) table state [digits numbers masked faint now{row,col} order(c)]
export function heat(o) {
  const place = o.order || ((c) => c);
  const parts = [];
  if (o.rows * o.cols > GRID_LIMIT) parts.push(imageGrid(o, place));
  else {
    const gap = o.cw >= 12 && o.ch >= 10 ? 1 : 0;
    for (let r = 0; r < o.rows; r++) for (let c = 0; c < o.cols; c++) parts.push(oneCell(o, r, c, place(c), gap));
  }
  const now = o.now || {};
  const frame = { fill: "none", stroke: theme(o.state).now, "stroke-width": 2 };
  if (now.row >= 0 && now.row !== null) parts.push(rect(o.x - 1, o.y + now.row * o.ch - 1, o.cw * o.cols + 1, o.ch + 1, joined(frame, { "data-now": "1" })));
  if (now.col >= 0 && now.col !== null) parts.push(rect(o.x + place(now.col) * o.cw - 1, o.y - 1, o.cw + 1, o.ch * o.rows + 1, frame));
  return parts.join("");
}

export const COLUMN_UNITS = 32;

export function colourColumn(o) {
  const n = Math.min(o.values.length, COLUMN_UNITS);
  const ch = o.h / n;
  const parts = [];
  if (o.image) {
    const indexes = range(n).map((r) => [signedIndex(o.values[r], o.limit)]);
    parts.push(tag("image", {
      x: o.x, y: o.y, width: o.w, height: o.h, preserveAspectRatio: "none", href: pngUri(indexes, DIVERGING), "image-rendering": "optimizeSpeed",
      style: "image-rendering:pixelated", "data-grid": [xy(o.x), xy(o.y), xy(o.w), xy(ch), n, 1].join(" "), "data-c": o.c,
    }));
  }
  for (let r = 0; r < n && !o.image; r++) {
    parts.push(rect(o.x, o.y + r * ch, o.w, ch + 0.3, { fill: signedColour(o.values[r], o.limit), "data-v": num(o.values[r], 4), "data-r": r, "data-c": o.c }));
  }
  parts.push(rect(o.x, o.y, o.w, o.h, { fill: "none", stroke: o.stroke || theme(o.state).line, "stroke-width": o.w < 8 ? 0.5 : o.width || 1 }));
  return group(o.attrs || {}, parts);
}
