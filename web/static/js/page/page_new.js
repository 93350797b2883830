// The form for a new capture.

import { get, problemOf, send } from "../lib/api.js";
import { Combobox } from "../lib/combobox.js";
import { CommandForm } from "../new/command_form.js";
import { addCommands } from "../lib/commands.js";
import { byId, fieldOf, h, inputOf, put, within } from "../lib/dom.js";
import { agentNotice, troubleNotice } from "./host_view.js";
import { bind } from "../lib/keys.js";
import { showGraph, startMethods } from "../new/method_forms.js";
import { ProbeBuilder, ProbeText } from "../new/probe_builder.js";
import { errorNotice, noteError, showError, waitFor } from "../lib/notice.js";
import { ProbeEditor } from "../new/probe_editor.js";
import { chooseProcess, processDetail, processList } from "../new/process_choice.js";
import { RecipeForm, usualTarget, withoutTarget } from "../new/recipe_form.js";
import { ScriptForm } from "../new/script_form.js";
import { SourceList } from "../new/source_list.js";
import { startShell } from "./shell.js";
import { emptyForm, formOf, sourcesOf, specOf, startsCommand } from "../lib/spec.js";
import { startTabs } from "../lib/tabs.js";
import { joinWords, splitWords } from "../lib/words.js";

/** @import { GroupsGroup, RecipeView } from "../../../api.js" */
/** @typedef {import("../lib/spec.js").Form} Form */
/** @typedef {Parameters<typeof specOf>[0]["probes"][number]} Probe */

/** Fields of the form by the id of their element; a dot leads into the part of a method. */
/** @type {Record<string, string>} */
const INPUTS = {
  name: "name",
  "source-optional": "optional",
  frequency: "frequency",
  kernel: "kernel",
  user: "user",
  event: "event",
  period: "period",
  delay: "delay",
  "call-graph": "callGraph",
  memory: "memory",
  branches: "branches",
  "sys-calls": "syscalls.calls",
  "sys-outcome": "syscalls.outcome",
  "sys-min": "syscalls.minDuration",
  "sys-min-unit": "syscalls.minUnit",
  "sys-path": "syscalls.path",
  "sys-filter": "syscalls.filter",
  "sys-below": "syscalls.below",
  "sys-below-direct": "syscalls.belowDirect",
  "sys-bytes": "syscalls.stringBytes",
  "sys-fd-paths": "syscalls.fdPaths",
  "sys-signals": "syscalls.signals",
  "sys-stacks": "syscalls.stacks",
  "states-sleep": "states.sleepStacks",
  "states-wake": "states.wakeStacks",
  "trace-tracer": "trace.tracer",
  "trace-functions": "trace.functions",
  "trace-not-functions": "trace.notFunctions",
  "trace-roots": "trace.graphRoots",
  "trace-graph-not": "trace.graphNot",
  "trace-depth": "trace.maxDepth",
  "trace-dynamic": "trace.dynamic",
  "trace-options": "trace.options",
  "trace-clock": "trace.clock",
  "trace-buffer": "trace.bufferKib",
  "trace-overwrite": "trace.overwrite",
  "count-events": "count.events",
  "count-interval": "count.interval",
  "count-interval-unit": "count.intervalUnit",
  "count-per": "count.per",
  "count-cpus": "count.cpus",
  "count-everywhere": "count.everywhere",
  "count-cgroup": "count.cgroup",
  "count-detail": "count.detail",
  "count-dynamic": "count.dynamic",
  "count-delay": "count.delay",
  pid: "pid",
  tids: "tids",
  argv: "argv",
  "run-as": "runAs",
  during: "during",
  children: "children",
  "group-kind": "groupKind",
  group: "group",
  "of-user": "ofUser",
  comm: "comm",
  duration: "duration",
  "duration-unit": "durationUnit",
  "max-events": "maxEvents",
  "max-size": "maxSize",
  "max-size-unit": "maxSizeUnit",
  budget: "budget",
  "over-budget": "overBudget",
  "budget-rows": "budgetRows",
  "budget-bytes": "budgetBytes",
  "budget-agent": "budgetAgent",
  "budget-memory": "budgetMemory",
};

