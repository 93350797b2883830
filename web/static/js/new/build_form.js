// The probe builder: a tab of the form for a new capture, which writes a script as its form is filled, and reads it again
// where the script is edited.

import { build, builderLink } from "../kind/build.js";
import { builtTool, builtToolLink } from "../kind/built_tools.js";
import { editorLink } from "../kind/script.js";
import { newAddress } from "../kind/table.js";
import { Latest, messageOf, problemOf, send } from "../lib/api.js";
import { byId, h, inputOf, put, settled } from "../lib/dom.js";
import { plural } from "../lib/format.js";
import { errorNotice } from "../lib/notice.js";
import { ActionForm } from "./action_form.js";
import { ArgumentTree } from "./argument_tree.js";
import {
  CONTEXT_VALUES,
  DURATION,
  actionWord,
  distinct,
  doing,
  emptyProbe,
  movedTo,
  ofNumber,
  paired,
  printedValue,
  ticked,
  valuesAt,
  withValues,
} from "./builder_model.js";
import { BuiltScript, isOfBuilder } from "./built_script.js";
import { conditionFields, samplingScript } from "./condition_fields.js";
import { PairChoice } from "./pair_choice.js";
import { ProbeTabs } from "./probe_tabs.js";
import { ScriptConditionEditor } from "./script_condition_editor.js";
import { SiteFind } from "./site_find.js";
import { SiteItem } from "./site_list.js";
import { showTrial } from "./trial_view.js";
import { ValueList } from "./value_list.js";

/** @import { ArgumentNode, Partner, ProbeForm, ReadForms, TrialBytes } from "../../../api.js" */
/** @import { FormPage } from "./form_part.js" */
/** @import { Form } from "./spec_form.js" */
/** @import { Ticked } from "./argument_tree.js" */
/** @import { Place } from "./builder_model.js" */
/** @typedef {import("../kind/build.js").BuiltForm} BuiltForm */

/** The longest script that is kept in the address. */
const MOST_ADDRESS = 4000;
/** How long values are looked at for suggestions, in milliseconds. */
const SAMPLE_MS = 300;
const NO_SITE = "Choose a probe site.";

/** @param {string} words */
const sentence = (words) => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;

/** The tab. */
export class BuildForm {
  /** @type {ProbeForm[]} the probes of the script */
  #forms = [emptyProbe()];
  /** The number of the one in the form. */
  #at = 0;
  /** The script that the forms have written, or that it was read from. */
  #text = "";
  #writes = new Latest();
  #reads = new Latest();
  /** Why the forms have no script now; empty if they have. */
  #trouble = NO_SITE;
  /** @type {Map<string, SiteItem>} */
  #items = new Map();
  /** @type {Record<Place, {site: string, tree: ArgumentTree, nodes: ArgumentNode[]}|null>} */
  #trees = { begin: null, end: null };
  #shown = false;
  /** The tool that the form began as. @type {import("../kind/built_tools.js").BuiltTool|undefined} */
  #tool = undefined;
  #settledRead = settled(250, () => this.#read());

