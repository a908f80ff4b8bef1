// A schedule as a Gantt chart: one lane per sender or link, one bar per opening. Bars of a slot
// share their times. Light stripes after a bar are the guard, dense stripes before it the dark
// time. If bars are narrower than pixels, the shade is the share of time in which a lane is used.

import { color, mixed, parts, pixel, rampPixels, ramp, styleParts } from "./colors.js";
import { percent, quantity, time } from "./format.js";
import { Lanes } from "./lanes.js";
import { make } from "./table.js";

/** A typed array that grows. */
class Growing {
  constructor(Type) {
    this.values = new Type(0);
    this.length = 0;
  }

  append(more) {
    const length = this.length + more.length;
    if (length > this.values.length) {
      const room = new this.values.constructor(this.length ? Math.max(length, this.values.length * 2) : length);
      room.set(this.values.subarray(0, this.length));
      this.values = room;
    }
    this.values.set(more, this.length);
    this.length = length;
  }

  /** Remove the first `count` values. */
  drop(count) {
    this.values.copyWithin(0, count, this.length);
    this.length -= count;
  }
}

const SENT_WORDS = { bars: "Color: receiver. Full: sent; pale: open but unused.", share: "Used share of a pixel's time: " };

export class Gantt extends Lanes {
  /**
   * `kinds` names the kinds of bars (destinations, states). `tell(bar)` describes a bar. `moved`
   * means that a bar of the same kind as the last one stays lit while others are dark. `label(bar)`
   * is text for bars with enough room. `words` are those of the legend.
   */
  constructor(place, names, about, { kinds, tell, label = null, moved = false, shades = false, words = SENT_WORDS }) {
    super(place, names, about);
    Object.assign(this, { kinds, tellMore: tell, label, moved, shades, words });
    const columns = { begin: Float64Array, open: Float64Array, gap: Float64Array, dark: Float64Array, first: Uint32Array };
    this.slots = Object.fromEntries(Object.entries(columns).map(([name, Type]) => [name, new Growing(Type)]));
    this.bars = { lane: new Growing(Uint32Array), kind: new Growing(Uint32Array), level: new Growing(Float32Array) };
    this.longest = 0;
    this.legend = make("p", { class: "legend" });
    this.tools.after(this.legend);
  }

  /**
   * Add slots in order of their start, and their bars. Slots have `begin`, `open`, `gap` (the guard
   * after it) and `dark` (before it) in ps, and `pairs`, their number of bars. Bars have `lane`,
   * `kind` and `level`: the used share from 0 to 1 (NaN if unknown), or with `shades` the shade.
   */
  update({ begin, open, gap, dark, pairs, lane, kind, level }) {
    const firsts = new Uint32Array(begin.length);
    let first = this.bars.lane.length;
    for (let i = 0; i < begin.length; i += 1) {
      firsts[i] = first;
      first += pairs[i];
      this.longest = Math.max(this.longest, open[i] + gap[i] + dark[i]);
    }
    const { slots, bars } = this;
    slots.begin.append(begin);
    slots.open.append(open);
    slots.gap.append(gap);
    slots.dark.append(dark);
    slots.first.append(firsts);
    bars.lane.append(lane);
    bars.kind.append(kind);
    bars.level.append(level);
    if (slots.begin.length) {
      const last = slots.begin.length - 1;
      let end = slots.begin.values[last] + slots.open.values[last] + slots.gap.values[last];
      for (let i = 0; i <= last; i += 1) end = Math.max(end, slots.begin.values[i] + slots.open.values[i]);
      this.setExtent(this.origin(slots.begin.values[0]), end);
    }
    this.draw();
  }

  /** Start of the chart whose first slot starts at `first`: the start of the run. */
  origin(first) {
    return Math.min(0, first);
  }

  /** Remove the first `count` slots with their bars; return the number of bars. */
  forget(count) {
    const { slots, bars } = this;
    const gone = count < slots.first.length ? slots.first.values[count] : bars.lane.length;
    for (const column of Object.values(slots)) column.drop(count);
    for (const column of Object.values(bars)) column.drop(gone);
    for (let slot = 0; slot < slots.first.length; slot += 1) slots.first.values[slot] -= gone;
    return gone;
  }

