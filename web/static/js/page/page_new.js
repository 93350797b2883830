// The form for a new capture.

import { get, send } from "../lib/api.js";
import { Combobox } from "../lib/combobox.js";
import { tabOf } from "./command_answer.js";
import { CommandForm } from "../new/command_form.js";
import { addCommands } from "../lib/commands.js";
import { byId, fieldOf, h, inputOf, put, within } from "../lib/dom.js";
import { agentNotice, troubleNotice } from "./host_view.js";
import { bind } from "../lib/keys.js";
import { KINDS, kindNamed } from "../kind/table.js";
import { startForms } from "../new/forms.js";
import { errorNotice, noteError, showError, waitFor } from "../lib/notice.js";
import { chooseProcess, processDetail, processList } from "../new/process_choice.js";
import { RecipeForm, usualTarget, withoutTarget } from "../new/recipe_form.js";
import { SourceList } from "../new/source_list.js";
import { SameCommands, recipeCommand } from "./same_commands.js";
import { leaveView } from "./investigation_step.js";
import { startShell } from "./shell.js";
import { sourcesOf } from "../lib/spec.js";
import { nextWords } from "../lib/cron_time.js";
import { wall } from "../lib/format.js";
import { flightWords, schedulesIn, zonedTriggers } from "../new/flight_form.js";
import { emptyForm, formOf, specOf, startsCommand } from "../new/spec_form.js";
import { startTabs } from "../lib/tabs.js";
import { joinWords, splitWords } from "../lib/words.js";

/** @import { GroupsGroup, RecipeView } from "../../../api.js" */
/** @import { Form } from "../new/spec_form.js" */

/** Fields of the form by the id of their element; a dot leads into the form of a kind. */
/** @type {Record<string, string>} */
const INPUTS = {
  name: "name",
  "source-optional": "optional",
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
  "high-priority": "highPriority",
  "budget-rows": "budgetRows",
  "budget-bytes": "budgetBytes",
  "budget-agent": "budgetAgent",
  "budget-memory": "budgetMemory",
  flight: "flight",
  "flight-before": "flightBefore",
  "flight-after": "flightAfter",
  "flight-memory": "flightMemory",
  "flight-pause": "flightPause",
  "flight-day": "flightDay",
  "flight-triggers": "flightTriggers",
  "flight-announce": "flightAnnounce",
  ...Object.fromEntries(
    KINDS.flatMap(({ name, fields }) => Object.entries(fields).map(([id, key]) => [id, `${name}.${key}`])),
  ),
};

/** Fields that are not of one source: whose events, when it ends, what it may cost. */
const SHARED = /** @type {(keyof Form)[]} */ (
  "name target pid tids argv runAs during children groupKind group ofUser comm duration durationUnit maxEvents maxSize maxSizeUnit budget overBudget highPriority budgetRows budgetBytes budgetAgent budgetMemory flight flightBefore flightAfter flightMemory flightPause flightDay flightTriggers flightAnnounce".split(
    " ",
  )
);

const params = new URLSearchParams(location.search);
/** The form as it was filled, for what it does not show. */
let filled = emptyForm();
let { name: method } =
  kindNamed(params.get("method")) ??
  KINDS.find(({ meantBy = [] }) => meantBy.some((name) => params.has(name))) ??
  KINDS[0];
let starting = false;
/** Whether a flight recorder was asked for when that was last looked at. */
let wasFlight = false;
/** What the edited source is called, where not as its kind is. */
let sourceId = "";
/**
 * The view that the capture opens in; null for the usual one.
 * @type {RecipeView|null}
 */
let opens = null;

