// Requests to the server, with its errors as values that can be shown. What each route answers is in web/api.d.ts.

import { reach } from "./reach.js";

/** @import { Answers, ByteRoute, Failure } from "../../../api.js" */

/** What the server, or the way to it, answered instead of a result. */
export class ApiError extends Error {
  /** @param {Partial<Failure["error"]> & {status?: number, body?: Partial<Failure>}} parts */
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
 * What was thrown, with the parts that errors of the server have.
 * @param {unknown} thrown
 * @returns {ApiError}
 */
export function problemOf(thrown) {
  return thrown instanceof ApiError ? thrown : new ApiError({ why: messageOf(thrown) });
}

/**
 * What was thrown, in words.
 * @param {unknown} thrown
 */
export function messageOf(thrown) {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The element of a page that was saved as a file which holds what the server had answered. */
export const SAVED_DATA = "saved-data";
/** Whether this page was saved as a file: nothing is asked of a server. */
export const IS_SAVED = Boolean(globalThis.document?.getElementById?.(SAVED_DATA));
/** The address below which this page reads, if somebody sees it who has a link and no login; else empty. */
export const SHARE = IS_SAVED
  ? "/s/0000000000000000"
  : ((globalThis.location?.pathname ?? "").match(
      /^\/s\/[0-9a-f]{16}(\/blocks\/[0-9a-f]{16})?(?=\/(captures|investigations)\/)/,
    )?.[0] ?? "");

/**
 * What answers in the place of a server on a page that was saved as a file.
 * @type {{answer: ((path: string) => Promise<Response>)|null,
 *   window: (<W extends {start: number, end: number, width: number}>(path: string, window: W) => W|null)|null}}
 */
export const traffic = { answer: null, window: null };

/** Why something that asks the server is grey on such a page. */
export const NOT_IN_FILE = "This needs Bathyscope: it is not in this file.";
/** Why something is not done on such a page. */
export const NEEDS_LOGIN = IS_SAVED
  ? "A file is read only: this needs Bathyscope."
  : "A share is read only: this needs a login.";

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
 * @param {Record<string, unknown>} params
 */
export function withParams(path, params) {
  const kept = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return kept.length ? `${path}?${new URLSearchParams(kept.map(([name, value]) => [name, String(value)]))}` : path;
}

function notAnswered() {
  return new ApiError({
    kind: "network",
    doing: "Asking the server",
    why: "it does not answer",
    remedy: "Check that Bathyscope still runs and that this computer reaches it.",
  });
}

/**
 * Leaves the page for another one without anybody having asked for it, if the console still answers: else a browser would show a
 * page of its own in the place of all that is in sight.
 * @param {string} path
 */
export async function goTo(path) {
  try {
    await fetch("/healthz", { cache: "no-store" });
  } catch {
    reach.failed();
    throw notAnswered();
  }
  location.assign(path);
}

/**
 * @param {string} path
 * @param {RequestInit} options
 * @returns {Promise<Response>}
 */
async function request(path, options) {
  const isRead = (options.method ?? "GET") === "GET" && path.startsWith(`${SHARE}/`);
  if (SHARE && !isRead) throw new ApiError({ kind: "share", doing: "Asking the server", why: NEEDS_LOGIN });
  let response;
  try {
    response = await (traffic.answer?.(path) ?? fetch(path, { credentials: "same-origin", ...options }));
  } catch (error) {
    if (isAborted(error)) throw error;
    reach.failed();
    throw notAnswered();
  }
  // A proxy answers in the place of a console that does not.
  if (response.status === 502 || response.status === 504) reach.failed();
  else reach.answered();
  if (response.ok) return response;
  if (response.status === 401) {
    const asked = `${location.pathname}${location.search}${location.hash}`;
    await goTo(asked === "/" ? "/login" : withParams("/login", { next: asked }));
    // The page is about to go; nobody waits for this.
    return new Promise(() => {});
  }
  // A page whose subject was deleted meanwhile hears of it, whichever of its parts asked.
  if (response.status === 404) document.dispatchEvent(new CustomEvent("missing", { detail: path }));
  const body = await response.json().catch(() => ({}));
  const why = `the server answered ${response.status}`;
  throw new ApiError({ status: response.status, why, ...(typeof body?.error === "object" ? body.error : {}), body });
}

/** Where a share reads, as its own routes are below its own address. */
const SHARED = /^\/api\/(captures|investigations)\/\{id\}/;

/**
 * The address of a route. What `{…}` in its path stands for is among the parameters; the others go into the query.
 * @param {string} path as in the server's table of routes
 * @param {Record<string, unknown>} params
 */
export function addressOf(path, params) {
  const rest = { ...params };
  const filled = path.replace(/\{(\w+)\}/g, (_all, name) => {
    const value = encodeURIComponent(String(rest[name]));
    delete rest[name];
    return value;
  });
  return withParams(SHARED.test(path) ? SHARE + filled : filled, rest);
}

/**
 * GET, JSON.
 * @template {keyof Answers["GET"]} Path
 * @param {Path} path of the route
 * @param {Record<string, unknown>} [params] as {@link addressOf} takes them
 * @param {AbortSignal} [signal]
 * @returns {Promise<Answers["GET"][Path]>}
 */
export async function get(path, params = {}, signal = undefined) {
  return (await request(addressOf(path, params), { signal, headers: { accept: "application/json" } })).json();
}

/**
 * GET, bytes.
 * @param {ByteRoute} path of the route
 * @param {Record<string, unknown>} [params] as {@link addressOf} takes them
 * @param {AbortSignal} [signal]
 */
export async function getBytes(path, params = {}, signal = undefined) {
  return (await request(addressOf(path, params), { signal })).arrayBuffer();
}

/** What a file lacks, in sentences, as the console says it beside the file. */
const LEFT_OUT = "bathyscope-left-out";

/**
 * GET, a file that the console makes.
 * @param {string} path of the route
 * @param {Record<string, unknown>} params as {@link addressOf} takes them
 * @param {AbortSignal} signal
 * @returns {Promise<{name: string, content: Blob, leftOut: string}>} `leftOut`: what is not in it, in sentences
 */
export async function getFile(path, params, signal) {
  const response = await request(addressOf(path, params), { signal });
  const [, name = "file"] = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "") ?? [];
  return { name, content: await response.blob(), leftOut: response.headers.get(LEFT_OUT) ?? "" };
}

/**
 * POST, PUT, PATCH or DELETE with a JSON body; the answer's JSON, or null where it has none.
 * @template {Exclude<keyof Answers, "GET">} Method
 * @template {keyof Answers[Method] & string} Path
 * @param {Method} method
 * @param {Path} path of the route
 * @param {Record<string, unknown>} [params] as {@link addressOf} takes them
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Answers[Method][Path]>}
 */
export async function send(method, path, params = {}, body = undefined, signal = undefined) {
  const json =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const text = await (await request(addressOf(path, params), { method, signal, ...json })).text();
  return JSON.parse(text || "null");
}

/** Keeps only the newest of several requests for one thing: beginning one gives up the one before. */
export class Latest {
  /** @type {AbortController|null} */
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
