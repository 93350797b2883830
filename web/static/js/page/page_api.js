// The reference of the API: every route with its parameters, what it is asked with and answers, and every type.

import { getBytes } from "../lib/api.js";
import { shapeElement, typeAnchor } from "../lib/api_shapes.js";
import { byId, h, inputOf, prose, put } from "../lib/dom.js";
import { plural } from "../lib/format.js";
import { showError, waitFor } from "../lib/notice.js";
import { keepInAddress } from "../lib/search_address.js";
import { listTable } from "./list_table.js";
import { startShell } from "./shell.js";

/** @typedef {import("../lib/api_shapes.js").Schema} Schema */
/** @typedef {{content?: Record<string, {schema?: Schema, example?: unknown}>, description?: string}} Content */
/** @typedef {{name: string, in: string, required?: boolean, description?: string, schema?: Schema}} Parameter */
/**
 * @typedef {object} Operation
 * @property {string[]} tags
 * @property {string} summary
 * @property {string} description
 * @property {Parameter[]} [parameters]
 * @property {Content} [requestBody]
 * @property {Record<string, Content>} responses
 */
/** @typedef {Operation & {method: string, path: string}} ApiRoute */

/** @type {ApiRoute[]} */
let routes = [];

/** @param {string} text */
const words = (text) => text.charAt(0).toUpperCase() + text.slice(1).replaceAll("_", " ");

/** @param {string} tag */
const roomAnchor = (tag) => `room-${tag}`;

/** @param {Parameter[]} parameters */
function parameterTable(parameters) {
  return listTable(
    [["Parameter"], ["In"], ["Is"]],
    parameters.map(({ name, in: place, required, description = "", schema }) =>
      h(
        "tr",
        {},
        h("td", { class: "mono", text: name }),
        h("td", { text: required ? place : `${place}, may be missing` }),
        h("td", {}, description, shapeElement(schema)),
      ),
    ),
  );
}

/**
 * @param {string} title
 * @param {Content|undefined} one
 */
function contentOf(title, one) {
  const [[type, { schema, example }] = ["", {}]] = Object.entries(one?.content ?? {});
  if (!one) return null;
  const line = h("h4", { text: [title, type].filter(Boolean).join(": ") });
  return h(
    "div",
    {},
    line,
    schema ? shapeElement(schema) : h("p", { class: "quiet", text: one.description ?? "Bytes." }),
    example !== undefined && h("h4", { text: "Example" }),
    example !== undefined && h("pre", { class: "api-example mono", text: JSON.stringify(example, null, 2) }),
  );
}

/** @param {ApiRoute} route */
function routeElement({ method, path, summary, description, parameters = [], requestBody, responses }) {
  const details = h("details", { class: "api-route" });
  const line = h(
    "summary",
    {},
    h("span", { class: "api-method mono", text: method }),
    h("code", { text: path }),
    h("span", { class: "quiet", text: summary }),
  );
  put(details, line);
  // Most of them are never opened.
  details.addEventListener(
    "toggle",
    () => {
      const [status, answer] = Object.entries(responses).find(([name]) => name !== "default") ?? ["", undefined];
      details.append(
        h(
          "div",
          { class: "api-inside" },
          ...description.split("\n\n").map((part) => h("p", { class: "prose" }, ...prose(part))),
          parameters.length > 0 && parameterTable(parameters),
          contentOf("Request", requestBody),
          contentOf(`Answer ${status}`, answer),
        ),
      );
    },
    { once: true },
  );
  return details;
}

function showRoutes() {
  const wanted = inputOf("api-filter").value.trim().toLowerCase();
  const fits = routes.filter(({ method, path, summary, description, parameters = [] }) =>
    [method, path, summary, description, ...parameters.map(({ name }) => name)]
      .join(" ")
      .toLowerCase()
      .includes(wanted),
  );
  const rooms = Map.groupBy(fits, ({ tags }) => tags[0] ?? "");
  put(
    byId("api-routes"),
    h("p", { class: "quiet", role: "status", text: plural(fits.length, "route") }),
    ...[...rooms].map(([tag, all]) =>
      h("section", { id: roomAnchor(tag) }, h("h2", { text: words(tag) }), ...all.map(routeElement)),
    ),
  );
  put(
    byId("api-contents"),
    h(
      "ul",
      {},
      ...[...rooms.keys()].map((tag) => h("li", {}, h("a", { href: `#${roomAnchor(tag)}`, text: words(tag) }))),
      h("li", {}, h("a", { href: "#types", text: "Types" })),
    ),
  );
}

/** @param {Record<string, Schema>} schemas */
function showTypes(schemas) {
  put(
    byId("api-types"),
    h("h2", { id: "types", text: "Types" }),
    ...Object.entries(schemas).map(([name, schema]) =>
      h(
        "section",
        { id: typeAnchor(name), class: "api-route" },
        h("h3", { text: name }),
        schema.description && h("p", { class: "prose", text: schema.description }),
        shapeElement(schema),
      ),
    ),
  );
}

async function load() {
  try {
    const bytes = await waitFor("Reading the reference", getBytes("/api/openapi.json"));
    /** @type {{paths: Record<string, Record<string, Operation>>, components: {schemas: Record<string, Schema>}}} */
    const read = JSON.parse(new TextDecoder().decode(bytes));
    routes = Object.entries(read.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
    );
    showRoutes();
    showTypes(read.components.schemas);
    // What the address names is there only now.
    if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  } catch (error) {
    showError(byId("api-problem"), error, load);
  }
}

startShell();
keepInAddress(inputOf("api-filter"));
inputOf("api-filter").addEventListener("input", showRoutes);
load();
