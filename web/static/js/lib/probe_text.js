// Definitions of probes as text and as a spec has them. Pure.

/** @import { DynamicProbe } from "../../../api.js" */

/**
 * A definition as `perf probe` takes it; empty without a function.
 * @param {{func: string, at: string, offset: string, chosen: string[], more: string}} parts
 */
export function definitionOf({ func, at, offset, chosen, more }) {
  const name = func.trim();
  if (!name) return "";
  const bytes = offset.trim();
  const place = at === "return" ? `${name}%return` : at === "offset" && bytes ? `${name}+${bytes}` : name;
  return [place, ...chosen, ...more.trim().split(/\s+/)].filter(Boolean).join(" ");
}

/**
 * A spec's probes as lines of text: what was written, with its file as `perf probe` names it.
 * @param {DynamicProbe[]} dynamic
 */
export function probeLines(dynamic) {
  return dynamic.map((probe) => {
    if (typeof probe === "string") return probe;
    if (!probe.file) return probe.typed;
    const file = /^[^\s'"=]+$/.test(probe.file) ? probe.file : `'${probe.file}'`;
    return `perf probe -x ${file} ${quoted(probe.typed)}`;
  });
}

/** @param {string} text */
const quoted = (text) => (text.includes("'") ? `"${text}"` : `'${text}'`);

/**
 * Lines of text as a spec's probes: what {@link probeLines} makes of a file becomes one again, all else stays as it is.
 * @param {string} text
 * @returns {DynamicProbe[]}
 */
export function probesOf(text) {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      const [, file, quotedFile, , typed] =
        /^perf probe -x (?:([^\s'"=]+)|'([^']*)') (['"])((?:(?!\3).)+)\3$/.exec(line) ?? [];
      return typed ? { typed, file: file ?? quotedFile } : line;
    });
}

/**
 * What the kernel was told by a probe of a stored spec; empty where that is what was written.
 * @param {DynamicProbe} probe
 */
export function kernelLine(probe) {
  return typeof probe === "string" || probe.line === probe.typed ? "" : (probe.line ?? "");
}
