// The line at the top of a page whose console does not answer. It goes when there is an answer again.

import { IS_SAVED } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { sentence } from "../lib/notice.js";
import { reach } from "../lib/reach.js";
import { wall } from "../lib/format.js";

/**
 * The time of day, in the viewer's zone.
 * @param {number} ms
 */
const timeOfDay = (ms) => wall(ms * 1e6).slice(11);

/** Since when the console does not answer, as a phrase; empty where it does, as far as is known. */
export function awayWords() {
  const since = reach.awaySince;
  return since === null ? "" : `the console does not answer since ${timeOfDay(since)}`;
}

/** @param {number} ms */
async function probe(ms) {
  const { status } = await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(ms) });
  // A proxy answers in the place of a console that does not.
  if (status === 502 || status === 504) throw new Error(`a proxy answered ${status}`);
}

/** To be called once by every page that a console has sent. */
export function startReach() {
  if (IS_SAVED) return;
  const line = h("div", { class: "reach-line", role: "alert" });
  document.getElementById("main")?.prepend(line);
  reach.follow(probe);
  reach.on("change", () => {
    const away = awayWords();
    put(
      line,
      away &&
        h("p", {
          class: "notice notice-stop",
          text: `${sentence(`${away}; trying again`)} The page shows what was read until then.`,
        }),
    );
  });
  document.addEventListener("visibilitychange", () => {
    if (reach.awaySince !== null && document.visibilityState === "visible") void reach.ask();
  });
}
