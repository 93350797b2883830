// The columns after the first that rows are sorted by, as an address says them. Pure.

/**
 * @param {string} then
 * @returns {{name: string, descending: boolean}[]}
 */
export function readThen(then) {
  return (then.match(/(?:\\.|[^,\\])+/gs) ?? []).map((part) => ({
    name: part.replace(/^-/, "").replace(/\\(.)/gs, "$1"),
    descending: part.startsWith("-"),
  }));
}
