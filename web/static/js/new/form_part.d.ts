// What the form of a kind of source has beside plain fields.

import type { RecipeView, Target } from "../../../api.js";
import type { Form } from "./spec_form.js";

/** The page of the form, as its parts use it. */
export interface FormPage {
  /** The form as it is now. */
  form(): Form;
  /** Fills the plain fields, and chooses the target. */
  fill(form: Form): void;
  /** Whose events the form asks for; the whole system where that is not whole yet, or is a command that would be started. */
  watched(): Target;
  /** What is to be said where what is tried starts no command, and the capture would; empty where it would not. */
  startsNone(): string;
  /** Starts the capture. */
  start(): void;
  /** Gives the capture a title. */
  named(name: string): void;
  /** Takes away what was said of the form as it was. */
  changed(): void;
}

/** The part of one kind: `F` is the form of the kind (kind/NAME.js). */
export interface FormPart<F = unknown> {
  /** Shows what is in no plain field; those are filled before. */
  fill?(form: F): void;
  /** Puts into the form what is in no plain field. */
  read?(form: F): void;
  /** What is wrong that the form does not tell, in words. */
  problems?(): string[];
  /** Its tab was chosen. */
  shown?(): void;
  /** Takes what the address has for it. Whether that was anything. */
  begin?(params: URLSearchParams): boolean | Promise<boolean>;
  /** Puts the caret where one begins. */
  focus?(): void;
  /** Makes what was recorded a form of this kind, where it is more than it seems; before the form is filled. */
  takes?(form: Form): Promise<void>;
  /** The form was filled from a capture. */
  runsAgain?(): void;
  /** The view that its captures open in; null for the usual one. */
  opens?(): RecipeView | null;
  /** A start was refused. Whether it says itself why. */
  refused?(error: unknown): boolean;
}