/** Fields that are not of one source: whose events, when it ends, what it may cost. */
const SHARED = /** @type {(keyof Form)[]} */ (
  "name target pid tids argv runAs during children groupKind group ofUser comm duration durationUnit maxEvents maxSize maxSizeUnit budget overBudget budgetRows budgetBytes budgetAgent budgetMemory".split(
    " ",
  )
);

const params = new URLSearchParams(location.search);
/** @type {ProbeEditor[]} */
let editors = [];
/**
 * What the form does not show of a profile.
 * @type {Form["sampling"]}
 */
let sampling = {};
/**
 * What the form does not show of system calls: how they are written.
 * @type {Form["syscalls"]["rest"]}
 */
let calling = {};
const METHODS = ["events", "profile", "syscalls", "states", "trace", "count", "script"];
let method =
  METHODS.find((one) => one === params.get("method")) ??
  (params.has("tool") || params.has("script") ? "script" : "events");
let starting = false;
/** What the edited source is called, where not as its kind is. */
let sourceId = "";
/**
 * The view that the capture opens in; null for the usual one.
 * @type {RecipeView|null}
 */
let opens = null;

startShell();
const traced = startMethods();
const builder = new ProbeBuilder();
const counted = new ProbeText("count-dynamic");
const commandForm = new CommandForm();
const script = new ScriptForm({
  run: start,
  named: (name) => {
    inputOf("name").value = name;
  },
  changed: () => put(byId("problems")),
});
const list = new SourceList({
  read: readSource,
  called: () => ({ id: sourceId || method, method }),
  show: showSource,
  refuse,
});
const recipes = new RecipeForm({ read: readRecipe });
const showTab = startTabs(within(document, ".tabs"), (name) => {
  // Another kind is another source.
  if (name !== method) sourceId = "";
  method = name;
  list.draw();
  if (name === "script") script.show().then(() => script.focus());
  history.replaceState(null, "", `?method=${name}`);
  put(byId("problems"));
});

function target() {
  const chosen = document.querySelector("input[name=target]:checked");
  return chosen instanceof HTMLInputElement ? chosen.value : "system";
}

/**
 * Chooses the target of this name.
 * @param {string} name
 */
function setTarget(name) {
  const choice = document.querySelector(`input[name=target][value=${name}]`);
  if (choice instanceof HTMLInputElement) choice.checked = true;
}

function showTarget() {
  for (const kind of ["process", "thread", "group", "user", "comm"]) byId(`target-${kind}`).hidden = target() !== kind;
  byId("children-line").hidden = !["process", "thread", "command"].includes(target());
  byId("during-line").hidden = target() === "command";
  const starts = startsCommand({ target: target(), during: inputOf("during").checked });
  byId("target-command").hidden = !starts;
  if (starts) commandForm.show();
}

function showWords() {
  const { words, problem, notes } = splitWords(fieldOf("argv").value);
  put(
    byId("argv-words"),
    words.length > 0 &&
      h(
        "div",
        { class: "words", "aria-label": "The command's words" },
        ...words.map((word) => h("code", { text: word === "" ? "(empty)" : word })),
      ),
    problem && h("p", { class: "word-note stop", text: problem }),
    ...notes.map((text) => h("p", { class: "word-note", text })),
  );
}

/**
 * Where the value of an input is in a form.
 * @param {Form} form
 * @param {string} key
 * @returns {[part: Record<string, unknown>, name: string]}
 */
function placeOf(form, key) {
  const [part, name] = key.split(".");
  const parts = /** @type {Record<string, unknown>} */ (form);
  return name ? [/** @type {Record<string, unknown>} */ (parts[part]), name] : [parts, part];
}

