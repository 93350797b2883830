// What is typed into the search of a list is in the page's address, so that Back, a reload and a link show the same list.

/**
 * Gives the field the search of the address, and writes there what is typed from now on.
 * @param {HTMLInputElement} field
 */
export function keepInAddress(field) {
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.addEventListener("input", () => writeAddress(field.value.trim()));
}

/**
 * Writes a search to the address.
 * @param {string} text
 */
export function writeAddress(text) {
  const params = new URLSearchParams(location.search);
  if (text) params.set("q", text);
  else params.delete("q");
  const query = params.toString();
  history.replaceState(history.state, "", `${location.pathname}${query ? `?${query}` : ""}${location.hash}`);
}
