// What makes files of views and what reads them, loaded together when one of both is wanted: few pages need either.

import { saveInvestigation } from "./investigation_file.js";
import { savePage } from "./save_page.js";
import { savePicture } from "./save_picture.js";
import { openSaved } from "./saved_page.js";

export const openFile = openSaved;
export const saveFile = savePage;
export const saveDrawn = savePicture;
export const saveWritten = saveInvestigation;
