// The line above a capture that somebody sees by a share: who shared it, until when, and what of it.

import { byId, h, put } from "../lib/dom.js";
import { partWords, untilWords } from "./share_words.js";

/** How often it is asked whether the share still shows something, while the page is in sight. */
const CHECK_MS = 5000;

/** @param {import("./capture_context.js").CaptureContext} context */
export function startShareLine(context) {
  const { share } = context.info;
  if (!share) return;
  const line = byId("share-line");
  put(
    line,
    h("strong", { text: share.title }),
    ` · shared by ${share.owner} ${untilWords(share.expires_unix_ns)} · read only · shows ${partWords(share.part)}`,
  );
  const timer = setInterval(() => {
    if (document.visibilityState === "visible") context.check();
  }, CHECK_MS);
  context.on("gone", () => {
    clearInterval(timer);
    line.classList.add("share-over");
  });
}
