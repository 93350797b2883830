// A chart of lanes, as the server answers: where its lanes are and which box (a call, or frames of stacks) is where. Pure.

/** Pixels of a level, and around the levels of a lane. */
export const LEVEL = 18;
export const PAD = 6;
const LEAST_LANE = 30;

/** @typedef {{lane: number, box: number}} Spot where a box is */
/**
 * @typedef {object} LaneBoxes columns of one length
 * @property {number[]} start
 * @property {number[]} duration
 * @property {number[]} level
 * @property {number[]} name
 * @property {number[]} more
 */
/** @typedef {{key: string, label: string, sub: string, levels: number, boxes: LaneBoxes}} AnsweredLane */
/** @typedef {{start: number, end: number, names: string[], hidden: number, more_lanes: number, lanes: AnsweredLane[]}} LanesAnswer */

/**
 * The answer of a chart's endpoint, with places.
 * @template {LanesAnswer} Answer
 */
export class LanesModel {
  /** @param {Answer} answer */
  constructor(answer) {
    this.answer = answer;
    this.start = answer.start;
    this.end = answer.end;
    this.names = answer.names;
    this.hidden = answer.hidden;
    this.moreLanes = answer.more_lanes;
    let top = 0;
    this.lanes = answer.lanes.map((lane) => {
      const height = Math.max(LEAST_LANE, lane.levels * LEVEL + PAD * 2);
      const placed = { .../** @type {Answer["lanes"][number]} */ (lane), top, height };
      top += height;
      return placed;
    });
    this.height = top;
  }

  /**
   * The lane at a height, or -1.
   * @param {number} y
   */
  laneAt(y) {
    return this.lanes.findIndex((lane) => y >= lane.top && y < lane.top + lane.height);
  }

  /**
   * The box at a moment and height; `slack` nanoseconds beside it count too, since what is short is hard to hit.
   * @returns {Spot|null}
   * @param {number} time
   * @param {number} y
   * @param {number} slack
   */
  hit(time, y, slack) {
    const lane = this.laneAt(y);
    if (lane < 0) return null;
    const { boxes, top } = this.lanes[lane];
    const level = Math.floor((y - top - PAD) / LEVEL);
    let best = null;
    let away = slack;
    for (let box = 0; box < boxes.start.length; box += 1) {
      if (boxes.level[box] !== level) continue;
      const distance = Math.max(0, boxes.start[box] - time, time - boxes.start[box] - boxes.duration[box]);
      if (distance <= away) {
        best = { lane, box };
        away = distance;
        if (distance === 0) break;
      }
    }
    return best;
  }

  /**
   * The same box of another answer of the same lanes, such as one of another width; null where it is not drawn here.
   * @param {LanesModel<Answer>|null} other
   * @param {Spot|null} spot
   * @returns {Spot|null}
   */
  same(other, spot) {
    if (!other || !spot) return null;
    const { key, boxes } = other.lanes[spot.lane];
    const lane = this.lanes.findIndex((one) => one.key === key);
    if (lane < 0) return null;
    const own = this.lanes[lane].boxes;
    const name = other.names[boxes.name[spot.box]];
    const box = own.start.findIndex(
      (start, at) =>
        start === boxes.start[spot.box] && own.level[at] === boxes.level[spot.box] && this.names[own.name[at]] === name,
    );
    return box < 0 ? null : { lane, box };
  }

  /**
   * The next box of the same lane in a direction: beside on its level, or the one around or within it.
   * @param {Spot} from
   * @param {"left"|"right"|"out"|"in"} where
   * @returns {Spot|null}
   */
  step({ lane, box }, where) {
    const { boxes } = this.lanes[lane];
    const level = boxes.level[box] + { left: 0, right: 0, out: -1, in: 1 }[where];
    const start = boxes.start[box];
    const end = start + boxes.duration[box];
    /** @param {number} other */
    const on = (other) => boxes.level[other] === level;
    if (where === "right")
      for (let other = box + 1; other < boxes.start.length; other += 1) if (on(other)) return { lane, box: other };
    if (where === "left") for (let other = box - 1; other >= 0; other -= 1) if (on(other)) return { lane, box: other };
    if (where === "in")
      for (let other = 0; other < boxes.start.length; other += 1)
        if (on(other) && boxes.start[other] >= start && boxes.start[other] < end) return { lane, box: other };
    if (where === "out")
      for (let other = 0; other < boxes.start.length; other += 1)
        if (on(other) && boxes.start[other] <= start && boxes.start[other] + boxes.duration[other] >= end)
          return { lane, box: other };
    return null;
  }
}
