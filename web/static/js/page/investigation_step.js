// A step of an investigation whose capture was started: its view is left in the step's place.

import { get, send } from "../lib/api.js";
import { noteError } from "../lib/notice.js";

/**
 * Leaves the view of a capture in the step that the address names, if it names one. The capture runs whether that works or not.
 * @param {URLSearchParams} asked of the page on which it was started
 * @param {string} capture
 * @param {string} tab at which the capture opens; empty for what is usual
 */
export async function leaveView(asked, capture, tab) {
  const [id, block] = [asked.get("investigation"), asked.get("block")];
  if (!id || !block) return;
  try {
    const page = await get("/api/investigations/{id}", { id });
    const found = page.blocks.find((one) => one.id === block);
    if (!found || found.content.kind !== "step") return;
    const { text, recipe } = found.content;
    const view = tab ? new URLSearchParams({ v: "3", tab }).toString() : "";
    const content = { kind: "step", text, recipe, capture, view };
    await send("PATCH", "/api/investigations/{id}/blocks/{block}", { id, block }, { version: found.version, content });
  } catch (error) {
    noteError(error);
  }
}
