// What recipes and tools need of a host, and what of it the host lacks. Pure.

/** @import { Capability, DescribedHost, Tool } from "../../../api.js" */

/** @typedef {{capabilities: Capability[], hasAgent: boolean, release?: string}} KnownHost */

/** Where tools name what they need otherwise than hosts do. @type {Record<string, string[]>} */
const CAPABILITIES = {
  tracepoint: ["tracepoint"],
  kprobe: ["kprobe", "kprobe_multi", "fentry"],
  uprobe: ["uprobe"],
  usdt: ["uprobe"],
  profile: ["cpu_clock_sampling"],
  software: ["cpu_clock_sampling"],
};

/**
 * Why a host lacks what is needed; empty where it has it.
 * @param {string[]} needs each a capability, or what tools call it
 * @param {KnownHost} host
 */
export function missingOf(needs, { capabilities, hasAgent }) {
  if (!hasAgent) return "There is no agent now.";
  for (const need of needs) {
    const any = CAPABILITIES[need] ?? [need];
    const known = capabilities.filter(({ id }) => any.includes(id));
    if (known.length > 0 && !known.some(({ state }) => state === "available")) return known[0].finding;
  }
  return "";
}

/**
 * What needs are compared with.
 * @param {Pick<DescribedHost, "facts"|"capabilities"|"agent">} host
 * @returns {KnownHost}
 */
export const knownHost = ({ facts, capabilities, agent }) => ({
  capabilities,
  hasAgent: agent.state === "connected",
  release: facts.kernel_release,
});

/**
 * Why a tool does not run on a host; empty where it does.
 * @param {Pick<Tool, "needs"> & Partial<Pick<Tool, "since">>} tool
 * @param {KnownHost} host
 */
export function missingOfTool({ needs, since }, host) {
  const missing = missingOf(needs, host);
  if (missing || !since) return missing;
  const numbers = (/** @type {string} */ text) => text.split(/[.-]/, 2).map(Number);
  const [[major, minor], [own, ownMinor]] = [numbers(since), numbers(host.release ?? "")];
  const isOlder = own < major || (own === major && ownMinor < minor);
  return isOlder ? `Linux ${since} or later is needed, and this is ${host.release}.` : "";
}
