// Numbers as text: three significant digits, in the unit that keeps them short.

const TIMES = ["ps", "ns", "us", "ms", "s"];
const RATES = ["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"];
const BYTES = ["B", "kB", "MB", "GB", "TB"];

function scaled(value, units) {
  let at = 0;
  let short = value;
  while (at + 1 < units.length && Math.abs(short) >= 999.5) {
    short /= 1000;
    at += 1;
  }
  return digits(short) + " " + units[at];
}

/** Three significant digits; more for longer whole numbers. */
export function digits(value) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const magnitude = Math.floor(Math.log10(Math.abs(value) * 1.0005001));
  const text = value.toFixed(Math.min(Math.max(2 - magnitude, 0), 4));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A time in picoseconds. */
export const time = (ps) => scaled(ps, TIMES);
/** A rate in bit/s. */
export const rate = (bps) => scaled(bps, RATES);
/** A size in bytes. */
export const bytes = (n) => scaled(n, BYTES);
/** `12,345`. */
export const count = (n) => n.toLocaleString("en-US");
/** A share from 0 to 1. */
export const percent = (share) => digits(100 * share) + " %";

/** A value of a column with this unit, as in `decode.js`. */
export function quantity(value, unit) {
  if (value === null || Number.isNaN(value)) return "-";
  if (unit === "ps") return time(value);
  if (unit === "B") return bytes(value);
  if (unit === "b/s") return rate(value);
  return count(value) + (unit ? " " + unit : "");
}

/** About `most` round values for an axis between two values. */
export function ticks(from, to, most) {
  const rough = (to - from) / Math.max(most, 1);
  if (!(rough > 0)) return [];
  const decade = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * decade).find((n) => n >= rough * 0.999);
  const all = [];
  for (let n = Math.ceil(from / step); n * step <= to; n += 1) all.push(n * step);
  return all;
}

/** Label of a tick: one unit for the whole axis, with enough digits to distinguish ticks. */
export function tickTime(ps, span) {
  let at = 0;
  let factor = 1;
  while (at + 1 < TIMES.length && span / factor >= 2000) {
    factor *= 1000;
    at += 1;
  }
  const decimals = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(span / factor))));
  const text = (ps / factor).toFixed(decimals);
  return (text.includes(".") ? text.replace(/\.?0+$/, "") : text) + " " + TIMES[at];
}
