import assert from "node:assert/strict";
import test from "node:test";
import { editorLink } from "../static/js/kind/script.js";
import { pieces } from "../static/js/lib/script_text.js";

test("the pieces of a script are the script", () => {
  for (const text of ["", "\n", 'begin {\n  /* a\n b */ @x["a\\""] = 1;\n}\n', '"open', "𝒳 § $ @ #"])
    assert.equal(
      pieces(text)
        .map((piece) => piece.text)
        .join(""),
      text,
    );
});

test("a script survives the address", () => {
  const text = 'begin { printf("%d & + = #\\n", $1); }\n';
  assert.equal(new URL(`http://x${editorLink(text)}`).searchParams.get("script"), text);
});
