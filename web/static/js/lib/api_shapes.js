// Shapes of JSON in the document of the API, as text with links to the types that they name. Pure but for elements.

import { h } from "./dom.js";

/**
 * What of a schema of OpenAPI is read here.
 * @typedef {object} Schema
 * @property {string|string[]} [type]
 * @property {string} [$ref]
 * @property {string} [description]
 * @property {Record<string, Schema>} [properties]
 * @property {string[]} [required]
 * @property {Schema} [items]
 * @property {number} [minItems]
 * @property {Schema[]} [anyOf]
 * @property {string[]} [enum]
 * @property {Schema|boolean} [additionalProperties]
 */

/** The address of a named type on the page. @param {string} name */
export const typeAnchor = (name) => `type-${name}`;

/**
 * A shape as pieces: texts, and names of types.
 * @param {Schema|undefined} schema
 * @param {string} [indent] of the line that it begins in
 * @returns {(string|{type: string})[]}
 */
export function shapeText(schema, indent = "") {
  if (!schema) return ["anything"];
  if (schema.$ref) return [{ type: schema.$ref.split("/").at(-1) ?? "" }];
  if (schema.enum) return [schema.enum.map((word) => JSON.stringify(word)).join(" | ")];
  if (schema.anyOf) return joined(schema.anyOf.map((one) => shapeText(one, indent)));
  if (schema.items) {
    const inner = shapeText(schema.items, indent);
    const many = schema.items.anyOf ? ["(", ...inner, ")"] : inner;
    return schema.minItems ? ["[", ...inner, ` × ${schema.minItems}]`] : [...many, "[]"];
  }
  if (schema.properties) return objectText(schema, indent);
  if (typeof schema.additionalProperties === "object")
    return ["{ [key]: ", ...shapeText(schema.additionalProperties, indent), " }"];
  return [String(schema.type ?? "anything")];
}

/** @param {(string|{type: string})[][]} parts */
function joined(parts) {
  return parts.flatMap((part, at) => (at === 0 ? part : [" | ", ...part]));
}

/**
 * @param {Schema} schema
 * @param {string} indent
 */
function objectText({ properties = {}, required = [] }, indent) {
  const deeper = `${indent}  `;
  const lines = Object.entries(properties).flatMap(([name, one]) => [
    one.description ? `${deeper}// ${one.description}\n` : "",
    `${deeper}${name}${required.includes(name) ? "" : "?"}: `,
    ...shapeText(one, deeper),
    "\n",
  ]);
  return ["{\n", ...lines, `${indent}}`];
}

/**
 * A shape as an element: in the line if it is one.
 * @param {Schema|undefined} schema
 */
export function shapeElement(schema) {
  const texts = shapeText(schema);
  const pieces = texts.map((piece) =>
    typeof piece === "string" ? piece : h("a", { href: `#${typeAnchor(piece.type)}`, text: piece.type }),
  );
  if (!texts.includes("{\n")) return h("code", {}, ...pieces);
  return h("pre", { class: "api-shape mono", tabindex: "0" }, ...pieces);
}
