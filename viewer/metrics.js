// The report's first picture: a metric over a swept key, a line per scheme; without a sweep, a bar
// per scheme.

import { bytes, digits, rate, time } from "./format.js";
import { color, onTheme } from "./colors.js";
import { Lines, logarithmic } from "./lines.js";
import { choice, make } from "./table.js";

const FAMILIES = [
  { ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12 },
  { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 },
  { "b/s": 1, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12 },
];
const SHOWN = [time, bytes, rate];
/** An axis is logarithmic if its largest value is this many times its smallest. */
const WIDE_AXIS = 20;

/** How a metric's values are shown, by the unit at the end of its name. */
function showOf(metric) {
  const ends = [["_ps", time], ["_bytes", bytes], ["_bps", rate]];
  return ends.find(([end]) => metric.endsWith(end))?.[1] ?? digits;
}

/**
 * Numbers of swept values such as `300 us`, and how to show them; null if one is not a number with
 * a known unit.
 */
function swept(texts) {
  const read = texts.map((text) => /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*([^\d\s]*)$/i.exec(text.trim()));
  if (read.some((r) => !r)) return null;
  const units = [...new Set(read.map((r) => r[2]))];
  const at = FAMILIES.findIndex((family) => units.every((unit) => unit in family));
  if (at >= 0) return { values: read.map((r) => Number(r[1]) * FAMILIES[at][r[2]]), show: SHOWN[at] };
  if (units.length > 1) return null;
  const unit = units[0] ? ` ${units[0]}` : "";
  return { values: read.map((r) => Number(r[1])), show: (v) => digits(v) + unit };
}

/** Points in the order of a key's values; those of equal values are one. */
function placesOf(lines, key) {
  const texts = [...new Set(lines.map((line) => line.point[key]))];
  const read = swept(texts);
  if (!read) return { texts, x: texts.map((_, i) => i), names: texts, show: digits };
  const order = texts.map((_, i) => i).sort((a, b) => read.values[a] - read.values[b]);
  return { texts: order.map((i) => texts[i]), x: order.map((i) => read.values[i]), names: null, show: read.show };
}

const lastPart = (key) => key.slice(key.lastIndexOf(".") + 1).replaceAll("_", " ");

/** Lines of a metric over a key. */
function overKey(place, data, metric, key, lines) {
  const { texts, x, names, show } = placesOf(lines, key);
  const cell = (scheme, text) => lines.find((l) => l.scheme === scheme && l.point[key] === text)?.metrics[metric];
  const known = lines.map((l) => l.metrics[metric]?.value?.mean).filter((v) => v !== null && v !== undefined);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const logY = least > 0 && most / least >= WIDE_AXIS;
  const ends = (value) => {
    if (!value || value.half_width === null || value.half_width === undefined) return [value?.mean ?? null, value?.mean ?? null];
    if (logY) return logarithmic(value.mean, value.half_width);
    // A metric without negative values has no interval below 0.
    const low = value.mean - value.half_width;
    return [least >= 0 ? Math.max(low, 0) : low, value.mean + value.half_width];
  };
  const drawn = [...new Set(lines.map((l) => l.scheme))].map((scheme) => {
    const values = texts.map((text) => cell(scheme, text)?.value ?? null);
    const bands = values.some((v) => v && v.half_width !== null && v.half_width !== undefined);
    const [low, high] = [0, 1].map((end) => values.map((v) => ends(v)[end]));
    return { name: scheme, number: data.schemes.indexOf(scheme), y: values.map((v) => v?.mean ?? null), low: bands ? low : null, high: bands ? high : null };
  });
  const label = data.labels[metric];
  const logX = !names && x[0] > 0 && x[x.length - 1] / x[0] >= WIDE_AXIS;
  const topY = Math.max(...drawn.flatMap((l) => [...l.y, ...(l.high ?? [])]).filter((v) => v !== null)) * 1.05 || 1;
  const chart = new Lines(place, `${label} over ${lastPart(key)}, a line per scheme.`, {
    x, names, logX, logY, topY, lines: drawn, labelX: lastPart(key), labelY: label, showX: show, showY: showOf(metric),
  });
  const bounds = drawn.flatMap(({ name }) => {
    const at = texts.filter((text) => cell(name, text)?.lower_bound);
    return at.length ? [`${name} at ${at.join(", ")}`] : [];
  });
  if (bounds.length) place.append(make("p", { class: "quiet" }, `Lower bounds, because flows are unfinished: ${bounds.join("; ")}.`));
  return chart;
}

