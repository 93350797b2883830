// Building the page. Text only ever becomes text: there is no way in here for a string to become markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element with properties and children. Keys of `props`: `class`, `text`, `on` (listeners by event), `data`
 * (dataset), anything else is an attribute; `true` writes an empty one, `false`, `null` and `undefined` none.
 * @param {string} tag
 * @param {object} [props]
 * @param {...(Node|string|null|undefined|false)} children strings become text
 * @returns {HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {object} [props]
 * @param {...(Node|string)} children
 * @returns {SVGElement}
 */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.setAttribute("class", value);
    else if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, run] of Object.entries(value)) element.addEventListener(event, run);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/**
 * The element with this id; it must exist.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element #${id}`);
  return element;
}

/**
 * Puts `children` in place of everything in `element`.
 * @param {Element} element
 * @param {...(Node|string|null|undefined|false)} children
 */
export function put(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null && child !== undefined && child !== false));
}

/**
 * Runs `run` once after `ms` without another call.
 * @param {number} ms
 * @param {(...args: any[]) => void} run
 */
export function settled(ms, run) {
  let timer = 0;
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
    before?.focus?.();
    return done;
  }
}
