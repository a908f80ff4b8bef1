// A matrix of numbers as shades.

import { isDark, onTheme, pixel, ramp, rampPixels, style, styleParts } from "./colors.js";
import { nextFrame } from "./frame.js";
import { quantity } from "./format.js";
import { make } from "./table.js";

const EDGE = 74;
const TOP = 22;
const WIDEST = 640;

export class Matrix {
  /** `names` are those of rows and columns; `unit` is the values' unit. */
  constructor(place, names, about, unit) {
    Object.assign(this, { names, unit, rows: [], most: 0, spot: null });
    this.draw = nextFrame(() => this.drawNow());
    const keys = "Keys: arrows move to the next pair.";
    this.scale = make("p", { class: "legend" });
    this.canvas = make("canvas", { tabindex: 0, role: "application", "aria-label": `${about} ${keys}` });
    this.status = make("p", { class: "status", role: "status" }, "Rows send, columns receive. Point at a pair, or click or tab into the matrix to use keys.");
    place.append(this.scale, this.canvas, this.status);
    this.canvas.style.maxWidth = `${WIDEST}px`;
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.focus();
      this.point(event);
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    onTheme(() => this.draw(), this.canvas);
  }

  /** Show `rows`, each a Map from column to value. */
  update(rows) {
    this.rows = rows;
    this.most = rows.reduce((most, row) => [...row.values()].reduce((a, b) => Math.max(a, b), most), 0);
    if (this.spot) this.tell();
    this.draw();
  }

  /** Width and height of a cell, in CSS pixels. */
  cell() {
    const wide = Math.max(this.canvas.clientWidth - EDGE, 1) / this.names.length;
    return [wide, Math.min(wide, 40, 480 / this.names.length)];
  }

  point(event) {
    const [wide, high] = this.cell();
    const [row, column] = [Math.floor((event.offsetY - TOP) / high), Math.floor((event.offsetX - EDGE) / wide)];
    const inside = (n) => n >= 0 && n < this.names.length;
    if (inside(row) && inside(column)) this.put(row, column);
  }

  key(event) {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const within = (n) => Math.min(Math.max(n, 0), this.names.length - 1);
    const [row, column] = this.spot ?? [0, 0];
    this.put(within(row + by[0]), within(column + by[1]));
  }

  put(row, column) {
    this.spot = [row, column];
    this.tell();
    this.draw();
  }

  /** Description of a pair. */
  describe(row, column) {
    return `${this.names[row]} to ${this.names[column]}: ${quantity(this.rows[row]?.get(column) ?? 0, this.unit)}`;
  }

  tell() {
    const text = this.describe(...this.spot);
    // Screen readers announce every assignment.
    if (this.status.textContent !== text) this.status.textContent = text;
  }

  drawNow() {
    const { canvas, names, rows, most } = this;
    if (canvas.clientWidth === 0) return;
    const scale = devicePixelRatio || 1;
    const [wide, high] = this.cell();
    const count = names.length;
    canvas.style.height = `${Math.ceil(TOP + high * count)}px`;
    const size = [Math.round(canvas.clientWidth * scale), Math.round((TOP + high * count) * scale)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) Object.assign(canvas, { width: size[0], height: size[1] });
    // One pixel per pair, scaled up.
    const small = document.createElement("canvas");
    Object.assign(small, { width: count, height: count });
    const image = new ImageData(count, count);
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(pixel(styleParts("--well")));
    const colors = rampPixels();
    rows.forEach((row, from) => row.forEach((value, to) => {
      if (value > 0) pixels[from * count + to] = colors[Math.round((0.1 + 0.9 * (value / most)) * 255)];
    }));
    small.getContext("2d").putImageData(image, 0, 0);
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, size[0], size[1]);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, EDGE, TOP, wide * count, high * count);
    this.axes(context, wide, high);
    this.explain();
  }

  axes(context, wide, high) {
    const count = this.names.length;
    if (Math.min(wide, high) > 8) {
      context.strokeStyle = style("--page");
      context.beginPath();
      for (let i = 0; i <= count; i += 1) {
        context.moveTo(EDGE, TOP + i * high);
        context.lineTo(EDGE + count * wide, TOP + i * high);
        context.moveTo(EDGE + i * wide, TOP);
        context.lineTo(EDGE + i * wide, TOP + count * high);
      }
      context.stroke();
    }
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = style("--quiet");
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (let i = 0; i < count; i += Math.ceil(14 / high)) context.fillText(this.names[i], EDGE - 6, TOP + (i + 0.5) * high, EDGE - 10);
    context.textAlign = "center";
    // Columns have room only for numbers.
    for (let i = 0; i < count; i += Math.ceil(26 / wide)) context.fillText(String(i), EDGE + (i + 0.5) * wide, TOP / 2);
    if (!this.spot) return;
    const [row, column] = this.spot;
    context.strokeStyle = isDark() ? "#ffffff" : "#000000";
    context.lineWidth = 2;
    context.strokeRect(EDGE + column * wide + 1, TOP + row * high + 1, Math.max(wide - 2, 1), Math.max(high - 2, 1));
    context.lineWidth = 1;
  }

  explain() {
    if (this.most === 0) {
      this.scale.replaceChildren("No backlog.");
      return;
    }
    const patch = (share) => {
      const one = make("span", { class: "patch" });
      one.style.background = `rgb(${ramp(0.1 + 0.9 * share).join(",")})`;
      return make("span", { class: "key" }, one, ` ${quantity(Math.round(share * this.most), this.unit)}`);
    };
    const none = make("span", { class: "key" }, make("span", { class: "patch empty" }), " nothing");
    this.scale.replaceChildren(none, ...[0.25, 0.5, 1].map(patch));
  }
}
