// Colors for all kinds of color vision: Okabe and Ito, "Color Universal Design" (2008), for lines
// and bars; cividis (Nunez et al., PLoS ONE 2018) for numbers. Once colors repeat, lines differ in
// dashes.

const OKABE_ITO = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"],
  dark: ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#ffffff"],
};
const DASHES = [[], [8, 4], [2, 3], [8, 3, 2, 3]];
const CIVIDIS = ["#00204d", "#31446b", "#666970", "#958f78", "#cbba69", "#ffea46"];

const wish = matchMedia("(prefers-color-scheme: dark)");

/** Whether the page is dark: by its button, otherwise by the system's setting. Paper is light. */
export function isDark() {
  const { theme, paper } = document.documentElement.dataset;
  return !paper && (theme ? theme === "dark" : wish.matches);
}

/** Call `draw` at each change between light and dark while the element is in the page. */
export function onTheme(draw, element) {
  const changed = () => {
    if (element.isConnected) {
      draw();
      return;
    }
    // Another chart has replaced this one: release it.
    wish.removeEventListener("change", changed);
    document.removeEventListener("theme", changed);
  };
  wish.addEventListener("change", changed);
  document.addEventListener("theme", changed);
}

/** Color of a scheme, a destination or a reason, by number. */
export function color(number) {
  const palette = OKABE_ITO[isDark() ? "dark" : "light"];
  return palette[number % palette.length];
}

/** Dashes of a line, by number. */
export function dash(number) {
  return DASHES[Math.floor(number / OKABE_ITO.light.length) % DASHES.length];
}

/** Red, green and blue of `#rrggbb`. */
export function parts(text) {
  const n = parseInt(text.slice(1), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

/** Interpolate between `a` (share 0) and `b` (share 1). */
export function mixed(a, b, share) {
  return a.map((x, i) => Math.round(x + (b[i] - x) * share));
}

/** A pixel of little-endian image data. */
export const pixel = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** Color of a share from 0 to 1; low shares are close to the page's background. */
export function ramp(share) {
  const at = Math.min(Math.max(isDark() ? share : 1 - share, 0), 1) * (CIVIDIS.length - 1);
  const below = Math.min(Math.floor(at), CIVIDIS.length - 2);
  return mixed(parts(CIVIDIS[below]), parts(CIVIDIS[below + 1]), at - below);
}

/** The ramp as 256 pixels. */
export const rampPixels = () => Uint32Array.from({ length: 256 }, (_, i) => pixel(ramp(i / 255)));

/** A color of the style sheet. */
export function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A color of the style sheet as red, green and blue. */
export const styleParts = (name) => parts(style(name));
