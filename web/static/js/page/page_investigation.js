// One investigation: its blocks in order, written, moved and deleted by several people at once.

import { startInvestigation } from "./investigation_page.js";
import { startShell } from "./shell.js";

startShell();
startInvestigation();
