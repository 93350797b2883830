// Scrolling over more rows than an element can be high. Pure.

/** Browsers clamp elements somewhere above 16 million pixels. */
export const MAX_HEIGHT = 12_000_000;

/**
 * Knows which row is at the top, however far the scrollbar of a limited height is. Small movements scroll by as many
 * pixels as the person asked for; large ones go to the same share of the rows as of the scrollbar.
 */
export class VirtualScroll {
  #last = 0;

  /** @param {number} rowHeight pixels */
  constructor(rowHeight) {
    this.rowHeight = rowHeight;
    this.rows = 0;
    this.viewport = 0;
    /** Pixels between the first row and the top of the viewport, over all rows. */
    this.top = 0;
  }

  /** Pixels of all rows. */
  get total() {
    return this.rows * this.rowHeight;
  }

  /** Pixels that the scrolled element gets. */
  get height() {
    return Math.min(this.total, MAX_HEIGHT);
  }

  #range() {
    return { real: Math.max(0, this.height - this.viewport), virtual: Math.max(0, this.total - this.viewport) };
  }

  /**
   * The element was scrolled to here.
   * @param {number} scrollTop
   */
  scrolled(scrollTop) {
    const { real, virtual } = this.#range();
    const delta = scrollTop - this.#last;
    this.#last = scrollTop;
    if (real === virtual) this.top = scrollTop;
    else if (scrollTop <= 0) this.top = 0;
    else if (scrollTop >= real - 1) this.top = virtual;
    else if (Math.abs(delta) <= this.viewport * 2) this.top += delta;
    else this.top = (scrollTop / real) * virtual;
    this.top = Math.min(virtual, Math.max(0, this.top));
  }

  /** Where the scrollbar belongs for what is shown; to be set when scrolling has come to rest. */
  settle() {
    const { real, virtual } = this.#range();
    this.#last = virtual === 0 ? 0 : real === virtual ? this.top : Math.round((this.top / virtual) * real);
    return this.#last;
  }

  /**
   * Moves so that `row` is visible; `place` puts it at the top or in the middle instead of the nearest edge.
   * @param {number} row
   * @param {"nearest"|"middle"|"top"} place
   */
  show(row, place = "nearest") {
    const y = row * this.rowHeight;
    const low = y + this.rowHeight - this.viewport;
    if (place === "top") this.top = y;
    else if (place === "middle") this.top = y - this.viewport / 2 + this.rowHeight / 2;
    else if (this.top > y) this.top = y;
    else if (this.top < low) this.top = low;
    this.top = Math.min(this.#range().virtual, Math.max(0, this.top));
  }

  /** Rows that are at least partly visible, `last` not included. */
  visible() {
    const first = Math.min(this.rows, Math.floor(this.top / this.rowHeight));
    const last = Math.min(this.rows, Math.ceil((this.top + this.viewport) / this.rowHeight));
    return { first, last: Math.max(first, last) };
  }
}
