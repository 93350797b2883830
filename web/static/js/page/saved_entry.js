// A file that opens from the disk: a view of a capture, or an investigation whose views open in their places. Both pages are in it; the
// build joins them with all that they load later into the one script of all files.

import { startCapture } from "./capture_page.js";
import { startInvestigation } from "./investigation_page.js";
import { openSaved } from "./saved_page.js";
import { startSharedShell } from "./shell.js";

const { view, blocks } = openSaved();
startSharedShell();
if (view) void startCapture(view);
else startInvestigation(blocks);
