// What a view is compared with, as the address and requests say it, and how numbers of two sides are written. Pure.

import { changeText, valueText, verdictText } from "../../lib/compared_words.js";
import { cell as cellText, duration, exact } from "../../lib/format.js";

/** @import { AgainstLine, AgainstMeasure, AgainstSide, AgainstTable, AgainstValue, DifferenceVerdict } from "../../../../api.js" */
/** @typedef {import("../../page/url_state.js").ViewParts} Parts */
/** @typedef {"there"|"here"|"difference"|"ratio"} By */

/** What views depend on that compare. */
export const AGAINST_PARTS = ["against", "againststart", "againstend", "againstfilter", "againstsame", "per", "versus"];
/** How many lines are asked for. */
export const AGAINST_LINES = 500;
/** What is compared, by the word of the address. */
export const PER = /** @type {const} */ ({ time: "For each second", total: "As shares of all", none: "As counted" });

/** @type {Partial<Parts>} What ends a comparison. */
export const NO_COMPARISON = {
  against: "",
  againststart: null,
  againstend: null,
  againstfilter: "",
  againstsame: false,
  swapped: false,
  versus: "",
  inway: "",
};

/**
 * The other side in a request.
 * @param {Pick<Parts, "against"|"againststart"|"againstend"|"againstfilter"|"againstsame"|"per">} view
 * @param {"time"|"total"|null} usual by what it is compared if the address does not say it; null for what is compared as it is
 */
export function otherSide({ against, againststart, againstend, againstfilter, againstsame, per }, usual) {
  return {
    with: against === "self" ? "" : against,
    with_start: againststart,
    with_end: againstend,
    // An empty filter is one too, so it is not left out.
    ...(againstsame ? {} : { with_filter: againstfilter || " " }),
    ...(usual === null ? {} : { normalised: per || usual }),
  };
}

/**
 * The other side of a table in a request.
 * @param {Parts} view
 */
export const otherTable = (view) => ({ ...otherSide(view, "time"), lines_by: view.versus, lines: AGAINST_LINES });

/**
 * Which measure is open, and in which order lines are.
 * @param {string} versus
 * @param {number} count how many measures there are
 * @returns {{measure: number, by: By|null, descending: boolean}}
 */
export function readVersus(versus, count) {
  const [, turn = "", at = "0", by = ""] = /^(-?)(\d{1,2})(?:\.(there|here|difference|ratio))?$/.exec(versus) ?? [];
  const measure = Number(at) < count ? Number(at) : 0;
  return { measure, by: by === "" ? null : /** @type {By} */ (by), descending: turn === "-" };
}

/**
 * The order that a press on a head makes: the greatest first, and turned round by the next.
 * @param {ReturnType<typeof readVersus>} now
 * @param {number} measure
 * @param {By} by
 */
export function turnedVersus(now, measure, by) {
  const isSame = now.measure === measure && now.by === by;
  return `${isSame && now.descending ? "" : "-"}${measure}.${by}`;
}

/**
 * A number as it is compared.
 * @param {number|null} value
 * @param {AgainstMeasure} measure
 * @param {AgainstTable["normalised"]} normalised
 */
export function comparedText(value, measure, normalised) {
  if (value === null) return "–";
  if (measure.kind === "amount" && normalised === "total") return shareText(value);
  const text = valueText(Math.abs(value), measure);
  return value < 0 ? `−${text}` : text;
}

/** @param {number} share */
function shareText(share) {
  const percent = share * 100;
  const size = Math.abs(percent);
  const digits = size === 0 ? 0 : size < 1 ? 3 : size < 10 ? 2 : 1;
  return `${percent < 0 ? "−" : ""}${size.toFixed(digits)} %`;
}

/**
 * How much more is here, with its sign.
 * @param {AgainstValue} value
 * @param {AgainstMeasure} measure
 * @param {AgainstTable["normalised"]} normalised
 */
export function differenceText({ difference }, measure, normalised) {
  if (difference === null) return "";
  if (difference === 0) return "0";
  const text = comparedText(difference, measure, normalised);
  return difference > 0 ? `+${text}` : text;
}

/**
 * How many times as much is here.
 * @param {AgainstValue} value
 */
