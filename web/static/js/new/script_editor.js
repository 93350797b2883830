// The script editor: CodeMirror with this language's colours, the server's verdicts and its completions.
//
// The library is large, so this module is only imported where a script is edited.

import * as codemirror from "../vendor/codemirror.js";
import { isAborted } from "../lib/api.js";
import { byteOffset, unitOffset } from "../lib/byte_offsets.js";
import { Emitter } from "../lib/emitter.js";
import { h } from "../lib/dom.js";
import { copyState, startState, token } from "../lib/script_language.js";

const {
  EditorState,
  EditorView,
  HighlightStyle,
  StreamLanguage,
  autocompletion,
  bracketMatching,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  defaultKeymap,
  drawSelection,
  highlightActiveLine,
  highlightSelectionMatches,
  highlightSpecialChars,
  history,
  historyKeymap,
  hoverTooltip,
  indentOnInput,
  indentUnit,
  keymap,
  lineNumbers,
  lintGutter,
  lintKeymap,
  linter,
  placeholder,
  search,
  searchKeymap,
  syntaxHighlighting,
  tags,
  toggleComment,
} = codemirror;

/** @import { CompletionContext, EditorView as View, Diagnostic as Shown } from "../vendor/codemirror.js" */
/** @import { Completion, Completions, Hover, ScriptMessage, CheckedScript } from "../../../api.js" */
/** @typedef {{start: number, end: number}} Span bytes of a script */
/** @typedef {CheckedScript | {messages: ScriptMessage[], ok?: boolean, error?: unknown, pasted?: undefined}} Verdict */

/** How long typing rests before the server is asked for its verdict. */
const SETTLE_MS = 300;

// Names of the library's own table win over these: a `variable` is its plain variable name whatever is said here.
const STYLES = {
  keyword: tags.keyword,
  provider: tags.modifier,
  name: tags.name,
  function: tags.function(tags.variableName),
  builtin: tags.standard(tags.variableName),
  type: tags.typeName,
  map: tags.special(tags.variableName),
  variable: tags.variableName,
  number: tags.number,
  string: tags.string,
  comment: tags.comment,
  preprocessor: tags.meta,
  operator: tags.operator,
  bracket: tags.bracket,
};

const language = StreamLanguage.define({
  name: "bpftrace",
  startState,
  copyState,
  token,
  tokenTable: STYLES,
  languageData: {
    commentTokens: { line: "//", block: { open: "/*", close: "*/" } },
    closeBrackets: { brackets: ["(", "[", "{", '"'] },
  },
});

// Classes and not colours: those are in the style sheet, for light and dark.
const colours = HighlightStyle.define(Object.entries(STYLES).map(([name, tag]) => ({ tag, class: `sc-${name}` })));

// The library draws marks with images out of `data:` addresses, which the content security policy does not allow.
const marks = EditorView.theme({
  ".cm-lintRange": {
    backgroundImage: "none !important",
    textDecoration: "underline wavy 1px",
    textDecorationSkipInk: "none",
    textUnderlineOffset: "3px",
  },
  ".cm-lintRange-error": { textDecorationColor: "var(--stop)" },
  ".cm-lintRange-warning": { textDecorationColor: "var(--loss-mark)" },
  ".cm-lint-marker": {
    content: "normal !important",
    width: "8px",
    height: "8px",
    borderRadius: "50%",
    margin: "3px auto 0",
  },
  ".cm-lint-marker-error": { background: "var(--stop)" },
  ".cm-lint-marker-warning": { background: "var(--loss-mark)", borderRadius: "1px" },
});

/**
 * Text typed over a selection. The browser would do it by itself first, with style attributes on what it leaves, which
 * the content security policy does not allow; the library would then put the text right.
 */
const typedOver = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { from, to, empty } = view.state.selection.main;
    if (
      event.inputType !== "insertText" ||
      event.data === null ||
      event.data === "" ||
      event.isComposing ||
      empty ||
      view.composing ||
      view.state.readOnly
    )
      return false;
    const { data } = event;
    const typed = () =>
      view.state.update(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    if (!view.state.facet(EditorView.inputHandler).some((handler) => handler(view, from, to, data, typed)))
      view.dispatch(typed());
    return true;
  },
});

/**
 * A position of the server in the text, at least one unit long so that it can be seen.
 * @param {string} text
 * @param {Span} place
 */
function range(text, { start, end }) {
  const from = unitOffset(text, start);
  const to = Math.max(unitOffset(text, end), from);
  return from === to
    ? { from: Math.max(0, from - (from === text.length ? 1 : 0)), to: Math.min(text.length, to + 1) }
    : { from, to };
}

/**
 * @param {string} text
 * @param {ScriptMessage} diagnostic
 * @returns {Shown}
 */
function shown(text, diagnostic) {
  const { severity, message, hint, detail } = diagnostic;
  return {
    ...range(text, diagnostic),
    severity: /** @type {Shown["severity"]} */ (severity),
    message,
    renderMessage: () =>
      h(
        "div",
        { class: "sc-message" },
        h("p", { text: message }),
        hint && h("p", { class: "quiet", text: hint }),
        detail && h("details", {}, h("summary", { text: "What the kernel said" }), h("pre", { text: detail })),
      ),
  };
}

