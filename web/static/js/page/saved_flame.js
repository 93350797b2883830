// A flame graph that was saved, zoomed and searched without the server. Pure.

import { MATCH_BELOW, MATCH_SELF, parentsOf } from "../view/flame/flame_nodes.js";

/** @import { FlameDifference, FlameGraph } from "../../../api.js" */

/**
 * The graph as the server would answer it for another focus and another search, as far as it was saved.
 * @param {FlameGraph} whole
 * @param {string} focus the node that fills the width; empty for all
 * @param {string} search text, or a regular expression between two `/`
 * @returns {FlameGraph}
 */
export function focused(whole, focus, search) {
  const marked = { ...whole, ...marks(whole, search) };
  const at = whole.nodes.id.indexOf(focus);
  if (at <= 0) return marked;
  const { nodes } = marked;
  const parents = parentsOf(nodes.depth);
  /** @type {number[]} */
  const kept = [];
  for (let up = parents[at]; up >= 0; up = parents[up]) kept.unshift(up);
  let end = at + 1;
  while (end < nodes.id.length && nodes.depth[end] > nodes.depth[at]) end += 1;
  for (let i = at; i < end; i += 1) kept.push(i);
  /** @template T @param {T[]} column */
  const pick = (column) => kept.map((i) => column[i]);
  const picked = {
    id: pick(nodes.id),
    depth: pick(nodes.depth),
    x: kept.map((i) => (i < at ? 0 : nodes.x[i] - nodes.x[at])),
    value: pick(nodes.value),
    own: pick(nodes.own),
    name: pick(nodes.name),
    kind: pick(nodes.kind),
    module: pick(nodes.module),
    match: pick(nodes.match),
  };
  const matched = matchedIn({ ...marked, nodes: picked }, kept.indexOf(at));
  return { ...marked, nodes: picked, focus, focus_total: nodes.value[at], matched_samples: matched };
}

/**
 * The same of a graph beside another one. Functions are those of all samples whatever is in sight.
 * @param {FlameDifference} whole
 * @param {string} focus
 * @param {string} search
 * @returns {FlameDifference}
 */
export function focusedDifference(whole, focus, search) {
  const graph = focused(whole.graph, focus, search);
  const at = new Map(whole.graph.nodes.id.map((id, i) => [id, i]));
  return { ...whole, graph, other: graph.nodes.id.map((id) => whole.other[at.get(id) ?? 0]) };
}

/**
 * Which names match.
 * @param {string} search
 * @returns {(name: string) => boolean}
 */
function matcher(search) {
  const pattern = /^\/(.+)\/$/.exec(search)?.[1];
  if (pattern === undefined) {
    const wanted = search.toLowerCase();
    return (name) => name.toLowerCase().includes(wanted);
  }
  try {
    const expression = new RegExp(pattern, "i");
    return (name) => expression.test(name);
  } catch {
    return () => false;
  }
}

/**
 * @param {FlameGraph} graph
 * @param {string} search
 */
function marks(graph, search) {
  const { nodes, names } = graph;
  if (search === "") return { nodes: { ...nodes, match: nodes.match.map(() => 0) }, matched_samples: 0 };
  const matches = matcher(search);
  const found = names.map(matches);
  // What was cut away is not known here: nothing is said of it.
  const match = nodes.name.map((name) => (found[name] ? MATCH_SELF : 0));
  const marked = { ...nodes, match };
  return { nodes: marked, matched_samples: matchedIn({ ...graph, nodes: marked }, 0) };
}

/**
 * What the nodes that match add up to, each sample once.
 * @param {FlameGraph} graph
 * @param {number} from the node that it is counted in
 */
function matchedIn({ nodes }, from) {
  let sum = 0;
  for (let i = from; i < nodes.id.length; ) {
    if ((nodes.match[i] & ~MATCH_BELOW) === 0) {
      i += 1;
      continue;
    }
    sum += nodes.value[i];
    const depth = nodes.depth[i];
    do i += 1;
    while (i < nodes.id.length && nodes.depth[i] > depth);
  }
  return sum;
}
