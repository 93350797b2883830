// What the conditions of the builder can ask for. Pure.

import { CONTEXT_VALUES, DURATION, compared, valuesAt } from "./builder_model.js";

/** @import { ArgumentNode, ProbeForm } from "../../../api.js" */
/** @import { Place } from "./builder_model.js" */
/** @import { ConditionField } from "./script_condition_editor.js" */

/** Values of the context that are texts. */
const TEXTS = ["comm", "pcomm", "probe"];

/**
 * The fields of a place's condition: arguments first, then what is recorded besides, then who and when.
 * @param {ProbeForm} form
 * @param {Place} place
 * @param {ArgumentNode[]} nodes the arguments of the place
 * @returns {ConditionField[]}
 */
export function conditionFields(form, place, nodes) {
  const duration = place === "end" ? [{ expr: DURATION, label: "duration, ns", isText: false, names: [] }] : [];
  const ofNodes = nodes
    .filter(({ formats }) => formats.length > 0)
    .map(({ expr, name, formats, kind, constants }) => ({
      expr: compared({ expr, format: formats[0] }),
      label: name,
      isText: formats[0] === "text" || kind === "text",
      names: constants.map((one) => one.name),
    }));
  const ofContext = CONTEXT_VALUES.map(([expr]) => ({ expr, label: expr, isText: TEXTS.includes(expr), names: [] }));
  const known = new Set([...ofNodes, ...ofContext].map(({ expr }) => expr));
  const ofValues = valuesAt(form, place)
    .map((value) => ({ expr: compared(value), label: value.expr, isText: value.format === "text", names: [] }))
    .filter(({ expr }) => !known.has(expr));
  return [...duration, ...ofNodes, ...ofValues, ...ofContext];
}

/**
 * The script that counts the values of an expression at a place; empty where that cannot be.
 * @param {ProbeForm} form
 * @param {Place} place
 * @param {string} expr
 */
export function samplingScript(form, place, expr) {
  const sites = place === "end" ? (form.until?.sites ?? []) : form.sites;
  // Variables and maps are there only within the script of the form.
  return sites.length === 0 || /[$@]/.test(expr) ? "" : `${sites.join(", ")} { @[${expr}] = count(); }`;
}
