// The parts of a critical path: which is where, what is drawn of them, and what they are in words. Pure.

import { duration, moment, percent, plural } from "../../../lib/format.js";

/** @import { CriticalPath, PathKind, PathPart, PathWait } from "../../../../../api.js" */

/**
 * What each kind is called, and the state whose colour and pattern it has.
 * @type {Record<PathKind, {name: string, look: string}>}
 */
export const KINDS = {
  running: { name: "running", look: "running" },
  cpu: { name: "waiting for a CPU", look: "runnable" },
  thread: { name: "waiting for another thread", look: "other" },
  lock: { name: "waiting for a lock", look: "lock" },
  disk: { name: "waiting for a disk", look: "uninterruptible" },
  timer: { name: "waiting for a timer", look: "sleeping" },
  interrupt: { name: "waiting for an interrupt", look: "idle" },
  unknown: { name: "not known", look: "other" },
};

/** Why it is not known what a part went into. */
const GAPS = {
  no_wakeup: "it is not recorded who woke the thread",
  not_woken: "the thread was not woken before the end of what is recorded",
  no_states: "no states of the thread are recorded then",
  ended: "the thread had ended",
  inconsistent: "who woke the thread slept at that moment, so events were lost",
};

/**
 * The part at a moment; null for none.
 * @param {CriticalPath} path
 * @param {number} time
 * @returns {PathPart|null}
 */
export function pathPartAt({ parts }, time) {
  let [low, high] = [0, parts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (parts[middle].end <= time) low = middle + 1;
    else high = middle;
  }
  const part = parts[low];
  return part && part.start <= time ? part : null;
}

/**
 * What a thread is called.
 * @param {CriticalPath} path
 * @param {number} thread
 */
export function threadName({ threads }, thread) {
  const { name, tid } = threads[thread];
  return `${name || "thread"} ${tid}`;
}

/**
 * The waits that lead to a part, the thread's own first.
 * @param {CriticalPath} path
 * @param {PathPart} part
 */
export function waitsOf({ waits }, part) {
  /** @type {PathWait[]} */
  const found = [];
  for (let at = part.wait; at !== undefined && at !== null; at = waits[at].outer) found.unshift(waits[at]);
  return found;
}

/**
 * What is drawn of a path: a piece for each part, those narrower than a pixel together by pixel, each as what most of its time
 * went into.
 * @param {CriticalPath} path
 * @param {{start: number, end: number}} shown
 * @param {number} pixels
 * @returns {{part: PathPart, left: number, right: number, parts: number}[]} `left`, `right`: pixels
 */
export function drawnParts({ parts }, shown, pixels) {
  const perPixel = (shown.end - shown.start) / pixels;
  /** @type {{part: PathPart, left: number, right: number, parts: number}[]} */
  const drawn = [];
  /** @type {{at: number, time: number, parts: number, best: PathPart, bestTime: number}|null} */
  let narrow = null;
  const flush = () => {
    if (narrow) drawn.push({ part: narrow.best, left: narrow.at, right: narrow.at + 1, parts: narrow.parts });
    narrow = null;
  };
  for (const part of parts) {
    if (part.end <= shown.start || part.start >= shown.end) continue;
    const left = Math.max(0, (part.start - shown.start) / perPixel);
    const right = Math.min(pixels, (part.end - shown.start) / perPixel);
    if (right - left >= 1) {
      flush();
      drawn.push({ part, left, right, parts: 1 });
      continue;
    }
    const at = Math.floor(left);
    const time = part.end - part.start;
    if (narrow && narrow.at !== at) flush();
    if (!narrow) narrow = { at, time, parts: 1, best: part, bestTime: time };
    else {
      narrow.parts += 1;
      if (time > narrow.bestTime) [narrow.best, narrow.bestTime] = [part, time];
    }
  }
  flush();
  return drawn;
}

/**
 * What a thread waited in: the call, the function of the kernel.
 * @param {{call?: string|null, function?: string|null}} what
 */
function waitedIn({ call, function: name }) {
  return [call && `in ${call}`, name && `at ${name}`].filter(Boolean).join(" ");
}

/**
 * What a part is, in words.
 * @param {CriticalPath} path
 * @param {PathPart} part
 */
export function partWords(path, part) {
  const chain = waitsOf(path, part).map((wait) => {
    const who = threadName(path, wait.thread);
    const why = wait.is_start ? "was started by" : wait.is_lock ? "waits for a lock of" : "waits for";
    return `${[who, waitedIn(wait), why].filter(Boolean).join(" ")} ${threadName(path, wait.waker)}`;
  });
  const { kind, cpu, gap } = part;
  const what = [
    threadName(path, part.thread),
    kind === "unknown" && gap
      ? GAPS[gap]
      : kind === "cpu" && cpu !== undefined
        ? `waiting for CPU ${cpu}`
        : KINDS[kind].name,
    part.had_cpu ? `which ${part.had_cpu.text} ${part.had_cpu.tid ?? ""} had` : "",
    kind === "running" && cpu !== undefined ? `on CPU ${cpu}` : "",
    waitedIn(part),
    part.ended_by ? `until ${part.ended_by}` : "",
  ]
    .filter(Boolean)
    .join(" ");
  return [...chain, what].join("; ") + `, ${duration(part.end - part.start)}`;
}

/**
 * A path in a sentence or two.
 * @param {CriticalPath} path
 */
export function pathWords(path) {
  const span = path.end - (path.stopped?.time ?? path.start);
  const shares = path.shares.map(({ kind, time }) => `${KINDS[kind].name} ${percent(time, span)}`).join(", ");
  const stopped = path.stopped
    ? ` It stops at ${moment(path.stopped.time)} s, after ${plural(path.stopped.limit, "part")}; select a shorter range for what was before.`
    : "";
  return `${threadName(path, 0)} over ${duration(span)}: ${shares || "nothing"}.${stopped}`;
}

/**
 * What was not recorded that would tell more; empty if all was.
 * @param {CriticalPath} path
 */
export function missingWords({ recorded }) {
  const missing = [
    !recorded.wakeups && "Wake-ups are not recorded, so nobody is known who woke a thread.",
    recorded.wakeups &&
      !recorded.interrupts &&
      "Neither interrupts nor stacks of wake-ups are recorded: a wake-up by an interrupt counts as one by the thread that it interrupted, unless that CPU was idle.",
    !recorded.calls &&
      "Neither system calls nor stacks of sleeping threads are recorded: locks are not told from other waiting.",
    !recorded.requests && "Block requests are not recorded: which request a thread waited for is not told.",
  ];
  return missing.filter(Boolean).join(" ");
}
