// Lines with bands, drawn by uPlot: metrics over a swept key, distributions of completion times,
// and slowdown by size.

import { color, dash, onTheme, style } from "./colors.js";
import { digits, ticks } from "./format.js";
import { make } from "./table.js";

const HEIGHT = 300;

/** `#rrggbb` made transparent. */
const faint = (text) => `${text}33`;

/** 1, 2 and 5 times powers of ten within two values; powers only if these are many. */
function between(min, max) {
  const all = [];
  const [first, last] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
  for (let power = first; power <= last; power += 1) {
    for (const digit of last - first > 4 ? [1] : [1, 2, 5]) {
      // Divide for powers below 1: 10 ** -1 may differ from 0.1.
      const value = power < 0 ? digit / 10 ** -power : digit * 10 ** power;
      if (value >= min && value <= max) all.push(value);
    }
  }
  return all;
}

/**
 * A chart of lines. `x` holds the positions. `lines` have a `name`, a `number` for the color, `y`,
 * and `low` and `high` for a band (null if unknown). `showX` and `showY` format values. The x axis
 * is logarithmic unless `logX` is false; `names` are texts of its positions, if these are no
 * numbers. A y axis that is not logarithmic ends at `topY`.
 */
export class Lines {
  constructor(place, about, { x, lines, labelX, labelY, showX, showY, logX = true, logY = false, names = null, topY = 1 }) {
    Object.assign(this, { x, lines, labelX, labelY, showX, showY, logX, logY, names, topY });
    [this.into, this.back] = logX ? [Math.log, Math.exp] : [(v) => v, (v) => v];
    this.hidden = new Set();
    const button = (label, title, act) => make("button", { type: "button", title, "aria-label": title, click: act }, label);
    this.legend = make("p", { class: "legend" });
    const tools = make(
      "div",
      { class: "tools" },
      button("−", "Zoom out", () => this.zoom(2)),
      button("+", "Zoom in", () => this.zoom(0.5)),
      button("All", "Show all", () => this.all()),
    );
    const keys = "Keys: arrows move the cursor; + and - zoom; 0 shows all; Home and End jump to the ends.";
    this.canvas = make("div", { class: "lines", tabindex: 0, role: "application", "aria-label": `${about} ${keys}`, keydown: (e) => this.key(e) });
    this.status = make("p", { class: "status", role: "status" }, "Drag to zoom in. Point at the chart, or click it and use the arrow keys, to read values.");
    place.append(tools, this.legend, this.canvas, this.status);
    this.build();
    onTheme(() => this.build(), this.canvas);
    new ResizeObserver(() => this.size()).observe(this.canvas);
  }

  /** Replace the lines. */
  update(x, lines) {
    Object.assign(this, { x, lines });
    this.build();
  }

