// Captures that are embedded in the program.

import { get, send } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { noteError, showError, waitFor } from "../lib/notice.js";

async function open(name, button) {
  button.disabled = true;
  try {
    const { url } = await waitFor("Opening the sample", send("POST", `/api/samples/${encodeURIComponent(name)}`));
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
      ...items.map((one) =>
        h(
          "li",
          {},
          h("button", {
            type: "button",
            title: one.about,
            text: one.title,
            class: "cut",
            on: { click: (event) => open(one.name, event.currentTarget) },
          }),
        ),
      ),
      items.length === 0 && h("li", { class: "quiet", text: "No samples in this build." }),
    );
  } catch (error) {
    showError(place, error, () => listSamples(place));
  }
}
