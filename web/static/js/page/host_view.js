// What the host can do, for the start page and the host page.

import { h } from "../lib/dom.js";
import { bytes } from "../lib/format.js";
import { sentence } from "../lib/notice.js";

/** @import { AgentStatus, Capability, HostFacts } from "../../../api.js" */

/** @type {Record<string, string>} */
const STATES = {
  available: "Available",
  missing_privilege: "Missing privilege",
  missing_kernel_feature: "Not in this kernel",
  refused: "Refused by the kernel",
  missing_hardware: "No such hardware",
  unknown: "Not known",
};

/**
 * The state of a capability: a shape and a word.
 * @param {string} state
 */
export function stateChip(state) {
  return h("span", { class: `state state-${state}`, text: STATES[state] ?? state });
}

/**
 * Why nothing can be stored; null where it can.
 * @param {string | null | undefined} trouble
 */
export function troubleNotice(trouble) {
  return trouble
    ? h(
        "div",
        { class: "notice notice-stop", role: "alert" },
        h("p", {}, h("strong", { text: "Nothing can be stored. " }), sentence(trouble)),
      )
    : null;
}

/**
 * What the agent is, in words; null where there is nothing to say.
 * @param {AgentStatus} agent
 * @param {boolean} full also when all is well
 */
export function agentNotice(agent, full = false) {
  if (agent.state === "absent") {
    return h(
      "div",
      { class: "notice notice-stop", role: "status" },
      h(
        "p",
        {},
        h("strong", { text: "No agent: nothing can be recorded. " }),
        agent.message ? `${sentence(agent.message)} ` : "",
        "Stored captures and samples can still be read.",
      ),
    );
  }
  if (agent.state === "restarting") {
    return h(
      "div",
      { class: "notice notice-stop", role: "status" },
      h("p", {}, h("strong", { text: "The agent is restarting. " }), sentence(agent.message)),
    );
  }
  if (agent.simulated) {
    return h(
      "div",
      { class: "notice", role: "status" },
      h("p", {}, h("strong", { text: "Simulated agent. " }), "Events are made up; nothing of this host is observed."),
    );
  }
  return full ? h("p", { text: sentence(agent.message) || "Connected." }) : null;
}

/**
 * Capabilities as a short list: what does not work says why and what to change.
 * @param {Capability[]} capabilities
 */
export function shortCapabilities(capabilities) {
  return h(
    "ul",
    { class: "caps" },
    ...capabilities.map((one) =>
      h(
        "li",
        {},
        h("span", { text: one.title, title: one.purpose }),
        stateChip(one.state),
        h("span", {
          class: "cap-found quiet cut",
          title: one.state === "available" ? one.finding : one.purpose,
          text: one.state === "available" ? one.finding : one.purpose,
        }),
        one.state !== "available" && h("p", { class: "cap-why", text: joined(one.finding, one.remedy) }),
      ),
    ),
  );
}

/**
 * @param {string} finding
 * @param {string} remedy
 */
function joined(finding, remedy) {
  return [finding && !/[.!?]$/.test(finding) ? `${finding}.` : finding, remedy].filter(Boolean).join(" ");
}

/**
 * Capabilities in full, as a table.
 * @param {Capability[]} capabilities
 */
export function fullCapabilities(capabilities) {
  return h(
    "div",
    { class: "scroll-x", tabindex: "0" },
    h(
      "table",
      { class: "list wrap" },
      h(
        "thead",
        {},
        h("tr", {}, ...["Feature", "State", "Finding", "Remedy"].map((text) => h("th", { scope: "col", text }))),
      ),
      h(
        "tbody",
        {},
        ...capabilities.map((one) =>
          h(
            "tr",
            {},
            h("td", {}, h("div", { text: one.title }), h("div", { class: "quiet small", text: one.purpose })),
            h("td", {}, stateChip(one.state)),
            h("td", { text: one.finding }),
            h("td", { text: one.remedy }),
          ),
        ),
      ),
    ),
  );
}

/**
 * Facts of a host as the entries of a definition list.
 * @param {HostFacts} facts
 * @returns {HTMLElement[]}
 */
export function factEntries(facts) {
  /** @type {[name: string, value: string][]} */
  const rows = [
    ["Host name", facts.hostname],
    ["Kernel", [facts.kernel_release, facts.machine].filter(Boolean).join(", ")],
    ["Processors online", facts.cpus ? String(facts.cpus) : ""],
    ["Memory", facts.memory_bytes ? bytes(facts.memory_bytes) : ""],
    ["Boot", facts.boot_id],
    ["Kernel build id", facts.kernel_build_id],
  ];
  return rows
    .filter(([, value]) => value !== "")
    .flatMap(([name, value]) => [
      h("dt", { text: name }),
      h("dd", { class: /id|Boot/.test(name) ? "mono" : "", text: value }),
    ]);
}
