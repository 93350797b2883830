// What is done with rows beside reading them, in one file that is loaded when any of it is wanted first.

import { FacetsPanel } from "./facets_panel.js";
import { startSuggestions as suggest } from "./filter_suggestions.js";

/**
 * The values of columns beside the table.
 * @param {import("../../page/capture_context.js").CaptureContext} context
 */
export const makeFacets = (context) => new FacetsPanel(context);

/**
 * Suggestions below the filter.
 * @param {import("../../page/capture_context.js").CaptureContext} context
 */
export const startSuggestions = (context) => suggest(context);
