// The button for light and dark, and what paper asks of charts.

import { isDark, onTheme } from "./colours.js";

/** Makes the page's button work; `charts()` are those that are there, by name. */
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
  // Paper is light; what is on canvases has to be drawn again for it.
  const paper = (is) => () => {
    if (is) document.documentElement.dataset.paper = "yes";
    else delete document.documentElement.dataset.paper;
    document.dispatchEvent(new Event("theme"));
    for (const chart of Object.values(charts())) chart.drawNow?.();
  };
  addEventListener("beforeprint", paper(true));
  addEventListener("afterprint", paper(false));
}