  /** @param {FormPage} page */
  constructor(page) {
    this.page = page;
    /** @param {ProbeForm} form @param {{draws?: boolean}} [how] */
    const change = (form, how) => this.#change(how?.draws ? distinct(form, this.#others()) : form, how);
    const form = () => this.#form;
    /** @param {string} why */
    const say = (why) => this.script.tell(why, { bad: true });
    this.script = new BuiltScript({
      edited: () => {
        page.changed();
        this.#settledRead();
      },
      run: () => page.start(),
      back: () => this.#backToForm(),
      target: () => page.watched(),
    });
    this.tabs = new ProbeTabs({
      choose: (at) => this.#choose(at),
      add: () => this.#addProbe(),
      remove: () => this.#removeProbe(),
    });
    this.values = new ValueList(byId("build-values"), {
      change: (place, values) => this.#change(withValues(this.#form, place, values)),
    });
    this.find = new SiteFind({
      input: inputOf("build-site"),
      scope: byId("build-scope"),
      pick: (site) => this.#addSite(site),
      say,
    });
    this.pair = new PairChoice({ form, change, say });
    this.action = new ActionForm({ form, change, numbers: () => this.#numbers() });
    this.context = this.#contextValues();
    this.conditions = { begin: this.#conditionOf("begin"), end: this.#conditionOf("end") };
    byId("build-condition").append(this.conditions.begin.element);
    byId("build-end-condition").append(this.conditions.end.element);
    this.#startFields();
    this.#draw(true);
  }

  /** @param {Place} place */
  #conditionOf(place) {
    const isFirst = place === "begin";
    return new ScriptConditionEditor({
      title: isFirst ? "Hits where" : "Rows where",
      where: isFirst
        ? "Evaluated in the kernel at each hit, before anything is recorded."
        : "Evaluated in the kernel at the end, before a row is made.",
      change: (text) => {
        const { until } = this.#form;
        if (isFirst) this.#change({ ...this.#form, condition: text });
        else if (until) this.#change({ ...this.#form, until: { ...until, condition: text } });
      },
      sample: (expr) => this.#sample(place, expr),
    });
  }

  #startFields() {
    /**
     * @param {string} id
     * @param {(on: boolean) => ProbeForm} of
     */
    const tick = (id, of) =>
      inputOf(id).addEventListener("change", () => this.#change(of(inputOf(id).checked), { draws: true }));
    tick("build-kernel-stack", (on) => ({ ...this.#form, kernel_stack: on }));
    tick("build-user-stack", (on) => ({ ...this.#form, user_stack: on }));
    tick("build-duration", (on) => this.#withDuration(on));
    const own = inputOf("build-expr");
    const add = () => {
      const expr = own.value.trim();
      own.value = "";
      if (expr) this.#tick(this.#rowPlace(), { expr, format: "plain", late: false }, true);
    };
    byId("build-add-expr").addEventListener("click", add);
    own.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.ctrlKey) add();
    });
    byId("build-try").addEventListener("click", () => this.#try());
    byId("build-to-script").addEventListener("click", () => location.assign(editorLink(this.script.text)));
  }

  /** The probe in the form. */
  get #form() {
    return this.#forms[this.#at] ?? emptyProbe();
  }

  set #form(form) {
    this.#forms = this.#forms.map((one, number) => (number === this.#at ? form : one));
  }

  /** The other probes of the script. */
  #others() {
    return this.#forms.filter((_form, number) => number !== this.#at);
  }

  /** @param {number} at */
  #choose(at) {
    this.#at = at;
    this.#draw(true);
  }

  #addProbe() {
    this.#forms = [...this.#forms, emptyProbe()];
    this.#choose(this.#forms.length - 1);
    this.#write();
    this.focus();
  }

  #removeProbe() {
    this.#forms = this.#others();
    this.page.changed();
    this.#choose(Math.max(0, this.#at - 1));
    this.#write();
  }

  /** @returns {Place} where rows are made */
  #rowPlace() {
    return this.#form.until ? "end" : "begin";
  }

