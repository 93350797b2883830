// Numbers with units in filters, as server/capture/src/amount.rs reads them. Pure.

/** @import { TableColumn } from "./virtual_table.js" */

/**
 * Units as they are written: of what, and how many nanoseconds or bytes.
 * @type {Record<string, [kind: "time"|"size", size: bigint]>}
 */
const UNITS = {
  ns: ["time", 1n],
  us: ["time", 1000n],
  µs: ["time", 1000n],
  μs: ["time", 1000n],
  ms: ["time", 1000000n],
  s: ["time", 1000000000n],
  min: ["time", 60000000000n],
  m: ["time", 60000000000n],
  h: ["time", 3600000000000n],
  B: ["size", 1n],
  KiB: ["size", 1n << 10n],
  MiB: ["size", 1n << 20n],
  GiB: ["size", 1n << 30n],
  TiB: ["size", 1n << 40n],
  kB: ["size", 1000n],
  KB: ["size", 1000n],
  MB: ["size", 1000000n],
  GB: ["size", 1000000000n],
  TB: ["size", 1000000000000n],
};
/** @type {[endings: RegExp, kind: "time"|"size", size: bigint][]} */
const ENDINGS = [
  [/(?:^|_)(?:ns|nsecs|nanos|nanoseconds)$/i, "time", 1n],
  [/(?:^|_)(?:us|usecs|micros|microseconds)$/i, "time", 1000n],
  [/(?:^|_)(?:ms|msecs|millis|milliseconds)$/i, "time", 1000000n],
  [/(?:_s|(?:^|_)(?:sec|secs|seconds))$/i, "time", 1000000000n],
  [/(?:^|_)bytes$/i, "size", 1n],
  [/^bytes_/, "size", 1n],
];

/**
 * What the numbers of a column are; null where nothing says it.
 * @param {TableColumn} column
 * @returns {["time"|"size", bigint]|null}
 */
function unitOf({ name, display }) {
  if (display === "duration_ns" || display === "time_ns") return ["time", 1n];
  const own = name.replace(/^args\./, "").replace(/\[.*$/, "");
  const found = ENDINGS.find(([ending]) => ending.test(own));
  return found ? [found[1], found[2]] : null;
}

/**
 * A number with a unit as one of a column: how many pieces of the filter it takes, and the number, which is null where the unit
 * does not fit. Null where there is no unit.
 * @param {string} piece
 * @param {string} next the piece after it
 * @param {TableColumn} column
 * @returns {{pieces: number, number: bigint|null}|null}
 */
export function inColumn(piece, next, column) {
  const found = /^(\d+)(?:\.(\d{1,18}))?([A-Za-zµμ]*)$/.exec(piece);
  const word = found?.[3] || next;
  if (!found || !Object.hasOwn(UNITS, word)) return null;
  const [kind, size] = UNITS[word];
  const part = found[2] ?? "";
  const scale = 10n ** BigInt(part.length);
  const base = BigInt(found[1] + part) * size;
  const unit = unitOf(column);
  const isWhole = unit !== null && unit[0] === kind && base % (scale * unit[1]) === 0n;
  return { pieces: found[3] ? 1 : 2, number: isWhole ? base / (scale * unit[1]) : null };
}
