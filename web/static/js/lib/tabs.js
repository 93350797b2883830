// Tabs, as the ARIA pattern says: one of them in the tab order, arrow keys between them.

import { closest } from "./dom.js";

/**
 * Brings a tab list to life.
 * @param {HTMLElement} list with `role=tab` elements, of which hidden ones are left out, that name their panels by `aria-controls`
 * @param {(name: string) => void} chosen called with the part of the tab's id after `tab-`
 * @returns {(name: string) => void} shows a tab without calling `chosen`
 */
export function startTabs(list, chosen) {
  const tabsNow = () => [.../** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll("[role=tab]:not([hidden])"))];
  /** @param {Element} tab */
  const name = (tab) => tab.id.replace(/^tab-/, "");
  /** @param {string} wanted */
  const show = (wanted) => {
    for (const tab of tabsNow()) {
      const selected = name(tab) === wanted;
      tab.setAttribute("aria-selected", String(selected));
      tab.tabIndex = selected ? 0 : -1;
      const panel = document.getElementById(tab.getAttribute("aria-controls") ?? "");
      if (panel) panel.hidden = !selected;
    }
  };
  list.addEventListener("click", (event) => {
    const tab = closest(event, "[role=tab]");
    if (tab) {
      show(name(tab));
      chosen(name(tab));
    }
  });
  list.addEventListener("keydown", (event) => {
    const tabs = tabsNow();
    const at = tabs.findIndex((tab) => tab === event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const tab = tabs[(to + tabs.length) % tabs.length];
    tab.focus();
    show(name(tab));
    chosen(name(tab));
  });
  return show;
}
