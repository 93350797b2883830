// The kinds of sources whose form has more than plain fields.

import { build } from "../kind/build.js";
import { count } from "../kind/count.js";
import { events } from "../kind/events.js";
import { profile } from "../kind/profile.js";
import { script } from "../kind/script.js";
import { syscalls } from "../kind/syscalls.js";
import { trace } from "../kind/trace.js";
import { BuildForm } from "./build_form.js";
import { CountForm } from "./count_form.js";
import { EventsForm } from "./events_form.js";
import { ProfileForm } from "./profile_form.js";
import { ScriptForm } from "./script_form.js";
import { SyscallsForm } from "./syscalls_form.js";
import { TraceForm } from "./trace_form.js";

/** @import { FormPage, FormPart } from "./form_part.js" */

/**
 * Brings these forms to life.
 * @param {FormPage} page
 * @returns {Map<string, FormPart>} by the name of the kind
 */
export function startForms(page) {
  /** @type {[name: string, part: FormPart][]} */
  const parts = [
    [events.name, new EventsForm()],
    [profile.name, new ProfileForm()],
    [syscalls.name, new SyscallsForm(page)],
    [trace.name, new TraceForm()],
    [count.name, new CountForm()],
    [build.name, new BuildForm(page)],
    [script.name, new ScriptForm(page)],
  ];
  return new Map(parts);
}
