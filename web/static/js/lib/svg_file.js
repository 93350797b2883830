// Pictures of the page as files of their own: colours and fonts are written into them, texts stay texts.

import { s } from "./dom.js";
import { tickLabel, ticks } from "./format.js";
import { resolved } from "./color.js";

/** What of its look a part of a picture keeps. */
const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "opacity", "text-anchor"];

/**
 * @param {number} width
 * @param {number} height
 * @param {string} title
 * @param {...import("./dom.js").Child} children
 */
function written(width, height, title, ...children) {
  const ground = resolved(["--bg"])["--bg"];
  const svg = s(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": "sans-serif",
      "font-size": "11",
    },
    s("title", { text: title }),
    s("rect", { width, height, fill: ground }),
    ...children,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
}

/**
 * A copy of what is on the page, one below the other where it is several pictures.
 * @param {{picture: SVGElement, caption: string}[]} pictures
 * @param {string} title
 */
export function svgOf(pictures, title) {
  let below = 0;
  let widest = 0;
  const parts = pictures.map(({ picture, caption }) => {
    const copy = /** @type {SVGElement} */ (picture.cloneNode(true));
    const [from, to] = [picture, copy].map((one) => [...one.querySelectorAll("*")]);
    from.forEach((element, i) => {
      const look = getComputedStyle(element);
      for (const name of KEPT) to[i].setAttribute(name, look.getPropertyValue(name));
      to[i].removeAttribute("class");
    });
    const { width, height } = picture.getBoundingClientRect();
    const head = caption ? 16 : 0;
    const part = s(
      "g",
      { transform: `translate(0 ${below + head})` },
      head > 0 && s("text", { x: 4, y: -4, fill: resolved(["--text"])["--text"], text: caption }),
      ...copy.childNodes,
    );
    below += Math.round(height) + head;
    widest = Math.max(widest, Math.round(width));
    return part;
  });
  return written(widest, below, title, ...parts);
}

/**
 * A chart over time: its parts, with the axis below.
 * @param {{width: number, height: number, base: number, left: number, children: import("./dom.js").Child[], window: {start: number, end: number}}} chart
 * @param {string} title
 */
export function svgOverTime({ width, height, base, left, children, window: { start, end } }, title) {
  const colors = resolved(["--line", "--text-quiet"]);
  const place = (/** @type {number} */ time) => left + ((time - start) / Math.max(1, end - start)) * (width - left);
  const marks = ticks(start, end, Math.max(1, Math.floor((width - left) / 110)));
  return written(
    width,
    height,
    title,
    ...children,
    s("path", { d: `M${left} 0V${base}H${width}`, fill: "none", stroke: colors["--line"] }),
    ...marks.at.map((at) =>
      s("text", {
        x: Math.max(left, Math.min(width - 30, place(at))).toFixed(2),
        y: base + 16,
        "text-anchor": "middle",
        fill: colors["--text-quiet"],
        text: tickLabel(at, marks.step),
      }),
    ),
  );
}
