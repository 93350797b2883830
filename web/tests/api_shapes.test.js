import assert from "node:assert/strict";
import { test } from "node:test";
import { shapeText } from "../static/js/lib/api_shapes.js";

/** @param {(string|{type: string})[]} pieces */
const plain = (pieces) => pieces.map((piece) => (typeof piece === "string" ? piece : `<${piece.type}>`)).join("");

test("a schema is text in which types have names", () => {
  for (const [
    schema,
    expected,
  ] of /** @type {[import("../static/js/lib/api_shapes.js").Schema|undefined, string][]} */ ([
    [undefined, "anything"],
    [{ type: "integer" }, "integer"],
    [{ $ref: "#/components/schemas/Role" }, "<Role>"],
    [{ enum: ["a", "b"] }, '"a" | "b"'],
    [{ anyOf: [{ $ref: "#/components/schemas/A" }, { type: "null" }] }, "<A> | null"],
    [{ type: "array", items: { type: "string" } }, "string[]"],
    [{ type: "array", items: { anyOf: [{ type: "string" }, { type: "null" }] } }, "(string | null)[]"],
    [{ type: "array", minItems: 2, items: { anyOf: [{ type: "integer" }] } }, "[integer × 2]"],
    [{ type: "object", additionalProperties: { type: "number" } }, "{ [key]: number }"],
    [
      {
        type: "object",
        properties: { id: { type: "string", description: "Which." }, of: { type: "null" } },
        required: ["id"],
      },
      "{\n  // Which.\n  id: string\n  of?: null\n}",
    ],
    [
      {
        type: "object",
        properties: { in: { type: "object", properties: { a: { type: "boolean" } }, required: ["a"] } },
      },
      "{\n  in?: {\n    a: boolean\n  }\n}",
    ],
  ]))
    assert.equal(plain(shapeText(schema)), expected);
});
