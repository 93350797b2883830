// What the pages know of a kind of source. The rest of them asks the table of all kinds (table.js) and names none.

/** What the method of a form is read for. */
export interface Reading {
  /** Whether the target is less than the whole system. */
  ofSome: boolean;
  /** Gets what is wrong, in words. */
  problems: string[];
}

/** A kind of source: `F` is what its form holds, `S` what a spec says of it. */
export interface Kind<F = unknown, S = unknown> {
  /** As the method of a spec has it, in addresses, and in the ids of its tab and panel (templates/new). */
  name: string;
  /** As people read it. */
  title: string;
  /** What the omnibox calls a new capture of it. */
  command: string;
  /** The kind that its spec is of, where that is another one. */
  recordedAs?: string;
  /** The form before anything is filled in. */
  empty(): F;
  /** What the form asks for: everything that a spec can say has a place in the form, so that a capture can be run again. */
  specOf(form: F, reading: Reading): S;
  /** The form that asks for this; what the spec does not say is as usual. */
  formOf(spec: S): F;
  /** The parts of the form that a field of the page holds, by the id of its element. */
  fields: Readonly<Record<string, string>>;
  /** Parts of the form that the page does not show, and keeps as they were filled in. */
  hidden?: readonly string[];
  /** The parts of the form that the address fills, by the parameter's name. */
  parameters?: Readonly<Record<string, string>>;
  /** Parameters of the address that mean this kind where it names none. */
  meantBy?: readonly string[];
  /** Whether another source begins with its form empty; else with what the fields have. */
  beginsEmpty?: boolean;
  /** Whether it can be of chosen threads. */
  ofThreads?: boolean;
  /** Whether what it costs is an estimate. */
  costIsEstimated?: boolean;
  /** What Info says of it: entries of a definition list. */
  entries(spec: S): HTMLElement[];
  /** The tab that its captures open in; else the tab follows from what the streams are. */
  tab?: string;
  /** The script that makes its rows: what is shown first follows from its text. */
  scriptText?(spec: S): string;
  /** Whether Info lists the probes that were made for it while it records. */
  hasOwnProbes?(spec: S): boolean;
}
