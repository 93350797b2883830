// The form of the probe builder as a value: what its buttons and ticks change. Pure. What a form says is written and read by
// the server (server/builder).

/** @import { FormAction, Pairing, Partner, ProbeForm, RecordedValue, ValueFormat } from "../../../api.js" */

/** The variable of scripts that holds how long it took, and what is offered of it. */
export const DURATION = "$duration_ns";

/** Where a value is recorded: at the first place, or at the second. */
/** @typedef {"begin"|"end"} Place */

/** @returns {ProbeForm} */
export const emptyProbe = () => ({
  comment: "",
  sites: [],
  condition: "",
  values: [],
  until: null,
  kernel_stack: false,
  user_stack: false,
  action: { kind: "record" },
});

/**
 * The names of the maps that a probe has.
 * @param {ProbeForm} form
 */
function mapsOf({ until, values, action }) {
  const kept = until ? [until.started, ...values.map(({ name }) => name)] : [];
  return [...kept, "map" in action ? action.map : ""].filter(Boolean);
}

/**
 * The form with names of maps that none of the other probes of its script has.
 * @param {ProbeForm} form
 * @param {readonly ProbeForm[]} others
 * @returns {ProbeForm}
 */
export function distinct(form, others) {
  const taken = new Set(others.flatMap(mapsOf));
  /** @param {string} name */
  const free = (name) => {
    let [other, number] = [name, 1];
    while (taken.has(other)) other = `${name}_${(number += 1)}`;
    return other;
  };
  const { until, action } = form;
  return {
    ...form,
    until: until && { ...until, started: free(until.started) },
    action: "map" in action ? { ...action, map: free(action.map) } : action,
  };
}

/** What is known everywhere, with the format that fits: expression, what it is. */
/** @type {readonly [expr: string, about: string, format: ValueFormat][]} */
export const CONTEXT_VALUES = [
  ["comm", "name of the thread", "plain"],
  ["pid", "process id", "plain"],
  ["tid", "thread id", "plain"],
  ["ppid", "id of the parent process", "plain"],
  ["pcomm", "name of the parent process", "plain"],
  ["uid", "user id", "user_name"],
  ["cpu", "CPU", "plain"],
  ["cgroup", "id of the control group", "plain"],
  ["probe", "name of the probe site", "plain"],
  ["nsecs", "monotonic time, ns", "plain"],
];

/** What each format is called. */
/** @type {Record<string, string>} */
const FORMATS = {
  plain: "as its type",
  decimal: "decimal",
  hex: "hexadecimal",
  octal: "octal",
  text: "text",
  ip: "IP address",
  mac: "hardware address",
  kernel_symbol: "kernel function",
  user_symbol: "user function",
  path: "path",
  user_name: "user name",
  signal_name: "signal name",
  syscall_name: "system call name",
  error_name: "error name",
};

/** All formats that need no number. */
export const FORMAT_WORDS = /** @type {readonly ValueFormat[]} */ (Object.keys(FORMATS));

/**
 * What a format is called.
 * @param {ValueFormat} format
 */
export function formatName(format) {
  if (typeof format === "string") return FORMATS[format] ?? format;
  return format.names !== undefined ? "by name" : `${format.bytes} bytes`;
}

/**
 * A format as the value of an option, and back.
 * @param {ValueFormat} format
 */
export function formatKey(format) {
  if (typeof format === "string") return format;
  return format.names !== undefined ? `names:${format.names}` : `bytes:${format.bytes}`;
}

/**
 * @param {string} key
 * @returns {ValueFormat}
 */
export function formatOf(key) {
  const bytes = /^bytes:(\d+)$/.exec(key);
  if (bytes) return { bytes: Number(bytes[1]) };
  const names = /^names:(\w+)$/.exec(key);
  return names ? { names: names[1] } : /** @type {ValueFormat} */ (key);
}

/**
 * The values that are recorded at a place.
 * @param {ProbeForm} form
 * @param {Place} place
 */
