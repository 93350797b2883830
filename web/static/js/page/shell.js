// What every page behind the login does: the rail, the omnibox, the theme, the help.

import { get } from "../lib/api.js";
import { build } from "../kind/build.js";
import { newAddress } from "../kind/table.js";
import { commonCommands } from "./common_commands.js";
import { byId, h, put, settled, within } from "../lib/dom.js";
import { holdsShort, holdsText } from "./flight_words.js";
import { count, permille, rate } from "../lib/format.js";
import { startDrop } from "./import_files.js";
import { bind, listed } from "../lib/keys.js";
import { listen } from "../lib/live.js";
import { startOmnibox } from "./omnibox.js";
import { reach } from "../lib/reach.js";
import { awayWords, startReach } from "./reach_line.js";
import { nextTheme, theme, themeEvents } from "../lib/theme.js";

/** @import { RunningCapture } from "../../../api.js" */

/** @type {Record<string, string>} */
const GO = {
  KeyS: "/",
  KeyN: "/new",
  KeyH: "/captures",
  KeyT: "/tools",
  KeyB: "/library",
  KeyL: "/language",
  KeyI: "/investigations",
  KeyO: "/host",
  KeyC: "/catalog",
  KeyA: "/account",
  KeyP: newAddress(build),
};

/** How long nothing may be heard of what runs, which tells something every second, until it is asked whether there is a console. */
const SILENT_MS = 6000;

/**
 * @param {RunningCapture} item
 * @param {string} away why it is not known what it does
 */
function runningItem(item, away) {
  return h(
    "li",
    {},
    h(
      "a",
      {
        href: `/captures/${encodeURIComponent(item.id)}`,
        class: away && "is-unknown",
        title: away ? `${item.title}: ${away}` : item.title,
      },
      h(
        "span",
        { class: "rail-title" },
        h("i", { class: "pulse", "aria-hidden": "true" }),
        h("span", { class: "cut", text: item.title }),
      ),
      h("span", { class: "rail-facts" }, ...(away ? [h("span", { text: "not known" })] : factsOf(item))),
    ),
  );
}

/** @param {RunningCapture} item */
function factsOf(item) {
  return [
    item.flight && h("span", { title: "Flight recorder: " + holdsText(item.flight), text: holdsShort(item.flight) }),
    h("span", { text: rate(item.rows_per_s) }),
    h("span", {
      title: "Share of one CPU that the probes use",
      text: item.cpu_permille === null || item.cpu_permille === undefined ? "" : `${permille(item.cpu_permille)} CPU`,
    }),
    item.lost > 0 && h("span", { class: "loss", text: `${count(item.lost)} lost` }),
  ];
}

function startRail() {
  const place = byId("running");
  const list = within(place, "ul");
  let leaves = false;
  /** @type {RunningCapture[]} */
  let runs = [];
  const draw = () => {
    place.hidden = runs.length === 0;
    put(list, ...runs.map((item) => runningItem(item, awayWords())));
  };
  const silent = settled(SILENT_MS, () => {
    if (runs.length > 0 && document.visibilityState === "visible") void reach.ask().then(silent);
  });
  reach.on("change", draw);
  // Whoever logs out leaves the page, which ends its stream.
  addEventListener("beforeunload", () => (leaves = true));
  addEventListener("pageshow", () => (leaves = false));
  listen(
    "/api/live",
    {},
    {
      running: ({ items }) => {
        runs = items;
        draw();
        silent();
      },
      // Whoever shows what others write hears of it on the page: one connection serves all.
      written: (detail) => document.dispatchEvent(new CustomEvent("written", { detail })),
    },
    // Where the session has ended, the login follows, which says why.
    (there) => !there && !leaves && get("/api/own").catch(() => {}),
  );
  const button = byId("theme-switch");
  const label = within(button, "span");
  const write = () => {
    label.textContent = `Theme: ${theme()}`;
  };
  button.addEventListener("click", nextTheme);
  themeEvents.addEventListener("change", write);
  write();
}

function startHelp() {
  const dialog = byId("help", HTMLDialogElement);
  const open = () => {
    put(
      byId("help-keys"),
      ...listed().map(({ title, keys }) =>
        h(
          "section",
          {},
          h("h3", { text: title }),
          h(
            "dl",
            { class: "keys" },
            ...keys.flatMap((one) => [
              h(
                "dt",
                {},
                ...one.keys.map((key) => (key === "then" || key === "or" ? ` ${key} ` : h("kbd", { text: key }))),
              ),
              h("dd", { text: one.what }),
            ]),
          ),
        ),
      ),
    );
    dialog.showModal();
  };
  document.getElementById("help-open")?.addEventListener("click", open);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  bind("help", open);
}

function startGoTo() {
  let until = 0;
  bind("go", () => {
    until = performance.now() + 1500;
  });
  document.addEventListener(
    "keydown",
    (event) => {
      if (performance.now() >= until || event.ctrlKey || event.altKey || event.metaKey || !GO[event.code]) return;
      until = 0;
      event.preventDefault();
      event.stopPropagation();
      location.assign(GO[event.code]);
    },
    { capture: true },
  );
}

/** To be called once by every page. */
export function startShell() {
  startReach();
  commonCommands();
  startOmnibox();
  startRail();
  startHelp();
  startGoTo();
  startDrop();
}

/** To be called by pages that people without a login see: nothing leads to other pages. */
export function startSharedShell() {
  startReach();
  startHelp();
}