startShell();
const commandForm = new CommandForm();
const forms = startForms({
  form: formNow,
  fill: (form) => {
    fillInputs(form);
    setTarget(form.target);
    showTarget();
  },
  watched: () => {
    const { spec, problems } = specOf({ ...formNow(), during: false }, splitWords);
    return problems.length > 0 || target() === "command" ? "system" : spec.target;
  },
  startsNone: () => {
    const none = "A trial does not start the command.";
    if (target() === "command") return `${none} It recorded the whole system.`;
    return inputOf("during").checked ? none : "";
  },
  start,
  named: (name) => {
    inputOf("name").value = name;
  },
  changed: () => {
    put(byId("problems"));
    same.changed();
  },
});
const list = new SourceList({
  read: readSource,
  called: () => ({ id: sourceId || method, method }),
  show: showSource,
  refuse,
});
const recipes = new RecipeForm({ read: readRecipe });
/** The capture that is run again; empty if none is. */
let runAgain = "";
/** The recipe that the form was filled from, and what it asked for, as JSON. */
let openedRecipe = { name: "", asked: "" };
const same = new SameCommands(wantedCommands);
const showTab = startTabs(within(document, ".tabs"), (name) => {
  // Another kind is another source.
  if (name !== method) sourceId = "";
  method = name;
  list.draw();
  forms.get(name)?.shown?.();
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

/** Which webhooks there are to announce captures to. */
async function showWebhooks() {
  try {
    const { names } = await get("/api/webhooks/names");
    const known = names.length === 0 ? "There is none yet; an admin makes them." : `There are: ${names.join(", ")}.`;
    byId("flight-webhooks").textContent =
      `Names of webhooks, separated by commas: each is told of each capture, with the link to it. ${known}`;
  } catch {
    // The names can be typed all the same, and are checked at the start.
  }
}

/** What belongs to a flight recorder is in sight where one is asked for. */
function showFlight() {
  const form = formNow();
  byId("flight-fields").hidden = !form.flight;
  byId("flight-help").textContent = form.flight ? flightWords(form) : "";
  put(
    byId("flight-next"),
    ...schedulesIn(zonedTriggers(form.flightTriggers)).map((text) =>
      h("p", {}, h("code", { text }), `: ${nextWords(text, Date.now(), wall)}`),
    ),
  );
  byId("duration-help").hidden = form.flight;
  // Its own time limit would end it before anything happens.
  if (form.flight !== wasFlight) {
    const input = inputOf("duration");
    if (form.flight && input.value === emptyForm().duration) input.value = "";
    if (!form.flight && input.value === "") input.value = emptyForm().duration;
    wasFlight = form.flight;
    if (form.flight) void showWebhooks();
  }
}

/**
 * Adds a line to what fires.
 * @param {string} text
 */
function addTrigger(text) {
  const field = fieldOf("flight-triggers");
  field.value = zonedTriggers([field.value.trimEnd(), text].filter(Boolean).join("\n"));
  field.focus();
  showFlight();
  same.changed();
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
 * The form of the kind of this name.
 * @param {Form} form
 * @param {string} name
 */
function formOfKind(form, name) {
  return /** @type {Record<string, Record<string, unknown>>} */ (/** @type {unknown} */ (form))[name];
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
  filled = form;
  sourceId = form.sourceId;
  for (const [name, part] of forms) part.fill?.(formOfKind(form, name));
  setTarget(form.target);
  method = form.method;
  showTab(method);
  list.draw();
  forms.get(method)?.shown?.();
  showTarget();
  showWords();
  wasFlight = form.flight;
  showFlight();
  same.changed();
}

function formNow() {
  const form = emptyForm();
  for (const [id, key] of Object.entries(INPUTS)) {
    const input = fieldOf(id);
    const [part, name] = placeOf(form, key);
    part[name] = input instanceof HTMLInputElement && input.type === "checkbox" ? input.checked : input.value;
  }
  for (const { name, hidden = [] } of KINDS)
    for (const key of hidden) formOfKind(form, name)[key] = formOfKind(filled, name)[key];
  for (const [name, part] of forms) part.read?.(formOfKind(form, name));
  return { ...form, sourceId, method, target: target() };
}

/**
 * The source that the form has now, and what is wrong with it.
 * @param {Form} form as it is now
 */
function readSource(form = formNow()) {
  const { spec, problems } = specOf(form, splitWords);
  problems.push(...(forms.get(method)?.problems?.() ?? []));
  return { source: spec.sources[0], limits: spec.limits, problems };
}

/** What the form has now for a recipe, of no matter whom. */
function readRecipe() {
  const form = formNow();
  const { source, limits, problems } = readSource(withoutTarget(form));
  return { recipe: { of: usualTarget(form.target), opens, limits, sources: list.all(source) }, problems };
}

/** What the form asks for now beside the target, which a recipe does not have, as JSON. */
function askedNow() {
  const { source, limits } = readSource(withoutTarget(formNow()));
  return JSON.stringify([list.all(source), limits]);
}

/** What the form asks for now, for commands that would ask the same. */
function wantedCommands() {
  const { source, problems } = readSource();
  if (problems.length) return { spec: null, problems };
  const { spec } = specOf(formNow(), splitWords);
  spec.sources = list.all(source);
  const { name, asked } = openedRecipe;
  return { spec, more: name ? [recipeCommand(name, spec.target, askedNow() !== asked, joinWords)] : [] };
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
    const empty = emptyForm();
    const { method: kind, sourceId: id, optional } = empty;
    Object.assign(form, { method: kind, sourceId: id, optional });
    for (const { name, beginsEmpty } of KINDS)
      if (beginsEmpty) Object.assign(formOfKind(form, name), formOfKind(empty, name));
  }
  // What is typed of target and limits stays, also where it is not whole yet.
  for (const key of SHARED) Object.assign(form, { [key]: now[key] });
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
    const { id, url } = await waitFor("Attaching the probes", send("POST", "/api/captures", { again: runAgain }, spec));
    const view = opens ?? forms.get(method)?.opens?.() ?? null;
    await leaveView(new URLSearchParams(location.search), id, view ?? "");
    location.assign(view ? `${url}?v=2&tab=${view}` : url);
  } catch (error) {
    const told = forms.get(method)?.refused?.(error) ?? false;
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

function startFields() {
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
  byId("flight-part").addEventListener("input", showFlight);
  // Nobody reads a time without a zone as one of UTC.
  byId("flight-triggers").addEventListener("change", () => {
    const field = fieldOf("flight-triggers");
    field.value = zonedTriggers(field.value);
    showFlight();
  });
  for (const example of document.querySelectorAll("[data-trigger]"))
    if (example instanceof HTMLElement)
      example.addEventListener("click", () => addTrigger(example.dataset.trigger ?? ""));
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

/** Which parameter of the address fills which part of the form, beside those of the kinds. */
const FROM_ADDRESS = { pid: "pid", kind: "groupKind", group: "group", user: "ofUser" };
/** Targets that the address may choose. */
const TARGETS = ["system", "process", "group", "user"];

/** The form as the address has it: other pages lead here with what they show. */
function prefilled() {
  const form = { ...emptyForm(), method };
  form.target = TARGETS.find((one) => one === params.get("target")) ?? form.target;
  const ofKinds = KINDS.flatMap(({ name: kind, parameters = {} }) =>
    Object.entries(parameters).map(([name, key]) => [name, `${kind}.${key}`]),
  );
  for (const [name, place] of [...Object.entries(FROM_ADDRESS), ...ofKinds]) {
    const [part, key] = placeOf(form, place);
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
    openedRecipe = { name, asked: askedNow() };
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

/**
 * Fills the form from a command of another tool.
 * @param {string} text
 * @returns {Promise<boolean>} whether it asks for something that the form has
 */
async function fillCommand(text) {
  try {
    const { words, capture, probes, notes } = await waitFor(
      "Reading the command",
      send("POST", "/api/commands/explain", {}, { text }),
    );
    const spec = capture?.spec ?? (probes?.add.length ? specOfProbes(probes.add) : null);
    put(
      byId("recipe"),
      h("pre", { class: "mono small", text }),
      h("p", { class: spec ? "prose" : "notice notice-stop", text: words }),
      capture && h("p", { class: "quiet small", text: capture.cost }),
      ...notes.map((note) => h("p", { class: "quiet small", text: note.text })),
    );
    if (!spec) return false;
    // A process that is still to be chosen has no id.
    const whose = /** @type {import("../../../api.js").Target} */ ("system");
    const chosen = capture?.missing ? { ...spec, target: whose } : spec;
    list.begin(sourcesOf(chosen));
    const form = formOf(chosen, joinWords);
    if (capture?.missing) form.target = "process";
    fill(form);
    opens = /** @type {RecipeView|null} */ (capture ? tabOf(capture.opens) : null);
    if (capture?.missing) byId("pid").focus();
    return true;
  } catch (error) {
    noteError(error);
    return false;
  }
}

/**
 * A capture that records probes.
 * @param {import("../../../api.js").DynamicProbe[]} dynamic
 */
const specOfProbes = (dynamic) => ({
  name: "",
  sources: [{ id: "trace", method: { trace: { dynamic } } }],
  target: /** @type {import("../../../api.js").Target} */ ("system"),
  limits: {},
});

/** The source that the address adds to those of an earlier capture, as its form is when it is empty. */
function added() {
  const kind = kindNamed(params.get("add"));
  return kind ? specOf({ ...emptyForm(), method: kind.name }, splitWords).spec.sources : [];
}

async function first() {
  const from = params.get("from");
  if (from && /^[0-9a-f]{16}$/.test(from)) {
    try {
      const { spec } = await waitFor("Reading the capture to run again", get("/api/captures/{id}", { id: from }));
      runAgain = from;
      list.begin([...sourcesOf(spec), ...added()]);
      const form = formOf(spec, joinWords);
      for (const part of forms.values()) await part.takes?.(form);
      fill(form);
      for (const part of forms.values()) part.runsAgain?.();
      return;
    } catch (error) {
      noteError(error);
    }
  }
  const typed = params.get("command");
  if (typed !== null && (await fillCommand(typed))) return;
  const asked = params.get("recipe");
  if (asked !== null && (await fillRecipe(asked))) return;
  fill(prefilled());
  const begun = await Promise.all([...forms.values()].map((part) => part.begin?.(params)));
  if (!begun.some(Boolean)) forms.get(method)?.focus?.();
}

async function agent() {
  try {
    const { agent, trouble } = await get("/api/host");
    put(byId("agent"), troubleNotice(trouble), agentNotice(agent));
  } catch (error) {
    showError(byId("agent"), error, agent);
  }
}

function startSame() {
  byId("same-as").append(same.element);
  // What is chosen in lists and editors changes fields without an event of their own.
  for (const name of ["input", "change", "click", "keyup"]) byId("new").addEventListener(name, () => same.changed());
}

startFields();
startSame();
first();
agent();
