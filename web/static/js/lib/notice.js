// What the page says by itself: errors at their place, short notes at the bottom, and what is being waited for.

import { h, prose, put } from "./dom.js";
import { ApiError, isAborted, problemOf } from "./api.js";

/**
 * An error as a paragraph: what failed, why, what to do.
 * @param {unknown} thrown
 * @param {() => void} [retry] adds a button
 */
export function errorNotice(thrown, retry = undefined) {
  const error = problemOf(thrown);
  const head = error.doing ? `${error.doing.replace(/\.$/, "")}: ${error.why}` : error.why || error.message;
  return h(
    "div",
    { class: "notice notice-stop", role: "alert" },
    h(
      "p",
      {},
      h("strong", { text: "Failed. " }),
      ...prose(sentence(head)),
      ...prose(error.remedy ? ` ${error.remedy}` : ""),
    ),
    error.requestId && h("p", { class: "quiet" }, "Request ", h("code", { text: error.requestId }), " in the log."),
    retry && h("p", {}, h("button", { type: "button", on: { click: retry }, text: "Try again" })),
  );
}

/**
 * A phrase as a sentence: with a capital and a full stop.
 * @param {string} text
 */
export function sentence(text) {
  if (!text) return "";
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

/**
 * Fills `place` with the error, unless the request was only given up.
 * @param {Element} place
 * @param {unknown} error
 * @param {() => void} [retry]
 */
export function showError(place, error, retry = undefined) {
  if (isAborted(error)) return;
  put(place, errorNotice(error, retry));
}

/**
 * A note at the bottom of the page, read out too, for six seconds or as long as its button is needed.
 * @param {string} text
 * @param {{label?: string, run?: () => void, ms?: number, stop?: boolean, isProse?: boolean}} [action] a button on it; `stop` for
 *   failures, `isProse` where backquotes mark what is code
 * @returns {() => void} takes it away
 */
export function note(text, action = {}) {
  let place = document.getElementById("notes");
  if (!place) {
    place = h("div", { id: "notes", class: "notes", role: "status" });
    document.body.append(place);
  }
  const close = () => item.remove();
  const item = h(
    "p",
    { class: action.stop ? "note note-stop" : "note" },
    h("span", {}, ...(action.isProse ? prose(text) : [text])),
    action.label &&
      h("button", {
        type: "button",
        text: action.label,
        on: {
          click: () => {
            close();
            action.run?.();
          },
        },
      }),
  );
  place.append(item);
  setTimeout(close, action.ms ?? 6000);
  return close;
}

/**
 * The same for an error that has no place of its own.
 * @param {unknown} error
 */
export function noteError(error) {
  if (isAborted(error)) return;
  const { message, remedy } = problemOf(error);
  note([message, remedy].filter(Boolean).join(". "), { stop: true, ms: 12000, isProse: true });
}

/**
 * Whether an error says that the filter of rows is wrong, which is told below the filter.
 * @param {unknown} error
 * @param {string} filter as it was asked with
 */
export function isFilterProblem(error, filter) {
  return error instanceof ApiError && error.status === 400 && filter !== "";
}

const waiting = new Map();

function drawProgress() {
  const place = document.getElementById("progress");
  if (!place) return;
  const last = [...waiting.values()].at(-1);
  place.hidden = !last;
  put(
    place,
    last && h("span", { text: last.what }),
    last?.cancel && h("button", { type: "button", class: "plain", text: "Cancel", on: { click: last.cancel } }),
  );
}

/**
 * Shows a thin line with what is being done while `promise` is under way; nothing within the first 100 ms.
 * @template T
 * @param {string} what
 * @param {Promise<T>} promise
 * @param {() => void} [cancel]
 * @returns {Promise<T>}
 */
export async function waitFor(what, promise, cancel = undefined) {
  const key = {};
  const timer = setTimeout(() => {
    waiting.set(key, { what, cancel });
    drawProgress();
  }, 100);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    if (waiting.delete(key)) drawProgress();
  }
}
