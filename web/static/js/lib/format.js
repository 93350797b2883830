// Numbers, times and sizes as people read them. Pure: no page, no clock.

const SI = ["", "k", "M", "G", "T", "P", "E"];
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 20 });

/**
 * The longest text of `value` with at most three significant digits and no exponent.
 * @param {number} value
 */
function three(value) {
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return trimZeros(value.toFixed(1));
  return trimZeros(value.toFixed(2));
}

/** @param {string} text */
function trimZeros(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/**
 * @param {number|string|bigint} value
 * @param {number} base
 * @param {string[]} units
 */
function scaled(value, base, units) {
  let size = Number(value);
  let step = 0;
  // 999.5 would be written as 1000.
  while (Math.abs(size) >= 999.5 && step < units.length - 1) {
    size /= base;
    step += 1;
  }
  return [three(size), units[step]];
}

/**
 * A count with at most three significant digits: `999`, `1.23k`, `45.6M`.
 * @param {number|string} value
 */
export function count(value) {
  if (value === null || value === undefined || Number.isNaN(Number(value))) return "–";
  const [digits, unit] = scaled(value, 1000, SI);
  return digits + unit;
}

/**
 * Every digit, grouped: `12,040`. Takes decimal strings of any length too.
 * @param {number|string|bigint} value
 */
export function exact(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string" && /^-?\d+$/.test(value)) return GROUPED.format(BigInt(value));
  if (typeof value === "bigint") return GROUPED.format(value);
  const number = Number(value);
  return Number.isFinite(number) ? GROUPED.format(number) : String(value);
}

/**
 * A size in binary units: `1.5 MiB`.
 * @param {number} value bytes
 */
export function bytes(value) {
  if (value === null || value === undefined || Number.isNaN(Number(value))) return "–";
  const [digits, unit] = scaled(value, 1024, BINARY);
  return `${digits} ${unit}`;
}

/**
 * A length of time: `15 ns`, `1.2 µs`, `3.45 ms`, `12.3 s`, `2 min 5 s`, `3 h 20 min`, `2 d 4 h`.
 * @param {number} ns nanoseconds
 */
export function duration(ns) {
  if (ns === null || ns === undefined || Number.isNaN(Number(ns))) return "–";
  const value = Number(ns);
  const size = Math.abs(value);
  if (size < 999.5) return `${three(value)} ns`;
  if (size < 999.5e3) return `${three(value / 1e3)} µs`;
  if (size < 999.5e6) return `${three(value / 1e6)} ms`;
  if (size < 59.95e9) return `${three(value / 1e9)} s`;
  const sign = value < 0 ? "−" : "";
  const seconds = Math.round(size / 1e9);
  /**
   * @param {number} large
   * @param {string} largeUnit
   * @param {number} small
   * @param {string} smallUnit
   */
  const two = (large, largeUnit, small, smallUnit) =>
    `${sign}${large} ${largeUnit}${small ? ` ${small} ${smallUnit}` : ""}`;
  if (seconds < 3600) return two(Math.floor(seconds / 60), "min", seconds % 60, "s");
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return two(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const hours = Math.round(minutes / 60);
  return two(Math.floor(hours / 24), "d", hours % 24, "h");
}

/**
 * A moment inside a capture in seconds with nine decimals, so that columns of them align: `12.345678901`.
 * @param {number|string} ns nanoseconds from the capture's start
 */
export function moment(ns) {
  const value = BigInt(typeof ns === "number" ? Math.round(ns) : ns);
  const size = value < 0n ? -value : value;
  const rest = String(size % 1_000_000_000n).padStart(9, "0");
  return `${value < 0n ? "-" : ""}${size / 1_000_000_000n}.${rest}`;
}

/**
 * Places for the marks of an axis: multiples of 1, 2 or 5 times a power of ten, at most `most` of them.
 * @param {number} start
 * @param {number} end
 * @param {number} most
 * @returns {{step: number, at: number[]}}
 */
export function ticks(start, end, most) {
  const span = end - start;
  if (!(span > 0) || most < 1) return { step: 1, at: [] };
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999999) ?? 10 * power;
  const at = [];
  for (let i = Math.ceil(start / step); i * step <= end; i += 1) at.push(i * step);
  return { step, at };
}

/**
 * The label of an axis mark in the unit that fits the distance between marks: `1.25 s`, `350 µs`.
 * @param {number} ns the mark's place
 * @param {number} step the distance between marks
 */
export function tickLabel(ns, step) {
  const [unit, scale] =
    step >= 1e9 || Math.abs(ns) >= 1e9
      ? ["s", 1e9]
      : step >= 1e6 || Math.abs(ns) >= 1e6
        ? ["ms", 1e6]
        : step >= 1e3 || Math.abs(ns) >= 1e3
          ? ["µs", 1e3]
          : ["ns", 1];
  const decimals = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / scale) + 1e-9)));
  return `${(ns / scale).toFixed(ns === 0 ? 0 : decimals)} ${unit}`;
}

