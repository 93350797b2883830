// Rows that were saved, sorted and searched without the server. Pure.

import { readThen } from "../view/table/row_orders.js";

/** @import { RowsPage, ShownCell } from "../../../api.js" */

/**
 * A page of rows in another order, of a range within the saved one, and of those in which a text occurs; null where the file cannot tell.
 * @param {RowsPage} table all rows of the file, in the order of time
 * @param {Map<string, string>} saved what was asked for then
 * @param {Map<string, string>} asked
 * @returns {RowsPage|null}
 */
export function arranged(table, saved, asked) {
  const filter = asked.get("filter") ?? "";
  const kept = saved.get("filter") ?? "";
  const text = filter === kept ? "" : added(filter, kept);
  if (text === null || !within(saved, asked)) return null;
  const numbers = table.rows.map((_row, i) => i);
  const [start, end] = ["start", "end"].map((name) => (asked.has(name) ? Number(asked.get(name)) : null));
  const found = numbers.filter((i) => {
    const [time] = table.rows[i];
    if (start !== null && end !== null && !(Number(time) >= start && Number(time) < end)) return false;
    return text === "" || table.rows[i].some((cell) => cellText(cell).toLowerCase().includes(text));
  });
  sort(found, table, asked);
  const offset = Number(asked.get("offset") ?? 0);
  const shown = found.slice(offset, offset + Number(asked.get("limit") ?? found.length));
  const { texts, numbers: ofStream } = table;
  return {
    columns: table.columns,
    rows: shown.map((i) => table.rows[i]),
    ...(texts ? { texts: shown.map((i) => texts[i] ?? null) } : {}),
    // A row keeps its number in the stream wherever it stands now: notes are tied to it.
    numbers: shown.map((i) => ofStream?.[i] ?? i),
    total: table.total,
    matched: found.length,
    offset,
  };
}

/**
 * What a filter looks for beyond the saved one: a text that rows must have. Null where it is a condition, which only the server reads.
 * @param {string} filter
 * @param {string} saved
 */
function added(filter, saved) {
  const rest = saved !== "" && filter.startsWith(saved) ? filter.slice(saved.length) : saved === "" ? filter : null;
  const text = rest?.trim().replace(/^"(.*)"$/, "$1") ?? "";
  return rest === null || text === "" || /[=<>~!&|()]/.test(text) ? null : text.toLowerCase();
}

/**
 * Whether a range is one of the saved rows.
 * @param {Map<string, string>} saved
 * @param {Map<string, string>} asked
 */
function within(saved, asked) {
  if (!saved.has("start")) return true;
  return (
    Number(asked.get("start") ?? -Infinity) >= Number(saved.get("start")) &&
    Number(asked.get("end")) <= Number(saved.get("end"))
  );
}

/**
 * A cell as text.
 * @param {ShownCell} cell
 */
function cellText(cell) {
  if (cell === null || cell === undefined) return "";
  return typeof cell === "object" ? String(cell.top) : String(cell);
}

/**
 * Sorts numbers of rows by the columns that are asked for; rows that have nothing there come last.
 * @param {number[]} numbers
 * @param {RowsPage} table
 * @param {Map<string, string>} asked
 */
function sort(numbers, table, asked) {
  const first = asked.get("sort") || table.columns[0]?.name || "";
  const way = asked.get("order") === "desc" ? -1 : 1;
  const then = readThen(asked.get("then") ?? "").map(({ name, descending }) => ({ name, way: descending ? -1 : 1 }));
  const by = [{ name: first, way }, ...then].flatMap((one) => {
    const at = table.columns.findIndex(({ name }) => name === one.name);
    return at < 0 ? [] : [{ at, way: one.way }];
  });
  if (by.length === 0) return;
  numbers.sort((a, b) => {
    for (const { at, way } of by) {
      const order = compared(table.rows[a][at], table.rows[b][at], way);
      if (order !== 0) return order;
    }
    return a - b;
  });
}

/**
 * @param {ShownCell} a
 * @param {ShownCell} b
 * @param {number} way
 */
function compared(a, b, way) {
  const [left, right] = [valueOf(a), valueOf(b)];
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  if (left === right) return 0;
  return (left < right ? -1 : 1) * way;
}

/**
 * What a cell is sorted by. Numbers beyond 2^53 come as text.
 * @param {ShownCell} cell
 * @returns {number|bigint|string|null}
 */
function valueOf(cell) {
  if (cell === null || cell === undefined) return null;
  if (typeof cell === "object") return String(cell.top);
  if (typeof cell === "string" && /^-?\d{16,20}$/.test(cell)) return BigInt(cell);
  return cell;
}
