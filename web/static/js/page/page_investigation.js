// One investigation: its blocks in order, written, moved and deleted by several people at once.

import { SHARE } from "../lib/api.js";
import { startInvestigation } from "./investigation_page.js";
import { startSharedShell, startShell } from "./shell.js";

if (SHARE) startSharedShell();
else startShell();
startInvestigation();
