// What is done with rows beside reading them, in one file that is loaded when any of it is wanted first.

import { chooseColumns as columns } from "./columns_dialog.js";
import { FacetsPanel } from "./facets_panel.js";
import { startSuggestions as suggest } from "./filter_suggestions.js";
import { choosePairs as pairs } from "./pairs_dialog.js";
import { PivotPanel } from "./pivot_panel.js";
import { saveRows as save } from "./save_rows.js";
import { jsonRow, markdownRow, plainRow } from "./row_text.js";

/** @typedef {import("../../page/capture_context.js").CaptureContext} Context */

/**
 * The values of columns beside the table.
 * @param {Context} context
 */
export const makeFacets = (context) => new FacetsPanel(context);

/**
 * Groups of rows in the place of the table.
 * @param {Context} context
 */
export const makeGroups = (context) => new PivotPanel(context);

/**
 * Suggestions below the filter.
 * @param {Context} context
 */
export const startSuggestions = (context) => suggest(context);

/** Asks which columns are shown. */
export const chooseColumns = columns;

/** Asks which rows are told of each other. */
export const choosePairs = pairs;

/** A row as text to copy. */
export const ROW_TEXTS = { text: plainRow, JSON: jsonRow, Markdown: markdownRow };

/** Saves the rows of the table as they are seen. */
export const saveRows = save;