/** A bar per scheme: HTML, which has room for names of any length. */
function barPerScheme(place, data, metric, lines) {
  const show = showOf(metric);
  const cells = lines.map((l) => ({ scheme: l.scheme, ...l.metrics[metric] })).filter((c) => c.value);
  const half = (c) => c.value.half_width ?? 0;
  const most = Math.max(...cells.map((c) => c.value.mean + half(c)), Number.MIN_VALUE);
  const rows = cells.flatMap((c) => {
    const bar = make("span", { class: "bar" });
    bar.style.width = `${(100 * c.value.mean) / most}%`;
    const track = make("span", { class: "track" }, bar);
    if (half(c) > 0) {
      const whisker = make("span", { class: "whisker" });
      whisker.style.left = `${(100 * Math.max(c.value.mean - half(c), 0)) / most}%`;
      whisker.style.right = `${100 - (100 * (c.value.mean + half(c))) / most}%`;
      track.append(whisker);
    }
    return [make("span", {}, c.scheme), track, make("span", { class: "number" }, (c.lower_bound ? ">= " : "") + show(c.value.mean))];
  });
  const label = data.labels[metric];
  const chart = make("div", { class: "bars", role: "img", "aria-label": `${label}: ${cells.map((c) => `${c.scheme} ${show(c.value.mean)}`).join(", ")}` }, ...rows);
  place.append(chart);
  const paint = () => chart.querySelectorAll(".bar").forEach((bar, i) => {
    bar.style.background = color(data.schemes.indexOf(cells[i].scheme));
  });
  paint();
  onTheme(paint, chart);
  return { cells };
}

/** Draw the picture with selections of metric, key and other keys' values; return the chart. */
export function picture(place, data) {
  const { lines } = data.comparison;
  const metrics = Object.keys(data.labels).filter((m) => lines.some((l) => l.metrics[m]?.value));
  if (!metrics.length) return null;
  const keys = [...new Set(lines.flatMap((l) => Object.keys(l.point)))].filter((key) => new Set(lines.map((l) => l.point[key])).size > 1);
  const body = make("div");
  const drawn = { metric: metrics[0], key: keys[0] ?? null, chart: null };
  const draw = () => {
    body.replaceChildren();
    if (drawn.key === null) {
      drawn.chart = barPerScheme(body, data, drawn.metric, lines);
      return;
    }
    // One picture has one value of each other key.
    const others = keys.filter((key) => key !== drawn.key);
    const at = (line) => others.map((key) => `${lastPart(key)} = ${line.point[key]}`).join(", ");
    const inner = make("div");
    const show = (text) => {
      inner.replaceChildren();
      drawn.chart = overKey(inner, data, drawn.metric, drawn.key, lines.filter((line) => at(line) === text));
    };
    const fixed = [...new Set(lines.map(at))];
    body.append(make("p", {}, choice("At", fixed.map((text) => ({ value: text, text })), show)), inner);
    show(fixed[0]);
  };
  const pick = (field) => (value) => {
    drawn[field] = value;
    draw();
  };
  place.append(
    make("p", { class: "tools" },
      choice("Show", metrics.map((m) => ({ value: m, text: data.labels[m] })), pick("metric")),
      " ",
      choice("over", keys.map((key) => ({ value: key, text: lastPart(key) })), pick("key"))),
    body,
  );
  draw();
  return drawn;
}