  /** Index of the first slot that starts at or after a time. */
  after(at) {
    const { begin } = this.slots;
    let [low, high] = [0, begin.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (begin.values[middle] < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Range of a slot's bars, without its end. */
  range(slot) {
    const { first } = this.slots;
    return [first.values[slot], slot + 1 < first.length ? first.values[slot + 1] : this.bars.lane.length];
  }

  /** The bar of a lane in a slot; -1 if none. */
  barOf(slot, lane) {
    const [from, until] = this.range(slot);
    for (let bar = from; bar < until; bar += 1) if (this.bars.lane.values[bar] === lane) return bar;
    return -1;
  }

  /** `{ slot, bar, part }` in a lane at a time, or null; `part` is `open`, `gap` or `dark`. */
  find(lane, at) {
    const { begin, open, gap, dark } = this.slots;
    let found = null;
    for (let slot = this.after(at - this.longest); slot < begin.length && begin.values[slot] <= at + this.longest; slot += 1) {
      const from = begin.values[slot];
      const until = from + open.values[slot];
      if (at < from - dark.values[slot] || at >= until + gap.values[slot]) continue;
      const bar = this.barOf(slot, lane);
      if (bar < 0) continue;
      const part = at < from ? "dark" : at < until ? "open" : "gap";
      if (part === "open") return { slot, bar, part };
      found ??= { slot, bar, part };
    }
    return found;
  }

  describe(lane, at) {
    const found = this.find(lane, at);
    if (!found) return "no slot";
    const { begin, open, gap, dark } = this.slots;
    const { slot, bar, part } = found;
    const times = `from ${time(begin.values[slot])}, open ${time(open.values[slot])}`;
    const rest = [[gap, "then a guard of "], [dark, "after a dark time of "]].filter(([c]) => c.values[slot] > 0);
    const more = rest.map(([c, text]) => `, ${text}${time(c.values[slot])}`).join("");
    const now = part === "open" ? "" : part === "gap" ? "guard after: " : "dark time before: ";
    return `${now}${this.kinds[this.bars.kind.values[bar]] ?? "?"}, ${times}${more}${this.tellMore(bar, slot)}`;
  }

  neighbor(lane, at, by) {
    const { begin, open } = this.slots;
    const here = this.find(lane, at)?.slot;
    const start = here === undefined ? this.after(at) + (by < 0 ? -1 : 0) : here + by;
    for (let slot = start; slot >= 0 && slot < begin.length; slot += by) {
      if (this.barOf(slot, lane) >= 0) return begin.values[slot] + open.values[slot] / 2;
    }
    return null;
  }

  paint(pixels, w, h, edges) {
    const { begin, open, gap, dark } = this.slots;
    const { from, to } = this.view;
    const scale = w / (to - from);
    const first = this.after(from - this.longest);
    const end = Math.min(this.after(to + this.longest), begin.length);
    // Mean duration of a slot with its guard and dark time.
    let typical = 0;
    for (let slot = first; slot < end; slot += 1) typical += open.values[slot] + gap.values[slot] + dark.values[slot];
    this.dense = end > first && (typical / (end - first)) * scale < 3;
    if (this.dense) this.paintShares(pixels, w, edges, first, end, scale);
    else this.paintBars(pixels, w, edges, first, end, scale);
    this.explain();
  }

  /**
   * Paint for each pixel the used share of its time, or the open share if sent bytes are unknown.
   */
  paintShares(pixels, w, edges, first, end, scale) {
    const { begin, open } = this.slots;
    const { from, top, count } = this.view;
    const [lanes, levels] = [this.bars.lane.values, this.bars.level.values];
    const shares = new Float32Array(w * count);
    for (let slot = first; slot < end; slot += 1) {
      const x0 = Math.max((begin.values[slot] - from) * scale, 0);
      const x1 = Math.min((begin.values[slot] + open.values[slot] - from) * scale, w);
      if (x1 <= x0) continue;
      const [bar0, bar1] = this.range(slot);
      const last = Math.min(Math.ceil(x1), w) - 1;
      for (let x = Math.floor(x0); x <= last; x += 1) {
        const share = Math.min(x1, x + 1) - Math.max(x0, x);
        for (let bar = bar0; bar < bar1; bar += 1) {
          const row = lanes[bar] - top;
          if (row < 0 || row >= count) continue;
          const level = levels[bar];
          // An unknown level is NaN, which is not below 1.
          shares[row * w + x] += level < 1 ? share * level : share;
        }
      }
    }
    const colors = rampPixels();
    for (let row = 0; row < count; row += 1) {
      for (let y = edges[row]; y < edges[row + 1]; y += 1) {
        for (let x = 0; x < w; x += 1) {
          const share = shares[row * w + x];
          if (share > 0) pixels[y * w + x] = colors[Math.min(Math.round(share * 255), 255)];
        }
      }
    }
  }

  paintBars(pixels, w, edges, first, end, scale) {
    const { begin, open, gap, dark } = this.slots;
    const { from, top, count } = this.view;
    const { lane, kind, level } = this.bars;
    const guard = pixel(styleParts("--guard"));
    const off = pixel(styleParts("--dark-time"));
    const well = styleParts("--well");
    const shades = rampPixels();
    const nothing = pixel(styleParts("--line"));
    const place = (t) => Math.min(Math.max(Math.round((t - from) * scale), 0), w);
    const rows = new Int32Array(this.names.length).fill(-1);
    const kinds = new Map();
    const both = (number) => {
      if (!kinds.has(number)) {
        const full = parts(color(number));
        kinds.set(number, [pixel(full), pixel(mixed(full, well, 0.62))]);
      }
      return kinds.get(number);
    };
    for (let slot = first; slot < end; slot += 1) {
      const at = begin.values[slot];
      const [x0, x1] = [place(at), place(at + open.values[slot])];
      const [xd, xg] = [place(at - dark.values[slot]), place(at + open.values[slot] + gap.values[slot])];
      const [bar0, bar1] = this.range(slot);
      for (let bar = bar0; bar < bar1; bar += 1) {
        const row = lane.values[bar] - top;
        if (row < 0 || row >= count) continue;
        const stays = this.moved && rows[lane.values[bar]] === kind.values[bar];
        rows[lane.values[bar]] = kind.values[bar];
        // Separate lanes by a line if there is room.
        const tall = edges[row + 1] - edges[row];
        const [y0, y1] = [edges[row] + (tall > 6 ? 1 : 0), edges[row + 1]];
        const [full, pale] = both(kind.values[bar]);
        const used = level.values[bar];
        const fill = Number.isNaN(used) ? y0 : Math.round(y1 - (y1 - y0) * Math.min(used, 1));
        const shade = used > 0 ? shades[Math.round(Math.min(used, 1) * 255)] : nothing;
        for (let y = y0; y < y1; y += 1) {
          const line = y * w;
          if (!stays) for (let x = xd; x < x0; x += 1) if ((x + y) % 4 !== 0) pixels[line + x] = off;
          const color = this.shades ? shade : y >= fill ? full : pale;
          pixels.fill(color, line + x0, line + Math.max(x1, Math.min(x0 + 1, w)));
          for (let x = x1; x < xg; x += 1) if ((x + y) % 4 === 0) pixels[line + x] = guard;
        }
      }
    }
  }

  /** Write names into bars with enough room. */
  overlay(context, left, w, h) {
    const each = h / this.view.count;
    if (this.dense || each < 14) return;
    const { begin, open } = this.slots;
    const { from, to, top, count } = this.view;
    const scale = w / (to - from);
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "middle";
    const end = Math.min(this.after(to), begin.length);
    for (let slot = this.after(from - this.longest); slot < end; slot += 1) {
      const x0 = Math.max((begin.values[slot] - from) * scale, 0);
      const x1 = Math.min((begin.values[slot] + open.values[slot] - from) * scale, w);
      if (x1 - x0 < 26) continue;
      const [bar0, bar1] = this.range(slot);
      for (let bar = bar0; bar < bar1; bar += 1) {
        const row = this.bars.lane.values[bar] - top;
        if (row < 0 || row >= count) continue;
        const name = this.label?.(bar) ?? this.kinds[this.bars.kind.values[bar]] ?? "";
        if (context.measureText(name).width > x1 - x0 - 10) continue;
        const width = context.measureText(name).width + 6;
        context.fillStyle = "#000000b0";
        context.fillRect(left + x0 + 2, (row + 0.5) * each - 7, width, 14);
        context.fillStyle = "#ffffff";
        context.fillText(name, left + x0 + 5, (row + 0.5) * each + 0.5);
      }
    }
  }

  explain() {
    const key = (name, text) => make("span", { class: "key" }, make("span", { class: `patch ${name}` }), ` ${text}`);
    const shade = (share, text) => {
      const patch = make("span", { class: "patch" });
      patch.style.background = `rgb(${ramp(share).join(",")})`;
      return make("span", { class: "key" }, patch, ` ${text}`);
    };
    if (this.dense) {
      const steps = [0.05, 0.5, 1].map((s) => shade(s, percent(s)));
      this.legend.replaceChildren(this.words.share, ...steps, " Zoom in to see single slots.");
    } else if (this.shades) {
      this.legend.replaceChildren(...this.scaleOf.map(([s, text]) => (s > 0 ? shade(s, text) : key("none", text))));
    } else {
      const { gap, dark } = this.slots;
      const any = (c) => c.values.subarray(0, c.length).some((v) => v > 0);
      this.legend.replaceChildren(this.words.bars, " ", ...(any(gap) ? [key("guard", "guard")] : []), ...(any(dark) ? [key("dark", "dark")] : []));
    }
  }

  /** Set the legend of shades: pairs of a level and its text. */
  setScale(scale) {
    this.scaleOf = scale;
  }
}

/** Description of a bar's bytes. */
export const bytesOf = (granted, sent) =>
  `; granted ${quantity(granted, "B")}, ${Number.isNaN(sent) ? "sent unknown" : `sent ${quantity(sent, "B")}`}`;
