// Saves what is drawn of a view as a PNG, as it is seen, with what it is of below it: host, time, range, filter, losses, colours.

import { byId, h } from "../lib/dom.js";
import { resolved } from "../lib/color.js";
import { duration, lostText, plural, wall } from "../lib/format.js";
import { note } from "../lib/notice.js";
import { saveBlob } from "../lib/save_text.js";

/** @import { CaptureContext } from "./capture_context.js" */
/** @typedef {{color: string, text: string}} LegendEntry */

/** A canvas that is smaller is no picture of its own. */
const LEAST_PIXELS = 40;
const LINE = 16;
const MARGIN = 8;
const COLORS = ["--bg", "--text", "--text-quiet"];
const FONT = "12px sans-serif";
const NONE =
  "Nothing of this view is drawn as one picture. A flame graph and a distribution are saved as SVG, and rows by Save as CSV or Markdown.";

/**
 * The lines below a picture. Pure.
 * @param {import("../../../api.js").CapturePage} info
 * @param {{start: number|null, end: number|null, filter: string}} view
 * @returns {string[]}
 */
export function captionOf(info, { start, end, filter }) {
  const host = info.simulated ? "simulated" : `${info.host.hostname}, kernel ${info.host.kernel_release}`;
  const range = start === null || end === null ? "the whole capture" : `${duration(start)} to ${duration(end)}`;
  const losses = info.lost > 0 || info.lost_at_least ? lostText(info) : "no losses";
  return [
    `${info.title} · ${host} · started ${wall(info.started_unix_ns)}`,
    `${range} · ${filter ? `only rows with ${filter}` : "no filter"} · ${losses}`,
  ];
}

/**
 * The canvases of a panel that are in sight.
 * @param {Element} panel
 */
function canvasesOf(panel) {
  const all = [...panel.querySelectorAll("canvas")].map((canvas) => ({ canvas, box: canvas.getBoundingClientRect() }));
  return all.filter(({ box }) => box.width > LEAST_PIXELS && box.height > LEAST_PIXELS);
}

/**
 * What colours mean, where the panel says it.
 * @param {Element} panel
 * @returns {LegendEntry[]}
 */
function legendOf(panel) {
  return [...panel.querySelectorAll(".legend-entry")]
    .filter((entry) => entry.getClientRects().length > 0)
    .map((entry) => ({
      color: getComputedStyle(entry, "::before").backgroundColor,
      text: entry.textContent?.trim() ?? "",
    }));
}

/**
 * Saves the picture.
 * @param {CaptureContext} context
 */
export async function savePicture(context) {
  const panel = byId(`panel-${context.view.tab}`);
  const shown = canvasesOf(panel);
  if (shown.length === 0) {
    note(NONE);
    return;
  }
  const left = Math.min(...shown.map(({ box }) => box.left));
  const top = Math.min(...shown.map(({ box }) => box.top));
  const width = Math.max(...shown.map(({ box }) => box.right)) - left;
  const drawn = Math.max(...shown.map(({ box }) => box.bottom)) - top;
  const legend = legendOf(panel);
  const lines = captionOf(context.info, context.view);
  const below = MARGIN * 2 + LINE * (lines.length + (legend.length > 0 ? 1 : 0));
  const ratio = window.devicePixelRatio;
  const out = h("canvas", { width: Math.ceil(width * ratio), height: Math.ceil((drawn + below) * ratio) });
  const pen = out.getContext("2d");
  if (!pen) throw new Error("this browser gives no canvas to draw on");
  const colors = resolved(COLORS);
  pen.scale(ratio, ratio);
  pen.fillStyle = colors["--bg"];
  pen.fillRect(0, 0, width, drawn + below);
  for (const { canvas, box } of shown) pen.drawImage(canvas, box.left - left, box.top - top, box.width, box.height);
  pen.font = FONT;
  pen.textBaseline = "middle";
  let y = drawn + MARGIN + LINE / 2;
  if (legend.length > 0) {
    drawLegend(pen, legend, y, width, colors);
    y += LINE;
  }
  for (const line of lines) {
    pen.fillStyle = colors["--text-quiet"];
    pen.fillText(line, MARGIN, y, width - 2 * MARGIN);
    y += LINE;
  }
  await download(out, `${context.info.title}-${context.id}-${context.view.tab}`);
}

/**
 * One line of colours and what they mean; what has no place in it is counted.
 * @param {CanvasRenderingContext2D} pen
 * @param {LegendEntry[]} legend
 * @param {number} y its middle
 * @param {number} width
 * @param {Record<string, string>} colors
 */
function drawLegend(pen, legend, y, width, colors) {
  let x = MARGIN;
  for (const [i, { color, text }] of legend.entries()) {
    const wide = 14 + pen.measureText(text).width;
    const rest = plural(legend.length - i, "more colour");
    if (x + wide + MARGIN > width - pen.measureText(rest).width && i < legend.length - 1) {
      pen.fillStyle = colors["--text-quiet"];
      pen.fillText(rest, x, y);
      return;
    }
    pen.fillStyle = color;
    pen.fillRect(x, y - 4, 9, 9);
    pen.fillStyle = colors["--text"];
    pen.fillText(text, x + 14, y);
    x += wide + 2 * MARGIN;
  }
}

/**
 * @param {HTMLCanvasElement} picture
 * @param {string} name
 */
async function download(picture, name) {
  /** @type {Blob|null} */
  const blob = await new Promise((resolve) => picture.toBlob(resolve, "image/png"));
  if (!blob) throw new Error(`this browser makes no picture of ${picture.width} by ${picture.height} pixels`);
  saveBlob(`${name.replace(/[^\w.-]+/g, "_").slice(0, 90)}.png`, blob);
}
