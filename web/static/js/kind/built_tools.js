// Tools that other tools have as commands with a probe and expressions, and that are forms of the probe builder here: what the
// builder begins with. Pure.

import { build } from "./build.js";

/**
 * @typedef {object} BuiltTool
 * @property {string} name as BCC calls it
 * @property {string} title
 * @property {string} purpose
 * @property {string} view
 * @property {string} action of the builder's actions
 * @property {string} command as it is typed
 */

/** @type {readonly BuiltTool[]} */
export const BUILT_TOOLS = [
  {
    name: "argdist",
    title: "distribution of an argument or result",
    purpose:
      "A histogram of an argument, a result or a duration at any probe site, or how often each value occurs: how large are the reads, what do calls return?",
    view: "histogram",
    action: "histogram",
    command: "argdist -H 'r::vfs_read()'",
  },
  {
    name: "stackcount",
    title: "stacks that lead to a probe site",
    purpose: "Counts the stacks in which any probe site is hit: who calls this function, and from where?",
    view: "flame",
    action: "stacks",
    command: "stackcount -p 4221 vfs_fsync",
  },
  {
    name: "trace",
    title: "arguments and results at a probe site",
    purpose:
      "A row for each hit of any probe site, with the arguments, members and results that you tick, under a condition that the kernel evaluates.",
    view: "table",
    action: "record",
    command: "trace 'do_sys_openat2 \"%s\", arg2@user'",
  },
];

/** @param {string|null} name */
export const builtTool = (name) => BUILT_TOOLS.find((tool) => tool.name === name);

/**
 * Where the form of one opens.
 * @param {string} name
 */
export const builtToolLink = (name) => `/new?method=${build.name}&as=${encodeURIComponent(name)}`;
