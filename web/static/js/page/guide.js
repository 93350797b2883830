// The guided start as a model: which questions a path of answers leads through, and which of the ways at its end work on this host.

import { toolLink } from "../kind/script.js";
import { missingOf, missingOfTool } from "../lib/needs.js";

/** @import { Capability, RecipeItem, Tool } from "../../../api.js" */
/** @typedef {import("./guide_tree.js").Choice} Choice */
/** @typedef {import("./guide_tree.js").Way} Way */
/**
 * @typedef {object} Offer a way as it is offered
 * @property {string} label
 * @property {string} href
 * @property {string} why what it shows
 * @property {string} cost
 * @property {string} missing why it does not work here; empty where it does
 */
/**
 * @typedef {object} GuideHost what is known of the host
 * @property {RecipeItem[]} recipes
 * @property {Tool[]} tools
 * @property {Capability[]} capabilities
 * @property {boolean} hasAgent
 * @property {string} [release] of the kernel
 */

/** Between answers in the address. */
const SEPARATOR = ".";
const HIT_COST =
  "Costs about 0.2 to 1 µs for each hit; the capture shows the measured cost, and its budget ends what becomes too dear.";
const SAMPLE_COST = "Costs about 0.1 % of each CPU at 99 samples a second.";
const COUNT_COST = "Costs next to nothing: counters are read once in each interval.";

/**
 * The questions that the answers of an address lead through, each with its answer; and where that ends. An answer that does not
 * exist ends the path.
 * @param {Choice} tree
 * @param {string} path
 * @returns {{asked: {question: Choice, answer: Choice}[], now: Choice}}
 */
export function walkGuide(tree, path) {
  const asked = [];
  let now = tree;
  for (const id of path.split(SEPARATOR).filter(Boolean)) {
    const answer = now.choices?.find((choice) => choice.id === id);
    if (!answer) break;
    asked.push({ question: now, answer });
    now = answer;
  }
  return { asked, now };
}

/**
 * The address of so many of the answers.
 * @param {{answer: Choice}[]} asked
 */
export const guidePath = (asked) => asked.map(({ answer }) => answer.id).join(SEPARATOR);

/** What commands of the tree cost, by how they begin. @type {[RegExp, string][]} */
const COMMAND_COSTS = [
  [/^perf stat/, COUNT_COST],
  [/^perf record -F/, SAMPLE_COST],
  [/^trace-cmd record -p function/, "Every traced call is recorded, at about 1 µs each: choose few functions."],
];

/** @param {string} text */
const costOf = (text) => COMMAND_COSTS.find(([begin]) => begin.test(text))?.[1] ?? HIT_COST;

/**
 * A way as it is offered on a host; none where the program does not know it.
 * @param {Way} way
 * @param {GuideHost} host
 * @returns {Offer|null}
 */
function offerOf(way, host) {
  const { why } = way;
  const missing = missingOf(way.needs ?? [], host);
  if (way.recipe) {
    const found = host.recipes.find(({ name, owner }) => name === way.recipe && owner === null);
    if (!found) return null;
    return {
      label: found.question,
      href: `/new?recipe=${encodeURIComponent(found.name)}`,
      why,
      cost: found.cost,
      missing: missingOf(["tracepoint"], host),
    };
  }
  if (way.tool) {
    const found = host.tools.find(({ name }) => name === way.tool);
    if (!found) return null;
    return {
      label: `${found.name}: ${found.title}`,
      href: toolLink(found.name),
      why,
      cost: found.needs.includes("profile") ? SAMPLE_COST : HIT_COST,
      missing: missingOfTool(found, host),
    };
  }
  if (way.command) {
    const href = `/new?command=${encodeURIComponent(way.command)}`;
    return { label: way.command, href, why, cost: costOf(way.command), missing };
  }
  return way.page ? { label: way.label ?? way.page, href: way.page, why, cost: "", missing } : null;
}

/**
 * What is offered at the end of a path: first what works on this host, in the order of the tree.
 * @param {Choice} choice
 * @param {GuideHost} host
 * @returns {Offer[]}
 */
export function offersOf(choice, host) {
  const offers = (choice.ways ?? []).map((way) => offerOf(way, host)).filter((offer) => offer !== null);
  return [...offers.filter(({ missing }) => !missing), ...offers.filter(({ missing }) => missing)];
}
