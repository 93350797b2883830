// Building the page. Text only ever becomes text: there is no way in here for a string to become markup.

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {{[E in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[E]) => void}} Listeners */
/** @typedef {Node|string|null|undefined|false} Child strings become text */
/**
 * @typedef {{class?: string|null|false, text?: string|null, on?: Listeners, data?: Record<string, string>,
 *   [attribute: string]: unknown}} Props
 */

/**
 * An element with properties and children. Keys of `props`: `class`, `text`, `on` (listeners by event), `data`
 * (dataset), anything else is an attribute; `true` writes an empty one, `false`, `null` and `undefined` none.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/**
 * @template {HTMLElement|SVGElement} E
 * @param {E} element
 * @param {Props} props
 * @param {Child[]} children
 * @returns {E}
 */
function fill(element, props, children) {
  const { class: classes, text, on, data, ...attributes } = props;
  if (typeof classes === "string") element.setAttribute("class", classes);
  if (text !== null && text !== undefined) element.textContent = text;
  for (const [event, run] of Object.entries(on ?? {}))
    element.addEventListener(event, /** @type {EventListener} */ (run));
  if (data) Object.assign(element.dataset, data);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter(isNode));
  return element;
}

/**
 * Whether a child is one.
 * @param {Child} child
 * @returns {child is Node|string}
 */
const isNode = (child) => child !== null && child !== undefined && child !== false;

/**
 * Prose in which backquotes mark what is code. What has only one stays as it is.
 * @param {string} text
 * @returns {(Node|string)[]}
 */
export function prose(text) {
  const parts = text.split("`");
  return parts.length % 2 ? parts.map((part, i) => (i % 2 ? h("code", { text: part }) : part)) : [text];
}

/**
 * The element with this id; it must exist, and be of this kind.
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @param {new () => T} [kind]
 * @returns {T}
 */
export function byId(id, kind = undefined) {
  const element = document.getElementById(id);
  if (!element || (kind && !(element instanceof kind))) throw new Error(`the page has no such element #${id}`);
  return /** @type {T} */ (element);
}

/**
 * The field of a form with this id.
 * @param {string} id
 * @returns {HTMLInputElement|HTMLSelectElement|HTMLTextAreaElement}
 */
export function fieldOf(id) {
  const field = byId(id);
  if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement || field instanceof HTMLTextAreaElement)
    return field;
  throw new Error(`#${id} is no field`);
}

/**
 * The text field, box or other input with this id.
 * @param {string} id
 */
export const inputOf = (id) => byId(id, HTMLInputElement);

/**
 * The innermost element that an event is in and a selector fits.
 * @param {Event} event
 * @param {string} selector
 * @returns {HTMLElement|null}
 */
export function closest({ target }, selector) {
  return target instanceof Element ? target.closest(selector) : null;
}

/**
 * The first element within another one that a selector fits; there must be one.
 * @param {ParentNode} place
 * @param {string} selector
 * @returns {HTMLElement}
 */
export function within(place, selector) {
  const found = place.querySelector(selector);
  if (!(found instanceof HTMLElement)) throw new Error(`the page has no ${selector}`);
  return found;
}

/**
 * Puts `children` in place of everything in `element`.
 * @param {Element} element
 * @param {...Child} children
 */
export function put(element, ...children) {
  element.replaceChildren(...children.filter(isNode));
}

/**
 * Runs `run` once after `ms` without another call.
 * @template {unknown[]} A
 * @param {number} ms
 * @param {(...args: A) => void} run
 */
export function settled(ms, run) {
  let timer = 0;
  /** @param {A} args as `run` takes them */
  const later = (...args) => {
    clearTimeout(timer);
    timer = setTimeout(run, ms, ...args);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/**
 * Runs `run` at most once a frame.
 * @param {() => void} run
 */
export function framed(run) {
  let asked = 0;
  return () => {
    if (!asked) {
      asked = requestAnimationFrame(() => {
        asked = 0;
        run();
      });
    }
  };
}

/**
 * Copies text and says so. Works on plain HTTP too, where browsers give no clipboard.
 * @param {string} text
 * @returns {Promise<boolean>}
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "offscreen", readonly: true, "aria-hidden": "true" });
    area.value = text;
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    const before = document.activeElement;
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (before instanceof HTMLElement) before.focus();
    return done;
  }
}
