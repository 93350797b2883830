// The rows of the tree that are drawn from rows of a query: results of SQL, and readings of a script's maps.

import { get, problemOf } from "../../../lib/api.js";
import { fnv1a } from "../../../lib/color.js";
import { Emitter } from "../../../lib/emitter.js";
import { cell, plural } from "../../../lib/format.js";
import { sentence } from "../../../lib/notice.js";
import { firstAfter, laneCount, readTracks, rowAt, writeTracks } from "../../../lib/sql_track.js";
import { mapQuery } from "./map_query.js";
import { NO_TIME, NOUNS, QueryData } from "./query_data.js";
import { rowWords } from "./rows_words.js";

/** @import { TrackMoment, TrackRowLine } from "../../../../../api.js" */
/** @typedef {{start: number, end: number}} Span */
/** @typedef {{key: string, name: string, data: QueryData}} RowsLane `key`: that of its row in the tree, and its lane's id */

/**
 * Sends `rows` when there are other lanes, `data` when something is other on one of them, `error` with what went wrong.
 * @extends {Emitter<{rows: null, data: null, error: unknown}>}
 */
export class RowsLanes extends Emitter {
  /** @param {import("../../../page/capture_context.js").CaptureContext} context */
  constructor(context) {
    super();
    this.context = context;
    /**
     * Results of SQL that the address names.
     * @type {RowsLane[]}
     */
    this.queries = [];
    /**
     * Maps of a script.
     * @type {RowsLane[]}
     */
    this.maps = [];
    /** Whether each map of the script is among them: then there will be no other. */
    this.hasAllMaps = false;
    context.state.on("change", ({ parts }) => parts.has("tracks") && this.#sync());
    this.#sync();
  }

  /**
   * The lane with an id; undefined for none.
   * @param {string} id
   */
  lane(id) {
    return this.queries.find(({ key }) => key === id) ?? this.maps.find(({ key }) => key === id);
  }

  /** Asks which maps have been read at least once, until all have. */
  async loadMaps() {
    const { id, hasMaps, info } = this.context;
    if (!hasMaps || this.hasAllMaps) return;
    const { maps } = await get("/api/captures/{id}/maps", { id });
    this.hasAllMaps = maps.every(({ snapshots }) => snapshots > 0);
    this.maps = maps
      .filter(({ snapshots }) => snapshots > 0)
      .map((map) => {
        const key = `map:${map.name}`;
        const { sql, kind } = mapQuery(info.streams, map);
        const known = this.maps.find((one) => one.key === key && one.data.sql === sql)?.data;
        const data = known ?? this.#query(sql);
        data.showAs(kind);
        return { key, name: map.name, data };
      });
  }

  /** @param {string} sql */
  #query(sql) {
    const data = new QueryData(this.context, sql);
    data.on("data", () => this.emit("data", null));
    return data;
  }

