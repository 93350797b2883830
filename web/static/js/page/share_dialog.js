// Makes a share of a capture or an investigation: asks how long and what of it, and shows the link, once.

import { send } from "../lib/api.js";
import { copyText, h, put } from "../lib/dom.js";
import { duration } from "../lib/format.js";
import { isLoopback } from "./link_address.js";
import { errorNotice, note, waitFor } from "../lib/notice.js";
import { shareChoices } from "./share_choices.js";
import { partWords, removedWords, shownWords, untilWords } from "./share_words.js";

/** @import { MadeShare, SharedPart } from "../../../api.js" */

/** @type {[days: number, words: string][]} */
const DAYS = [
  [1, "a day"],
  [7, "a week"],
  [30, "30 days"],
  [90, "90 days"],
  [366, "a year"],
];

/**
 * @typedef {object} Shareable what is shared
 * @property {{capture: string, view: string}|{investigation: string}} object what the server is asked for
 * @property {string} title
 * @property {string|null} publicUrl the address by which others reach the console, if somebody said it
 * @property {string} opens what the link opens
 * @property {string} tells what every link tells
 * @property {{part: SharedPart, whyNot: string}|null} only the part that can be shared alone, or why not; null if there are no parts
 */

/** @param {import("./capture_context.js").CaptureContext} context */
export function shareCapture(context) {
  const { info, view } = context;
  const { start, end, filter } = view;
  const isPart = start !== null || end !== null || filter !== "";
  const whyNot = info.running
    ? "The capture is still recorded: a part of it can be shared when it has ended."
    : isPart
      ? ""
      : "This view shows all of the capture: select a range or write a filter first.";
  shareDialog({
    object: { capture: context.id, view: context.state.address().split("?")[1] ?? "" },
    title: info.title,
    publicUrl: info.public_url,
    opens: "this view",
    tells: `Every share tells what was recorded (command, filter, script), on which host, when, and how long: ${duration(context.duration)}; but for what you remove.`,
    only: { part: { start, end, filter }, whyNot },
  });
}

/** @param {Shareable} shareable */
export function shareDialog({ object, title: usualTitle, publicUrl, opens, tells, only: part }) {
  const title = h("input", { type: "text", maxlength: "200", id: "share-title" });
  title.value = usualTitle;
  const days = h(
    "select",
    { id: "share-days" },
    ...DAYS.map(([count, text]) => h("option", { value: String(count), selected: count === 7, text })),
  );
  const only = h("input", { type: "checkbox", id: "share-only", disabled: Boolean(part?.whyNot) });
  const isInvestigation = "investigation" in object;
  const choices = shareChoices({
    isInvestigation,
    // What people call it among themselves is not for those who are not to see all of it.
    changed: () => {
      const { remove, preview } = choices.chosen();
      const isOthers = remove.length > 0 || preview;
      title.placeholder = isOthers ? (isInvestigation ? "An investigation" : "A capture") : "";
      if (isOthers && title.value === usualTitle) title.value = "";
      else if (!isOthers && title.value === "") title.value = usualTitle;
    },
  });
  const problem = h("div", { role: "alert" });
  const before = document.activeElement;
  const close = () => {
    dialog.close();
    dialog.remove();
    if (before instanceof HTMLElement) before.focus();
  };
  /** @param {MadeShare} made */
  const show = ({ share, path, left_out: leftOut }) => {
    const origin = publicUrl ?? location.origin;
    const url = origin + path;
    const link = h("input", {
      type: "text",
      class: "mono",
      readonly: true,
      id: "share-link",
      "aria-label": "The link",
    });
    link.value = url;
    const copy = async () => {
      const done = await copyText(url);
      if (!done) link.select();
      note(done ? "Link copied." : "This browser did not allow copying. The link is selected: copy it.");
    };
    const heading = h("h2", { id: "share-head", tabindex: "-1", text: "The link" });
    put(
      form,
      heading,
      link,
      h("p", {
        text: `Whoever has it sees ${shownWords(share)}, read only, ${untilWords(share.expires_unix_ns)}. ${removedWords(share)} It cannot be shown again.`,
      }),
      leftOut.length > 0 &&
        h("p", { class: "quiet small", text: `It does not open the view with its ${leftOut.join(", ")}.` }),
      share.preview && h("p", { class: "quiet small", text: "Chats show a preview of it: its title and a picture." }),
      isLoopback(origin) &&
        h("p", {
          class: "notice",
          text: `Only this machine opens it, as it begins with ${new URL(origin).host}. For others, start Bathyscope with --public-url.`,
        }),
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", class: "primary", text: "Copy link", on: { click: copy } }),
        h("a", { class: "button", href: "/shares", text: "All shares" }),
        h("button", { type: "button", text: "Close", on: { click: close } }),
      ),
    );
    heading.focus();
  };
  const make = async () => {
    const asked = {
      ...object,
      title: title.value.trim(),
      days: Number(days.value),
      part: only.checked && part ? part.part : null,
      ...choices.chosen(),
    };
    try {
      show(await waitFor("Making the link", send("POST", "/api/shares", {}, asked)));
    } catch (error) {
      put(problem, errorNotice(error));
    }
  };
  const form = h(
    "form",
    {
      class: "stack",
      on: {
        submit: (event) => {
          event.preventDefault();
          if (!document.getElementById("share-link")) void make();
        },
      },
    },
    h("h2", { id: "share-head", text: "Share" }),
    h("p", {
      text: `A link for people without a login. It opens ${opens}, read only, until it expires or is revoked.`,
    }),
    h("div", { class: "field" }, h("label", { for: "share-title", text: "Title" }), title),
    h("div", { class: "field" }, h("label", { for: "share-days", text: "Expires after" }), days),
    part && h("label", { class: "check" }, only, " only what this view shows"),
    part &&
      h("p", {
        class: "quiet small",
        text: part.whyNot || `Then it shows ${partWords(part.part)}. Nothing else can be asked.`,
      }),
    choices.element,
    h("p", { class: "quiet small", text: tells }),
    problem,
    h(
      "div",
      { class: "row" },
      h("button", { class: "primary", text: "Make link" }),
      h("button", { type: "button", text: "Cancel", on: { click: close } }),
    ),
  );
  const dialog = h("dialog", { class: "keep-dialog share-dialog", "aria-labelledby": "share-head" }, form);
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });
  document.body.append(dialog);
  dialog.showModal();
  title.focus();
}
