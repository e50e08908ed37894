// Heat grids: rects up to 1,600 cells, beyond that one indexed PNG made here.
//
// heat({x, y, cw, ch, rows, cols, value(r, c), index(v, r, c) 0..63, table, state, digits, numbers, masked(r, c), now: {row, col}, order})
// pngUri(indexes, table) data: URI · colourColumn({x, y, w, h, values, limit, state, attrs, c, image}) one state as a column of signed colours,
// the first COLUMN_UNITS of it (say so when there are more)
import { DIVERGING, inkOn, signedColour, signedIndex, theme } from "./_colour.js";
import { group, path, rect, tag, text } from "./_draw.js";
import { num, range, xy } from "./_text.js";
import { joined } from "./_trace.js";

export const GRID_LIMIT = 1600;

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const CRC = range(256).map((n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

function pushInt(bytes, v) {
  bytes.push((v >>> 24) & 255, (v >>> 16) & 255, (v >>> 8) & 255, v & 255);
}

function pushChunk(out, name, data) {
  pushInt(out, data.length);
  let crc = 0xffffffff;
  const start = out.length;
  for (let i = 0; i < 4; i++) out.push(name.charCodeAt(i));
  for (let i = 0; i < data.length; i++) out.push(data[i]);
  for (let i = start; i < out.length; i++) crc = CRC[(crc ^ out[i]) & 255] ^ (crc >>> 8);
  pushInt(out, (crc ^ 0xffffffff) >>> 0);
}

function stored(bytes) {
  const out = [0x78, 0x01];
  let a = 1;
  let b = 0;
  for (let at = 0; at < bytes.length; at = at + 65535) {
    const n = Math.min(65535, bytes.length - at);
    out.push(at + n >= bytes.length ? 1 : 0, n & 255, n >> 8, ~n & 255, (~n >> 8) & 255);
    for (let i = at; i < at + n; i++) {
      out.push(bytes[i]);
      a = (a + bytes[i]) % 65521;
      b = (b + a) % 65521;
    }
  }
  pushInt(out, ((b << 16) | a) >>> 0);
  return out;
}

function base64(bytes) {
  const parts = [];
  for (let i = 0; i < bytes.length; i = i + 3) {
    const n = (bytes[i] << 16) | ((bytes[i + 1] || 0) << 8) | (bytes[i + 2] || 0);
    parts.push(BASE64[n >> 18], BASE64[(n >> 12) & 63], i + 1 < bytes.length ? BASE64[(n >> 6) & 63] : "=", i + 2 < bytes.length ? BASE64[n & 63] : "=");
  }
  return parts.join("");
}

// An indexed PNG as a data: URI. indexes: rows of numbers into table; -1 = transparent.
export function pngUri(indexes, table) {
  const out = [137, 80, 78, 71, 13, 10, 26, 10];
  const head = [];
  pushInt(head, indexes[0].length);
  pushInt(head, indexes.length);
  head.push(8, 3, 0, 0, 0);
  pushChunk(out, "IHDR", head);
  const colours = [0, 0, 0];
  for (const hex of table) for (const at of [1, 3, 5]) colours.push(parseInt(hex.slice(at, at + 2), 16));
  pushChunk(out, "PLTE", colours);
  pushChunk(out, "tRNS", [0]);
  const pixels = [];
  for (const row of indexes) {
    pixels.push(0);
    for (let c = 0; c < row.length; c++) pixels.push(row[c] + 1);
  }
  pushChunk(out, "IDAT", stored(pixels));
  pushChunk(out, "IEND", []);
  return ["data:image/png;base64,", base64(out)].join("");
}

function imageGrid(o, place) {
  const indexes = [];
  for (let r = 0; r < o.rows; r++) {
    const row = range(o.cols).map(() => -1);
    for (let c = 0; c < o.cols; c++) {
      const v = o.value(r, c);
      if (v !== null && v !== undefined && !(o.masked && o.masked(r, c))) row[place(c)] = o.index(v, r, c);
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
