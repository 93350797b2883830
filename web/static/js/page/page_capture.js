// One capture: its views, at what the address says.

import { SHARE } from "../lib/api.js";
import { startCapture } from "./capture_page.js";
import { startSharedShell, startShell } from "./shell.js";

if (SHARE) startSharedShell();
else startShell();
void startCapture();
