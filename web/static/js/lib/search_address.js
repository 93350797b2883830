// What is typed into the search of a list is in the page's address, so that Back, a reload and a link show the same list.

/**
 * Gives the field the search of the address, and writes there what is typed from now on.
 * @param {HTMLInputElement} field
 */
export function keepInAddress(field) {
  field.value = paramOf("q");
  field.addEventListener("input", () => writeAddress(field.value.trim()));
}

/**
 * Writes a search to the address.
 * @param {string} text
 */
export function writeAddress(text) {
  writeParam("q", text);
}

/**
 * What the address says of `name`; empty where it says nothing.
 * @param {string} name
 */
export function paramOf(name) {
  return new URLSearchParams(location.search).get(name) ?? "";
}

/**
 * Writes a value to the address, or takes it away.
 * @param {string} name
 * @param {string} text
 */
export function writeParam(name, text) {
  const params = new URLSearchParams(location.search);
  if (text) params.set(name, text);
  else params.delete(name);
  const query = params.toString();
  history.replaceState(history.state, "", `${location.pathname}${query ? `?${query}` : ""}${location.hash}`);
}