/**
 * Events per second: `1.23k/s`.
 * @param {number} value
 */
export function rate(value) {
  return value === null || value === undefined
    ? "–"
    : `${count(value < 10 ? Math.round(value * 100) / 100 : Math.round(value))}/s`;
}

/**
 * Thousandths as percent: `0.4 %`.
 * @param {number|null} value
 */
export function permille(value) {
  return value === null || value === undefined ? "–" : `${three(value / 10)} %`;
}

/**
 * A part of a whole as percent; what rounds to nothing is written as `< 0.01 %`.
 * @param {number} part
 * @param {number} whole
 */
export function percent(part, whole) {
  if (!(whole > 0)) return "–";
  const value = (part / whole) * 100;
  return value > 0 && value < 0.005 ? "< 0.01 %" : `${three(value)} %`;
}

/**
 * Wall time in the viewer's zone: `2026-11-20 21:16:04`.
 * @param {number|string} unixNs nanoseconds since 1970; precise to about a microsecond, which is enough for a label
 * @param {boolean} fine with milliseconds
 */
export function wall(unixNs, fine = false) {
  const date = new Date(Number(unixNs) / 1e6);
  if (Number.isNaN(date.getTime())) return "–";
  /** @param {number} number */
  const two = (number) => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return `${day} ${time}${fine ? `.${String(date.getMilliseconds()).padStart(3, "0")}` : ""}`;
}

/**
 * How long ago, roughly: `just now`, `5 min ago`, `3 h ago`; after two days the wall time.
 * @param {number|string} unixNs
 * @param {number} nowMs milliseconds since 1970
 */
export function ago(unixNs, nowMs) {
  const seconds = Math.round((nowMs - Number(unixNs) / 1e6) / 1000);
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h ago`;
  return wall(unixNs).slice(0, 16);
}

/**
 * `1 row`, `2 rows`, `12,040 rows`.
 * @param {number|string} number
 * @param {string} one
 * @param {string} [many] only where it is not `one` with an s
 */
export function plural(number, one, many = `${one}s`) {
  return `${exact(number)} ${Number(number) === 1 ? one : many}`;
}

/**
 * A cell of a row as text, by how its column is displayed.
 * @param {number|string|null|undefined|{top: string}} cell
 * @param {{display?: string}} column
 */
export function cell(cell, column) {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "object") return cell.top ?? "";
  switch (column.display) {
    case "time_ns":
      return moment(cell);
    case "duration_ns":
      return duration(Number(cell));
    case "hex":
      return /^-?\d+$/.test(String(cell)) ? hex(cell) : String(cell);
    default:
      return String(cell);
  }
}

/**
 * A column's heading: with the unit of its cells where all have one; lengths of time have their own each.
 * @param {{name: string, display?: string}} column
 */
export function columnHeading({ name, display }) {
  if (display === "time_ns") return `${name}, s`;
  return display === "duration_ns" ? name.replace(/_ns$/, "") : name;
}

/** @param {number|string} value */
function hex(value) {
  const number = BigInt(value);
  return number < 0n ? `-0x${(-number).toString(16)}` : `0x${number.toString(16)}`;
}

/** What is said where a recording broke off before its counters could be read. */
export const UNKNOWN_LOSS =
  "The recording broke off: what was lost after the last reading of the counters is not known.";

/**
 * How many events a capture has lost, as a number: `12`, `≥ 12`, or `?` where nothing is known.
 * @param {{lost: number, lost_at_least?: boolean}} capture
 */
export function lostNumber({ lost, lost_at_least: atLeast }) {
  if (!atLeast) return lost > 0 ? count(lost) : "0";
  return lost > 0 ? `≥ ${count(lost)}` : "?";
}

/**
 * What a capture has lost, in words: `No losses` only where the counters were read to their end.
 * @param {{lost: number, lost_at_least?: boolean}} capture
 */
export function lostText(capture) {
  if (capture.lost > 0) return `${lostNumber(capture)} lost`;
  return capture.lost_at_least ? "Losses unknown" : "No losses";
}
