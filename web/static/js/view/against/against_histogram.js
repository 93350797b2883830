// Two histograms in the same buckets: bars of one beside bars of the other, each as shares of its own rows.

import { amount } from "../../lib/amount.js";
import { h, s } from "../../lib/dom.js";
import { exact, percent } from "../../lib/format.js";

/** @import { AgainstHistogram, ShownCell } from "../../../../api.js" */

const HEIGHT = 120;
/** A bucket has two bars and a gap. */
const WIDE = 10;

/**
 * @param {AgainstHistogram} histogram
 * @param {string} unit of the limits
 */
export function countsSvg({ buckets, here, there }, unit) {
  const sum = (/** @type {number[]} */ counts) => counts.reduce((all, one) => all + one, 0);
  const [all, others] = [sum(here), sum(there)];
  const share = (/** @type {number} */ count, /** @type {number} */ of) => (of > 0 ? count / of : 0);
  const most = Math.max(...here.map((one) => share(one, all)), ...there.map((one) => share(one, others)), 1e-9);
  const text = (/** @type {ShownCell} */ limit) => amount(Number(limit), unit);
  const bar = (/** @type {number} */ part, /** @type {number} */ x, /** @type {string} */ of) => {
    const tall = part === 0 ? 0 : Math.max(1, (part / most) * (HEIGHT - 4));
    return s("rect", { class: of, x: String(x), y: String(HEIGHT - tall), width: "4", height: String(tall) });
  };
  const bucket = (/** @type {[ShownCell, ShownCell]} */ [low, high], /** @type {number} */ i) =>
    s(
      "g",
      {},
      s("rect", { class: "against-hit", x: String(i * WIDE), y: "0", width: String(WIDE), height: String(HEIGHT) }),
      bar(share(there[i], others), i * WIDE + 1, "against-there-bar"),
      bar(share(here[i], all), i * WIDE + 5, "against-here-bar"),
      s("title", {
        text: `${text(low)} to below ${text(high)}: there ${exact(there[i])} (${percent(there[i], others)}), here ${exact(here[i])} (${percent(here[i], all)})`,
      }),
    );
  const [first, last] = [buckets[0][0], buckets[buckets.length - 1][1]];
  const label = `Two histograms from ${text(first)} to ${text(last)}: the first bar of a bucket is there, the second here, each as a share of its own ${exact(others)} and ${exact(all)}`;
  return h(
    "figure",
    { class: "against-histogram" },
    s(
      "svg",
      {
        viewBox: `0 0 ${buckets.length * WIDE} ${HEIGHT}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": label,
      },
      ...buckets.map(bucket),
    ),
    h(
      "figcaption",
      { class: "quiet small" },
      h("span", { text: text(first) }),
      h("span", { class: "against-key-there", text: `there, ${exact(others)}` }),
      h("span", { class: "against-key-here", text: `here, ${exact(all)}` }),
      h("span", { text: text(last) }),
    ),
  );
}
