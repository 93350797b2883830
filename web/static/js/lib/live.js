// Server-sent events that behave: one connection while the page is visible, none while it is not (a browser allows six
// to one server, over all tabs), and a reconnect that waits longer each time.

import { addressOf } from "./api.js";
import { reach } from "./reach.js";

/** @import { Streams } from "../../../api.js" */

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

/**
 * Listens to a stream of events.
 * @template {keyof Streams} Path
 * @param {Path} path of the route
 * @param {Record<string, unknown>} params as {@link addressOf} takes them
 * @param {{[Name in keyof Streams[Path]]?: (data: Streams[Path][Name]) => void}} handlers by event name
 * @param {(there: boolean) => void} [connected] hears whether there is a connection
 * @returns {() => void} ends it
 */
export function listen(path, params, handlers, connected = () => {}) {
  const address = addressOf(path, params);
  /** @type {EventSource|null} */
  let source = null;
  let timer = 0;
  let wait = FIRST_WAIT_MS;
  let ended = false;

  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    if (ended || document.hidden) return;
    const opened = new EventSource(address);
    source = opened;
    opened.addEventListener("open", () => {
      wait = FIRST_WAIT_MS;
      reach.answered();
      connected(true);
    });
    opened.addEventListener("error", () => {
      connected(false);
      close();
      // Why it ended is not told: also where the session is over, or too many streams are open.
      if (reach.awaySince === null) void reach.ask();
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    });
    for (const [name, handle] of /** @type {[string, (data: unknown) => void][]} */ (Object.entries(handlers))) {
      opened.addEventListener(name, (event) => !ended && handle(parsed(event.data)));
    }
  };
  const visibility = () => (document.hidden ? close() : open());

  // Not only when the next try would have been.
  const back = (/** @type {boolean} */ there) => {
    if (!there || ended || source) return;
    wait = FIRST_WAIT_MS;
    open();
  };

  reach.on("change", back);
  document.addEventListener("visibilitychange", visibility);
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", visibility);
  open();
  return () => {
    ended = true;
    close();
    document.removeEventListener("visibilitychange", visibility);
    window.removeEventListener("pagehide", close);
    window.removeEventListener("pageshow", visibility);
  };
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
