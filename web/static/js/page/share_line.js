// The line above what somebody sees by a share: who shared it, until when, and what of it.

import { byId, h, put } from "../lib/dom.js";
import { removedWords, untilWords } from "./share_words.js";

/** @import { ReadShare } from "../../../api.js" */

/** How often it is asked whether the share still shows something, while the page is in sight. */
const CHECK_MS = 5000;

/**
 * @param {ReadShare} share
 * @param {string} shows what it shows
 * @param {() => void} check asks whether it still does
 * @returns {() => void} says that it shows nothing any more
 */
export function startShareLine(share, shows, check) {
  const { title, owner, expires_unix_ns: expires } = share;
  const line = byId("share-line");
  const by = owner === "" ? "shared" : `shared by ${owner}`;
  const removed = removedWords(share);
  put(
    line,
    h("strong", { text: title }),
    ` · ${by} ${untilWords(expires)} · read only · shows ${shows}`,
    removed && h("span", { class: "share-removed", text: ` · ${removed}` }),
  );
  const timer = setInterval(() => {
    if (document.visibilityState === "visible") check();
  }, CHECK_MS);
  return () => {
    clearInterval(timer);
    line.classList.add("share-over");
  };
}
