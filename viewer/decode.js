// Decoder of the page's tables, which are gzip in base64 of planes of bytes.
// `crates/report/src/pack.rs` encodes them and documents the format.

/** Why this browser cannot unpack tables; null if it can. */
export function cannotUnpack() {
  if (typeof DecompressionStream === "function") return null;
  return "This browser lacks DecompressionStream, which the charts need: open this file with Chrome or Edge 80, Safari 16.4, " +
    "Firefox 113, or newer. The comparison and the description of the run do not need it.";
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const all = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) all[i] = raw.charCodeAt(i);
  return all;
}

async function gunzip(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * The smallest array type for whole numbers from `base` to `most`; doubles if negative or above
 * 2^32.
 */
function room(rows, base, most) {
  if (base < 0 || most > 0xffffffff) return new Float64Array(rows);
  return most > 0xffff ? new Uint32Array(rows) : most > 0xff ? new Uint16Array(rows) : new Uint8Array(rows);
}

function readColumn(bytes, at, rows, head) {
  const { base, scale, nullable, delta, width } = head;
  const known = nullable ? bytes.subarray(at, at + rows) : null;
  let from = at + (nullable ? rows : 0);
  const end = from + width * rows;
  if (end > bytes.length) throw new Error(`column ${head.name} is truncated`);
  // Most columns have one or two planes. Planes are added in turn, as integers while they fit.
  let numbers = width <= 1 ? bytes.subarray(from, end) : width <= 4 ? new Uint32Array(rows) : new Float64Array(rows);
  if (width === 0) numbers = new Uint8Array(rows);
  for (let plane = 0; width > 1 && plane < width; plane += 1, from += rows) {
    if (width <= 4) {
      for (let i = 0; i < rows; i += 1) numbers[i] |= bytes[from + i] << (8 * plane);
    } else {
      const weight = 256 ** plane;
      for (let i = 0; i < rows; i += 1) numbers[i] += bytes[from + i] * weight;
    }
  }
  if (delta) {
    const sums = new Float64Array(rows);
    let sum = 0;
    for (let i = 0; i < rows; i += 1) {
      const n = numbers[i];
      // Zigzag: even numbers are 0, 1, 2, ..., odd ones -1, -2, ...
      sum += n % 2 === 0 ? n / 2 : -(n + 1) / 2;
      sums[i] = sum;
    }
    numbers = sums;
  }
  let most = 0;
  for (let i = 0; i < rows; i += 1) if (numbers[i] > most) most = numbers[i];
  const values = known ? new Float64Array(rows) : room(rows, base, base + scale * most);
  for (let i = 0; i < rows; i += 1) values[i] = base + scale * numbers[i];
  if (known) for (let i = 0; i < rows; i += 1) if (!known[i]) values[i] = NaN;
  return { end, values };
}

const unpacked = new Map();

/**
 * A table of the page by number, unpacked once: `rows`, and `columns` by name. A column has its
 * `unit`, its `values` (NaN for null) and, if values are indices of words, its `words`.
 */
export function table(number) {
  if (!unpacked.has(number)) unpacked.set(number, unpack(number));
  return unpacked.get(number);
}

async function unpack(number) {
  const element = document.getElementById(`table-${number}`);
  const head = JSON.parse(element.dataset.head);
  const bytes = await gunzip(fromBase64(element.textContent));
  const columns = {};
  let at = 0;
  for (const one of head.columns) {
    const { end, values } = readColumn(bytes, at, head.rows, one);
    columns[one.name] = { unit: one.unit, words: one.words, values };
    at = end;
  }
  if (at !== bytes.length) throw new Error(`table ${number} has ${bytes.length} B: expected ${at}`);
  // Release the text.
  element.textContent = "";
  return { rows: head.rows, columns };
}