/**
 * Fills the inputs; those under "More" are shown where they hold anything unusual.
 * @param {Form} form
 */
function fillInputs(form) {
  const usual = emptyForm();
  for (const more of document.querySelectorAll("details")) if (more.matches(".more")) more.open = false;
  for (const [id, key] of Object.entries(INPUTS)) {
    const input = fieldOf(id);
    const [part, name] = placeOf(form, key);
    if (input instanceof HTMLInputElement && input.type === "checkbox") input.checked = Boolean(part[name]);
    else input.value = String(part[name] ?? "");
    const [usualPart] = placeOf(usual, key);
    const more = input.closest("details.more");
    if (more instanceof HTMLDetailsElement && part[name] !== usualPart[name]) more.open = true;
  }
}

/** @param {Form} form */
function fill(form) {
  fillInputs(form);
  sampling = form.sampling;
  calling = form.syscalls.rest;
  sourceId = form.sourceId;
  for (const editor of editors.splice(0)) editor.element.remove();
  traced.clear();
  for (const event of form.trace.events) traced.add(event);
  showGraph();
  builder.text.filled();
  counted.filled();
  setTarget(form.target);
  method = form.method;
  showTab(method);
  list.draw();
  for (const probe of form.probes) addProbe(probe);
  if (form.script.text) script.fill(form.script);
  if (method === "script") script.show().then(() => script.focus());
  showTarget();
  showWords();
}

function formNow() {
  const form = emptyForm();
  for (const [id, key] of Object.entries(INPUTS)) {
    const input = fieldOf(id);
    const [part, name] = placeOf(form, key);
    part[name] = input instanceof HTMLInputElement && input.type === "checkbox" ? input.checked : input.value;
  }
  form.trace.events = traced.value();
  form.syscalls.rest = calling;
  return {
    ...form,
    sampling,
    sourceId,
    method,
    target: target(),
    probes: editors.map((editor) => editor.value()),
    script: script.value(),
  };
}

/**
 * The source that the form has now, and what is wrong with it.
 * @param {Form} form as it is now
 */
function readSource(form = formNow()) {
  const { spec, problems } = specOf(form, splitWords);
  if (method === "events" && editors.some((editor) => editor.bad))
    problems.push("A condition has an error; the form shows it below the condition.");
  if (method === "events" && editors.some((editor) => !editor.condition))
    problems.push("The fields of a tracepoint could not be read; remove it or try again.");
  if (method === "script") problems.push(...script.problems());
  return { source: spec.sources[0], limits: spec.limits, problems };
}

/** What the form has now for a recipe, of no matter whom. */
function readRecipe() {
  const form = formNow();
  const { source, limits, problems } = readSource(withoutTarget(form));
  return { recipe: { of: usualTarget(form.target), opens, limits, sources: list.all(source) }, problems };
}

/**
 * Puts a source into the form, beside the target and limits that it has.
 * @param {import("../new/source_list.js").Source|null} source null for a new one
 */
function showSource(source) {
  const now = formNow();
  const { target: whose, limits } = specOf(now, splitWords).spec;
  const form = source ? formOf({ sources: [source], target: whose, limits }, joinWords) : { ...emptyForm(), ...now };
  if (!source) {
    const { method: kind, probes, script: text, sourceId: id, optional } = emptyForm();
    Object.assign(form, { method: kind, probes, script: text, sourceId: id, optional });
  }
  // What is typed of target and limits stays, also where it is not whole yet.
  for (const key of SHARED) Object.assign(form, { [key]: now[key] });
  script.setText("");
  fill(form);
  put(byId("problems"));
}

/**
 * Says why nothing was done.
 * @param {string[]} problems
 */
function refuse(problems) {
  put(byId("problems"), h("div", { class: "notice notice-stop" }, ...problems.map((text) => h("p", { text }))));
  byId("problems").scrollIntoView({ block: "nearest" });
}

