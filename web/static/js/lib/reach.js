// Whether the console answers, as all requests and streams of the page have it. Nothing that the page shows of what runs now is
// right while it does not.

import { Emitter } from "./emitter.js";

/** How long nothing answers until it is said: a network is away for a moment, a console is started again. */
const GRACE_MS = 3000;
/** How often it is asked whether it is back. */
const AGAIN_MS = 1500;
/** How long one such question waits. */
const PATIENCE_MS = 4000;

/**
 * Follows whether the console answers. Sends `change`, with whether it does.
 * @extends {Emitter<{change: boolean}>}
 */
export class Reach extends Emitter {
  /** @type {number|null} When it failed first since it answered last, in ms of the wall clock. */
  #failed = null;
  #isAway = false;
  /** @type {(() => Promise<unknown>)|null} */
  #probe = null;
  #timer = 0;

  /**
   * @param {() => number} now in ms of the wall clock
   * @param {(run: () => void, ms: number) => number} later
   */
  constructor(now = Date.now, later = (run, ms) => setTimeout(run, ms)) {
    super();
    this.now = now;
    this.later = later;
  }

  /** When it began not to answer, in ms of the wall clock; null where it answers, as far as is known. */
  get awaySince() {
    return this.#isAway ? this.#failed : null;
  }

  /** It has answered, whatever. */
  answered() {
    this.#failed = null;
    if (!this.#isAway) return;
    this.#isAway = false;
    this.emit("change", true);
  }

  /** It has not answered, or what was connected is not any more. */
  failed() {
    const now = this.now();
    this.#failed ??= now;
    if (!this.#isAway && now - this.#failed >= GRACE_MS) {
      this.#isAway = true;
      this.emit("change", false);
    }
    this.#askLater();
  }

  /**
   * Asks for as long as nothing answers, from the first failure on.
   * @param {(ms: number) => Promise<unknown>} probe asks once; fails where nothing answers within this time
   */
  follow(probe) {
    this.#probe = () => probe(PATIENCE_MS);
  }

  /** Asks now: what should have been heard was not. */
  async ask() {
    if (!this.#probe) return;
    try {
      await this.#probe();
      this.answered();
    } catch {
      this.failed();
    }
  }

  #askLater() {
    if (!this.#probe || this.#timer) return;
    this.#timer = this.later(() => {
      this.#timer = 0;
      if (this.#failed !== null) void this.ask();
    }, AGAIN_MS);
  }
}

/** Of this page. */
export const reach = new Reach();
