// The one field on top: search over pages, captures and everything that can be traced; commands after `>`.

import { get, send } from "../lib/api.js";
import { formatAddress } from "./catalog_address.js";
import { Combobox } from "../lib/combobox.js";
import { build } from "../kind/build.js";
import { tracepointAddress } from "../kind/events.js";
import { newAddress } from "../kind/table.js";
import { findCommands, mayRecord } from "../lib/commands.js";
import {
  completedText,
  isCommand,
  isMisspelled,
  offersOf,
  partsOf,
  storedAddress,
  tabOf,
  toldOfProbes,
} from "./command_answer.js";
import { byId, h, inputOf } from "../lib/dom.js";
import { ago, exact, plural } from "../lib/format.js";
import { bind } from "../lib/keys.js";
import { note, noteError, waitFor } from "../lib/notice.js";

/** @import { ExplainedText, StoredView, WireItem } from "../../../api.js" */
/** @typedef {import("../lib/combobox.js").Item} Item */

const PAGES = [
  { label: "Start", path: "/" },
  { label: "New capture", path: "/new", records: true },
  { label: "Probe builder", path: newAddress(build), records: true },
  { label: "History", path: "/captures" },
  { label: "Catalogue", path: "/catalog", records: true },
  { label: "Tools", path: "/tools" },
  { label: "Library", path: "/library" },
  { label: "Investigations", path: "/investigations" },
  { label: "Language reference", path: "/language" },
  { label: "API reference", path: "/api-reference" },
  { label: "Host", path: "/host" },
];

/** @param {string} path */
const link = (path) => ({ value: () => location.assign(path) });

/**
 * A tracepoint can be traced at once; of the others is shown what they are first.
 * @param {WireItem} item
 * @param {string} text
 */
function toEntry({ kind, name, raw, in: within }, text) {
  if (kind === "tracepoint") return tracepointAddress(name);
  return `/catalog${formatAddress({ q: text, kind: "", within: "", entry: { kind, name: raw ?? name, within: within ?? "" } })}`;
}

/** Lines that were pasted, and what the field shows for them: it has one line. */
let pasted = { shown: "", text: "" };

/**
 * The command that was explained last; nothing where the text is none.
 * @type {{text: string, answer: ExplainedText}|null}
 */
let explained = null;

/**
 * What a command of another tool asks for; nothing for a text that has no tool in it.
 * @param {string} text
 * @param {AbortSignal} signal
 * @returns {Promise<Item[]>}
 */
async function commands(text, signal) {
  if (text.length < 2) return [];
  const [answer, words] = await Promise.all([
    send("POST", "/api/commands/explain", {}, { text }, signal),
    completions(text, signal),
  ]);
  const isKnown = isCommand(answer);
  if (!isKnown && !isMisspelled(text, answer)) return words;
  if (isKnown) explained = { text, answer };
  const offers = offersOf(text, answer, mayRecord()).map(({ label, detail, path, probes, stored }) => ({
    label,
    detail,
    plain: true,
    wraps: true,
    group: "Command",
    ...(path ? link(path) : { value: () => (stored ? openStored(stored) : probes && changeProbes(probes)) }),
  }));
  return [...offers, ...words];
}

/**
 * Opens the newest capture with what a command asks of it.
 * @param {StoredView} stored
 */
async function openStored(stored) {
  try {
    const { items } = await get("/api/captures", { limit: 1 });
    if (items.length === 0) {
      note("There are no captures yet.");
      return;
    }
    const [{ id }] = items;
    const { streams } = await get("/api/captures/{id}", { id });
    const { path, left } = storedAddress(stored, id, streams);
    if (left > 0) note("Only the conditions on the first event are taken along: rows are of one event at a time.");
    location.assign(path);
  } catch (error) {
    noteError(error);
  }
}

/** How many words are offered beside what is understood. */
const MOST_WORDS = 12;

/**
 * What the word at the caret may become.
 * @param {string} text as it is typed; lines that were pasted are not completed
 * @param {AbortSignal} signal
 * @returns {Promise<Item[]>}
 */
async function completions(text, signal) {
  const input = inputOf("omni");
  const typed = input.value;
  const caret = input.selectionEnd ?? typed.length;
  if (!mayRecord() || typed.trim() !== text || !typed.slice(0, caret).trim()) return [];
  const at = new TextEncoder().encode(typed.slice(0, caret)).length;
  try {
    const { items, ...place } = await send("POST", "/api/commands/complete", {}, { text: typed, at }, signal);
    return items.slice(0, MOST_WORDS).map(({ text: word, label, detail }) => ({
      label,
      detail,
      wide: true,
      group: "Tab completes",
      fills: completedText(typed, place, word),
    }));
  } catch (error) {
    if (signal.aborted) throw error;
    // What is understood is of more use than why names are not known.
    return [];
  }
}

/**
 * Keeps and deletes probes by name; what was deleted can be brought back.
 * @param {NonNullable<ExplainedText["probes"]>} probes
 */