/** @param {Omit<Probe, "fields"> & {fields: string[]|null}} probe `fields` null ticks all */
function addProbe(probe) {
  const editor = new ProbeEditor(probe, {
    changed: () => {},
    remove: (gone) => {
      editors = editors.filter((one) => one !== gone);
      gone.element.remove();
      byId("add-event").focus();
    },
  });
  editors.push(editor);
  byId("probes").append(editor.element);
}

/** @param {string} name */
function addTracepoint(name) {
  const text = name.trim();
  if (!/^[\w.-]+:[\w.-]+$/.test(text)) return;
  inputOf("add-event").value = "";
  const known = editors.find((one) => one.tracepoint === text);
  if (known) known.element.scrollIntoView({ block: "nearest" });
  else addProbe({ tracepoint: text, fields: null, predicate: "" });
}

/** Puts the id in place of a name, if one process has it; else says which there are. Resolves to whether it can go on. */
async function settleProcess() {
  const input = inputOf("pid");
  const typed = input.value.trim();
  if (target() !== "process" || typed === "" || /^\d+$/.test(typed)) return true;
  const { total, items } = await waitFor("Looking for the process", get("/api/processes", { q: typed, limit: 40 }));
  const choice = chooseProcess(typed, items);
  if (choice.pid !== undefined) {
    input.value = String(choice.pid);
    return true;
  }
  if (choice.several.length === 0)
    put(
      byId("problems"),
      h(
        "div",
        { class: "notice notice-stop", role: "alert" },
        h("p", { text: `No match: no process has “${typed}” in its name.` }),
      ),
    );
  else
    put(
      byId("problems"),
      processList(
        typed,
        choice.several,
        items.length === choice.several.length ? total : choice.several.length,
        (pid) => {
          input.value = String(pid);
          put(byId("problems"));
          byId("start-capture").focus();
        },
      ),
    );
  byId("problems").scrollIntoView({ block: "nearest" });
  byId("problems").querySelector("button")?.focus();
  return false;
}

async function start() {
  if (starting) return;
  try {
    if (!(await settleProcess())) return;
  } catch (error) {
    put(byId("problems"), errorNotice(error));
    return;
  }
  const { source, problems } = readSource();
  if (problems.length) return refuse(problems);
  const { spec } = specOf(formNow(), splitWords);
  spec.sources = list.all(source);
  starting = true;
  const button = byId("start-capture", HTMLButtonElement);
  const label = [...button.childNodes];
  button.disabled = true;
  // At once: attaching the probes can take seconds.
  put(button, h("i", { class: "pulse", "aria-hidden": "true" }), "Starting");
  put(
    byId("problems"),
    h("p", { class: "quiet", role: "status", text: "Attaching the probes. The capture opens when they are." }),
  );
  try {
    const { url } = await waitFor("Attaching the probes", send("POST", "/api/captures", {}, spec));
    location.assign(opens ? `${url}?v=2&tab=${opens}` : url);
  } catch (error) {
    const told = method === "script" && script.refused(error);
    put(
      byId("problems"),
      told
        ? h(
            "div",
            { class: "notice notice-stop" },
            h("p", {}, h("strong", { text: "Not started. " }), "The errors are listed below the script."),
          )
        : errorNotice(error),
    );
    starting = false;
    put(button, ...label);
    button.disabled = false;
  }
}

/**
 * A control group as people know it.
 * @param {GroupsGroup} group
 * @returns {import("../lib/combobox.js").Item}
 */
function groupItem({ path, unit, container }) {
  if (container) {
    const id = container.id.slice(0, 12);
    return {
      label: container.name ?? id,
      detail: container.name && id ? `${container.runtime} ${id}` : container.runtime,
      value: { kind: "container" },
    };
  }
  if (unit && path.endsWith(`/${unit}`)) return { label: unit, detail: path, value: { kind: "unit" } };
  return { label: path, value: { kind: "cgroup" } };
}

