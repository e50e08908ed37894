// From the page's JSON to what the scenes receive: packed tensors become nested lists.
const PAGE_HALF = (() => {
  const table = new Float64Array(65536);
  for (let bits = 0; bits < 65536; bits += 1) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 0) table[bits] = sign * fraction * 2 ** -24;
    else if (exponent === 31) table[bits] = fraction ? NaN : sign * Infinity;
    else table[bits] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }
  return table;
})();

async function decodeBytes(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

async function decodeTensor(tensor) {
  const view = new DataView(await decodeBytes(tensor.data));
  const count = tensor.shape.reduce((product, size) => product * size, 1);
  const readers = {
    u8: (i) => view.getUint8(i),
    u16: (i) => view.getUint16(2 * i, true),
    i32: (i) => view.getInt32(4 * i, true),
    f16: (i) => PAGE_HALF[view.getUint16(2 * i, true)],
    f32: (i) => view.getFloat32(4 * i, true),
    f64: (i) => view.getFloat64(8 * i, true),
  };
  const read = readers[tensor.dtype];
  if (!read) throw new Error(`unknown tensor type ${tensor.dtype}`);
  const scale = tensor.q ?? 0;
  let next = 0;
  const build = (axis) => {
    const size = tensor.shape[axis];
    const list = new Array(size);
    for (let i = 0; i < size; i += 1) {
      if (axis < tensor.shape.length - 1) list[i] = build(axis + 1);
      else {
        list[i] = scale ? read(next) / scale : read(next);
        next += 1;
      }
    }
    return list;
  };
  const value = tensor.shape.length ? build(0) : read(0);
  if (count !== next && tensor.shape.length) throw new Error(`a tensor has ${next} of ${count} numbers`);
  return value;
}

async function decodeTrace(document) {
  if (document.schema === "bundle/1") {
    return { ...document, traces: await Promise.all(document.traces.map(decodeTrace)) };
  }
  if (document.schema !== "trace/1") throw new Error(`this file is ${document.schema}, this page reads trace/1`);
  const { tensors = {}, ...rest } = document;
  const values = {};
  await Promise.all(Object.entries(tensors).map(async ([name, tensor]) => { values[name] = await decodeTensor(tensor); }));
  const replace = (node) => {
    if (Array.isArray(node)) return typeof node[0] === "number" ? node : node.map(replace);
    if (node === null || typeof node !== "object") return node;
    if ("$t" in node) return values[node.$t];
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, replace(value)]));
  };
  return { ...replace(rest), tensors: {} };
}

// The traces of this page by id, each decoded once and only when a figure asks for it.
const pageTraces = new Map();

function pageTrace(id) {
  const element = id ? document.querySelector(`script[data-trace="${CSS.escape(id)}"]`) : document.querySelector("script[data-trace]");
  const key = element?.dataset.trace ?? id ?? "";
  if (!pageTraces.has(key)) {
    if (!element) return Promise.reject(new Error(`no recording named ${key}`));
    pageTraces.set(key, decodeTrace(JSON.parse(element.textContent)));
  }
  return pageTraces.get(key);
}

function pageConfig() {
  const element = document.getElementById("seqline-config");
  return element ? JSON.parse(element.textContent) : {};
}

function hashPlain(text) {
  try {
    JSON.parse(text);
    return false; // would come back as a number or a list
  } catch {
    return true;
  }
}

// The part of the page's address that holds a state: "v=align&t=6&head=mean".
function hashWrite(view, state) {
  const query = new URLSearchParams({ v: view });
  for (const [key, value] of Object.entries(state)) {
    if (value === undefined) continue;
    query.set(key, typeof value === "string" && hashPlain(value) ? value : JSON.stringify(value));
  }
  return `#${query}`;
}

function hashRead(hash) {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const state = {};
  for (const [key, text] of query) {
    if (key === "v") continue;
    try {
      state[key] = JSON.parse(text);
    } catch {
      state[key] = text;
    }
  }
  return { view: query.get("v"), state };
}
