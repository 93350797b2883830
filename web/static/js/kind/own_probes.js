// Probes that are made for a capture, as Info shows them.

import { h } from "../lib/dom.js";
import { entry } from "../lib/facts.js";
import { kernelLine, probeLines } from "../lib/probe_text.js";

/** @import { DynamicProbe } from "../../../api.js" */

/**
 * Probes that were made for the capture.
 * @param {DynamicProbe[]} dynamic
 */
export function probedEntries(dynamic) {
  return dynamic.flatMap((probe, i) =>
    entry(
      i === 0 ? "Own probes" : "",
      h("code", { text: probeLines([probe])[0] }),
      kernelLine(probe) &&
        h("div", { class: "quiet small" }, "for the kernel ", h("code", { text: kernelLine(probe) })),
    ),
  );
}
