// Parameters of a tool as fields: what kind each is, the text of all, and back. Pure.

/** @import { Tool } from "../../../api.js" */
/** @typedef {Tool["parameters"][number]} Parameter */

/**
 * What a parameter is, by its default.
 * @param {Parameter} parameter
 * @returns {"flag"|"number"|"text"|"place"}
 */
export function kindOf({ name, default: usual }) {
  if (name.startsWith("$")) return "place";
  if (usual === "true" || usual === "false") return "flag";
  return /^-?\d+$/.test(usual ?? "") ? "number" : "text";
}

/**
 * What is wrong with a value; empty where nothing is.
 * @param {Parameter} parameter
 * @param {string} value
 */
export function wrongWith(parameter, value) {
  const kind = kindOf(parameter);
  if (kind === "place" && value.trim() === "") return `Write ${parameter.about}.`;
  if (kind === "number" && value !== "" && !/^-?\d+$/.test(value.trim())) return "Write a whole number.";
  return "";
}

/**
 * The words of the parameters with these values: defaults are left out.
 * @param {Parameter[]} parameters
 * @param {(name: string) => string} value
 */
export function wordsOf(parameters, value) {
  const named = parameters.filter(({ name }) => name.startsWith("--"));
  const places = parameters.filter(({ name }) => name.startsWith("$"));
  const options = named.flatMap(({ name, default: usual }) => {
    const given = value(name).trim();
    return given === "" || given === usual ? [] : [`${name}=${given}`];
  });
  const words = places.map(({ name }) => value(name).trim());
  while (words.at(-1) === "") words.pop();
  return [...words, ...options];
}

/**
 * The values that words give, by the names of the parameters; null where a word belongs to none.
 * @param {Parameter[]} parameters
 * @param {string[]} words
 * @returns {Map<string, string>|null}
 */
export function valuesOf(parameters, words) {
  const values = new Map(parameters.map(({ name, default: usual }) => [name, usual ?? ""]));
  let place = 0;
  for (const word of words) {
    const option = /^(--[^=]+)(?:=(.*))?$/s.exec(word);
    const name = option ? option[1] : `$${(place += 1)}`;
    if (!values.has(name)) return null;
    values.set(name, option ? (option[2] ?? "true") : word);
  }
  return values;
}