/**
 * One editor. Sends `change` when the text is another, `verdict` with the server's answer.
 * @extends {Emitter<{change: null, verdict: Verdict|null}>}
 */
export class ScriptEditor extends Emitter {
  /** @type {Record<"checking"|"completing"|"explaining", AbortController|null>} */
  #asked = { checking: null, completing: null, explaining: null };

  /**
   * @param {HTMLElement} parent
   * @param {object} options
   * @param {string} options.text
   * @param {(text: string, signal: AbortSignal) => Promise<CheckedScript|null>} options.check asks for the verdict
   * @param {(text: string, offset: number, signal: AbortSignal) => Promise<Completions|null>} options.complete asks what fits at a byte
   * @param {(text: string, offset: number, signal: AbortSignal) => Promise<Hover|null>} options.explain asks what stands at a byte
   * @param {() => void} options.run what Ctrl+Enter does
   */
  constructor(parent, options) {
    super();
    this.options = options;
    // A tree of its own, because only there the library uses constructed style sheets, which the content security policy
    // allows; in the document it would write style elements.
    const root = parent.attachShadow({ mode: "open" });
    const place = h("div", { id: "editor" });
    root.append(h("link", { rel: "stylesheet", href: new URL("../css/editor.css", import.meta.url).href }), place);
    this.view = new EditorView({
      parent: place,
      root,
      state: EditorState.create({ doc: options.text, extensions: this.#extensions() }),
    });
  }

  /** The script. */
  get text() {
    return this.view.state.doc.toString();
  }

  set text(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** Puts the caret into it. */
  focus() {
    this.view.focus();
  }

  /**
   * Shows and selects a place that the server named.
   * @param {Span} diagnostic
   */
  reveal(diagnostic) {
    const { from, to } = range(this.text, diagnostic);
    this.view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
    this.view.focus();
  }

  #extensions() {
    const changed = EditorView.updateListener.of((update) => update.docChanged && this.emit("change", null));
    const run = {
      key: "Mod-Enter",
      run: () => {
        this.options.run();
        return true;
      },
    };
    return [
      lineNumbers(),
      lintGutter(),
      highlightSpecialChars(),
      history(),
      drawSelection(),
      indentOnInput(),
      indentUnit.of("  "),
      bracketMatching(),
      closeBrackets(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      search({ top: true }),
      language,
      syntaxHighlighting(colours),
      placeholder("tracepoint:syscalls:sys_enter_openat { @[comm] = count(); }"),
      autocompletion({ override: [(context) => this.#complete(context)], icons: false }),
      linter((view) => this.#check(view), { delay: SETTLE_MS }),
      hoverTooltip((view, at) => this.#explain(view, at)),
      keymap.of([
        run,
        { key: "Mod-/", run: toggleComment },
        ...closeBracketsKeymap,
        ...completionKeymap,
        ...searchKeymap,
        ...historyKeymap,
        ...lintKeymap,
        ...defaultKeymap,
      ]),
      EditorView.contentAttributes.of({ "aria-label": "Script", spellcheck: "false", tabindex: "0" }),
      EditorView.lineWrapping,
      marks,
      typedOver,
      changed,
    ];
  }

  /**
   * Only the newest question of a kind is of interest.
   * @param {"checking"|"completing"|"explaining"} kind
   */
  #newest(kind) {
    this.#asked[kind]?.abort();
    const controller = new AbortController();
    this.#asked[kind] = controller;
    return controller.signal;
  }

  /** @param {View} view */
  async #check(view) {
    const text = view.state.doc.toString();
    if (text.trim() === "") {
      this.emit("verdict", null);
      return [];
    }
    try {
      const verdict = await this.options.check(text, this.#newest("checking"));
      this.emit("verdict", verdict);
      return (verdict?.messages ?? []).map((diagnostic) => shown(text, diagnostic));
    } catch (error) {
      if (!isAborted(error)) this.emit("verdict", { messages: [], error });
      return [];
    }
  }

  /** @param {CompletionContext} context */
  async #complete(context) {
    // Without a word or a separator before the caret the list only comes when it is asked for.
    if (!context.explicit && !context.matchBefore(/[\w.:@$>]$/)) return null;
    const text = context.state.doc.toString();
    const signal = this.#newest("completing");
    context.addEventListener("abort", () => this.#asked.completing?.abort());
    try {
      const found = await this.options.complete(text, byteOffset(text, context.pos), signal);
      if (!found || found.items.length === 0) return null;
      return { from: unitOffset(text, found.start), options: found.items.map(option), validFor: /^\w*$/ };
    } catch {
      return null;
    }
  }

  /**
   * @param {View} view
   * @param {number} at
   */
  async #explain(view, at) {
    const text = view.state.doc.toString();
    try {
      const found = await this.options.explain(text, byteOffset(text, at), this.#newest("explaining"));
      if (!found) return null;
      const { from, to } = range(text, found);
      return {
        pos: from,
        end: to,
        above: true,
        create: () => ({
          dom: h(
            "div",
            { class: "sc-hover" },
            h("code", { text: found.title }),
            found.text && h("p", { text: found.text }),
          ),
        }),
      };
    } catch {
      return null;
    }
  }
}

/** @param {Completion} item */
function option({ label, kind, detail, insert }) {
  return {
    label,
    type: kind,
    detail,
    apply: insert,
  };
}
