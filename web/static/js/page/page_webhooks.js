// Webhooks: addresses that are told of captures of flight recorders, and what became of the last messages. For admins.

import { get, send } from "../lib/api.js";
import { actInDialog, askInDialog } from "../lib/ask_dialog.js";
import { addCommands } from "../lib/commands.js";
import { byId, h, put } from "../lib/dom.js";
import { wall } from "../lib/format.js";
import { note, showError, waitFor } from "../lib/notice.js";
import { acting } from "./list_act.js";
import { listTable, titleCell } from "./list_table.js";
import { showOnce } from "./once_dialog.js";
import { startShell } from "./shell.js";
import { countsText, stateText } from "./webhook_words.js";

/** @import { DeliveryItem, WebhookItem } from "../../../api.js" */

/** @type {import("./list_table.js").Head[]} */
const HEADS = [["Webhook"], ["Address"], ["Messages"], ["Actions"]];
/** @type {import("./list_table.js").Head[]} */
const MESSAGE_HEADS = [["Webhook"], ["About"], ["What became of it"], ["When"]];

const doing = acting("webhooks-problem", () => load());

async function add() {
  const name = h("input", { type: "text", id: "webhook-name", required: true, maxlength: "64", autocomplete: "off" });
  const url = h("input", {
    type: "url",
    id: "webhook-url",
    required: true,
    maxlength: "1024",
    autocomplete: "off",
    spellcheck: "false",
  });
  const fields = [
    h("p", { text: "Its host is one that this console was started with: --outbound-allow or --outbound-private." }),
    h("div", { class: "field" }, h("label", { for: "webhook-name", text: "Name" }), name),
    h("div", { class: "field" }, h("label", { for: "webhook-url", text: "Address" }), url),
  ];
  /** @type {import("../../../api.js").Answers["POST"]["/api/webhooks"][]} */
  const made = [];
  const done = await actInDialog("Add a webhook", "Add", fields, async () => {
    const asked = { name: name.value.trim(), url: url.value.trim() };
    made.push(await waitFor("Adding a webhook", send("POST", "/api/webhooks", {}, asked)));
  });
  if (!done) return;
  const [{ name: called, secret }] = made;
  put(byId("webhooks-problem"));
  void load();
  await showOnce({
    title: `The secret of ${called}`,
    label: "Secret",
    text: secret,
    words:
      "Whoever takes the messages checks with it that they come from this console: the header Bathyscope-Signature is v1= and the HMAC-SHA256 of the header Bathyscope-Timestamp, a dot and the body. It cannot be shown again.",
  });
}

/** @param {WebhookItem} webhook */
async function remove(webhook) {
  const ends = h("p", {
    text: "Messages that wait are not sent. Flight recorders that name it go on, and what they would have told it is counted as given up.",
  });
  if (!(await askInDialog(`Remove ${webhook.name}`, "Remove", ends))) return;
  await doing("Removing the webhook", async () => {
    await send("DELETE", "/api/webhooks/{name}", { name: webhook.name });
    note(`${webhook.name} is removed.`);
  });
}

/** @param {WebhookItem} webhook */
const test = (webhook) =>
  doing("Sending a message", async () => {
    const sent = await send("POST", "/api/webhooks/{name}/test", { name: webhook.name });
    note(`The message to ${webhook.name}: ${stateText(sent)}${sent.error ? `. ${sent.error}` : ""}`);
  });

/** @param {WebhookItem} webhook */
function row(webhook) {
  /**
   * @param {string} text
   * @param {string} label
   * @param {(webhook: WebhookItem) => Promise<void>} run
   */
  const button = (text, label, run) =>
    h("button", { type: "button", class: "plain", "aria-label": label, text, on: { click: () => void run(webhook) } });
  return h(
    "tr",
    {},
    h(
      "td",
      { class: "name" },
      webhook.name,
      h("div", { class: "quiet", text: `by ${webhook.made_by}, ${wall(webhook.created_unix_ns)}` }),
    ),
    h(
      "td",
      { class: "mono name" },
      webhook.url,
      webhook.problem && h("div", { class: "notice", text: webhook.problem }),
    ),
    h("td", { text: countsText(webhook) }),
    h(
      "td",
      {},
      h(
        "div",
        { class: "row" },
        button("Send a test", `Send a test to ${webhook.name}`, test),
        button("Remove", `Remove ${webhook.name}`, remove),
      ),
    ),
  );
}

/** @param {DeliveryItem} message */
function messageRow(message) {
  return h(
    "tr",
    {},
    h("td", { class: "name", text: message.webhook }),
    message.capture
      ? titleCell(
          message.title ?? "",
          `/captures/${encodeURIComponent(message.capture)}`,
          h("div", { class: "quiet mono cut", title: message.trigger, text: message.trigger }),
        )
      : h("td", { text: "a test" }),
    h("td", {}, stateText(message), message.error && h("div", { class: "quiet", text: message.error })),
    h("td", { text: wall(message.changed_unix_ns) }),
  );
}

async function load() {
  try {
    const list = await get("/api/webhooks");
    put(
      byId("webhooks"),
      list.problem && h("p", { class: "notice", text: list.problem }),
      list.items.length === 0
        ? h("p", { class: "empty", text: "There is no webhook." })
        : listTable(HEADS, list.items.map(row)),
    );
    put(
      byId("deliveries"),
      list.deliveries.length === 0
        ? h("p", { class: "empty", text: "No message was sent yet." })
        : listTable(MESSAGE_HEADS, list.deliveries.map(messageRow)),
    );
  } catch (error) {
    showError(byId("webhooks-problem"), error, load);
  }
}

startShell();
byId("add-webhook").addEventListener("click", () => void add());
addCommands({
  name: "Add a webhook",
  detail: "an address that is told of captures of flight recorders",
  run: () => void add(),
});
load();
