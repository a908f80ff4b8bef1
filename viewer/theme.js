// The button for light and dark, and redrawing for print.

import { isDark, onTheme } from "./colors.js";

/** Connect the page's button; `charts()` returns the current charts by name. */
export function themeButton(charts) {
  const button = document.getElementById("theme");
  const label = () => (button.textContent = isDark() ? "Light" : "Dark");
  button.hidden = false;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    document.dispatchEvent(new Event("theme"));
  });
  onTheme(label, button);
  label();
  // Paper is light, so canvases are redrawn for it.
  const paper = (is) => () => {
    if (is) document.documentElement.dataset.paper = "yes";
    else delete document.documentElement.dataset.paper;
    document.dispatchEvent(new Event("theme"));
    for (const chart of Object.values(charts())) chart.drawNow?.();
  };
  addEventListener("beforeprint", paper(true));
  addEventListener("afterprint", paper(false));
}
