// A series: captures of the same as runs, their key numbers over time, the baseline, and marks.

import { get, send } from "../lib/api.js";
import { csvText } from "../lib/csv.js";
import { byId, h, put } from "../lib/dom.js";
import { duration, exact, lostNumber, plural, wall } from "../lib/format.js";
import { note, noteError, showError, waitFor } from "../lib/notice.js";
import { saveText } from "../lib/save_text.js";
import { exactNumber } from "../lib/compared_words.js";
import { baselineSign, baselineText, keyText, keyValue, runVerdict, tableLines } from "../lib/series_words.js";
import { captureState } from "./capture_state.js";
import { compareAddress } from "./compare_address.js";
import { captureAddress } from "./investigation_words.js";
import { listTable } from "./list_table.js";
import { MOST_CHARTS, readSeries, seriesAddress } from "./series_address.js";
import { SeriesChart } from "./series_chart.js";
import { startShell } from "./shell.js";

/** @import { MarkItem, RunItem, SeriesPage } from "../../../api.js" */

const id = byId("series").dataset.id ?? "";
/** The numbers that somebody chose; none for the usual ones. */
let chosen = readSeries(location.search).keys;
/** @type {SeriesPage|null} */
let page = null;

/**
 * The places of the numbers that are shown.
 * @param {SeriesPage} found
 */
function shownKeys(found) {
  const places = found.keys.flatMap((key, at) => (chosen.includes(key.key) ? [at] : []));
  if (places.length > 0) return places;
  return found.keys.flatMap((key, at) => (key.chosen ? [at] : []));
}

/** @param {string[]} keys */
function choose(keys) {
  chosen = keys.slice(0, MOST_CHARTS);
  history.replaceState(history.state, "", seriesAddress(id, chosen));
  if (page) draw(page);
}

/** @param {SeriesPage} found */
function choices(found) {
  const shown = shownKeys(found);
  const box = (/** @type {number} */ at) => {
    const input = h("input", { type: "checkbox", data: { key: found.keys[at].key } });
    input.checked = shown.includes(at);
    input.disabled = !input.checked && shown.length >= MOST_CHARTS;
    input.addEventListener("change", () => {
      const next = input.checked ? [...shown, at] : shown.filter((one) => one !== at);
      choose(next.map((one) => found.keys[one].key));
      /** @type {HTMLElement|null} */ (
        [...document.querySelectorAll("#series-numbers input")].find(
          (one) => one instanceof HTMLInputElement && one.dataset.key === found.keys[at].key,
        ) ?? null
      )?.focus();
    });
    return h("label", { class: "check" }, input, ` ${keyText(found.keys[at])}`);
  };
  const place = byId("series-numbers", HTMLDetailsElement);
  put(
    place,
    h("summary", { text: `Numbers: ${exact(shown.length)} of ${exact(found.keys.length)} shown` }),
    h("div", { class: "series-choices" }, ...found.keys.map((_key, at) => box(at))),
    found.left_out > 0 && h("p", { class: "quiet", text: `${plural(found.left_out, "more number")} left out.` }),
  );
}

/** @param {SeriesPage} found */
function charts(found) {
  const open = (/** @type {RunItem} */ run) => location.assign(captureAddress(run.id, ""));
  const { runs, marks, baseline } = found;
  const all = shownKeys(found).map((at) => new SeriesChart({ key: found.keys[at], at, runs, marks, baseline, open }));
  put(
    byId("series-charts"),
    ...all.map(({ element }) => element),
    all.length === 0 &&
      h("p", { class: "empty", text: "No run has key numbers yet: they are computed when a capture has ended." }),
  );
}

/**
 * @param {SeriesPage} found
 * @param {RunItem} run
 * @param {number[]} shown
 */
function row(found, run, shown) {
  const isBaseline = run.id === found.baseline;
  const other = found.baseline && !isBaseline ? found.baseline : (found.runs[found.runs.indexOf(run) + 1]?.id ?? null);
  const number = (/** @type {number} */ at) => {
    const one = run.numbers[at];
    if (!one)
      return h("td", {
        class: "num quiet",
        title: run.computed ? "This run has no such number" : "",
        text: run.computed ? "–" : "…",
      });
    const verdict = one.verdict;
    return h(
      "td",
      { class: "num", title: exactNumber(one) },
      keyValue(one.value, found.keys[at]),
      one.name && h("div", { class: "quiet small cut", title: one.name, text: one.name }),
      verdict &&
        h("div", {
          class: `series-verdict verdict-${verdict}`,
          text: `${baselineSign(verdict)} ${baselineText(verdict)}`,
        }),
    );
  };
  const name = async () => {
    try {
      page = await send("PATCH", "/api/series/{series}", { series: id }, { baseline: isBaseline ? null : run.id });
      draw(page);
      note(isBaseline ? "No run is the baseline any more." : "Later runs are compared with this one.", { ms: 3000 });
    } catch (error) {
      noteError(error);
    }
  };
  return h(
    "tr",
    { class: isBaseline ? "is-baseline" : "" },
    h(
      "td",
      { class: "name" },
      h("a", { href: captureAddress(run.id, ""), text: wall(run.started_unix_ns) }),
      isBaseline && h("span", { class: "chip-pin", text: "Baseline" }),
      h("div", { class: "quiet small cut", title: run.title, text: run.title }),
      run.state !== "finished" && h("div", {}, captureState(run.state)),
      run.problem && h("div", { class: "quiet small", text: `No numbers: ${run.problem}` }),
    ),
    h("td", { class: "num", text: duration(run.duration_ns) }),
    h("td", { class: "num", text: exact(run.rows) }),
    h("td", { class: run.lost > 0 || run.lost_at_least ? "num loss" : "num quiet", text: lostNumber(run) }),
    ...shown.map(number),
    h("td", { text: runVerdict(run, found.keys) }),
    h(
      "td",
      { class: "acts" },
      other &&
        h("a", {
          href: compareAddress(other, run.id),
          text: found.baseline && !isBaseline ? "Compare with the baseline" : "Compare with the run before",
        }),
      found.can_change &&
        h("button", {
          type: "button",
          class: "plain",
          "aria-label": `${isBaseline ? "Take back as the baseline" : "Make the baseline"}: ${wall(run.started_unix_ns)}`,
          text: isBaseline ? "Take back" : "Make the baseline",
          on: { click: () => void name() },
        }),
    ),
  );
}

