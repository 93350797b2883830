// Colours that stay the same for a name, wherever it appears. Pure except for `resolved`, which asks the page.

/** How many categories `tokens.css` defines as `--cat-0` and on. */
export const CATEGORIES = 12;
/** How many shades each family of frames has in `tokens.css`. */
export const SHADES = 4;
/** Families by a flame node's kind: 0 root, 1 process, 2 kernel, 3 user, 4 inlined, 5 JIT, 6 unresolved. */
export const FAMILIES = ["root", "process", "kernel", "user", "inlined", "jit", "unresolved"];

const UTF8 = new TextEncoder();

/**
 * FNV-1a of the name's UTF-8, 32 bits.
 * @param {string} name
 * @returns {number}
 */
export function fnv1a(name) {
  let hash = 0x811c9dc5;
  for (const byte of UTF8.encode(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/**
 * What names of one kind have in common: numbers at the end do not count.
 * @param {string} name
 */
const kindOf = (name) => name.replace(/[/:.-]?\d[\d:/u.-]*$/, "");
/** Colours that were given by rank. */
const ranked = new Map();

/**
 * Gives the most frequent names of a capture colours of their own: each the one that it has everywhere if that is free, else
 * the next one that is. What was given before is forgotten.
 * @param {...string[]} lists of names that are shown together, the most frequent first; those after as many as there are
 *   colours keep the usual one
 */
export function rankColors(...lists) {
  ranked.clear();
  for (const names of lists) {
    const given = new Set();
    for (const kind of [...new Set(names.map(kindOf))].slice(0, CATEGORIES)) {
      let color = ranked.get(kind) ?? fnv1a(kind) % CATEGORIES;
      while (given.has(color)) color = (color + 1) % CATEGORIES;
      ranked.set(kind, color);
      given.add(color);
    }
  }
}

/**
 * Which category a name belongs to. Trailing numbers after `/` or `:` and a final number do not count, so that
 * `kworker/0:1` and `kworker/3:2` look alike.
 * @param {string} name
 */
export function category(name) {
  const kind = kindOf(name);
  return ranked.get(kind) ?? fnv1a(kind) % CATEGORIES;
}

/**
 * The class of a frame in a flame graph: its family and one of its shades.
 * @param {number} kind
 * @param {string} name
 */
export function frameClass(kind, name) {
  const family = FAMILIES[kind] ?? "unresolved";
  if (family === "process") return `cat-${category(name)}`;
  return family === "root" ? "fl-root" : `fl-${family}-${fnv1a(name) % SHADES}`;
}

/**
 * Custom properties of the page as colours that a canvas takes.
 * @param {string[]} names such as `--line`
 * @returns {Record<string, string>} by name, as `rgb(…)`
 */
export function resolved(names) {
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  /** @type {Record<string, string>} */
  const out = {};
  for (const name of names) {
    probe.style.color = `var(${name})`;
    out[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return out;
}

/**
 * `rgb(1, 2, 3)` as a pixel of an `ImageData` on a little-endian machine.
 * @param {string} css
 */
export function pixel(css) {
  const [r, g, b] = (css.match(/[\d.]+/g) ?? [0, 0, 0]).map(Number);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