  /** Queries stay as they are where the address has them still, so that answers are kept. */
  #sync() {
    const left = [...this.queries];
    const wanted = readTracks(this.context.view.tracks);
    this.queries = wanted.map(({ name, sql, kind }, i) => {
      const at = left.findIndex(({ data }) => data.sql === sql);
      const data = at >= 0 ? left.splice(at, 1)[0].data : this.#query(sql);
      const before = wanted.slice(0, i).filter((one) => one.sql === sql).length;
      data.showAs(kind);
      // The same query is the same row of the tree in each link, however it is called.
      return {
        key: `sql:${fnv1a(sql).toString(16)}${before > 0 ? `-${before + 1}` : ""}`,
        name: name || "Query",
        data,
      };
    });
    for (const { data } of left) data.end();
    this.emit("rows", null);
  }

  /**
   * Changes a query's track in the address; null removes it.
   * @param {string} key
   * @param {{name?: string, kind?: string}|null} patch
   */
  change(key, patch) {
    const at = this.queries.findIndex((one) => one.key === key);
    const tracks = readTracks(this.context.view.tracks);
    if (at < 0) return;
    if (patch) tracks[at] = { ...tracks[at], ...patch };
    else tracks.splice(at, 1);
    this.context.state.set({ tracks: writeTracks(tracks) });
  }

  /**
   * Says what is in sight.
   * @param {string[]} ids
   * @param {Span} shown
   */
  want(ids, shown) {
    for (const id of ids) this.lane(id)?.data.want(shown);
  }

  /**
   * The capture has grown.
   * @param {boolean} visible
   */
  grown(visible) {
    for (const { data } of [...this.queries, ...this.maps]) data.grown(visible);
  }

  /**
   * What is wrong with a lane, in a sentence; empty for nothing.
   * @param {RowsLane} lane
   */
  problem({ data }) {
    if (data.failed !== null) {
      const { why, remedy } = problemOf(data.failed);
      return [why, remedy].filter(Boolean).map(sentence).join(" ");
    }
    return data.isTimeless ? NO_TIME : "";
  }

  /**
   * What is on a lane at a moment, in words.
   * @param {string} id
   * @param {number} time
   * @param {number} near nanoseconds
   */
  words(id, time, near) {
    const lane = this.lane(id);
    if (!lane) return [];
    const problem = this.problem(lane);
    const { track, inTime, said } = lane.data;
    if (problem) return [problem];
    if (!track) return ["its rows are on their way"];
    const at = rowAt(track, time, near);
    const all = `${plural(track.n, NOUNS[track.kind])} in all`;
    return [at < 0 ? "nothing here" : rowWords(track, at, inTime), [all, said].filter(Boolean).join(". ")];
  }

  /**
   * The edges of rows around a moment.
   * @param {string} id
   * @param {number} time
   * @returns {number[]}
   */
  edges(id, time) {
    const track = this.lane(id)?.data.track;
    if (!track || track.n === 0) return [];
    const after = firstAfter(track.starts, time);
    const near = [after - 1, after].filter((row) => row >= 0 && row < track.n);
    return near.flatMap((row) => [track.starts[row], track.ends[row]]);
  }

  /**
   * The row at a moment, or the next one, as a moment of a track is told; null where there is none.
   * @param {string} id
   * @param {number} time
   * @param {number} near nanoseconds
   * @param {number} [high] where in the lane, from 0 at its top to 1, if that counts
   * @returns {TrackMoment|null}
   */
  moment(id, time, near, high) {
    const data = this.lane(id)?.data;
    const track = data?.track;
    if (!data || !track || track.n === 0) return null;
    const lane = high === undefined ? undefined : Math.floor(Math.max(0, Math.min(0.99, high)) * laneCount(track));
    const found = rowAt(track, time, near, lane);
    const next = track.starts.findIndex((start) => start >= time - near);
    return this.numbered(id, found >= 0 ? found : next >= 0 ? next : track.n - 1);
  }

  /**
   * A row by its number.
   * @param {string} id
   * @param {number} number
   * @returns {TrackMoment|null}
   */
  numbered(id, number) {
    const data = this.lane(id)?.data;
    const track = data?.track;
    if (!data || !track || number < 0 || number >= track.n) return null;
    /**
     * @param {number} row
     * @returns {TrackRowLine|null}
     */
    const line = (row) =>
      row < 0 || row >= track.n
        ? null
        : {
            stream: 0,
            number: row,
            start: track.starts[row],
            end: track.ends[row],
            duration: track.ends[row] - track.starts[row],
            name: {
              text: rowWords({ ...track, kind: track.kind === "slices" ? "instants" : track.kind }, row, data.inTime),
            },
          };
    return {
      before: line(number - 1),
      at: line(number),
      after: line(number + 1),
      fields: {
        columns: data.columns.map(({ name }) => ({ name, type: "text", display: "text" })),
        cells: data.columns.map((column, i) => cell(track.rows[number][i], column)),
      },
      stacks: [],
      flows: { flows: [], more: 0, is_cut: false, call: null },
      before_same: null,
      after_same: null,
      same_cut: false,
      name_column: null,
      is_cut: false,
    };
  }
}
