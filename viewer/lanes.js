// Lanes over time on a canvas, the base of the Gantt chart and the heat map. Buttons, keys, wheel
// and pointer change the visible range of time and lanes. A status line describes the spot below
// the pointer or the cursor. Subclasses paint pixels.

import { isDark, onTheme, pixel, style, styleParts } from "./colors.js";
import { nextFrame } from "./frame.js";
import { tickTime, ticks, time } from "./format.js";
import { make } from "./table.js";

const LEFT = 74;
const BOTTOM = 24;
const TALLEST = 560;
const KEYS = "Keys: arrows move; Shift and an arrow jump to the next entry; + and - zoom; Page keys show fewer or more lanes; Home and End jump to the ends; 0 shows all.";

export class Lanes {
  /** `names` are the lanes' names from top to bottom; `about` describes the chart. */
  constructor(place, names, about) {
    this.names = names;
    this.draw = nextFrame(() => this.drawNow());
    this.extent = [0, 1];
    this.view = { from: 0, to: 1, top: 0, count: Math.max(names.length, 1) };
    this.cursor = null; // { lane, at }, moved by keys
    this.hover = null;
    const button = (label, title, act) => make("button", { type: "button", title, "aria-label": title, click: act }, label);
    this.tools = make(
      "div",
      { class: "tools" },
      button("−", "Zoom out", () => this.zoom(2)),
      button("+", "Zoom in", () => this.zoom(0.5)),
      button("←", "Earlier", () => this.pan(-0.5)),
      button("→", "Later", () => this.pan(0.5)),
      button("All", "Show all", () => this.all()),
    );
    if (names.length > 8) {
      this.tools.append(button("↕−", "More lanes", () => this.fewer(2)), button("↕+", "Fewer lanes", () => this.fewer(0.5)));
    }
    this.canvas = make("canvas", { tabindex: 0, role: "application", "aria-label": `${about} ${KEYS}` });
    this.status = make("p", { class: "status", role: "status" }, `${names.length} lanes. Click or tab into the chart to use keys and the wheel.`);
    place.append(this.tools, this.canvas, this.status);
    this.height = Math.min(TALLEST, Math.max(names.length * 20, 60)) + BOTTOM;
    this.canvas.style.height = `${this.height}px`;
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    onTheme(() => this.draw(), this.canvas);
  }

