// The address of two captures beside each other, with a version, so that links made by this release open in later ones. Pure.

/** The version that is written. */
export const COMPARE_VERSION = 1;
const ID = /^[0-9a-f]{16}$/;

/**
 * @param {string} a the capture that it was before
 * @param {string} b the one that it is now
 */
export const compareAddress = (a, b) => `/compare?${new URLSearchParams({ v: String(COMPARE_VERSION), a, b })}`;

/**
 * The captures of an address; null where one is missing or wrong.
 * @param {string} search
 * @returns {{a: string, b: string, newer: boolean}|null} `newer`: the link is from a later release
 */
export function readCompare(search) {
  const params = new URLSearchParams(search);
  const [a, b] = [params.get("a") ?? "", params.get("b") ?? ""];
  return ID.test(a) && ID.test(b) ? { a, b, newer: Number(params.get("v") ?? 1) > COMPARE_VERSION } : null;
}

/**
 * Of two captures the one that began first, and the other: it was so before, and is so now.
 * @template {{id: string, started_unix_ns: number}} T
 * @param {T} one
 * @param {T} other
 * @returns {[T, T]}
 */
export const inOrder = (one, other) =>
  Number(one.started_unix_ns) <= Number(other.started_unix_ns) ? [one, other] : [other, one];
