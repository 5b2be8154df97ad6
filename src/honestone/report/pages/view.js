"use strict";
(function () {
  var rows = "[data-run] a, [data-case] a.open";

  function typing(target) { return /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName); }

  function move(step) {
    var links = Array.prototype.slice.call(document.querySelectorAll(rows));
    var next = links[Math.max(0, links.indexOf(document.activeElement) + step)];
    if (next) { next.focus(); }
  }

  document.addEventListener("keydown", function (event) {
    if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) { return; }
    var search = document.querySelector("input[type=search]"), keys = document.getElementById("keys");
    switch (event.key) {
      case "j": move(1); break;
      case "k": move(-1); break;
      case "/": if (search) { search.focus(); } break;
      case "g": location.assign("/"); break;
      case "?": keys.hidden = !keys.hidden; keys.scrollIntoView(); break;
      default: return;
    }
    event.preventDefault();
  });

  /* A link to a quote opens what it is folded in. */
  function unfold() {
    var place = location.hash && document.getElementById(location.hash.slice(1));
    for (var up = place; up; up = up.parentElement) { if (up.tagName === "DETAILS") { up.open = true; } }
    if (place) { place.scrollIntoView({ block: "center" }); }
  }
  window.addEventListener("hashchange", unfold);
  unfold();
})();