  /** @param {boolean} on */
  #withDuration(on) {
    const { until } = this.#form;
    if (until) return { ...this.#form, until: { ...until, duration: on } };
    const [partner] = this.#partners();
    const form = on && partner ? distinct(paired(this.#form, partner), this.#others()) : this.#form;
    return form.until ? { ...form, until: { ...form.until, duration: on } } : form;
  }

  /** Where what begins at the first place may end. */
  #partners() {
    /** @type {Map<string, Partner>} */
    const all = new Map();
    for (const { facts } of this.#items.values())
      for (const partner of facts?.partners ?? []) if (!all.has(partner.site)) all.set(partner.site, partner);
    return [...all.values()];
  }

  /**
   * The form has changed: the script follows.
   * @param {ProbeForm} form
   * @param {{draws?: boolean}} [how] whether fields are filled anew that nobody is typing in
   */
  #change(form, { draws = false } = {}) {
    this.#form = form;
    this.page.changed();
    this.#draw(draws);
    this.#write();
  }

  async #write() {
    this.#settledRead.cancel();
    this.#reads.cancel();
    const forms = this.#forms.filter(({ sites }) => sites.length > 0);
    if (forms.length === 0) {
      this.#writes.cancel();
      this.#trouble = NO_SITE;
      this.#setText("");
      this.script.tell("");
      return;
    }
    try {
      const answer = await this.#writes.run((signal) => send("POST", "/api/builder/write", {}, { forms }, signal));
      if (!answer) return;
      const wrong = answer.form === null ? -1 : this.#forms.indexOf(forms[answer.form] ?? emptyProbe());
      const missing = this.#forms.findIndex(({ sites }) => sites.length === 0);
      this.#trouble = "";
      if (answer.script === null) this.#trouble = this.#about(wrong, sentence(answer.why));
      else {
        this.#setText(answer.script);
        if (missing >= 0) this.#trouble = this.#about(missing, NO_SITE);
      }
      this.script.tell(this.#trouble, { bad: answer.script === null });
      /** @param {string} words */
      const of = (words) => (wrong === this.#at && answer.why.startsWith(words) ? this.#trouble : "");
      this.conditions.begin.say(of("the condition `"));
      this.conditions.end.say(of("the condition of a row `"));
    } catch (error) {
      this.#trouble = messageOf(error);
      this.script.tell(this.#trouble, { bad: true });
    }
  }

  /**
   * What is said of one of the probes.
   * @param {number} number
   * @param {string} words
   */
  #about(number, words) {
    return this.#forms.length > 1 && number >= 0 ? `Probe ${number + 1}: ${words}` : words;
  }

  /**
   * A script that the form says.
   * @param {string} text
   */
  #setText(text) {
    this.#text = text;
    this.script.text = text;
    this.#settledRead.cancel();
    this.#keepAddress();
  }

  /** The link holds the state: the script says all that the form does. */
  #keepAddress() {
    if (!this.#shown) return;
    const held = this.#text !== "" && this.#text.length <= MOST_ADDRESS;
    const empty = this.#tool ? builtToolLink(this.#tool.name) : newAddress(build);
    history.replaceState(null, "", held ? builderLink(this.#text) : empty);
  }

  /** The script was edited: the form follows as long as it can. */
  async #read() {
    const { text } = this.script;
    if (text === this.#text) return;
    this.#text = text;
    this.#keepAddress();
    this.#writes.cancel();
    if (text.trim() === "") {
      this.#readAs({ forms: [emptyProbe()], messages: [] });
      this.#trouble = NO_SITE;
      return;
    }
    try {
      const answer = await this.#reads.run((signal) => send("POST", "/api/builder/read", {}, { text }, signal));
      if (answer) this.#readAs(answer);
    } catch (error) {
      this.script.tell(messageOf(error), { bad: true });
    }
  }

  /** @param {ReadForms} answer */
  #readAs({ forms, messages }) {
    this.#trouble = "";
    const [first] = messages;
    const where = first ? `line ${first.line}: ${first.message}` : "";
    if (forms.length === 0) {
      this.script.tell(`The form cannot represent this script, ${where}. The script is what runs.`, { apart: true });
      return;
    }
    this.#forms = forms;
    this.#choose(Math.min(this.#at, forms.length - 1));
    const left = `${plural(messages.length, "comment")} would be lost when the form changes, ${where}.`;
    this.script.tell(first ? left : "");
  }

  /** Makes the script that of the form again. */
  #backToForm() {
    this.script.tell("");
    this.#write();
  }

  /** @param {string} site */
  #addSite(site) {
    if (this.#form.sites.includes(site)) return;
    const provider = site.split(":")[0];
    const alike = this.#form.sites.filter((one) => one.split(":")[0] === provider);
    this.#change(movedTo(this.#form, [...alike, site]), { draws: true });
  }

  /**
   * @param {Place} place
   * @param {Ticked} value
   * @param {boolean} on
   */
  #tick(place, value, on) {
    this.#change(ticked(this.#form, place, value, on));
  }

  /** @param {boolean} fills */
  #draw(fills) {
    this.tabs.show(this.#forms, this.#at);
    this.#drawSites();
    this.#drawPair();
    this.#drawTrees();
    this.values.show(this.#form);
    inputOf("build-kernel-stack").checked = this.#form.kernel_stack;
    inputOf("build-user-stack").checked = this.#form.user_stack;
    this.action.show(fills);
    this.#drawConditions();
  }

  #drawPair() {
    const partners = this.#partners();
    this.pair.show(partners);
    byId("build-duration-line").hidden = this.#form.until === null && partners.length === 0;
    inputOf("build-duration").checked = this.#form.until?.duration ?? false;
  }