/** @param {SeriesPage} found */
function table(found) {
  const shown = shownKeys(found);
  /** @type {import("./list_table.js").Head[]} */
  const heads = [
    ["Run"],
    ["Lasted", true],
    ["Rows", true],
    ["Lost", true],
    ...shown.map((at) => /** @type {import("./list_table.js").Head} */ ([keyText(found.keys[at]), true])),
    ["Beside the baseline"],
    ["Actions"],
  ];
  const place = byId("series-runs");
  put(
    place,
    listTable(
      heads,
      found.runs.map((run) => row(found, run, shown)),
    ),
  );
  // The arrow keys go from run to run.
  place.querySelector("tbody")?.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !(event.target instanceof HTMLAnchorElement)) return;
    const links = [...place.querySelectorAll("td.name a")];
    const next = links[links.indexOf(event.target) + step];
    if (!(next instanceof HTMLElement)) return;
    event.preventDefault();
    next.focus();
  });
}

/** @param {MarkItem} mark */
async function removeMark(mark) {
  try {
    await send("DELETE", "/api/marks/{mark}", { mark: mark.id });
    await load();
    note(`Removed the mark “${mark.text}”.`, { ms: 3000 });
  } catch (error) {
    noteError(error);
  }
}

/** @param {SeriesPage} found */
function marks(found) {
  const item = (/** @type {MarkItem} */ mark) =>
    h(
      "li",
      {},
      h("span", { class: "quiet", text: `${wall(mark.time_unix_ns)} ` }),
      // The server keeps addresses of the web only; a page of another release could tell another one.
      /^https?:/.test(mark.link) ? h("a", { href: mark.link, rel: "noreferrer noopener", text: mark.text }) : mark.text,
      h("span", { class: "quiet", text: ` by ${mark.author}${mark.host ? `, ${mark.host}` : ""} ` }),
      found.can_change &&
        h("button", {
          type: "button",
          class: "plain",
          "aria-label": `Remove the mark ${mark.text}`,
          text: "Remove",
          on: { click: () => void removeMark(mark) },
        }),
    );
  put(
    byId("series-marks"),
    h("h2", { text: "Marks" }),
    found.marks.length > 0
      ? h("ol", {}, ...found.marks.map(item))
      : h("p", {
          class: "quiet",
          text: "No moment is marked. A deployment is marked here, by bathyscope mark, or with a POST to /api/marks.",
        }),
    found.can_change && markForm(),
  );
}

function markForm() {
  const text = h("input", {
    type: "text",
    maxlength: "256",
    size: "30",
    "aria-label": "What happened",
    placeholder: "What happened",
  });
  const at = h("input", { type: "datetime-local", step: "1", "aria-label": "When; now if it is empty" });
  const link = h("input", {
    type: "text",
    inputmode: "url",
    maxlength: "1024",
    size: "30",
    "aria-label": "Link, if there is one",
    placeholder: "Link",
  });
  const mark = async () => {
    try {
      const time = at.value ? new Date(at.value).getTime() * 1e6 : null;
      await send("POST", "/api/marks", {}, { text: text.value, time_unix_ns: time, link: link.value });
      await load();
    } catch (error) {
      noteError(error);
    }
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void mark();
  };
  return h("form", { class: "row series-mark-form", on: { submit } }, text, at, link, h("button", { text: "Mark" }));
}

/** @param {SeriesPage} found */
function draw(found) {
  document.title = `Runs of ${found.title} · Bathyscope`;
  byId("series-title").textContent = `Runs of ${found.title}`;
  const waiting = found.runs.filter((run) => !run.computed && run.state !== "recording").length;
  put(
    byId("series-about"),
    `${plural(found.runs.length, "run")} on ${found.host}.`,
    waiting > 0 && ` Numbers of ${plural(waiting, "run")} are being computed.`,
    found.runs.length === 1 && " Run the capture again, and its numbers are beside each other here.",
    h(
      "span",
      { class: "row" },
      h("button", {
        type: "button",
        text: "CSV",
        on: { click: () => saveText(`series-${id}.csv`, csvText(tableLines(found.runs, found.keys, found.baseline))) },
      }),
      h("a", {
        class: "button",
        href: `/api/series/${encodeURIComponent(id)}`,
        download: `series-${id}.json`,
        text: "JSON",
      }),
    ),
  );
  choices(found);
  charts(found);
  table(found);
  marks(found);
}

async function load() {
  try {
    page = await waitFor("Reading the runs", get("/api/series/{series}", { series: id }));
    put(byId("series-problem"));
    draw(page);
  } catch (error) {
    showError(byId("series-problem"), error, load);
  }
}

startShell();
if (readSeries(location.search).newer)
  note("This link was made by a later release: some of it may be shown otherwise.");
void load();