  /** Set the range of time. The view follows it if it showed the whole previous range. */
  setExtent(from, to) {
    const [first, last] = this.extent;
    const all = this.view.from <= first && this.view.to >= last;
    this.extent = [from, to > from ? to : from + 1];
    if (all) [this.view.from, this.view.to] = this.extent;
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("wheel", (event) => {
      // The wheel scrolls the page unless the chart has the focus.
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
    }, { passive: false });
    let grip = null;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.focus();
      grip = { x: event.offsetX, from: this.view.from, moved: false };
      // The pointer may be released outside. Synthetic pointers cannot be captured.
      if (event.isTrusted) canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (grip && event.buttons) {
        const span = this.view.to - this.view.from;
        this.move(grip.from - ((event.offsetX - grip.x) / this.width()) * span, span);
        grip.moved = true;
        return;
      }
      this.hover = this.spot(event);
      this.tell(this.hover);
      this.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (grip && !grip.moved) {
        this.cursor = this.spot(event);
        this.tell(this.cursor);
        this.draw();
      }
      grip = null;
    });
    canvas.addEventListener("pointerleave", () => {
      this.hover = null;
      this.draw();
    });
  }

  key(event) {
    const { extent, view } = this;
    const acts = {
      "+": () => this.zoom(0.5),
      "=": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      0: () => this.all(),
      Home: () => this.move(extent[0], view.to - view.from),
      End: () => this.move(extent[1] - (view.to - view.from), view.to - view.from),
      PageUp: () => this.fewer(0.5),
      PageDown: () => this.fewer(2),
      ArrowLeft: () => (event.shiftKey ? this.step(-1) : this.pan(-0.1)),
      ArrowRight: () => (event.shiftKey ? this.step(1) : this.pan(0.1)),
      ArrowUp: () => this.choose(-1),
      ArrowDown: () => this.choose(1),
      Escape: () => {
        this.cursor = null;
        this.draw();
      },
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }

  /** Width of the painted area, in CSS pixels. */
  width() {
    return Math.max(this.canvas.clientWidth - LEFT, 1);
  }

  timeAt(x) {
    const { from, to } = this.view;
    return from + ((x - LEFT) / this.width()) * (to - from);
  }

  spot(event) {
    const lane = this.view.top + Math.floor((event.offsetY / (this.height - BOTTOM)) * this.view.count);
    const at = this.timeAt(event.offsetX);
    return event.offsetX < LEFT || lane < 0 || lane >= this.names.length ? null : { lane, at };
  }

  /** Show `span` from `from` on, within the extent. */
  move(from, span) {
    const [first, last] = this.extent;
    const length = Math.min(Math.max(span, (last - first) * 1e-9, 1), last - first);
    this.view.from = Math.min(Math.max(from, first), last - length);
    this.view.to = this.view.from + length;
    this.draw();
  }

  /** Show `factor` times as much time; `at` keeps its position. */
  zoom(factor, at = this.focus()) {
    const { from, to } = this.view;
    const span = Math.min((to - from) * factor, this.extent[1] - this.extent[0]);
    this.move(at - ((at - from) / (to - from)) * span, span);
  }

  focus() {
    const { from, to } = this.view;
    const at = this.cursor?.at;
    return at >= from && at <= to ? at : (from + to) / 2;
  }

  pan(share) {
    const span = this.view.to - this.view.from;
    this.move(this.view.from + share * span, span);
  }

  all() {
    Object.assign(this.view, { top: 0, count: Math.max(this.names.length, 1) });
    this.move(this.extent[0], this.extent[1] - this.extent[0]);
  }

  /** Show `factor` times as many lanes around the cursor. */
  fewer(factor) {
    const all = this.names.length;
    const count = Math.min(Math.max(Math.round(this.view.count * factor), Math.min(4, all)), all);
    const middle = this.cursor?.lane ?? this.view.top + this.view.count / 2;
    this.view.count = count;
    this.view.top = Math.min(Math.max(Math.round(middle - count / 2), 0), all - count);
    this.draw();
  }

  /** Move the cursor by `by` lanes. */
  choose(by) {
    const at = this.focus();
    const lane = Math.min(Math.max((this.cursor?.lane ?? this.view.top - by) + by, 0), this.names.length - 1);
    this.put(lane, at);
  }

  /** Move the cursor to the next or previous entry of its lane. */
  step(by) {
    const lane = this.cursor?.lane ?? this.view.top;
    const at = this.neighbor(lane, this.cursor?.at ?? this.view.from, by);
    if (at !== null) this.put(lane, at);
  }

  put(lane, at) {
    const { view } = this;
    this.cursor = { lane, at };
    if (lane < view.top) view.top = lane;
    if (lane >= view.top + view.count) view.top = lane - view.count + 1;
    this.tell(this.cursor);
    const span = view.to - view.from;
    if (at < view.from || at > view.to) this.move(at - span / 2, span);
    else this.draw();
  }

  tell(spot) {
    if (spot) this.status.textContent = `${this.names[spot.lane]}, ${time(spot.at)}: ${this.describe(spot.lane, spot.at)}`;
  }

  drawNow() {
    const { canvas, view } = this;
    const scale = devicePixelRatio || 1;
    const wide = Math.round(canvas.clientWidth * scale);
    const high = Math.round(this.height * scale);
    if (wide === 0) return;
    if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
    const context = canvas.getContext("2d");
    const [left, w, h] = [Math.round(LEFT * scale), wide - Math.round(LEFT * scale), high - Math.round(BOTTOM * scale)];
    if (w < 1 || h < 1) return;
    const image = new ImageData(w, h);
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(pixel(styleParts("--well")));
    const edges = Int32Array.from({ length: view.count + 1 }, (_, i) => Math.round((i * h) / view.count));
    this.paint(pixels, w, h, edges);
    context.clearRect(0, 0, wide, high);
    context.putImageData(image, left, 0);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    this.axes(context);
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, this.width(), this.height - BOTTOM);
    context.clip();
    this.overlay?.(context, LEFT, this.width(), this.height - BOTTOM);
    context.restore();
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  axes(context) {
    const { view } = this;
    const [w, h] = [this.width(), this.height - BOTTOM];
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = style("--quiet");
    context.strokeStyle = style("--line");
    context.textAlign = "right";
    context.textBaseline = "middle";
    const each = h / view.count;
    const every = Math.ceil(14 / each);
    for (let i = 0; i < view.count; i += every) {
      context.fillText(this.names[view.top + i] ?? "", LEFT - 6, Math.max((i + 0.5) * each, 7), LEFT - 10);
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    const span = view.to - view.from;
    for (const at of ticks(view.from, view.to, w / 110)) {
      const x = LEFT + ((at - view.from) / span) * w;
      context.beginPath();
      context.moveTo(x, h);
      context.lineTo(x, h + 4);
      context.stroke();
      const label = tickTime(at, span);
      const half = context.measureText(label).width / 2;
      context.fillText(label, Math.min(x, LEFT + w - half), h + 7);
    }
    const spot = this.hover ?? this.cursor;
    if (!spot || spot.lane < view.top || spot.lane >= view.top + view.count) return;
    context.strokeStyle = isDark() ? "#ffffff" : "#000000";
    const x = LEFT + ((spot.at - view.from) / span) * w;
    if (x >= LEFT) {
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, h);
      context.stroke();
    }
    context.strokeRect(LEFT + 0.5, (spot.lane - view.top) * each + 0.5, w - 1, Math.max(each - 1, 1));
  }
}