/** Fills the form from a filter line of sysdig. */
async function readLine() {
  const [input, help] = [inputOf("sys-line"), byId("sys-line-help")];
  /**
   * @param {string} text
   * @param {boolean} bad
   */
  const say = (text, bad) => {
    help.classList.toggle("stop", bad);
    put(help, text);
    input.setAttribute("aria-invalid", String(bad));
  };
  try {
    const { target: asked, syscalls, notes } = await get("/api/syscalls/filter", { line: input.value });
    const now = formNow();
    const read = formOf(
      { sources: [{ id: "syscalls", method: { syscalls } }], target: asked ?? "system", limits: {} },
      joinWords,
    );
    const { pid, tids, children, groupKind, group, ofUser, comm } = read;
    fillInputs({
      ...now,
      ...{ pid, tids, children, groupKind, group, ofUser, comm },
      syscalls: {
        ...read.syscalls,
        stringBytes: now.syscalls.stringBytes,
        fdPaths: now.syscalls.fdPaths,
        signals: read.syscalls.signals && now.syscalls.signals,
        stacks: now.syscalls.stacks,
      },
    });
    setTarget(read.target);
    showTarget();
    const done = syscalls.filter
      ? "The form is filled from the filter; what the kernel cannot decide is decided before rows are stored."
      : "The form is filled from the filter.";
    say([done, ...notes.map((text) => `${text}.`)].join(" "), false);
  } catch (error) {
    const { why, remedy } = problemOf(error);
    say([why, remedy].filter(Boolean).join(". "), true);
  }
}

function startFields() {
  byId("sys-line").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.ctrlKey) return;
    event.preventDefault();
    readLine();
  });
  const adding = inputOf("add-event");
  new Combobox({
    input: adding,
    firstIsActive: true,
    empty: "No matching tracepoint.",
    source: async (query, signal) => {
      const { total, items } = await get("/api/tracepoints", { q: query.trim(), limit: 40 }, signal);
      return items.map((name, i) => ({
        label: name,
        group: total > items.length && i === 0 ? `${items.length} of ${total}` : undefined,
        value: name,
      }));
    },
    pick: (item) => {
      addTracepoint(item.value);
      adding.focus();
    },
    enter: addTracepoint,
  });
  new Combobox({
    input: inputOf("pid"),
    keepsText: true,
    empty: "No matching process.",
    source: async (query, signal) =>
      (await get("/api/processes", { q: query.trim(), limit: 40 }, signal)).items.map((one) => ({
        label: `${one.pid} ${one.comm}`,
        text: String(one.pid),
        detail: processDetail(one),
        wide: true,
      })),
    pick: () => {},
  });
  new Combobox({
    input: inputOf("of-user"),
    keepsText: true,
    source: async (query, signal) =>
      (await get("/api/users", { q: query.trim() }, signal)).items.map((label) => ({ label })),
    pick: () => {},
  });
  new Combobox({
    input: inputOf("group"),
    keepsText: true,
    empty: "No match.",
    source: async (query, signal) =>
      (await get("/api/groups", { q: query.trim(), limit: 40 }, signal)).items.map(groupItem),
    pick: (item) => {
      fieldOf("group-kind").value = item.value.kind;
    },
  });
  for (const radio of document.querySelectorAll("input[name=target]")) radio.addEventListener("change", showTarget);
  byId("during").addEventListener("change", showTarget);
  byId("argv").addEventListener("input", showWords);
  byId("argv").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.ctrlKey) event.preventDefault();
  });
  byId("new").addEventListener("submit", (event) => {
    event.preventDefault();
    start();
  });
  // Enter in a field must not start something that costs: only the button and Ctrl+Enter do.
  byId("new").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.ctrlKey && event.target instanceof HTMLInputElement) event.preventDefault();
  });
  bind("start", start);
  addCommands({ name: "Start this capture", detail: "Ctrl+Enter", run: start });
}

