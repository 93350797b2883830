// What a page with a list does: something, which says that it is done or what is wrong, and the list is read again.

import { byId, put } from "../lib/dom.js";
import { note, showError, waitFor } from "../lib/notice.js";

/**
 * The way in which a page does things.
 * @param {string} problem the id of where it is said what is wrong
 * @param {() => Promise<unknown>} load reads the list
 */
export function acting(problem, load) {
  /**
   * @param {string} what is being done
   * @param {() => Promise<unknown>} act
   * @param {string} [done] what is said then
   */
  return async (what, act, done = "") => {
    try {
      await waitFor(what, act());
      if (done) note(done);
      put(byId(problem));
    } catch (error) {
      showError(byId(problem), error);
    }
    await load();
  };
}
