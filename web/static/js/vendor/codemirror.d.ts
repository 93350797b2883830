// What the script editor uses of CodeMirror 6 (web/vendor/codemirror/entry.js), as far as it uses it: by this `tsc` checks the
// modules that use codemirror.js. It is not served.

/** What an editor can be made to do. */
export type Extension = { readonly extension: Extension } | readonly Extension[];

export interface Text {
  readonly length: number;
  toString(): string;
}

export interface TransactionSpec {
  changes?: { from: number; to: number; insert: string };
  selection?: { anchor: number; head: number };
  scrollIntoView?: boolean;
  userEvent?: string;
}

export interface Transaction {
  readonly state: EditorState;
}

export interface Facet<Input, Output = readonly Input[]> {
  of(value: Input): Extension;
  readonly output?: Output;
}

export class EditorState {
  static create(config: { doc?: string; extensions?: Extension }): EditorState;
  readonly doc: Text;
  readonly readOnly: boolean;
  readonly selection: { readonly main: { readonly from: number; readonly to: number; readonly empty: boolean } };
  update(...specs: TransactionSpec[]): Transaction;
  replaceSelection(text: string): TransactionSpec;
  facet<Output>(facet: Facet<never, Output>): Output;
}

export interface ViewUpdate {
  readonly docChanged: boolean;
}

type InputHandler = (
  view: EditorView,
  from: number,
  to: number,
  text: string,
  insert: () => Transaction,
) => boolean;

export class EditorView {
  constructor(config: { parent?: Element; root?: Document | ShadowRoot; state?: EditorState });
  static readonly updateListener: Facet<(update: ViewUpdate) => void>;
  static readonly contentAttributes: Facet<Record<string, string>>;
  static readonly inputHandler: Facet<never, readonly InputHandler[]>;
  static readonly lineWrapping: Extension;
  static theme(spec: Record<string, Record<string, string>>): Extension;
  static domEventHandlers(handlers: {
    [Name in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Name], view: EditorView) => boolean;
  }): Extension;
  readonly state: EditorState;
  readonly composing: boolean;
  dispatch(transaction: Transaction | TransactionSpec): void;
  focus(): void;
}

export interface KeyBinding {
  key?: string;
  run?: (view: EditorView) => boolean;
}

export interface Tag {
  readonly set: readonly Tag[];
}
type Modifier = (tag: Tag) => Tag;

/** A line that a language reads, character by character. */
export interface StringStream {
  readonly string: string;
  pos: number;
  next(): string | void;
  peek(): string | undefined;
  eatSpace(): boolean;
  match(pattern: string | RegExp): boolean | RegExpMatchArray | null;
  skipToEnd(): void;
}

export class StreamLanguage {
  static define<State>(spec: {
    name?: string;
    startState: () => State;
    copyState: (state: State) => State;
    token: (stream: StringStream, state: State) => string | null;
    tokenTable?: Record<string, Tag>;
    languageData?: Record<string, unknown>;
  }): StreamLanguage & Extension;
}

export class HighlightStyle {
  static define(styles: readonly { tag: Tag; class: string }[]): HighlightStyle;
}

export interface CompletionContext {
  readonly state: EditorState;
  readonly pos: number;
  readonly explicit: boolean;
  matchBefore(expression: RegExp): { from: number; to: number; text: string } | null;
  addEventListener(type: "abort", listener: () => void): void;
}

export interface Completion {
  label: string;
  type?: string;
  detail?: string;
  apply?: string;
  info?: () => Node;
}

export interface CompletionResult {
  from: number;
  options: readonly Completion[];
  validFor?: RegExp;
}

export interface Diagnostic {
  from: number;
  to: number;
  severity: "hint" | "info" | "warning" | "error";
  message: string;
  renderMessage?: () => Node;
}

export interface Tooltip {
  pos: number;
  end?: number;
  above?: boolean;
  create: () => { dom: HTMLElement };
}

export function autocompletion(config: {
  override?: readonly ((context: CompletionContext) => Promise<CompletionResult | null>)[];
  icons?: boolean;
}): Extension;
export function bracketMatching(): Extension;
export function closeBrackets(): Extension;
export function drawSelection(): Extension;
export function highlightActiveLine(): Extension;
export function highlightSelectionMatches(): Extension;
export function highlightSpecialChars(): Extension;
export function history(): Extension;
export function hoverTooltip(source: (view: EditorView, at: number) => Promise<Tooltip | null>): Extension;
export function indentOnInput(): Extension;
export function lineNumbers(): Extension;
export function lintGutter(): Extension;
export function linter(source: (view: EditorView) => Promise<readonly Diagnostic[]>, config?: { delay?: number }): Extension;
export function placeholder(text: string): Extension;
export function search(config: { top?: boolean }): Extension;
export function syntaxHighlighting(style: HighlightStyle): Extension;
export function toggleComment(view: EditorView): boolean;

export const indentUnit: Facet<string, string>;
export const keymap: Facet<readonly KeyBinding[]>;
export const closeBracketsKeymap: readonly KeyBinding[];
export const completionKeymap: readonly KeyBinding[];
export const defaultKeymap: readonly KeyBinding[];
export const historyKeymap: readonly KeyBinding[];
export const lintKeymap: readonly KeyBinding[];
export const searchKeymap: readonly KeyBinding[];

export const tags: Record<
  | "keyword"
  | "modifier"
  | "name"
  | "variableName"
  | "typeName"
  | "number"
  | "string"
  | "comment"
  | "meta"
  | "operator"
  | "bracket",
  Tag
> &
  Record<"function" | "standard" | "special", Modifier>;
