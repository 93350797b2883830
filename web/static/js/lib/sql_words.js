// Names, texts, tables and ranges of time as SQL writes them. Pure.

/** @param {string} name */
export const sqlName = (name) => `"${name.replaceAll('"', '""')}"`;
/** @param {string} text */
export const sqlText = (text) => `'${text.replaceAll("'", "''")}'`;

/**
 * The table of a stream: its name, with a number where others before it have the same.
 * @param {{name: string}[]} streams
 * @param {number} stream
 */
export function sqlTable(streams, stream) {
  const { name } = streams[stream];
  const same = (/** @type {{name: string}} */ one) => one.name.toLowerCase() === name.toLowerCase();
  const before = streams.slice(0, stream).filter(same).length;
  return sqlName(before === 0 ? name : `${name}#${before + 1}`);
}

/**
 * The condition that a row is in a range: any part of it, or its time where it takes none.
 * @param {{start: number, end: number}} range
 * @param {{duration?: string, isEnd?: boolean}} [row]
 */
export function sqlRange({ start, end }, { duration, isEnd } = {}) {
  if (!duration) return `time >= ${start} and time < ${end}`;
  const took = sqlName(duration);
  return isEnd ? `time - ${took} < ${end} and time > ${start}` : `time < ${end} and time + ${took} > ${start}`;
}

/**
 * How much of a row is in the range.
 * @param {{start: number, end: number}} range
 * @param {{duration: string, isEnd?: boolean}} row
 */
export function sqlInside({ start, end }, { duration, isEnd }) {
  const took = sqlName(duration);
  return `overlap(${isEnd ? `time - ${took}, time` : `time, time + ${took}`}, ${start}, ${end})`;
}