export const valuesAt = (form, place) => (place === "end" ? (form.until?.values ?? []) : form.values);

/**
 * The form with other values at a place.
 * @param {ProbeForm} form
 * @param {Place} place
 * @param {RecordedValue[]} values
 * @returns {ProbeForm}
 */
export function withValues(form, place, values) {
  if (place === "begin") return { ...form, values };
  return form.until ? { ...form, until: { ...form.until, values } } : form;
}

/**
 * What tells a value from others: the bytes at an address have its expression, and are another value than the address.
 * @param {{expr: string, format: ValueFormat}} value
 */
export const valueKey = ({ expr, format }) =>
  typeof format !== "string" && format.bytes !== undefined ? `bytes at ${expr}` : expr;

/**
 * Adds a value, or takes it out.
 * @param {ProbeForm} form
 * @param {Place} place
 * @param {{expr: string, format: ValueFormat, late: boolean}} value
 * @param {boolean} on
 */
export function ticked(form, place, { expr, format, late }, on) {
  const others = valuesAt(form, place).filter((one) => valueKey(one) !== valueKey({ expr, format }));
  return withValues(form, place, on ? [...others, { expr, name: "", format, late }] : others);
}

/**
 * The value of a form that a value of a script's `printf` is: the number of the form, the place and the value; null if it is none.
 * @param {readonly ProbeForm[]} forms those that the script says
 * @param {{statement: number, value: number}} printed which `printf`, and which of its values
 * @returns {{number: number, place: Place, value: RecordedValue}|null}
 */
export function printedValue(forms, printed) {
  const numbers = [...forms.keys()].filter((number) => !("map" in (forms[number]?.action ?? {})));
  const number = numbers[printed.statement] ?? -1;
  const form = forms[number];
  if (!form) return null;
  const first = form.values[printed.value];
  if (first) return { number, place: "begin", value: first };
  const last = form.until?.values[printed.value - form.values.length];
  return last ? { number, place: "end", value: last } : null;
}

/** @returns {Pairing} */
const emptyPairing = () => ({
  sites: [],
  key: ["tid"],
  end_key: ["tid"],
  started: "began",
  condition: "",
  values: [],
  duration: false,
});

/**
 * The form with a second place that belongs to the first, and the duration recorded; null for none.
 * @param {ProbeForm} form
 * @param {Partner|null} partner
 * @returns {ProbeForm}
 */
export function paired(form, partner) {
  if (!partner) {
    const { until, ...rest } = form;
    const action = until && ofDuration(form.action) ? /** @type {FormAction} */ ({ kind: "record" }) : rest.action;
    return { ...rest, until: null, action };
  }
  const { site, key, end_key } = partner;
  const duration = !("map" in form.action);
  const until = { ...emptyPairing(), duration, ...form.until, sites: [site], key, end_key };
  // A number of the first place is not there where it ends.
  if (!form.until && "of" in form.action && form.action.of)
    return doing({ ...form, until, action: { kind: "record" } }, actionWord(form), DURATION);
  return { ...form, until };
}

/**
 * The form at another first place: what is recorded there is of no use any more.
 * @param {ProbeForm} form
 * @param {string[]} sites
 * @returns {ProbeForm}
 */
export function movedTo(form, sites) {
  const same = sites.some((site) => form.sites.includes(site));
  if (same) return { ...form, sites };
  const known = new Set(CONTEXT_VALUES.map(([expr]) => expr));
  const values = form.values.filter(({ expr }) => known.has(expr));
  return { ...paired(form, null), sites, condition: "", values };
}

/** @param {FormAction} action */
const ofDuration = (action) => "of" in action && action.of === DURATION;

