// What the library has, as files that the browser saves, and files that are put into it.

import { getBytes, send } from "../lib/api.js";
import { plural } from "../lib/format.js";
import { note, noteError, waitFor } from "../lib/notice.js";
import { saveBlob } from "../lib/save_text.js";
import { archiveOf, filesOf } from "./tar.js";
import { fileNames } from "./library_model.js";

/** @import { LibraryEntryItem } from "../../../api.js" */

/**
 * Saves entries as one archive, with a file for each.
 * @param {LibraryEntryItem[]} items
 */
export async function exportItems(items) {
  const decoder = new TextDecoder();
  const names = fileNames(items);
  try {
    const read = Promise.all(
      items.map(async ({ id }, i) => ({
        name: names[i],
        text: decoder.decode(await getBytes("/api/library/{id}/file", { id })),
      })),
    );
    const files = await waitFor(`Reading ${plural(items.length, "entry", "entries")}`, read);
    saveBlob("bathyscope-library.tar", archiveOf(files, Math.floor(Date.now() / 1000)));
  } catch (error) {
    noteError(error);
  }
}

/**
 * Puts files into the library: each is an exported entry, or an archive of them. Gives the id of the last one.
 * @param {File[]} files
 */
export async function importFiles(files) {
  let last = "";
  for (const file of files) {
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const parts = filesOf(bytes) ?? [{ name: file.name, text: new TextDecoder().decode(bytes) }];
      for (const { name, text } of parts) {
        const kept = await waitFor(`Importing ${name}`, send("POST", "/api/library/import", {}, { text }));
        last = String(kept.id);
        note(`Imported ${kept.name}.`, { ms: 3000 });
      }
    } catch (error) {
      noteError(error);
    }
  }
  return last;
}
