// Transforms of stacks as an address has them, and what can be done with a frame. Pure.

/** The most bytes of transforms in an address. */
export const TRANSFORMS_CHARS = 4096;

/**
 * A name as a transform has it.
 * @param {string} name
 */
const escaped = (name) => name.replaceAll("%", "%25").replaceAll("~", "%7E");

/**
 * A transform: its letter, and what it is about.
 * @param {string} letter
 * @param {string} [about]
 */
export function transformOf(letter, about = "") {
  return about === "" ? letter : `${letter}.${escaped(about)}`;
}

/**
 * A rename, of what matches a pattern.
 * @param {string} pattern a regular expression
 * @param {string} text
 */
export function renameOf(pattern, text) {
  const part = (/** @type {string} */ words) => escaped(words).replaceAll(".", "%2E");
  return `s.${part(pattern)}.${part(text)}`;
}

/**
 * Transforms with one more; one that is the last already is not added again, and hiding twice shows again.
 * @param {string} list
 * @param {string} transform
 */
export function withTransform(list, transform) {
  const all = list.split("~").filter(Boolean);
  if (/^[ku]$/.test(transform) && all.includes(transform)) return all.filter((one) => one !== transform).join("~");
  if (all.at(-1) === transform) return list;
  return [...all, transform].join("~");
}

/**
 * The first `count` of them.
 * @param {string} list
 * @param {number} count
 */
export function firstTransforms(list, count) {
  return list.split("~").filter(Boolean).slice(0, count).join("~");
}

/**
 * Without one of them.
 * @param {string} list
 * @param {number} at
 */
export function withoutTransform(list, at) {
  const all = list.split("~").filter(Boolean);
  all.splice(at, 1);
  return all.join("~");
}

/** The last part of a path. @param {string} path */
export const baseName = (path) => path.split("/").filter(Boolean).at(-1) ?? path;

/**
 * @typedef {object} Frame what a transform can be about
 * @property {string} name
 * @property {string} node its id; empty where it is no node of a tree
 * @property {string} module
 * @property {boolean} isGroup whether it is a process, thread, CPU or the like
 * @property {boolean} invert whether the tree is inverted
 */

/**
 * What can be done with a frame, by the letters of Firefox's profiler.
 * @param {Frame} frame
 * @returns {{key: string, label: string, transform: string}[]}
 */
export function transformsOf({ name, node, module, isGroup, invert }) {
  const turned = invert ? "i" : "";
  const function_ = (/** @type {string} */ key, /** @type {string} */ label, letter = key) => ({
    key,
    label,
    transform: transformOf(letter, name),
  });
  const only = invert ? "Only callers of this frame" : "Only this frame";
  const one = node ? [{ key: "F", label: only, transform: `${turned}F.${node}` }] : [];
  if (isGroup) return one;
  return [
    function_("f", invert ? "Only callers of the function" : "Only the function", `${turned}f`),
    ...one,
    function_("m", "Leave the function out"),
    ...(node ? [{ key: "M", label: "Leave this frame out", transform: `${turned}M.${node}` }] : []),
    function_("c", "Leave out what it calls"),
    ...(module ? [{ key: "C", label: `Make one of ${baseName(module)}`, transform: transformOf("C", module) }] : []),
    function_("r", "Make one of its recursion"),
    function_("R", "Make one of its direct recursion"),
    function_("d", "Leave out samples with it"),
  ];
}
