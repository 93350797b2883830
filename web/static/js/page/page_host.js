// The host page.

import { get, send } from "../lib/api.js";
import { addCommands } from "../lib/commands.js";
import { byId, h, put } from "../lib/dom.js";
import { agentNotice, factEntries, fullCapabilities, troubleNotice } from "./host_view.js";
import { note, showError, waitFor } from "../lib/notice.js";
import { showProbes } from "./probes_view.js";
import { startShell } from "./shell.js";

/** @param {import("../../../api.js").DescribedHost} host */
function show({ facts, agent, capabilities, trouble }) {
  put(byId("facts"), ...factEntries(facts));
  put(byId("agent"), troubleNotice(trouble), agentNotice(agent, true));
  put(
    byId("caps"),
    capabilities.length
      ? fullCapabilities(capabilities)
      : h("p", {
          class: "empty",
          text: "Not known: there is no agent. Start Bathyscope as root, or with the rights that its log names.",
        }),
  );
}

async function load() {
  try {
    show(await waitFor("Asking what this host can do", get("/api/host")));
  } catch (error) {
    showError(byId("caps"), error, load);
  }
}

async function check() {
  const button = byId("check", HTMLButtonElement);
  button.disabled = true;
  try {
    await waitFor("Testing what works on this host", send("POST", "/api/host/check"));
    show(await get("/api/host"));
    note("Checked again.");
  } catch (error) {
    showError(byId("caps"), error, check);
  } finally {
    button.disabled = false;
  }
}

startShell();
load();
const probes = document.getElementById("host-probes");
if (probes) {
  const wanted = new URLSearchParams(location.search).get("kprobes") ?? "";
  showProbes(probes, { admin: probes.dataset.role === "admin", wanted });
}
if (document.getElementById("check")) {
  byId("check").addEventListener("click", check);
  addCommands({ name: "Check again what this host can do", run: check });
}
