// Zoom, search and reset within the file, as people know them from flame graphs: a click zooms, Ctrl+F or the word looks for text.
(function () {
  "use strict";
  var root = document.documentElement, space = "http://www.w3.org/2000/svg", gap = 4, perCharacter = 7.3;
  var frames = Array.prototype.map.call(document.querySelectorAll("g.f"), function (g) {
    var rect = g.querySelector("rect"), title = g.querySelector("title").textContent;
    var name = title.replace(/ \([^()]*\)$/, "");
    function at(attribute) { return Number(rect.getAttribute(attribute)); }
    return { g: g, rect: rect, name: name, title: title, x: at("x"), y: at("y"), width: at("width"), label: g.querySelector("svg") };
  });
  if (frames.length === 0) return;
  var left = frames[0].x, whole = frames[0].width, down = frames.some(function (one) { return one.y > frames[0].y; });
  var said = document.getElementById("said"), usual = said.textContent, found = "";
  function label(frame, x, width, shown) {
    var room = Math.floor((width - gap) / perCharacter), text = "";
    if (shown && room >= 3) text = frame.name.length <= room ? frame.name : frame.name.slice(0, room - 1) + "…";
    if (!frame.label) {
      if (!text) return;
      frame.label = document.createElementNS(space, "svg");
      frame.label.setAttribute("y", frame.y);
      frame.label.setAttribute("height", frame.rect.getAttribute("height"));
      var words = document.createElementNS(space, "text");
      words.setAttribute("x", 2);
      words.setAttribute("y", 12);
      words.setAttribute("class", /^cat-/.test(frame.rect.getAttribute("class")) ? "on-cat" : "on-frame");
      frame.label.appendChild(words);
      frame.g.appendChild(frame.label);
    }
    frame.label.setAttribute("x", x + 1);
    frame.label.setAttribute("width", Math.max(0, width - 1));
    frame.label.firstChild.textContent = text;
  }
  function zoom(to) {
    var scale = whole / to.width, end = to.x + to.width, slack = 0.02;
    frames.forEach(function (one) {
      var below = down ? one.y < to.y : one.y > to.y;
      var carries = below && one.x <= to.x + slack && one.x + one.width >= end - slack;
      var inside = !below && one.x >= to.x - slack && one.x + one.width <= end + slack;
      var x = carries ? left : left + (one.x - to.x) * scale, width = carries ? whole : one.width * scale;
      one.g.style.display = carries || inside ? "" : "none";
      one.g.style.opacity = carries ? "0.6" : "";
      if (!carries && !inside) return;
      one.rect.setAttribute("x", x);
      one.rect.setAttribute("width", width);
      label(one, x, width, true);
    });
    document.getElementById("reset").style.display = to === frames[0] ? "none" : "";
  }
  function search(text) {
    var pattern = null;
    found = text;
    try { pattern = text ? new RegExp(text, "i") : null; } catch (error) {
      pattern = new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "i");
    }
    // Of frames above each other only the lowest one counts.
    var hits = frames.filter(function (one) {
      var hit = pattern !== null && one !== frames[0] && pattern.test(one.name);
      one.rect.classList.toggle("m", hit);
      return hit;
    }).sort(function (a, b) { return a.x - b.x || b.width - a.width; });
    var until = -1, sum = 0;
    hits.forEach(function (one) {
      if (one.x + one.width <= until) return;
      sum += one.x + one.width - Math.max(one.x, until);
      until = one.x + one.width;
    });
    said.textContent = pattern ? "Found " + text + ": " + ((100 * sum) / whole).toFixed(2) + " % in " + hits.length + " frames" : usual;
  }
  function ask() {
    var text = prompt("Find in names (a regular expression)", found);
    if (text !== null) search(text);
  }
  function press(id, run) {
    var button = document.getElementById(id);
    button.addEventListener("click", run);
    button.addEventListener("keydown", function (event) {
      if (event.key === "Enter" || event.key === " ") { run(); event.preventDefault(); }
    });
  }
  frames.forEach(function (one) {
    one.g.style.cursor = "pointer";
    one.g.addEventListener("click", function () { zoom(one); });
    one.g.addEventListener("mouseover", function () { said.textContent = one.title; });
    one.g.addEventListener("mouseout", function () { if (found) search(found); else said.textContent = usual; });
  });
  press("find", ask);
  press("reset", function () { zoom(frames[0]); });
  document.getElementById("find").style.display = "";
  document.addEventListener("keydown", function (event) {
    if ((event.ctrlKey && event.key === "f") || event.key === "F3") { ask(); event.preventDefault(); }
    if (event.key === "Escape") { search(""); zoom(frames[0]); }
  });
  root.removeAttribute("role");
})();
