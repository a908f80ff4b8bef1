// Dropped packets by reason: one bar per scheme, means over seeds.

import { color, onTheme } from "./colors.js";
import { digits, percent } from "./format.js";
import { make } from "./table.js";

export class Drops {
  constructor(place, reasons) {
    this.reasons = reasons;
    this.legend = make("p", { class: "legend" });
    this.bars = make("div", { class: "bars" });
    place.append(this.legend, this.bars);
    onTheme(() => this.draw(), this.bars);
  }

  /**
   * Show rows with `scheme`, `sent` packets and `reasons`, each with a `mean` and `half` an
   * interval.
   */
  update(rows) {
    this.rows = rows;
    this.draw();
  }

  draw() {
    if (!this.rows) return;
    const total = (row) => row.reasons.reduce((sum, r) => sum + r.mean, 0);
    const most = Math.max(...this.rows.map(total), 1);
    const key = (reason, i) => {
      const patch = make("span", { class: "patch" });
      patch.style.background = color(i);
      return make("span", { class: "key" }, patch, ` ${reason.replaceAll("_", " ")}`);
    };
    this.legend.replaceChildren(...this.reasons.map(key));
    const bar = (row) => {
      const part = (reason, i) => {
        const one = make("span", { class: "part", title: `${this.reasons[i].replaceAll("_", " ")}: ${digits(reason.mean)} packets per run` });
        one.style.width = `${(reason.mean / most) * 100}%`;
        one.style.background = color(i);
        return one;
      };
      const lost = total(row);
      const share = row.sent ? ` (${percent(lost / row.sent)} of all sent packets)` : "";
      const text = lost === 0 ? "no drops" : `${digits(lost)} packets per run${share}`;
      return [
        make("span", { class: "name" }, row.scheme),
        make("span", { class: "track" }, ...row.reasons.map(part)),
        make("span", { class: "value" }, text),
      ];
    };
    this.bars.replaceChildren(...this.rows.flatMap(bar));
  }
}
