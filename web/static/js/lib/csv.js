// Tables as comma-separated values. Pure.

/**
 * Lines as RFC 4180 has them. A text that a spreadsheet would take for a formula gets an apostrophe before it.
 * @param {(number|string)[][]} lines
 */
export function csvText(lines) {
  const written = (/** @type {number|string} */ cell) => {
    const text =
      typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) && !/^-?\d+$/.test(cell) ? `'${cell}` : String(cell);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return lines.map((cells) => `${cells.map(written).join(",")}\r\n`).join("");
}
