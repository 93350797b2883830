// The one field on top: search over pages, captures and tracepoints; commands after `>`.

import { get } from "./api.js";
import { Combobox } from "./combobox.js";
import { findCommands, mayRecord } from "./commands.js";
import { byId } from "./dom.js";
import { ago, plural } from "./format.js";
import { bind } from "./keys.js";

const PAGES = [
  { label: "Start", path: "/" }, { label: "New capture", path: "/new", records: true },
  { label: "History", path: "/captures" }, { label: "Tools", path: "/tools" }, { label: "Language reference", path: "/language" }, { label: "Host", path: "/host" },
];

const link = (path) => ({ value: () => location.assign(path) });

async function search(query, signal) {
  const text = query.trim();
  if (text.startsWith(">")) {
    return findCommands(text.slice(1)).map((command) => ({ label: command.name, detail: command.detail, plain: true, group: "Commands", value: command.run }));
  }
  const words = text.toLowerCase();
  const pages = PAGES.filter((page) => (!page.records || mayRecord()) && page.label.toLowerCase().includes(words))
    .map((page) => ({ label: page.label, plain: true, group: "Pages", ...link(page.path) }));
  if (!text) return pages;
  const nothing = { items: [] };
  const [captures, tracepoints] = await Promise.all([
    get("/api/captures", { q: text, limit: 6 }, signal),
    // Without an agent there are no tracepoints to find; captures are found all the same.
    mayRecord() ? get("/api/tracepoints", { q: text, limit: 8 }, signal).catch((error) => { if (signal.aborted) throw error; return nothing; }) : nothing,
  ]);
  return [
    ...pages,
    ...captures.items.map((one) => ({
      label: one.title, plain: true, group: "Captures", detail: `${ago(one.started_unix_ns, Date.now())}, ${plural(one.rows, "row")}`, ...link(`/captures/${one.id}`),
    })),
    ...tracepoints.items.map((name) => ({ label: name, detail: "trace it", group: "Tracepoints", ...link(`/new?method=events&tracepoint=${encodeURIComponent(name)}`) })),
  ];
}

/** Brings the omnibox of the frame to life. */
export function startOmnibox() {
  const input = byId("omni");
  const box = new Combobox({
    input, list: byId("omni-list"), source: search, firstIsActive: true, empty: "Nothing found. Type > for commands.",
    pick: (item) => { input.blur(); item.value(); },
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    if (input.value) input.value = "";
    else input.blur();
    box.close();
  });
  const open = (text) => () => {
    input.value = text;
    input.focus();
    input.select();
    if (text) input.setSelectionRange(text.length, text.length);
    box.refresh();
  };
  bind("/", { what: "Search", group: "Everywhere" }, open(""));
  bind("Ctrl+K", { what: "Search", group: "Everywhere", hidden: true, typing: true }, open(""));
  bind(">", { what: "Commands", group: "Everywhere" }, open("> "));
  bind("Ctrl+Shift+P", { what: "Commands", group: "Everywhere", hidden: true, typing: true }, open("> "));
}
