// Draws a chart of lanes: boxes, axis, losses, selection.

import { cutText, drawSelection, hatch } from "../../lib/canvas.js";
import { LEVEL, PAD } from "./lanes_model.js";
import { CATEGORIES, category } from "../../lib/color.js";
import { tickLabel, ticks } from "../../lib/format.js";

/** @typedef {{start: number, end: number}} Span */
/** @typedef {{width: number, height: number, place: (time: number) => number}} Room */
/** @typedef {import("./lanes_model.js").LanesModel<import("./lanes_model.js").LanesAnswer>} LanesModel */
/** @typedef {LanesModel["lanes"][number]} PlacedLane */
/**
 * @typedef {object} Model what is drawn
 * @property {Span} shown
 * @property {LanesModel|null} data
 * @property {number} scroll
 * @property {Span[]} losses
 * @property {Span|null} selection
 * @property {import("./lanes_model.js").Spot|null} current
 * @property {((name: number) => boolean)|null} isFound by the index of a name; null where nothing is looked for
 * @property {(lane: number) => string} count what stands beside a lane's name
 * @property {(lane: number, box: number) => number} torn 1 for a box whose end was not recorded, 2 for one without its begin
 */

/** Pixels: the labels on the left, the axis on top. */
export const LABELS = 188;
export const AXIS = 22;
const LEAST_TEXT = 28;

/** Custom properties that are needed. */
export const COLORS = [
  "--bg",
  "--bg-rail",
  "--line",
  "--line-strong",
  "--text",
  "--text-quiet",
  "--accent",
  "--selection",
  "--loss-mark",
  "--on-cat",
  ...Array.from({ length: CATEGORIES }, (_one, i) => `--cat-${i}`),
];

/**
 * Draws everything.
 * @param {import("../../lib/canvas.js").Canvas} canvas
 * @param {Model} model
 */
export function drawChart(canvas, model) {
  const { context: ctx, colors, width, height, ratio, font } = canvas;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.font = font;
  ctx.textBaseline = "middle";
  ctx.fillStyle = colors["--bg"];
  ctx.fillRect(0, 0, width, height);
  const wide = width - LABELS;
  /** @param {number} time */
  const place = (time) => LABELS + ((time - model.shown.start) / (model.shown.end - model.shown.start)) * wide;
  drawGrid(ctx, colors, model, { width, height, place });
  if (model.data) {
    const { isFound } = model;
    const paint = model.data.names.map((name, index) => ({
      fill: colors[`--cat-${category(name)}`],
      name,
      dim: isFound !== null && !isFound(index),
    }));
    for (const [number, lane] of model.data.lanes.entries()) {
      const top = AXIS + lane.top - model.scroll;
      if (top > height || top + lane.height < AXIS) continue;
      ctx.save();
      ctx.beginPath();
      ctx.rect(LABELS, AXIS, wide, height - AXIS);
      ctx.clip();
      drawLane(ctx, colors, {
        lane,
        top,
        place,
        width,
        paint,
        torn: (box) => model.torn(number, box),
        chosen: model.current?.lane === number ? model.current.box : -1,
      });
      ctx.restore();
      drawLabel(ctx, colors, { lane, count: model.count(number), top, width, height });
    }
  }
  drawOverlays(ctx, colors, model, { width, height, place });
  drawAxis(ctx, colors, model, { width, height, place });
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Record<string, string>} colors
 * @param {{lane: PlacedLane, top: number, place: (time: number) => number, width: number, paint: {fill: string, name: string, dim: boolean}[], torn: (box: number) => number, chosen: number}} lane
 */
function drawLane(ctx, colors, { lane, top, place, width, paint, torn, chosen }) {
  const { boxes } = lane;
  let current = null;
  for (let i = 0; i < boxes.start.length; i += 1) {
    const left = place(boxes.start[i]);
    const right = place(boxes.start[i] + boxes.duration[i]);
    if (right < LABELS || left > width) continue;
    const { fill, name, dim } = paint[boxes.name[i]];
    const x = Math.max(LABELS - 2, left);
    // A gap between neighbours, where there is room for one.
    const across = Math.max(1, Math.min(width + 2, right) - x - (right - left > 3 ? 1 : 0));
    const y = top + PAD + boxes.level[i] * LEVEL;
    ctx.globalAlpha = dim ? 0.22 : 1;
    ctx.fillStyle = fill;
    ctx.fillRect(x, y, across, LEVEL - 2);
    const cut = torn(i);
    if (cut !== 0) drawTorn(ctx, colors, { x, y, across, atEnd: cut === 1 });
    if (across >= LEAST_TEXT) {
      ctx.fillStyle = colors["--on-cat"];
      ctx.fillText(cutText(ctx, name, across - 8), x + 4, y + (LEVEL - 2) / 2 + 0.5);
    }
    if (i === chosen) current = { x, y, across };
  }
  ctx.globalAlpha = 1;
  if (current) {
    ctx.strokeStyle = colors["--text"];
    ctx.lineWidth = 2;
    ctx.strokeRect(current.x - 1, current.y - 1, Math.max(3, current.across + 2), LEVEL);
  }
}

