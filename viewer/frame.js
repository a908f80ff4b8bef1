// Scheduling of drawing.

/** A function that requests `draw` for the next frame, once for any number of calls until then. */
export function nextFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}
