// Light, dark, or as the system says.

const KEY = "bathyscope-theme";
const ORDER = ["system", "light", "dark"];

/** Fires `change` when colours are different now, for what is drawn on a canvas. */
export const themeEvents = new EventTarget();

const changed = () => themeEvents.dispatchEvent(new Event("change"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);

/** Which one is chosen. */
export function theme() {
  return document.documentElement.dataset.theme ?? "system";
}

/**
 * Chooses one and keeps the choice in this browser.
 * @param {string} name
 */
export function setTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try {
    localStorage.setItem(KEY, name);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  changed();
}

/** Goes on to the next choice. */
export function nextTheme() {
  setTheme(ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length]);
}
