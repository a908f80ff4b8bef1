// The table behind a chart: built when opened, some rows at a time, and saved as CSV.

import { quantity } from "./format.js";

const STEP = 200;

/** Create an element with attributes, listeners and children; strings become text nodes. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

function csvCell(value) {
  if (value === null || Number.isNaN(value)) return "";
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Append the table behind a chart. `columns` have a `name`, a `unit` and `at(row)`: a number, a
 * text, or null. `title` is what opens it. `rows()` is the number of rows, `file` the name of the
 * CSV. Call `refresh()` of the result if rows change.
 */
export function tableBehind(place, file, columns, rows, title = "Table") {
  const body = make("tbody");
  const head = make("tr", {}, ...columns.map((c) => make("th", { scope: "col" }, c.name)));
  const more = make("button", { type: "button", click: () => fill(STEP) }, `${STEP} more rows`);
  const state = make("span", { class: "quiet" });
  let shown = 0;
  function fill(count) {
    const until = Math.min(rows(), shown + count);
    for (; shown < until; shown += 1) {
      const cell = (c) => {
        const value = c.at(shown);
        return make("td", {}, typeof value === "string" ? value : quantity(value, c.unit));
      };
      body.append(make("tr", {}, ...columns.map(cell)));
    }
    more.hidden = shown >= rows();
    state.textContent = ` ${shown.toLocaleString("en-US")} of ${rows().toLocaleString("en-US")} rows `;
  }
  /** Rebuild the shown rows. */
  function refresh() {
    const count = Math.max(shown, STEP);
    body.replaceChildren();
    shown = 0;
    fill(count);
  }
  function save() {
    const parts = [columns.map((c) => csvCell(c.name)).join(",") + "\n"];
    for (let row = 0; row < rows(); row += 1) parts.push(columns.map((c) => csvCell(c.at(row))).join(",") + "\n");
    const address = URL.createObjectURL(new Blob(parts, { type: "text/csv" }));
    make("a", { href: address, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }
  const details = make(
    "details",
    { class: "behind", toggle: () => details.open && shown === 0 && fill(STEP) },
    make("summary", {}, title),
    make("div", { class: "scroll", tabindex: 0 }, make("table", {}, make("thead", {}, head), body)),
    make("p", {}, more, state, make("button", { type: "button", click: save }, "Save as CSV")),
  );
  place.append(details);
  details.refresh = () => details.open && refresh();
  return details;
}

/**
 * A select that calls `chosen` with the value of the chosen option; hidden if there is only one.
 */
export function choice(label, options, chosen) {
  const select = make("select", { change: () => chosen(options[select.selectedIndex].value) });
  select.append(...options.map((o) => make("option", {}, o.text)));
  return make("label", { hidden: options.length < 2 }, `${label} `, select);
}