/**
 * An end that was not recorded looks torn, so that it is not told by colour.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Record<string, string>} colors
 * @param {{x: number, y: number, across: number, atEnd: boolean}} box
 */
function drawTorn(ctx, colors, { x, y, across, atEnd }) {
  const wide = Math.min(across, 10);
  hatch(ctx, colors["--bg"], atEnd ? x + across - wide : x, y, wide, LEVEL - 2);
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Record<string, string>} colors
 * @param {{lane: PlacedLane, count: string, top: number, width: number, height: number}} label
 */
function drawLabel(ctx, colors, { lane, count, top, width, height }) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, AXIS, LABELS - 8, height - AXIS);
  ctx.clip();
  const room = LABELS - 22 - ctx.measureText(count).width;
  ctx.fillStyle = colors["--text"];
  ctx.fillText(cutText(ctx, lane.label, room), 4, top + PAD + 6);
  ctx.fillStyle = colors["--text-quiet"];
  ctx.fillText(count, LABELS - 14 - ctx.measureText(count).width, top + PAD + 6);
  if (lane.sub) ctx.fillText(cutText(ctx, lane.sub, LABELS - 20), 4, top + PAD + 19);
  ctx.restore();
  ctx.fillStyle = colors["--line"];
  if (top + lane.height >= AXIS) ctx.fillRect(0, Math.round(top + lane.height) - 1, width, 1);
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Record<string, string>} colors
 * @param {Model} model
 * @param {Room} room
 */
function drawGrid(ctx, colors, model, { width, height, place }) {
  const { at } = marks(model, width);
  ctx.fillStyle = colors["--line"];
  ctx.globalAlpha = 0.5;
  for (const time of at) ctx.fillRect(Math.round(place(time)), AXIS, 1, height - AXIS);
  ctx.globalAlpha = 1;
}

/**
 * @param {Model} model
 * @param {number} width
 */
function marks({ shown }, width) {
  return ticks(shown.start, shown.end, Math.max(2, Math.floor((width - LABELS) / 120)));
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Record<string, string>} colors
 * @param {Model} model
 * @param {Room} room
 */
function drawOverlays(ctx, colors, model, { width, height, place }) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(LABELS, 0, width - LABELS, height);
  ctx.clip();
  for (const loss of model.losses) {
    if (loss.end < model.shown.start || loss.start > model.shown.end) continue;
    const left = place(loss.start);
    const across = Math.max(3, place(loss.end) - left);
    ctx.globalAlpha = 0.35;
    hatch(ctx, colors["--loss-mark"], left, AXIS, across, height - AXIS);
    ctx.globalAlpha = 1;
    ctx.fillStyle = colors["--loss-mark"];
    ctx.fillRect(left, AXIS - 3, across, 3);
  }
  if (model.selection)
    drawSelection(ctx, colors, place(model.selection.start), place(model.selection.end), height - AXIS, AXIS);
  ctx.restore();
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Record<string, string>} colors
 * @param {Model} model
 * @param {Room} room
 */
function drawAxis(ctx, colors, model, { width, place }) {
  ctx.fillStyle = colors["--bg"];
  ctx.fillRect(0, 0, width, AXIS - 3);
  const { step, at } = marks(model, width);
  for (const time of at) {
    const x = Math.round(place(time));
    ctx.fillStyle = colors["--line"];
    ctx.fillRect(x, AXIS - 6, 1, 6);
    const label = tickLabel(time, step);
    const size = ctx.measureText(label).width;
    ctx.fillStyle = colors["--text-quiet"];
    ctx.fillText(label, Math.max(LABELS, Math.min(width - size - 6, x - size / 2)), 8);
  }
  ctx.fillStyle = colors["--line"];
  ctx.fillRect(0, AXIS - 1, width, 1);
}
