// Which window of which tracks to ask for next: what is in sight first, then what comes into sight if people go on as they do. Pure.

/** Pixels of a window begin and end at multiples of so many, so that small moves ask for nothing. */
const QUANTUM = 256;
/** The most pixels of a window. */
const MOST_WIDTH = 8192;
/** The most tracks of a request. */
const MOST_TRACKS = 400;
/** Screens that are kept on each side of what is shown. */
const KEPT = 2;

/**
 * @typedef {object} Wanted what is shown
 * @property {{start: number, end: number}} shown
 * @property {number} pixels
 * @property {{start: number, end: number}} whole
 * @property {string[]} tracks
 * @property {-1|0|1} way to where the window was moved last
 */
/**
 * @typedef {object} Plan a window to ask for
 * @property {number} start
 * @property {number} end
 * @property {number} width pixels
 * @property {number} pixel nanoseconds of one
 * @property {string[]} tracks
 * @property {boolean} isAhead whether it is not in sight yet
 */
/** @typedef {{start: number, end: number, pixel: number, age: number}} Reach what is known of a track */

/**
 * Nanoseconds of the pixels to ask for: the power of two that is nearest to a pixel on the screen, and the one before while that will do.
 * @param {Wanted} wanted
 * @param {number} before
 */
export function pixelOf({ shown, pixels }, before) {
  const real = (shown.end - shown.start) / pixels;
  const most = MOST_WIDTH - 2 * QUANTUM;
  if (before <= real * 1.6 && before >= real * 0.6 && (shown.end - shown.start) / before <= most) return before;
  let pixel = Math.max(1, 2 ** Math.round(Math.log2(real)));
  while ((shown.end - shown.start) / pixel > most) pixel *= 2;
  return pixel;
}

/**
 * What to ask for next; null where all is there.
 * @param {Wanted} wanted
 * @param {number} pixel
 * @param {number} age of what is true now
 * @param {(track: string) => Reach|undefined} known
 * @returns {Plan|null}
 */
export function planOf(wanted, pixel, age, known) {
  const { shown, whole, tracks, way } = wanted;
  const span = shown.end - shown.start;
  const sides = [
    { start: shown.start, end: shown.end + span },
    { start: shown.start - span, end: shown.end },
  ];
  if (way < 0) sides.reverse();
  for (const [step, aim] of [shown, ...sides].entries()) {
    const start = Math.max(whole.start, aim.start);
    const end = Math.min(whole.end, aim.end);
    if (end <= start) continue;
    const found = missingOf({ start, end }, pixel, age, tracks, known);
    if (found) return { ...windowOf(found, pixel, whole), tracks: found.tracks, isAhead: step > 0 };
  }
  return null;
}

/**
 * The tracks that have nothing of a range, else those of which a part of it is missing, and that part.
 * @param {{start: number, end: number}} range
 * @param {number} pixel
 * @param {number} age
 * @param {string[]} tracks
 * @param {(track: string) => Reach|undefined} known
 */
function missingOf(range, pixel, age, tracks, known) {
  const fresh = [];
  /** @type {{id: string, start: number, end: number}[]} */
  const parts = [];
  for (const id of tracks) {
    const reach = known(id);
    const fits = reach && reach.age === age && reach.pixel === pixel;
    if (!fits || reach.end <= range.start || reach.start >= range.end) fresh.push(id);
    // Windows begin and end at whole units.
    else if (reach.start > range.start + pixel) parts.push({ id, start: range.start, end: reach.start });
    else if (reach.end < range.end - pixel) parts.push({ id, start: reach.end, end: range.end });
  }
  if (fresh.length > 0) return { tracks: fresh.slice(0, MOST_TRACKS), ...range };
  if (parts.length === 0) return null;
  // One request is for one range.
  const side = parts.filter(
    ({ start }) => start === parts[0].start || (start > range.start && parts[0].start > range.start),
  );
  const some = side.slice(0, MOST_TRACKS);
  return {
    tracks: some.map(({ id }) => id),
    start: Math.min(...some.map(({ start }) => start)),
    end: Math.max(...some.map(({ end }) => end)),
  };
}

/**
 * @param {{start: number, end: number}} range
 * @param {number} pixel
 * @param {{start: number, end: number}} whole
 */
function windowOf(range, pixel, whole) {
  const quantum = QUANTUM * pixel;
  const start = Math.floor(Math.max(range.start, whole.start) / quantum) * quantum;
  const width = Math.min(MOST_WIDTH, Math.max(1, Math.ceil((range.end - start) / quantum)) * QUANTUM);
  return { start, end: start + width * pixel, width, pixel };
}

/**
 * What is kept of what is known.
 * @param {Wanted} wanted
 */
export function keptOf({ shown }) {
  const span = shown.end - shown.start;
  return { start: shown.start - KEPT * span, end: shown.end + KEPT * span };
}

/**
 * Whether a window that is on its way is still worth waiting for.
 * @param {Plan} plan
 * @param {Wanted} wanted
 * @param {number} pixel
 */
export function isUseful(plan, { shown, tracks }, pixel) {
  const meets = plan.start < shown.end && plan.end > shown.start;
  return plan.pixel === pixel && (plan.isAhead || meets) && plan.tracks.some((id) => tracks.includes(id));
}