async function changeProbes(probes) {
  try {
    const done = await waitFor("Changing the library", send("POST", "/api/library/probes", {}, probes));
    const [first] = done.added;
    const undo = async () => {
      for (const { id } of done.removed)
        await send("POST", "/api/library/{id}/undelete", { id }).catch((error) => noteError(error));
      note(`Restored ${plural(done.removed.length, "probe")}.`, { ms: 3000 });
    };
    const action =
      done.removed.length && !done.dry_run
        ? { label: "Undo", run: undo }
        : first && !done.dry_run
          ? {
              label: "Record it",
              run: () => location.assign(`/new?${new URLSearchParams({ command: `perf record -e ${first.name} -a` })}`),
            }
          : {};
    note(toldOfProbes(done), { ...action, ms: 12_000 });
    document.dispatchEvent(new CustomEvent("library"));
  } catch (error) {
    noteError(error);
  }
}

/**
 * @param {string} query
 * @param {AbortSignal} signal
 * @returns {Promise<Item[]>}
 */
async function search(query, signal) {
  const text = query.trim();
  if (text.startsWith(">")) {
    return findCommands(text.slice(1)).map((command) => ({
      label: command.name,
      detail: command.detail,
      plain: true,
      group: "Commands",
      value: command.run,
    }));
  }
  explained = null;
  const asked = query === pasted.shown ? pasted.text : text;
  const understood = text ? await commands(asked, signal) : [];
  // Several words of which one is a tool are a command, and are looked for nowhere else.
  if (explained && /\s/.test(text)) return understood;
  const words = text.toLowerCase();
  const pages = PAGES.filter((page) => (!page.records || mayRecord()) && page.label.toLowerCase().includes(words)).map(
    (page) => ({ label: page.label, plain: true, group: "Pages", ...link(page.path) }),
  );
  if (!text) return pages;
  /** @type {{items: WireItem[], total: number}} */
  const nothing = { items: [], total: 0 };
  const [captures, kept, entries] = await Promise.all([
    get("/api/captures", { q: text, limit: 6 }, signal),
    get("/api/library", { q: text }, signal),
    // Without an agent there is no catalogue; captures are found all the same.
    mayRecord()
      ? get("/api/catalog", { q: text, limit: 10 }, signal).catch((error) => {
          if (signal.aborted) throw error;
          return nothing;
        })
      : nothing,
  ]);
  return [
    ...understood,
    ...pages,
    ...captures.items.map((one) => ({
      label: one.title,
      plain: true,
      group: "Captures",
      detail: `${ago(one.started_unix_ns, Date.now())}, ${plural(one.rows, "row")}`,
      ...link(`/captures/${one.id}`),
    })),
    ...kept.items.slice(0, 6).map((one) => ({
      label: one.name,
      detail: [one.kind, one.description].filter(Boolean).join(", "),
      group: "Library",
      ...link(`/library?${new URLSearchParams({ id: String(one.id) })}`),
    })),
    ...entries.items.map((one) => ({
      label: one.shown ?? one.name,
      detail: one.kind,
      group: "Catalogue",
      ...link(toEntry(one, text)),
    })),
    ...(entries.total > entries.items.length
      ? [
          {
            label: `All ${exact(entries.total)} entries`,
            plain: true,
            group: "Catalogue",
            ...link(`/catalog${formatAddress({ q: text, kind: "", within: "", entry: null })}`),
          },
        ]
      : []),
  ];
}

/** The command in colours. */
function colored() {
  if (!explained) return null;
  const parts = partsOf(explained.text, explained.answer);
  return h("code", {}, ...parts.map(({ text, kind }) => (kind ? h("span", { class: `command-${kind}`, text }) : text)));
}

/**
 * Starts the capture that the command in the box asks for, also before its explanation has come.
 * @param {string} query
 */
async function startAtOnce(query) {
  const text = query === pasted.shown ? pasted.text : query;
  try {
    const answer =
      explained?.text === text ? explained.answer : await send("POST", "/api/commands/explain", {}, { text });
    const { capture } = answer;
    if (!capture || capture.missing || !mayRecord()) return;
    const { url } = await waitFor("Attaching the probes", send("POST", "/api/captures", {}, capture.spec));
    location.assign(`${url}?v=2&tab=${tabOf(capture.opens)}`);
  } catch (error) {
    noteError(error);
  }
}

/** Brings the omnibox of the frame to life. */
export function startOmnibox() {
  const input = inputOf("omni");
  const box = new Combobox({
    input,
    list: byId("omni-list"),
    source: search,
    firstIsActive: true,
    empty: "No match. Type > for commands.",
    head: colored,
    pick: (item) => {
      input.blur();
      item.value();
    },
  });
  input.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain").trim() ?? "";
    if (!text.includes("\n")) return;
    event.preventDefault();
    pasted = { shown: text.split(/\s*\n\s*/).join(" ⏎ "), text };
    input.value = pasted.shown;
    box.refresh();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.ctrlKey && input.value.trim()) {
      event.preventDefault();
      event.stopPropagation();
      startAtOnce(input.value.trim());
      return;
    }
    if (event.key !== "Escape") return;
    event.preventDefault();
    if (input.value) input.value = "";
    else input.blur();
    box.close();
  });
  /** @param {string} text */
  const open = (text) => () => {
    input.value = text;
    input.focus();
    input.select();
    if (text) input.setSelectionRange(text.length, text.length);
    box.refresh();
  };
  bind("search", open(""));
  bind("commands", open("> "));
}
