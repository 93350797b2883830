// Requests to the server, with its errors as values that can be shown.

/** What the server, or the way to it, answered instead of a result. */
export class ApiError extends Error {
  /** @param {{status?: number, kind?: string, doing?: string, why?: string, remedy?: string, request_id?: string, body?: object}} parts */
  constructor(parts) {
    super([parts.doing, parts.why].filter(Boolean).join(": ") || "The request failed");
    this.status = parts.status ?? 0;
    this.kind = parts.kind ?? "";
    this.doing = parts.doing ?? "";
    this.why = parts.why ?? "";
    this.remedy = parts.remedy ?? "";
    this.requestId = parts.request_id ?? "";
    /** Everything else that the server answered. */
    this.body = parts.body ?? {};
  }
}

/**
 * Whether an error only says that the request was given up here.
 * @param {unknown} error
 */
export function isAborted(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

/**
 * A path with a query string; parts that are null, undefined or empty are left out.
 * @param {string} path
 * @param {Record<string, any>} params
 */
export function withParams(path, params) {
  const kept = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return kept.length ? `${path}?${new URLSearchParams(kept.map(([name, value]) => [name, String(value)]))}` : path;
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (isAborted(error)) throw error;
    throw new ApiError({
      kind: "network",
      doing: "Asking the server",
      why: "it does not answer",
      remedy: "Check that Bathyscope still runs and that this computer reaches it.",
    });
  }
  if (response.ok) return response;
  if (response.status === 401) {
    const asked = `${location.pathname}${location.search}${location.hash}`;
    location.assign(asked === "/" ? "/login" : withParams("/login", { next: asked }));
    // The page is about to go; nobody waits for this.
    return new Promise(() => {});
  }
  // A page whose subject was deleted meanwhile hears of it, whichever of its parts asked.
  if (response.status === 404) document.dispatchEvent(new CustomEvent("missing", { detail: path }));
  const body = await response.json().catch(() => ({}));
  const why = `the server answered ${response.status}`;
  throw new ApiError({ status: response.status, why, ...(typeof body?.error === "object" ? body.error : {}), body });
}

/**
 * GET, JSON.
 * @param {string} path
 * @param {Record<string, any>} [params]
 * @param {AbortSignal} [signal]
 */
export async function get(path, params = {}, signal = undefined) {
  return (await request(withParams(path, params), { signal, headers: { accept: "application/json" } })).json();
}

/**
 * GET, bytes.
 * @param {string} path
 * @param {Record<string, any>} [params]
 * @param {AbortSignal} [signal]
 */
export async function getBytes(path, params = {}, signal = undefined) {
  return (await request(withParams(path, params), { signal })).arrayBuffer();
}

/**
 * POST, PATCH or DELETE with a JSON body; the answer's JSON, or null where it has none.
 * @param {string} method
 * @param {string} path
 * @param {any} [body]
 * @param {AbortSignal} [signal]
 */
export async function send(method, path, body = undefined, signal = undefined) {
  const json =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const text = await (await request(path, { method, signal, ...json })).text();
  return text ? JSON.parse(text) : null;
}

/** Keeps only the newest of several requests for one thing: beginning one gives up the one before. */
export class Latest {
  #controller = null;

  /**
   * Runs `ask` with a signal. Resolves to undefined where a later call has taken its place.
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} ask
   * @returns {Promise<T|undefined>}
   */
  async run(ask) {
    this.#controller?.abort();
    const mine = new AbortController();
    this.#controller = mine;
    try {
      const result = await ask(mine.signal);
      return this.#controller === mine ? result : undefined;
    } catch (error) {
      if (isAborted(error) || this.#controller !== mine) return undefined;
      throw error;
    }
  }

  /** Gives up what is under way. */
  cancel() {
    this.#controller?.abort();
    this.#controller = null;
  }
}
