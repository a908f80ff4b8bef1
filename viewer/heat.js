// A heat map over time: lanes of samples. A pixel shows the largest of its samples.

import { rampPixels, ramp } from "./colors.js";
import { quantity } from "./format.js";
import { Lanes } from "./lanes.js";
import { make } from "./table.js";

export class Heat extends Lanes {
  /**
   * `unit` is the values' unit. `missing` is the text for a lane without a value in a sample, if
   * that does not mean 0. A sample lasts for the shortest interval of all samples; with `lasts`
   * (irregular samples), until the next one, and at most `lasts` ps.
   */
  constructor(place, names, about, unit, { missing = null, lasts = null } = {}) {
    super(place, names, about);
    Object.assign(this, { unit, missing, lasts });
    this.most = 0;
    this.times = []; // ascending
    this.samples = []; // a Map from lane to value for each time
    this.scale = make("p", { class: "legend" });
    this.tools.after(this.scale);
  }

  /** Add samples as columns in order of time; other lanes are empty at these times. */
  update(times, lanes, values) {
    for (let i = 0; i < times.length; i += 1) {
      if (this.times.at(-1) !== times[i]) {
        this.times.push(times[i]);
        this.samples.push(new Map());
      }
      this.samples.at(-1).set(lanes[i], values[i]);
      if (values[i] > this.most) this.most = values[i];
    }
    const steps = this.times.slice(1).map((t, i) => t - this.times[i]);
    this.every = steps.length ? steps.reduce((a, b) => Math.min(a, b)) : 1;
    if (this.times.length) this.setExtent(this.times[0], this.end(this.times.length - 1));
    this.draw();
  }

  /** End of a sample. */
  end(i) {
    const { times, lasts } = this;
    if (lasts === null) return times[i] + this.every;
    const next = i + 1 < times.length ? times[i + 1] - times[i] : i > 0 ? times[i] - times[i - 1] : lasts;
    return times[i] + Math.min(next, lasts);
  }

  /** Index of the last sample at or before a time; -1 before the first. */
  before(at) {
    let [low, high] = [0, this.times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= at) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  describe(lane, at) {
    const i = this.before(at);
    if (i < 0 || at >= this.end(i)) return "no sample";
    const value = this.samples[i].get(lane);
    return value === undefined && this.missing !== null ? this.missing : quantity(value ?? 0, this.unit);
  }

  /** Keep at most the last `most` samples. */
  keep(most) {
    const count = Math.max(this.times.length - most, 0);
    this.times.splice(0, count);
    this.samples.splice(0, count);
  }

  neighbor(lane, at, by) {
    const i = this.before(at) + by;
    return this.times[i] ?? null;
  }

  paint(pixels, w, h, edges) {
    const colors = rampPixels();
    const { from, to, top, count } = this.view;
    const most = new Float64Array(w * count);
    const scale = w / (to - from);
    for (let i = Math.max(this.before(from), 0); i < this.times.length && this.times[i] < to; i += 1) {
      const x0 = Math.max(Math.floor((this.times[i] - from) * scale), 0);
      const x1 = Math.min(Math.max(Math.ceil((this.end(i) - from) * scale), x0 + 1), w);
      for (const [lane, value] of this.samples[i]) {
        const row = lane - top;
        if (row < 0 || row >= count) continue;
        for (let x = x0; x < x1; x += 1) if (value > most[row * w + x]) most[row * w + x] = value;
      }
    }
    for (let row = 0; row < count; row += 1) {
      for (let x = 0; x < w; x += 1) {
        const value = most[row * w + x];
        if (value === 0) continue;
        const color = colors[Math.round((value / this.most) * 255)];
        for (let y = edges[row]; y < edges[row + 1]; y += 1) pixels[y * w + x] = color;
      }
    }
    this.legend();
  }

  legend() {
    const steps = [0.01, 0.25, 0.5, 0.75, 1];
    const patch = (share) => {
      const one = make("span", { class: "patch" });
      one.style.background = `rgb(${ramp(share).join(",")})`;
      return make("span", { class: "key" }, one, ` ${quantity(Math.round(share * this.most), this.unit)}`);
    };
    this.scale.replaceChildren(...steps.map(patch));
  }
}
