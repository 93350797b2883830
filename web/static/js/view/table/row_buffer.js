// The newest rows of a running capture. Pure.

/** @import { TableRow } from "../../lib/virtual_table.js" */

/** Keeps the last rows that arrived and says how many did not. */
export class RowBuffer {
  /** @param {number} most rows that are kept */
  constructor(most) {
    this.most = most;
    /** @type {TableRow[]} */
    this.rows = [];
    /** Rows that were recorded and are not here: thinned out on the way, or pushed out by newer ones. */
    this.missing = 0;
    /** @type {TableRow[]|null} */
    this.frozen = null;
  }

  /** How many rows there are to see. */
  get count() {
    return (this.frozen ?? this.rows).length;
  }

  /** @param {number} index */
  row(index) {
    return (this.frozen ?? this.rows)[index];
  }

  /** Rows that arrived since what is seen was frozen. */
  get waiting() {
    return this.frozen ? this.arrived - this.frozenAt : 0;
  }

  arrived = 0;
  frozenAt = 0;

  /**
   * @param {TableRow[]} rows
   * @param {number} notShown
   */
  push(rows, notShown) {
    this.arrived += rows.length;
    this.missing += notShown;
    this.rows = [...this.rows, ...rows];
    if (this.rows.length > this.most) {
      this.missing += this.rows.length - this.most;
      this.rows = this.rows.slice(-this.most);
    }
  }

  /** What is being read must not move: keeps showing these rows. */
  freeze() {
    if (this.frozen) return;
    this.frozen = this.rows;
    this.frozenAt = this.arrived;
  }

  /** Shows the newest again. */
  thaw() {
    this.frozen = null;
  }

  /** Nothing to do: all rows are here. */
  need() {}
}
