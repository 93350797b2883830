// Lists of names in addresses: commas between them, a backslash before a comma or a backslash of a name, as
// server/reader/src/names.rs reads them. Pure.

/**
 * @param {Iterable<string>} names
 */
export function writeNames(names) {
  return [...names].map((name) => name.replace(/[\\,]/g, "\\$&")).join(",");
}

/**
 * @param {string} text
 * @returns {string[]}
 */
export function readNames(text) {
  return (text.match(/(?:\\.|[^,\\])+/gs) ?? []).map((name) => name.replace(/\\(.)/gs, "$1"));
}
