// A Gantt chart of slots as they are planned. It follows the newest slots unless the user has moved
// back, and forgets the oldest ones.

import { style } from "./colors.js";
import { Gantt } from "./gantt.js";
import { make } from "./table.js";

/** Most kept bars. */
const MOST = 200_000;
/** Visible slots at first. */
const SLOTS = 40;

export class Rolling extends Gantt {
  constructor(place, names, about, options) {
    super(place, names, about, options);
    // `[round, slot]` of each slot.
    this.numbers = [];
    this.follows = true;
    this.span = null;
    this.now = 0;
    this.button = make("button", { type: "button", "aria-pressed": "true", click: () => this.follow() }, "Follow");
    this.tools.append(this.button);
  }

  /** Add slots as `update` does, each with its `[round, slot]`; `now` is the time in ps. */
  add(slots, numbers, now) {
    if (this.bars.lane.length > MOST) {
      const count = this.slots.first.values.subarray(0, this.slots.first.length).findIndex((first) => first > MOST / 2);
      this.forget(count);
      this.numbers.splice(0, count);
    }
    this.numbers.push(...numbers);
    if (this.span === null && slots.begin.length) this.span = SLOTS * (slots.open[0] + slots.gap[0] + slots.dark[0]);
    this.now = now;
    this.update(slots);
  }

  origin(first) {
    return first;
  }

  setExtent(from, to) {
    const { view } = this;
    this.extent = [from, to];
    const span = Math.min(this.follows ? (this.span ?? to - from) : view.to - view.from, to - from);
    view.to = this.follows ? to : Math.min(Math.max(view.to, from + span), to);
    view.from = view.to - span;
  }

  move(from, span) {
    super.move(from, span);
    this.span = this.view.to - this.view.from;
    this.setFollows(this.view.to >= this.extent[1]);
  }

  zoom(factor, at = this.follows ? this.view.to : this.focus()) {
    super.zoom(factor, at);
  }

  follow() {
    this.setFollows(true);
    this.setExtent(...this.extent);
    this.draw();
  }

  setFollows(follows) {
    this.follows = follows;
    this.button.setAttribute("aria-pressed", String(follows));
  }

  overlay(context, left, w, h) {
    super.overlay(context, left, w, h);
    // Slots to the right of this line have not started.
    const { from, to } = this.view;
    const x = left + ((this.now - from) / (to - from)) * w;
    if (x < left || x > left + w) return;
    context.strokeStyle = style("--ink");
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, h);
    context.stroke();
    context.setLineDash([]);
  }

  /** The slot of a bar. */
  slotOf(bar) {
    const { first } = this.slots;
    let [low, high] = [0, first.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (first.values[middle] <= bar) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
