// The readings of a script's map as rows of a query: numbers of few keys by key, other maps in words at each reading. Pure.

import { sqlName, sqlTable } from "../../../lib/sql_words.js";

/** @import { Answers } from "../../../../../api.js" */
/** @typedef {Answers["GET"]["/api/captures/{id}/maps"]["maps"][number]} MapInfo */

/** As many keys are told apart as lines; a map with more is told in words. */
const FEW_KEYS = 6;

/**
 * The query for the readings of a map, and how they are shown.
 * @param {{name: string, rows: number}[]} streams
 * @param {MapInfo} map
 * @returns {{sql: string, kind: "counters"|"instants"}}
 */
export function mapQuery(streams, { n, kind, key, value, snapshots, views }) {
  const table = sqlTable(streams, n);
  const keys = key.map((name) => `cast(${sqlName(name)} as text)`).join(" || ', ' || ");
  const at = (/** @type {string} */ words) => ({
    sql: `select time, ${words} from ${table} group by snapshot, time`,
    kind: /** @type {const} */ ("instants"),
  });
  if (kind === "histogram")
    return at(
      `printf('%d in %d buckets, most of them from %d to %d', sum("count"), count(*), low, high) as reading, max("count") as most`,
    );
  if (kind === "time_series") return at("printf('%d intervals', count(*)) as reading");
  if (!views.includes("series")) return at("printf('%d elements', count(*)) as reading");
  const number = sqlName(kind === "stats" ? "average" : value[0]);
  if (streams[n].rows <= FEW_KEYS * snapshots)
    return { sql: `select time, ${keys ? `${keys} as key, ` : ""}${number} as value from ${table}`, kind: "counters" };
  return at(`printf('%d keys, the greatest of %s: %s', count(*), ${keys || "''"}, max(${number})) as reading`);
}
