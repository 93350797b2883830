// The kinds of sources of a capture: the one list, and what follows from it. Whoever wants to know something of a source asks
// here and names no kind.

import { sourcesOf } from "../lib/spec.js";
import { build } from "./build.js";
import { count } from "./count.js";
import { events } from "./events.js";
import { profile } from "./profile.js";
import { script } from "./script.js";
import { states } from "./states.js";
import { syscalls } from "./syscalls.js";
import { trace } from "./trace.js";

/** @import { Method } from "../../../api.js" */
/** @import { Recorded } from "../lib/spec.js" */
/** @import { Kind } from "./kind.js" */

const table = [events, profile, syscalls, states, trace, count, build, script];

/** @typedef {(typeof table)[number]} AnyKind */
/** @typedef {{[K in AnyKind as K["name"]]: ReturnType<K["empty"]>}} KindForms the forms of all kinds, by their names */

/**
 * In the order of the tabs of the form; the first is what it begins with.
 * @type {readonly Kind[]}
 */
export const KINDS = table;

/**
 * @param {string|null} name
 * @returns {Kind|undefined} none for a name that no kind has
 */
export function kindNamed(name) {
  return KINDS.find((kind) => kind.name === name);
}

/**
 * The kind of a source, with what its spec says.
 * @param {Method} method
 * @returns {{kind: Kind, spec: unknown}|null} null for a kind that these pages do not know
 */
export function kindOf(method) {
  const parts = /** @type {Record<string, unknown>} */ (method);
  const kind = KINDS.find(({ name }) => parts[name]);
  return kind ? { kind, spec: parts[kind.name] } : null;
}

/**
 * What a capture records, source by source.
 * @param {Recorded} spec
 */
const recordedBy = (spec) => sourcesOf(spec).flatMap(({ method }) => kindOf(method) ?? []);

/**
 * Whether what a capture's probes cost is an estimate.
 * @param {Recorded} spec
 */
export function costIsEstimated(spec) {
  return recordedBy(spec).some(({ kind }) => kind.costIsEstimated);
}

/**
 * Whether probes were made for the capture that are listed while it runs.
 * @param {Recorded} spec
 */
export function hasOwnProbes(spec) {
  return recordedBy(spec).some(({ kind, spec: asked }) => kind.hasOwnProbes?.(asked));
}

/**
 * The text of the script that makes a capture's rows.
 * @param {Recorded} spec
 * @returns {string|null} null if none does
 */
export function scriptOf(spec) {
  const [text = null] = recordedBy(spec).flatMap(({ kind, spec: asked }) => kind.scriptText?.(asked) ?? []);
  return text;
}

/**
 * Where a new capture begins with a source of this kind.
 * @param {Kind} kind
 */
export function newAddress({ name }) {
  return `/new?method=${name}`;
}