  #drawSites() {
    const { sites } = this.#form;
    for (const [site, item] of this.#items)
      if (!sites.includes(site)) {
        item.element.remove();
        this.#items.delete(site);
      }
    for (const site of sites.filter((one) => !this.#items.has(one))) {
      /** @param {string[]} instead */
      const replace = (...instead) => {
        const others = this.#form.sites.filter((one) => one !== site && !instead.includes(one));
        this.#change(movedTo(this.#form, [...others, ...instead]), { draws: true });
        inputOf("build-site").focus();
      };
      const item = new SiteItem(site, {
        remove: () => replace(),
        instead: (other) => replace(other),
        known: () => this.#drawPair(),
      });
      this.#items.set(site, item);
      byId("build-sites").append(item.element);
    }
  }

  #drawTrees() {
    const { sites, until } = this.#form;
    this.#drawTree("begin", sites[0] ?? "", until ? "Where it begins" : "Arguments");
    this.#drawTree("end", until?.sites[0] ?? "", "Where it ends");
    const trees = [this.#trees.begin, this.#trees.end].flatMap((shown) => (shown ? [shown.tree.element] : []));
    const wanted = sites.length > 0 ? [...trees, this.context.element] : trees;
    const place = byId("build-trees");
    const isSame = wanted.length === place.childElementCount && wanted.every((one, i) => one === place.children[i]);
    if (!isSame) put(place, ...wanted);
    const chosen = new Set(valuesAt(this.#form, this.#rowPlace()).map(({ expr }) => expr));
    for (const { expr, box } of this.context.boxes) box.checked = chosen.has(expr);
  }

  /**
   * @param {Place} place
   * @param {string} site
   * @param {string} title
   */
  #drawTree(place, site, title) {
    const now = this.#trees[place];
    if (!site) this.#trees[place] = null;
    else if (now?.site !== site) {
      const tree = new ArgumentTree({
        title,
        site,
        tick: (value, on) => this.#tick(place, value, on),
        seen: (nodes) => {
          // The bytes at an address have its expression.
          for (const { expr, formats } of nodes)
            this.values.fits.set(expr, [...new Set([...(this.values.fits.get(expr) ?? []), ...formats])]);
        },
        known: (nodes) => {
          const shown = this.#trees[place];
          if (shown?.tree !== tree) return;
          shown.nodes = nodes;
          this.values.show(this.#form);
          this.#drawConditions();
          this.#takeNumber();
          this.action.show(false);
        },
      });
      this.#trees[place] = { site, tree, nodes: [] };
    } else now.tree.title = title;
    this.#trees[place]?.tree.choose(valuesAt(this.#form, place));
  }

  /** Who, where and when: values that are there at each place. */
  #contextValues() {
    const boxes = CONTEXT_VALUES.map(([expr, about, format]) => {
      const box = h("input", {
        type: "checkbox",
        on: { change: () => this.#tick(this.#rowPlace(), { expr, format, late: false }, box.checked) },
      });
      const row = h("label", { class: "check", title: about }, box, h("span", { class: "mono", text: expr }));
      return { expr, box, row };
    });
    const element = h(
      "section",
      { class: "build-tree", "aria-label": "Who and when" },
      h("h3", { class: "small", text: "Who and when" }),
      h("div", { class: "build-context" }, ...boxes.map(({ row }) => row)),
    );
    return { boxes, element };
  }

  /** An aggregate that a tool began with gets the first number of its place, as soon as one is known. */
  #takeNumber() {
    const form = this.#form;
    const word = actionWord(form);
    const [first] = this.#numbers();
    if (!this.#tool || !ofNumber(word) || !("of" in form.action) || form.action.of || !first) return;
    this.#change(distinct(doing(form, word, first), this.#others()), { draws: true });
  }

  /** Expressions that are numbers where the row is made, for aggregates. */
  #numbers() {
    const place = this.#rowPlace();
    const nodes = (this.#trees[place]?.nodes ?? []).filter(({ kind }) => kind === "number");
    const values = valuesAt(this.#form, place).filter(({ format }) => format !== "text");
    const own = this.#form.until ? [DURATION] : [];
    return [...new Set([...own, ...[...values, ...nodes].map(({ expr }) => expr)])];
  }

  #drawConditions() {
    const { condition, until, sites } = this.#form;
    const { begin, end } = this.conditions;
    begin.element.hidden = sites.length === 0;
    end.element.hidden = until === null;
    begin.show(condition, conditionFields(this.#form, "begin", this.#trees.begin?.nodes ?? []));
    if (until) end.show(until.condition, conditionFields(this.#form, "end", this.#trees.end?.nodes ?? []));
  }

  /**
   * The values of an expression that occur now.
   * @param {Place} place
   * @param {string} expr
   */
  async #sample(place, expr) {
    const text = samplingScript(this.#form, place, expr);
    if (!text) return [];
    try {
      const { tables } = await send("POST", "/api/builder/try", {}, { text, duration_ms: SAMPLE_MS });
      return (tables[0]?.rows ?? []).map(([value]) => String(value));
    } catch {
      // Without a sample nothing is suggested; what is typed counts all the same.
      return [];
    }
  }

  async #try() {
    const place = byId("build-trial");
    const button = byId("build-try", HTMLButtonElement);
    const { text } = this.script;
    if (this.#trouble || text.trim() === "") {
      put(place, h("p", { class: "small stop", text: this.#trouble || NO_SITE }));
      return;
    }
    button.disabled = true;
    put(place, h("p", { class: "quiet small", text: "Recording for 2 seconds" }));
    try {
      const [target, left] = [this.page.watched(), this.page.startsNone()];
      // Where form and script say the same, a value of the script is one of the form.
      const forms = this.script.isApart ? [] : this.#forms;
      const trial = await send("POST", "/api/builder/try", {}, { text, target });
      showTrial(place, trial, {
        left,
        baseOf: (bytes) => printedValue(forms, bytes)?.value.expr ?? "",
        record: (bytes, value) => this.#record(forms, bytes, value),
      });
    } catch (error) {
      const [said] = problemOf(error).body.error?.diagnostics ?? [];
      put(place, said ? h("p", { class: "small stop", text: sentence(said.message) }) : errorNotice(error));
    } finally {
      button.disabled = false;
    }
  }

  /**
   * Records what bytes of memory are, where the memory itself is recorded.
   * @param {ProbeForm[]} forms those that were tried
   * @param {Pick<TrialBytes, "statement"|"value">} bytes
   * @param {Ticked} value
   */
  #record(forms, bytes, value) {
    const printed = printedValue(forms, bytes);
    if (!printed) return;
    const { number, place } = printed;
    if (number !== this.#at && number < this.#forms.length) this.#choose(number);
    this.#tick(place === "end" && !this.#form.until ? "begin" : place, value, true);
  }

  /** The tab was chosen. */
  shown() {
    this.#shown = true;
    this.script.show().then(() => this.#keepAddress());
  }

  /** Puts the caret where one begins. */
  focus() {
    inputOf("build-site").focus();
  }

  /**
   * Begins with the place or the script of the address.
   * @param {URLSearchParams} params
   */
  async begin(params) {
    const [site, script] = ["site", "script"].map((name) => params.get(name));
    this.#begin(builtTool(params.get("as")));
    if (script !== null) {
      this.script.text = script;
      await this.#read();
    } else if (site !== null) this.#addSite(site);
    return script !== null || site !== null;
  }

  /** @param {import("../kind/built_tools.js").BuiltTool|undefined} tool */
  #begin(tool) {
    this.#tool = tool;
    if (!tool) return;
    this.#form = doing(this.#form, tool.action, "");
    this.page.named(tool.name);
    put(
      byId("build-tool"),
      h("h2", {}, h("code", { text: tool.name }), ` ${tool.title}`),
      h("p", { text: tool.purpose }),
      h("p", { class: "quiet small" }, "As a command, in the box on top: ", h("code", { text: tool.command })),
    );
    this.#draw(true);
  }

  /** @param {BuiltForm} form */
  fill({ text }) {
    if (text === this.#text) return;
    this.script.text = text;
    this.#read();
  }

  /**
   * Makes what was recorded a form of the builder, where the builder has made it.
   * @param {Form} form
   */
  async takes(form) {
    const { text, file, params, allow_unsafe: unsafe } = form.script;
    if (form.method !== build.recordedAs || file || params.length > 0 || unsafe) return;
    if (await isOfBuilder(text)) Object.assign(form, { method: build.name, build: { text } });
  }

  /** @param {BuiltForm} form gets what the tab holds */
  read(form) {
    form.text = this.script.text;
  }

  /** Why it cannot be started, in words. */
  problems() {
    return this.#trouble ? [this.#trouble] : [];
  }

  /** Rows are read as a table, where who made each stands beside its values. */
  opens() {
    return this.#forms.every(({ action }) => action.kind === "record") ? /** @type {const} */ ("events") : null;
  }

  /**
   * What the server said of a start that it refused.
   * @param {unknown} error
   */
  refused(error) {
    const messages = problemOf(error).body.error?.diagnostics ?? [];
    if (messages.length === 0) return false;
    this.script.judge({ ok: false, messages });
    return true;
  }
}