export function ratioText({ by_here: here, by_there: there }) {
  if (here === null || there === null || (here === 0 && there === 0)) return "";
  if (there === 0) return "new";
  if (here === 0) return "gone";
  const ratio = here / there;
  if (ratio < 0) return "";
  return `× ${ratio >= 100 || ratio < 0.01 ? ratio.toPrecision(3) : ratio.toFixed(2)}`;
}

/**
 * The difference in percent of what is there: `+12 %`, `new`, `gone`.
 * @param {AgainstValue} value
 */
export function shortChange({ by_here: here, by_there: there }) {
  if (here === null || there === null || (here === 0 && there === 0)) return "";
  return changeText(there, here).replace(/^[+−]0\.0 %$/, "0 %");
}

/**
 * Which way it changed, of what is more than chance; `perhaps` where lost rows can explain it.
 * @param {AgainstValue} value
 * @returns {"more"|"less"|"perhaps"|"same"}
 */
export function wayOfValue({ verdict, difference }) {
  if (verdict === "lost_rows") return "perhaps";
  if (verdict !== "beyond_chance" || difference === null || difference === 0) return "same";
  return difference > 0 ? "more" : "less";
}

/** @type {Record<ReturnType<typeof wayOfValue>, string>} */
export const WAY_MARKS = { more: "▲ ", less: "▼ ", perhaps: "? ", same: "" };

/**
 * A value in all its words, for those who point at it.
 * @param {AgainstValue} value
 * @param {AgainstMeasure} measure
 * @param {Pick<AgainstTable, "normalised"|"here"|"there">} table
 */
export function valueTitle(value, measure, { normalised, here, there }) {
  const raw = (/** @type {number|null} */ number, /** @type {AgainstSide} */ side) => {
    if (number === null) return "nothing";
    const digits = exact(Math.abs(number) < 100 ? Math.round(number * 1e6) / 1e6 : Math.round(number));
    const unit = { nanoseconds: " ns", bytes: " bytes" }[/** @type {string} */ (measure.unit)] ?? "";
    return `${digits}${unit} in ${duration(side.end - side.start)}`;
  };
  const error = value.error === null ? "" : `difference ± ${comparedText(value.error, measure, normalised)} by chance`;
  const parts = [`there ${raw(value.there, there)}`, `here ${raw(value.here, here)}`, error, worthText(value, measure)];
  return `${measure.name}: ${parts.filter(Boolean).join("; ")}`;
}

/**
 * What a difference is worth, in words.
 * @param {{verdict: DifferenceVerdict, difference: number|null}} value
 * @param {{kind: AgainstMeasure["kind"]}} measure
 */
export function worthText({ verdict, difference }, { kind }) {
  if (kind === "level") return "not tested";
  if (difference === null) return "only one side has it";
  return verdictText(verdict);
}

/**
 * What a line is called.
 * @param {AgainstLine} line
 * @param {AgainstTable["keys"]} keys
 */
export function lineName({ key }, keys) {
  const part = (/** @type {AgainstLine["key"][number]} */ cell, /** @type {number} */ at) =>
    cell === null ? "missing" : cellText(cell, keys[at]) || "empty";
  return key.length > 0 ? key.map(part).join(" · ") : "all rows";
}

/**
 * How much changed, in words.
 * @param {AgainstTable} table
 * @param {string} noun what a line is
 */
export function tableWords({ changed, compared, only_here: here, only_there: there, lines }, noun) {
  const of = `${exact(compared)} ${noun}${compared === 1 ? "" : "s"}`;
  const parts = [
    changed === 0
      ? `none of ${of} changed by more than chance`
      : `${exact(changed)} of ${of} changed by more than chance`,
    here > 0 && `${exact(here)} only here`,
    there > 0 && `${exact(there)} only there`,
    lines.length < compared && `the first ${exact(lines.length)} are shown`,
  ];
  return parts.filter(Boolean).join(" · ");
}

/**
 * What a view is compared with, in words: `another range`, `the same with another filter`.
 * @param {Parts} view
 */
export function otherWords({ against, againststart, againstend, againstfilter, againstsame, start, end, filter }) {
  const range =
    againststart === null || againstend === null ? "all of it" : `${duration(againststart)} to ${duration(againstend)}`;
  const isOther = against !== "self";
  const parts = [
    (isOther ? againststart !== null : againststart !== start || againstend !== end) && range,
    !againstsame && againstfilter !== filter && (againstfilter ? `rows with ${againstfilter}` : "all rows"),
  ];
  return parts.filter(Boolean).join(", ");
}
