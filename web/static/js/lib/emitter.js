// Something that others listen to, whose events and what they say are known to the check of types.

/**
 * Sends events by name.
 * @template {Record<string, unknown>} Events what is said with each
 */
export class Emitter extends EventTarget {
  /**
   * Sends an event.
   * @template {keyof Events & string} Name
   * @param {Name} name
   * @param {Events[Name]} detail
   */
  emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  /**
   * Listens to an event.
   * @template {keyof Events & string} Name
   * @param {Name} name
   * @param {(detail: Events[Name]) => void} run
   */
  on(name, run) {
    this.addEventListener(name, (event) => run(/** @type {CustomEvent<Events[Name]>} */ (event).detail));
  }
}
