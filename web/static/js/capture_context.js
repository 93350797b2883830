// One capture on its page: what the server says of it, and the view that the person has of it. All views share this.

import { get } from "./api.js";

/** Sends `info` when the capture's facts are new, `error` when a shared request failed. */
export class CaptureContext extends EventTarget {
  /**
   * @param {string} id
   * @param {object} info from the API
   * @param {import("./url_state.js").ViewState} state
   */
  constructor(id, info, state) {
    super();
    this.id = id;
    this.info = info;
    this.state = state;
    this.path = `/api/captures/${encodeURIComponent(id)}`;
  }

  /** The view's parts. */
  get view() {
    return this.state.view;
  }

  /** Nanoseconds from the capture's start to its end. */
  get duration() {
    return Math.max(1, this.info.end_ns - this.info.start_ns);
  }

  /** The range that the views show: what is selected, or all of it as nulls. */
  get range() {
    const { start, end } = this.view;
    return { start, end };
  }

  /** The stream that the table shows. */
  get stream() {
    return this.info.streams[this.view.stream] ?? this.info.streams[0];
  }

  /** Whether any stream has stacks. */
  get hasStacks() {
    return this.info.streams.some((stream) => stream.kind === "samples" || stream.columns.some((column) => columnType(column) === "stack"));
  }

  /** Whether it has calls of functions, which `function_graph` records. */
  get hasCalls() {
    return this.info.streams.some((stream) => stream.name === "function_graph" && stream.kind === "events");
  }

  /** Whether a script made it. */
  get isScript() {
    return Boolean(this.info.spec.method.script);
  }

  /** Whether it holds counts of events. */
  get isCounts() {
    return Boolean(this.info.spec.method.count);
  }

  /** Whether the script keeps anything in maps. */
  get hasMaps() {
    return this.info.streams.some(({ name }) => name.startsWith("@"));
  }

  /** Everything that was lost. */
  get lost() {
    return this.info.ledger.losses.reduce((sum, loss) => sum + loss.count, 0);
  }

  /**
   * When a loss can have happened, from the capture's start. The ledger's times are absolute.
   * @param {{start_ns: number, end_ns: number}} loss
   */
  lossRange(loss) {
    return { start: loss.start_ns - this.info.start_ns, end: loss.end_ns - this.info.start_ns };
  }

  /** Asks the server for the capture's facts again. */
  async refresh() {
    this.info = await get(this.path);
    this.dispatchEvent(new Event("info"));
  }

  /**
   * Selects a range, or nothing.
   * @param {{start: number, end: number}|null} range
   */
  select(range) {
    if (!range) return this.state.set({ start: null, end: null });
    const start = Math.max(0, Math.round(Math.min(range.start, range.end)));
    const end = Math.min(Math.ceil(this.duration), Math.round(Math.max(range.start, range.end)));
    if (end > start) this.state.set({ start, end });
  }
}

/**
 * A column's type, whichever of its two names the answer uses.
 * @param {{type?: string, ty?: string}} column
 */
export function columnType(column) {
  return column.type ?? column.ty;
}
