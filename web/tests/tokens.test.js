import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { STEPS } from "../static/js/view/flame/flame_colors.js";
import { CATEGORIES, FAMILIES, SHADES } from "../static/js/lib/color.js";

const css = readFileSync(new URL("../static/tokens.css", import.meta.url), "utf8");
const tokens = new Map(
  [...css.matchAll(/(--[\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(([, name, ...colors]) => [
    name,
    colors,
  ]),
);

function luminance(hex) {
  const [r, g, b] = [1, 3, 5]
    .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

const range = (count, name) => Array.from({ length: count }, (_one, i) => name(i));
const frames = FAMILIES.slice(2).flatMap((family) => range(SHADES, (i) => `--fl-${family}-${i}`));
const categories = range(CATEGORIES, (i) => `--cat-${i}`);
const grounds = ["--bg", "--bg-rail", "--bg-hover", "--bg-selected", "--bg-field"];

/** Text, what it stands on, how much they must differ at least. */
const PAIRS = [
  ...grounds.flatMap((ground) => ["--text", "--text-quiet", "--accent"].map((text) => [text, ground, 4.5])),
  ["--on-accent", "--accent", 4.5],
  ["--on-accent", "--accent-hover", 4.5],
  ["--loss", "--bg", 4.5],
  ["--loss", "--bg-loss", 4.5],
  ["--loss", "--bg-rail", 4.5],
  ["--text", "--bg-loss", 4.5],
  ["--stop", "--bg", 4.5],
  ["--stop", "--bg-stop", 4.5],
  ["--text", "--bg-stop", 4.5],
  ["--text-quiet", "--bg-stop", 4.5],
  ...frames.map((frame) => ["--on-frame", frame, 4.5]),
  ...["more", "less"].flatMap((way) => range(STEPS, (i) => ["--on-frame", `--df-${way}-${i}`, 4.5])),
  ["--on-frame", "--df-same", 4.5],
  ["--on-frame", "--fl-root", 4.5],
  ...categories.flatMap((name) => [
    ["--on-cat", name, 4.5],
    [name, "--bg", 3],
  ]),
  ["--line-strong", "--bg", 3],
  ["--line-strong", "--bg-rail", 2.5],
];

for (const [i, theme] of ["light", "dark"].entries()) {
  test(`the ${theme} theme can be read`, () => {
    for (const [text, ground, least] of PAIRS) {
      const ratio = contrast(tokens.get(text)[i], tokens.get(ground)[i]);
      assert.ok(ratio >= least, `${text} on ${ground}: ${ratio.toFixed(2)}`);
    }
  });
}

test("amber and red are for losses and failures only", () => {
  const others = [...tokens.keys()].filter((name) => !/loss|stop/.test(name));
  for (const name of others)
    for (const hex of tokens.get(name)) {
      const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
      const saturated = Math.max(r, g, b) - Math.min(r, g, b) > 90;
      assert.ok(!(saturated && r > g * 1.15 && g > b * 0.95), `${name} ${hex} looks like amber or red`);
    }
});
