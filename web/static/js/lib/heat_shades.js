// The shades of a heat map's cells: which values have which, and how that is told. Pure.

/** How many shades there are at most. */
export const SHADES = 10;

/** @typedef {"log"|"linear"|"rank"} ShadeScale */
/**
 * How values become shades, in words.
 * @type {Record<ShadeScale, string>}
 */
export const SHADE_SCALES = { log: "Shades by powers", linear: "Shades in proportion", rank: "Shades by rank" };

/**
 * The greatest value of each shade, ascending. Nothing has no shade, so that it differs from little.
 * @param {ArrayLike<number>} values
 * @param {ShadeScale} scale
 * @param {{whole?: boolean, most?: number}} [of] whether values are whole numbers; what the darkest shade stands for, if not
 *   the greatest value
 */
export function shadeLimits(values, scale, { whole = true, most } = {}) {
  const filled = Array.from(values).filter((value) => value > 0);
  const greatest = most ?? filled.reduce((a, b) => Math.max(a, b), 0);
  if (greatest <= 0) return [];
  const sorted = scale === "rank" ? filled.toSorted((a, b) => a - b) : [];
  const limits = Array.from({ length: SHADES }, (_one, i) => {
    const part = (i + 1) / SHADES;
    if (i === SHADES - 1) return greatest;
    if (scale === "rank") return sorted[Math.ceil(sorted.length * part) - 1] ?? greatest;
    const limit = scale === "log" && greatest > 1 ? greatest ** part : greatest * part;
    return whole ? Math.floor(limit + 1e-9) : limit;
  });
  return limits.filter((limit, i) => limit > 0 && limits.indexOf(limit) === i);
}

/**
 * The shade of a value, from 1; 0 for nothing.
 * @param {number} value
 * @param {number[]} limits
 */
export function shadeOf(value, limits) {
  if (!(value > 0)) return 0;
  const found = limits.findIndex((limit) => value <= limit);
  return found < 0 ? limits.length : found + 1;
}

/**
 * How much of the colour a shade has; the least one can be told from the ground.
 * @param {number} shade
 * @param {number} count how many there are
 */
export const opacityOf = (shade, count) => (shade === 0 ? 0 : 0.16 + (0.84 * shade) / Math.max(1, count));

/**
 * What each shade stands for.
 * @param {number[]} limits
 * @param {(value: number) => string} text
 * @param {boolean} [whole] whether values are whole numbers
 */
export function shadeWords(limits, text, whole = true) {
  return limits.map((limit, i) => {
    const least = i === 0 ? (whole ? 1 : 0) : limits[i - 1] + (whole ? 1 : 0);
    if (!whole) return i === 0 ? `to ${text(limit)}` : `${text(least)} to ${text(limit)}`;
    return least >= limit ? text(limit) : `${text(least)} to ${text(limit)}`;
  });
}