/** What can be done with a hit: its word, what it is called, whether it needs a number. */
/** @type {readonly [word: string, title: string, ofNumber: boolean][]} */
export const ACTIONS = [
  ["record", "record a row", false],
  ["count", "count", false],
  ["stacks", "count stacks", false],
  ["histogram", "histogram of", true],
  ["linear", "linear histogram of", true],
  ["sum", "sum of", true],
  ["average", "average of", true],
  ["statistics", "count, average and total of", true],
  ["minimum", "minimum of", true],
  ["maximum", "maximum of", true],
  ["print", "print with a format", false],
];

/**
 * Whether an action needs a number.
 * @param {string} word of {@link ACTIONS}
 */
export const ofNumber = (word) => ACTIONS.some(([name, , of]) => name === word && of);

/**
 * The word of {@link ACTIONS} for what a form does.
 * @param {ProbeForm} form
 */
export function actionWord({ action, kernel_stack, user_stack, values, until }) {
  if (action.kind === "linear_histogram") return "linear";
  if (action.kind !== "aggregate") return action.kind;
  const hasStacks = kernel_stack || user_stack;
  const none = values.length === 0 && (until?.values.length ?? 0) === 0;
  return action.function === "count" && hasStacks && none ? "stacks" : action.function;
}

/**
 * The form with another action. What was of the one before stays where it has a meaning.
 * @param {ProbeForm} form
 * @param {string} word of {@link ACTIONS}
 * @param {string} usual the number that is taken where none was chosen
 * @returns {ProbeForm}
 */
export function doing(form, word, usual) {
  const before = "of" in form.action && form.action.of ? form.action.of : "";
  const of = before || usual;
  const duration = form.until ? { ...form.until, duration: false } : null;
  if (word === "record" || word === "print") {
    const until = form.until ? { ...form.until, duration: form.until.duration || before === DURATION } : null;
    /** @type {FormAction} */
    const action = word === "print" ? { kind: "print", format: usualFormat({ ...form, until }) } : { kind: "record" };
    return { ...form, until, action };
  }
  if (word === "linear")
    return {
      ...form,
      until: duration,
      action: { kind: "linear_histogram", map: mapOf(form, word, of), of, min: 0, max: 1000, step: 10 },
    };
  const counts = !ofNumber(word);
  const fn = /** @type {import("../../../api.js").AggregateFunction} */ (word === "stacks" ? "count" : word);
  const stacks = word === "stacks" && !form.kernel_stack && !form.user_stack;
  return {
    ...form,
    kernel_stack: form.kernel_stack || stacks,
    until: duration,
    action: { kind: "aggregate", map: mapOf(form, word, of), function: fn, of: counts ? "" : of },
  };
}

/**
 * What an aggregate is called: as its number is, so that the unit is seen.
 * @param {ProbeForm} form
 * @param {string} word
 * @param {string} of
 */
function mapOf(form, word, of) {
  const name = !ofNumber(word) ? word : (/(\w+)\W*$/.exec(of)?.[1] ?? word);
  const taken = [form.until?.started, ...(form.until ? form.values.map(({ expr }) => lastWord(expr)) : [])];
  return taken.includes(name) ? `${name}_${word}` : name;
}

/**
 * What a value is called where nobody chose a name.
 * @param {string} expr
 */
export function lastWord(expr) {
  return /([A-Za-z_]\w*)[^\w]*$/.exec(expr.replace(/\[[^\]]*\]/g, ""))?.[1] ?? "value";
}

/**
 * A format that shows everything that is recorded, for a beginning.
 * @param {ProbeForm} form
 */
function usualFormat({ values, until, kernel_stack, user_stack }) {
  const names = [...values, ...(until?.values ?? [])].map(({ expr }) => lastWord(expr));
  if (until?.duration) names.push("duration_ns");
  const stacks = "%s".repeat(Number(kernel_stack) + Number(user_stack));
  return `${names.map((name) => `${name} %s`).join("  ")}${stacks}\n`;
}

/**
 * An expression with the function of the language that its format is, for a condition.
 * @param {{expr: string, format: ValueFormat}} value
 */
export function compared({ expr, format }) {
  return format === "text" ? `str(${expr})` : expr;
}
