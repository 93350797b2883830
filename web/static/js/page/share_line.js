// The line above what somebody sees by a share: who shared it, until when, and what of it.

import { byId, h, put } from "../lib/dom.js";
import { untilWords } from "./share_words.js";

/** @import { ReadShare } from "../../../api.js" */

/** How often it is asked whether the share still shows something, while the page is in sight. */
const CHECK_MS = 5000;

/**
 * @param {ReadShare} share
 * @param {string} shows what it shows
 * @param {() => void} check asks whether it still does
 * @returns {() => void} says that it shows nothing any more
 */
export function startShareLine({ title, owner, expires_unix_ns: expires }, shows, check) {
  const line = byId("share-line");
  put(line, h("strong", { text: title }), ` · shared by ${owner} ${untilWords(expires)} · read only · shows ${shows}`);
  const timer = setInterval(() => {
    if (document.visibilityState === "visible") check();
  }, CHECK_MS);
  return () => {
    clearInterval(timer);
    line.classList.add("share-over");
  };
}
