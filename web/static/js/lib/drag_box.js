// Selecting a part of a picture with the pointer, in both directions; a press without a move is a click.

const LEAST_PIXELS = 4;

/** @typedef {{x: number, y: number}} PlacePoint a place in pixels from the element's upper left corner */

/**
 * @param {Element} element
 * @param {object} parts
 * @param {(point: PlacePoint) => boolean} parts.accepts
 * @param {(from: PlacePoint, to: PlacePoint) => void} parts.preview while dragging
 * @param {(from: PlacePoint, to: PlacePoint) => void} parts.done
 * @param {() => void} parts.given_up
 * @param {(point: PlacePoint, event: PointerEvent) => void} parts.click
 * @param {(point: PlacePoint|null) => void} parts.hover null when the pointer has left
 */
export function dragBox(element, parts) {
  /** @type {PlacePoint|null} */
  let from = null;
  let moved = false;
  /**
   * @param {PointerEvent} event
   * @returns {PlacePoint}
   */
  const point = (event) => {
    const { left, top } = element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const on = (/** @type {string} */ name, /** @type {(event: PointerEvent) => void} */ run) =>
    element.addEventListener(name, /** @type {EventListener} */ (run));
  on("pointerdown", (event) => {
    const at = point(event);
    if (event.button !== 0 || !parts.accepts(at)) return;
    from = at;
    moved = false;
    element.setPointerCapture(event.pointerId);
  });
  on("pointermove", (event) => {
    const at = point(event);
    if (!from) {
      parts.hover(at);
      return;
    }
    moved ||= Math.hypot(at.x - from.x, at.y - from.y) >= LEAST_PIXELS;
    if (moved) parts.preview(from, at);
  });
  on("pointerleave", () => {
    if (!from) parts.hover(null);
  });
  on("pointerup", (event) => {
    if (!from) return;
    const [begin, at] = [from, point(event)];
    from = null;
    if (moved) parts.done(begin, at);
    else parts.click(begin, event);
  });
  on("pointercancel", () => {
    from = null;
    parts.given_up();
  });
}
