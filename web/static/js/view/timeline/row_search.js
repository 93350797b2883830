// Which rows are at a place, among rows that follow each other from the top down. Pure.

/**
 * The first row that ends below a place.
 * @param {readonly {top: number, height: number}[]} rows
 * @param {number} y pixels from the first row's top
 */
function firstBelow(rows, y) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows[middle].top + rows[middle].height <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The index of the row at a place; null where none is.
 * @param {readonly {top: number, height: number}[]} rows
 * @param {number} y
 */
export function rowIndexAt(rows, y) {
  const at = firstBelow(rows, y);
  return at < rows.length && rows[at].top <= y ? at : null;
}

/**
 * From which row to before which one rows are in sight.
 * @param {readonly {top: number, height: number}[]} rows
 * @param {number} from the first pixel in sight
 * @param {number} until the first pixel after them
 * @returns {[first: number, last: number]}
 */
export function rowsBetween(rows, from, until) {
  const first = firstBelow(rows, from);
  let last = first;
  while (last < rows.length && rows[last].top < until) last += 1;
  return [first, last];
}