  build() {
    this.plot?.destroy();
    const data = [Array.from(this.x)];
    const series = [{}];
    const bands = [];
    for (const line of this.lines) {
      const stroke = color(line.number);
      const show = !this.hidden.has(line.name);
      if (line.low) {
        bands.push({ series: [data.length, data.length + 1], fill: faint(stroke) });
        for (const values of [line.high, line.low]) {
          data.push(values);
          series.push({ stroke: "transparent", width: 0, points: { show: false }, spanGaps: true, show });
        }
      }
      data.push(line.y);
      const points = { show: this.x.length < 40, size: 6, fill: stroke };
      series.push({ stroke, width: 2, dash: dash(line.number), points, spanGaps: true, show });
    }
    const axis = { stroke: style("--quiet"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line"), width: 1 } };
    // Ticks of a logarithmic axis: powers of ten and values between on a wide axis, round values on
    // a narrow one.
    const splits = (u, axis_, min, max) => (max / min < 12 ? ticks(min, max, 6) : between(min, max));
    // uPlot would omit values that are not powers of ten; texts() selects the labels.
    const filter = (u, values) => values;
    const texts = (show) => (u, values) => {
      const round = values.filter((v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9);
      return values.map((v) => (round.length > 2 && !round.includes(v) ? "" : show(v)));
    };
    // Named positions have a tick each; where there is no room, every second or third one has.
    const room = Math.max(Math.floor(this.canvas.clientWidth / 90), 2);
    const every = Math.max(Math.ceil(this.x.length / room), 1);
    const nameX = { splits: () => this.x.filter((_, i) => i % every === 0), values: (u, values) => values.map((v) => this.names[v] ?? "") };
    const plainX = { values: (u, values) => values.map((v) => this.showX(v)) };
    const axisX = this.names ? nameX : this.logX ? { values: texts(this.showX), splits, filter } : plainX;
    const alone = (a) => (this.logX ? [a * 0.9, a * 1.1] : [a - 1, a + 1]);
    const options = {
      width: Math.max(this.canvas.clientWidth, 100),
      height: HEIGHT,
      legend: { show: false },
      series,
      bands,
      scales: {
        x: { time: false, distr: this.logX ? 3 : 1, range: (u, a, b) => (a === b ? alone(a) : [a, b]) },
        y: this.logY ? { distr: 3 } : { range: [0, this.topY] },
      },
      axes: [
        { ...axis, label: this.labelX, ...axisX },
        { ...axis, label: this.labelY, size: 56, ...(this.logY ? { values: texts(this.showY), splits, filter } : { values: (u, values) => values.map((v) => this.showY(v)) }) },
      ],
      cursor: { points: { show: false }, y: false },
      hooks: { setCursor: [(u) => this.tell(u.cursor.idx)] },
    };
    this.plot = new uPlot(options, data, this.canvas);
    this.keys();
  }

  /** Draw the legend, whose names toggle lines. */
  keys() {
    const one = (line) => {
      const patch = make("span", { class: "patch" });
      patch.style.background = color(line.number);
      const flip = () => {
        if (!this.hidden.delete(line.name)) this.hidden.add(line.name);
        this.build();
      };
      const shown = !this.hidden.has(line.name);
      return make("button", { type: "button", class: "key", "aria-pressed": String(shown), click: flip }, patch, ` ${line.name}`);
    };
    this.legend.replaceChildren(...this.lines.map(one));
  }

  size() {
    const width = this.canvas.clientWidth;
    if (width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }

  tell(i) {
    if (i === null || i === undefined) return;
    const value = (line) => {
      if (line.y[i] === null || line.y[i] === undefined) return null;
      const half = line.low && line.low[i] !== null ? ` (${this.showY(line.low[i])} to ${this.showY(line.high[i])})` : "";
      return `${line.name} ${this.showY(line.y[i])}${half}`;
    };
    const shown = this.lines.filter((line) => !this.hidden.has(line.name)).map(value);
    const x = this.names?.[this.x[i]] ?? this.showX(this.x[i]);
    this.status.textContent = `${x}: ${shown.filter((v) => v !== null).join("; ")}`;
  }

  key(event) {
    const last = this.x.length - 1;
    const here = this.plot.cursor.idx ?? 0;
    const to = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: last }[event.key];
    const act = { "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.all() }[event.key];
    if ((to === undefined && !act) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (act) act();
    else {
      const i = Math.min(Math.max(to, 0), last);
      this.plot.setCursor({ left: this.plot.valToPos(this.x[i], "x"), top: 10 });
      this.tell(i);
    }
  }

  /** Show `factor` times as much of the axis. */
  zoom(factor) {
    const { min, max } = this.plot.scales.x;
    const idx = this.plot.cursor.idx;
    const { into, back } = this;
    const at = idx === null || idx === undefined ? (into(min) + into(max)) / 2 : into(this.x[idx]);
    const [a, b] = [min, max].map((end) => at + (into(end) - at) * factor);
    const ends = [Math.max(back(a), this.x[0]), Math.min(back(b), this.x[this.x.length - 1])];
    if (ends[1] > ends[0]) this.plot.setScale("x", { min: ends[0], max: ends[1] });
  }

  all() {
    this.plot.setScale("x", { min: this.x[0], max: this.x[this.x.length - 1] });
  }
}

/**
 * Mean over runs of the completed share by each time, with its 95 % interval. `counts` and
 * `measured` are per run. `measured` includes unfinished flows, so that their line ends below 1.
 * `t` holds factors of Student's t from two runs on.
 */
export function shares(counts, measured, t) {
  const runs = counts.length;
  const rows = counts[0].length;
  const line = { y: new Array(rows), low: null, high: null };
  if (runs > 1) Object.assign(line, { low: new Array(rows), high: new Array(rows) });
  for (let i = 0; i < rows; i += 1) {
    const each = counts.map((c, run) => (measured[run] ? c[i] / measured[run] : 0));
    const mean = each.reduce((a, b) => a + b, 0) / runs;
    line.y[i] = mean;
    if (runs > 1) {
      const squares = each.reduce((sum, v) => sum + (v - mean) ** 2, 0);
      const half = t[runs - 2] * Math.sqrt(squares / (runs - 1) / runs);
      line.low[i] = Math.max(mean - half, 0);
      line.high[i] = Math.min(mean + half, 1);
    }
  }
  return line;
}

/**
 * Ends of the interval of a mean with half its width, for a logarithmic axis: that of the mean's
 * logarithm, which stays above 0.
 */
export function logarithmic(mean, half) {
  const factor = Math.exp(half / mean);
  return [mean / factor, mean * factor];
}

export const ratio = (value) => digits(value);
