// Back from the provider: posts what it gave in the address. From this page the browser sends the console's cookies, which it does not
// from another site.

import { byId } from "../lib/dom.js";

const form = byId("finish", HTMLFormElement);
const given = new URLSearchParams(location.search);
for (const field of form.elements) {
  if (field instanceof HTMLInputElement) field.value = given.get(field.name) ?? "";
}
// Neither the history nor a copied address may keep the code.
history.replaceState(null, "", location.pathname);
form.requestSubmit();
