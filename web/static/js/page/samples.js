// Captures that are embedded in the program.

import { get, send } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { noteError, showError, waitFor } from "../lib/notice.js";

/**
 * @param {string} name
 * @param {HTMLButtonElement} button
 */
async function open(name, button) {
  button.disabled = true;
  try {
    const { url } = await waitFor("Opening the sample", send("POST", "/api/samples/{name}", { name }));
    location.assign(url);
  } catch (error) {
    noteError(error);
    button.disabled = false;
  }
}

/**
 * Lists the samples as buttons that open them.
 * @param {Element} place a list
 */
export async function listSamples(place) {
  try {
    const { items } = await get("/api/samples");
    put(
      place,
      ...items.map(({ name, title, about }) => {
        const button = h("button", { type: "button", title: about, text: title, class: "cut" });
        button.addEventListener("click", () => open(name, button));
        return h("li", {}, button);
      }),
      items.length === 0 && h("li", { class: "quiet", text: "No samples in this build." }),
    );
  } catch (error) {
    showError(place, error, () => listSamples(place));
  }
}
