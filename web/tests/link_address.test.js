import { strict as assert } from "node:assert";
import test from "node:test";

import { isLoopback, linkTo } from "../static/js/page/link_address.js";

test("addresses of the machine itself are told from others", () => {
  for (const [origin, expected] of [
    ["http://127.0.0.1:7070", true],
    ["http://127.1.2.3", true],
    ["http://localhost:7070", true],
    ["http://a.localhost:7070", true],
    ["http://[::1]:7070", true],
    ["http://[fd00::1]:7070", false],
    ["http://10.0.0.1:7070", false],
    ["https://localhost.example", false],
    ["https://trace.example", false],
  ])
    assert.equal(isLoopback(String(origin)), expected, String(origin));
});

test("a link begins with the public address, and says who opens it", () => {
  const here = "http://127.0.0.1:7070";
  const own = linkTo(null, here, "/captures/ff?v=1");
  assert.equal(own.url, "http://127.0.0.1:7070/captures/ff?v=1");
  assert.match(own.words, /Only this machine opens it, as it begins with 127\.0\.0\.1:7070\. For others, Export/);
  const wide = linkTo("https://trace.example", here, "/captures/ff?v=1");
  assert.equal(wide.url, "https://trace.example/captures/ff?v=1");
  assert.match(wide.words, /everybody who may log in/);
  assert.match(linkTo(null, "https://trace.example", "/").words, /everybody who may log in/);
});
