// What became of messages to webhooks, in words. Pure.

import { plural } from "../lib/format.js";

/** @import { DeliveryItem, WebhookItem } from "../../../api.js" */

/**
 * What has become of a message.
 * @param {DeliveryItem} message
 */
export function stateText({ state, attempts, status }) {
  const answered = status === undefined ? "" : `, answered with ${status}`;
  if (state === "delivered") return `arrived${answered}, ${plural(attempts, "attempt")}`;
  if (state === "given_up") return `given up after ${plural(attempts, "attempt")}${answered}`;
  return attempts === 0 ? "is being sent" : `is tried again, ${plural(attempts, "attempt")} so far${answered}`;
}

/**
 * How many messages have arrived and have not.
 * @param {WebhookItem} webhook
 */
export function countsText({ delivered, given_up: lost }) {
  return `${plural(delivered, "message")} arrived${lost > 0 ? `, ${lost} given up` : ""}`;
}
