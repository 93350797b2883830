// Times as cron has them, in a zone, as triggers of flight recorders name them: which zone they are in, and when they come next. The
// rules are those of server/capture/src/cron.rs and server/recorder/src/flight/timer.rs.

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/** @type {{least: number, most: number, names?: string[], last?: number}[]} */
const FIELDS = [
  { least: 0, most: 59 },
  { least: 0, most: 23 },
  { least: 1, most: 31 },
  { least: 1, most: 12, names: MONTHS },
  { least: 0, most: 7, names: WEEKDAYS, last: 6 },
];
const MINUTE_MS = 60_000;
/** How many days, hours and minutes are looked at: the 29th of February is at most eight years away. */
const MOST_STEPS = 20_000;

/**
 * The numbers that a field means; null where it is no field.
 * @param {string} text
 * @param {(typeof FIELDS)[number]} field
 */
function numbersOf(text, { least, most, names = [], last = most }) {
  const number = (/** @type {string} */ word) => {
    const at = names.indexOf(word.toLowerCase());
    const value = at >= 0 ? at + least : /^\d+$/.test(word) ? Number(word) : NaN;
    return value >= least && value <= most ? value : NaN;
  };
  /** @type {Set<number>} */
  const found = new Set();
  for (const part of text.split(",")) {
    const [, range, step] = /^([^/]*)(?:\/(\d+))?$/.exec(part) ?? [];
    if (range === undefined) return null;
    const by = step === undefined ? 1 : Number(step);
    const [from, to] =
      range === "*"
        ? [least, last]
        : /^[^-]+-[^-]+$/.test(range)
          ? range.split("-").map(number)
          : [number(range), step === undefined ? number(range) : last];
    if (!(from <= to) || by < 1 || by > 60) return null;
    for (let value = from; value <= to; value += by) found.add(value);
  }
  return found;
}

/**
 * A trigger that fires at set times; null for any other, and for what is no such time.
 * @param {string} trigger
 */
export function scheduleOf(trigger) {
  const [at, ...words] = trigger.trim().split(/\s+/);
  if (at !== "at" || words.length < 5 || words.length > 6) return null;
  const cron = words.slice(0, 5);
  const fields = cron.map((text, i) => numbersOf(text, FIELDS[i]));
  const [minutes, hours, days, months, weekdays] = fields;
  if (!minutes || !hours || !days || !months || !weekdays) return null;
  if (weekdays.has(7)) weekdays.add(0);
  const isEither = !cron[2].startsWith("*") && !cron[4].startsWith("*");
  return { zone: words[5] ?? "", minutes, hours, days, months, weekdays, isEither };
}

/** The zone of whoever looks at the page. */
export const viewerZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/**
 * A trigger with a zone, if it is a time without one.
 * @param {string} trigger
 * @param {string} zone
 */
export function withZone(trigger, zone) {
  return scheduleOf(trigger)?.zone === "" ? `${trigger.trim()} ${zone}` : trigger;
}

/**
 * What a clock on the wall of a zone shows at a moment; null for a zone that is not known here.
 * @param {string} zone
 * @returns {((ms: number) => {month: number, day: number, weekday: number, hour: number, minute: number})|null}
 */
function clockOf(zone) {
  const [, sign, hours, minutes = "0"] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  if (sign || zone === "" || zone === "Z") {
    const shift = sign ? (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS : 0;
    return (ms) => {
      const date = new Date(ms + shift);
      return {
        month: date.getUTCMonth() + 1,
        day: date.getUTCDate(),
        weekday: date.getUTCDay(),
        hour: date.getUTCHours(),
        minute: date.getUTCMinutes(),
      };
    };
  }
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      weekday: "short",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
    return (ms) => {
      /** @type {Record<string, string>} */
      const parts = {};
      for (const { type, value } of format.formatToParts(ms)) parts[type] = value;
      return {
        month: Number(parts.month),
        day: Number(parts.day),
        weekday: WEEKDAYS.indexOf(parts.weekday.toLowerCase()),
        hour: Number(parts.hour),
        minute: Number(parts.minute),
      };
    };
  } catch {
    return null;
  }
}

/**
 * When a schedule fires next, in ms since 1970; null where no such time comes, or its zone is not known here. An hour that a zone
 * leaves out is left out, and one that comes twice counts twice.
 * @param {NonNullable<ReturnType<typeof scheduleOf>>} schedule
 * @param {number} nowMs
 */
export function nextTime(schedule, nowMs) {
  const clock = clockOf(schedule.zone);
  if (!clock) return null;
  const { minutes, hours, days, months, weekdays, isEither } = schedule;
  let at = (Math.floor(nowMs / MINUTE_MS) + 1) * MINUTE_MS;
  for (let step = 0; step < MOST_STEPS; step++) {
    const { month, day, weekday, hour, minute } = clock(at);
    const byDay = days.has(day);
    const byWeekday = weekdays.has(weekday);
    if (!months.has(month) || !(isEither ? byDay || byWeekday : byDay && byWeekday)) {
      // Not over midnight: a day may be longer or shorter than others.
      const left = 24 * 60 - hour * 60 - minute;
      at += (left > 180 ? left - 120 : 60 - minute) * MINUTE_MS;
    } else if (!hours.has(hour)) at += (60 - minute) * MINUTE_MS;
    else if (!minutes.has(minute)) at += MINUTE_MS;
    else return at;
  }
  return null;
}

/**
 * When a trigger fires next, as a phrase; empty for one that does not fire at set times.
 * @param {string} trigger
 * @param {number} nowMs
 * @param {(unixNs: number) => string} wall a time in the viewer's zone
 */
export function nextWords(trigger, nowMs, wall) {
  const schedule = scheduleOf(trigger);
  if (!schedule) return "";
  const at = nextTime(schedule, nowMs);
  const zone = schedule.zone === "" ? "in UTC, as no zone is given" : `in the zone ${schedule.zone}`;
  return at === null ? zone : `${zone}; next ${wall(at * 1e6).slice(0, 16)} by your clock (${viewerZone()})`;
}