/** Which parameter of the address fills which input, beside those that need more. */
const FROM_ADDRESS = {
  tracer: "trace-tracer",
  functions: "trace-functions",
  roots: "trace-roots",
  events: "count-events",
  event: "event",
  pid: "pid",
  kind: "group-kind",
  group: "group",
  user: "of-user",
};
/** Targets that the address may choose. */
const TARGETS = ["system", "process", "group", "user"];

/** The form as the address has it: other pages lead here with what they show. */
function prefilled() {
  const form = { ...emptyForm(), method };
  form.target = TARGETS.find((one) => one === params.get("target")) ?? form.target;
  for (const [name, id] of Object.entries(FROM_ADDRESS)) {
    const [part, key] = placeOf(form, INPUTS[id]);
    const given = params.get(name);
    if (given !== null) part[key] = given;
  }
  return form;
}

/**
 * Fills the form from a recipe: its sources and limits, and the target of the address or where it is usually of.
 * @param {string} name
 * @returns {Promise<boolean>} whether there is such a recipe
 */
async function fillRecipe(name) {
  try {
    const { items } = await waitFor("Reading the recipe", get("/api/recipes"));
    const recipe = items.find((one) => one.name === name);
    if (!recipe) {
      put(byId("recipe"), h("p", { class: "notice notice-stop", text: `There is no recipe “${name}”.` }));
      return false;
    }
    const { question, about, needs, cost, of, sources, limits, owner } = recipe;
    list.begin(sources);
    const form = formOf({ name: question, sources, target: "system", limits }, joinWords);
    const given = prefilled();
    const { target: whose, pid, groupKind, group, ofUser } = given;
    Object.assign(form, { target: whose, pid, groupKind, group, ofUser });
    if (!params.has("target")) form.target = of;
    if (owner === null || limits.max_bytes === null) {
      form.maxSize = given.maxSize;
      form.maxSizeUnit = given.maxSizeUnit;
    }
    fill(form);
    opens = recipe.opens;
    if (recipe.can_delete) recipes.fill(name, question);
    put(
      byId("recipe"),
      h("h2", { text: question || name }),
      about && h("p", { class: "prose", text: about }),
      needs && h("p", { class: "quiet small", text: `Needs: ${needs}` }),
      cost && h("p", { class: "quiet small", text: `Costs: ${cost}` }),
      owner !== null && h("p", { class: "quiet small", text: `The recipe ${name}, saved by ${owner}` }),
    );
    if (form.target === "process" && !form.pid) byId("pid").focus();
    if (form.target === "command") byId("argv").focus();
    return true;
  } catch (error) {
    noteError(error);
    return false;
  }
}

/** The source that the address adds to those of an earlier capture, as its form is when it is empty. */
function added() {
  const kind = METHODS.find((one) => one === params.get("add"));
  return kind ? specOf({ ...emptyForm(), method: kind }, splitWords).spec.sources : [];
}

async function first() {
  const from = params.get("from");
  if (from && /^[0-9a-f]{16}$/.test(from)) {
    try {
      const { spec } = await waitFor("Reading the capture to run again", get("/api/captures/{id}", { id: from }));
      list.begin([...sourcesOf(spec), ...added()]);
      fill(formOf(spec, joinWords));
      byId("sys-signals").dataset.chosen = "1";
      return;
    } catch (error) {
      noteError(error);
    }
  }
  const asked = params.get("recipe");
  if (asked !== null && (await fillRecipe(asked))) return;
  fill(prefilled());
  const [tool, text, tracepoint] = ["tool", "script", "tracepoint"].map((name) => params.get(name));
  if (tool !== null) await script.openTool(tool);
  else if (text !== null) script.setText(text);
  else if (tracepoint !== null) addTracepoint(tracepoint);
  else if (method === "events") byId("add-event").focus();
}

async function agent() {
  try {
    const { agent, trouble } = await get("/api/host");
    put(byId("agent"), troubleNotice(trouble), agentNotice(agent));
  } catch (error) {
    showError(byId("agent"), error, agent);
  }
}

startFields();
first();
agent();
