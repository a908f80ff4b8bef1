// When charts draw.

/** What asks for `draw` in the next frame; once, however often it is called until then. */
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
