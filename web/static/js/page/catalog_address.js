// What the catalogue shows, as its address says it. Pure.

/** Kinds, in the order of the list at the left. */
export const KINDS = ["function", "tracepoint", "type", "tracer", "perf", "file", "user", "marker", "probe", "program"];
const MOST = 4096;

/**
 * The view of a query string. What is missing or wrong gets its usual value.
 * @param {string} search with or without `?`
 * @returns {{q: string, kind: string, within: string, entry: {kind: string, name: string, within: string}|null}}
 */
export function parseAddress(search) {
  const params = new URLSearchParams(search);
  /** @param {string} name */
  const text = (name) => {
    const value = params.get(name) ?? "";
    return value.length <= MOST ? value : "";
  };
  /** @param {string} name */
  const kind = (name) => (KINDS.includes(text(name)) ? text(name) : "");
  const name = text("name");
  const entry = name && kind("of") ? { kind: kind("of"), name, within: text("from") } : null;
  return { q: text("q"), kind: kind("kind"), within: text("in"), entry };
}

/**
 * The query string of a view, with `?`; nothing where all is as usual.
 * @param {ReturnType<typeof parseAddress>} view
 */
export function formatAddress({ q, kind, within, entry }) {
  const parts = { q, kind, in: within, of: entry?.kind, name: entry?.name, from: entry?.within };
  const kept = Object.entries(parts).flatMap(([name, value]) => (value ? [[name, value]] : []));
  return kept.length ? `?${new URLSearchParams(kept)}` : "";
}
