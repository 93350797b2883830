// Server-sent events that behave: one connection while the page is visible, none while it is not (a browser allows six
// to one server, over all tabs), and a reconnect that waits longer each time.

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

/**
 * Listens to `path`.
 * @param {string} path
 * @param {Record<string, (data: any) => void>} handlers by event name; also `connection` with true or false
 * @returns {() => void} ends it
 */
export function listen(path, handlers) {
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
    source = new EventSource(path);
    source.addEventListener("open", () => {
      wait = FIRST_WAIT_MS;
      handlers.connection?.(true);
    });
    source.addEventListener("error", () => {
      handlers.connection?.(false);
      close();
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    });
    for (const [name, handle] of Object.entries(handlers)) {
      if (name !== "connection") source.addEventListener(name, (event) => !ended && handle(parsed(event.data)));
    }
  };
  const visibility = () => (document.hidden ? close() : open());

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

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
