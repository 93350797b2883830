// Selecting a range of time with the pointer, for the minimap and the timeline.

const LEAST_PIXELS = 4;
const EDGE_PIXELS = 5;

/**
 * Lets a drag on `element` select a range; a drag that begins at an edge of the selection moves that edge.
 * @param {HTMLElement} element
 * @param {object} parts
 * @param {(x: number, event: PointerEvent) => number} parts.time the time at a place, in pixels from the element's left side
 * @param {(time: number) => number} parts.place the other way
 * @param {() => ({start: number, end: number}|null)} parts.selection
 * @param {(event: PointerEvent) => boolean} parts.accepts
 * @param {(range: {start: number, end: number}|null) => void} parts.preview while dragging; null when given up
 * @param {(range: {start: number, end: number}) => void} parts.done
 */
export function dragRange(element, parts) {
  /** @type {number|null} */
  let from = null;
  let moved = false;
  let x0 = 0;
  /** @param {PointerEvent} event */
  const x = (event) => event.clientX - element.getBoundingClientRect().left;
  /** @param {PointerEvent} event */
  const range = (event) => {
    const to = parts.time(x(event), event);
    return { start: Math.min(from ?? to, to), end: Math.max(from ?? to, to) };
  };
  /** @param {number} at */
  const edge = (at) => {
    const selection = parts.selection();
    if (!selection) return null;
    if (Math.abs(at - parts.place(selection.start)) <= EDGE_PIXELS) return selection.end;
    return Math.abs(at - parts.place(selection.end)) <= EDGE_PIXELS ? selection.start : null;
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !parts.accepts(event)) return;
    x0 = x(event);
    const fixed = edge(x0);
    moved = fixed !== null;
    from = fixed ?? parts.time(x0, event);
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    if (from === null) {
      element.classList.toggle("at-edge", edge(x(event)) !== null);
      return;
    }
    moved ||= Math.abs(x(event) - x0) >= LEAST_PIXELS;
    if (moved) parts.preview(range(event));
  });
  /** @param {PointerEvent} event */
  const end = (event) => {
    if (from === null) return;
    const selected = range(event);
    from = null;
    parts.preview(null);
    if (moved && event.type === "pointerup" && selected.end > selected.start) parts.done(selected);
  };
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
}
