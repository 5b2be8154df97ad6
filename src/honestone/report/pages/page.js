"use strict";
(function () {
  var root = document.documentElement;
  var table = document.querySelector("table.cases");
  if (!table) { return; }
  root.classList.add("js");

  var cases = Array.prototype.map.call(table.tBodies, function (body) {
    var row = body.rows[0], detail = body.rows[1], link = row.querySelector("a.open");
    link.setAttribute("role", "button");
    link.setAttribute("aria-expanded", "false");
    link.setAttribute("aria-controls", detail.id);
    return { body: body, row: row, detail: detail, link: link, data: body.dataset, words: null };
  });

  /* ---- opening */

  function isOpen(one) { return one.detail.classList.contains("is-open"); }

  function open(one, yes) {
    one.detail.classList.toggle("is-open", yes);
    one.row.classList.toggle("is-open", yes);
    one.link.setAttribute("aria-expanded", String(yes));
    one.detail.querySelector("details").open = yes;
  }

  function remember(hash) {
    try { history.replaceState(null, "", hash || location.pathname + location.search); } catch (e) { /* sandboxed */ }
  }

  function toggle(one) {
    var yes = !isOpen(one);
    open(one, yes);
    remember(yes ? "#" + one.body.id : "");
  }

  function goToHash() {
    var name = location.hash.slice(1);
    var place = name && document.getElementById(name);
    if (!place) { return; }
    cases.forEach(function (one) {
      if (one.body.contains(place)) {
        if (one.body.hidden) { clearFilters(); }
        open(one, true);
        if (one.body === place) { one.link.focus({ preventScroll: true }); }
      }
    });
    for (var up = place; up; up = up.parentElement) {
      if (up.tagName === "DETAILS") { up.open = true; }
    }
    place.scrollIntoView();
  }

  function shown() { return cases.filter(function (one) { return !one.body.hidden; }); }

  function focusOn(from, step) {
    var seen = shown(), at = seen.indexOf(from);
    var next = step === "first" ? 0 : step === "last" ? seen.length - 1 : at + step;
    if (seen[next]) { seen[next].link.focus(); }
  }

  var byLink = new Map();
  cases.forEach(function (one) { byLink.set(one.link, one); });

  table.addEventListener("click", function (event) {
    var link = event.target.closest("a.open");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      toggle(byLink.get(link));
    }
  });

  table.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) { return; }
    var one = byLink.get(event.target);
    if (event.key === "Escape") {
      var inside = cases.find(function (other) { return other.body.contains(event.target); });
      if (inside && isOpen(inside)) { toggle(inside); inside.link.focus(); }
      return;
    }
    if (!one) { return; }
    var steps = { ArrowDown: 1, ArrowUp: -1, Home: "first", End: "last" };
    if (event.key === " ") { event.preventDefault(); toggle(one); }
    if (event.key in steps) { event.preventDefault(); focusOn(one, steps[event.key]); }
  });

  /* ---- sorting */

  var numbers = { order: true, status: true, score: true, change: true, time: true };
  var compareNames = new Intl.Collator(undefined, { numeric: true }).compare;

  function sortBy(key, descending) {
    function value(one) {
      var told = one.data[key];
      if (!numbers[key]) { return told || ""; }
      return told === undefined || told === "" ? null : Number(told);
    }
    cases.sort(function (a, b) {
      var x = value(a), y = value(b);
      if (x === null || y === null) {
        if (x !== y) { return x === null ? 1 : -1; }  /* what is not known comes last, whichever way */
        return a.data.order - b.data.order;
      }
      var by = numbers[key] ? x - y : compareNames(x, y);
      return (descending ? -by : by) || a.data.order - b.data.order;
    });
    var all = document.createDocumentFragment();
    cases.forEach(function (one) { all.appendChild(one.body); });
    table.appendChild(all);
    heads.forEach(function (head) {
      var mine = head.dataset.key === key;
      head.setAttribute("aria-sort", mine ? (descending ? "descending" : "ascending") : "none");
    });
    var chosen = key + (descending ? " down" : " up");
    if (Array.prototype.some.call(sorter.options, function (option) { return option.value === chosen; })) { sorter.value = chosen; }
  }

  var heads = Array.prototype.filter.call(table.tHead.rows[0].cells, function (head) { return head.dataset.key; });
  heads.forEach(function (head) {
    var button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.textContent = "";
    head.appendChild(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", function () {
      sortBy(head.dataset.key, head.getAttribute("aria-sort") === "ascending");
    });
  });

  /* ---- filters */

  var bar = document.getElementById("toolbar");
  var search = document.getElementById("search");
  var sorter = document.getElementById("sorter");
  var told = document.getElementById("shown");
  var selects = Array.prototype.slice.call(bar.querySelectorAll("select[data-filter]"));
  var buttons = Array.prototype.slice.call(bar.querySelectorAll("button[data-status]"));
  bar.hidden = false;

  function words(one) {
    if (one.words === null) { one.words = one.body.textContent.toLowerCase().replace(/\s+/g, " "); }
    return one.words;
  }

  function filter() {
    var wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    var statuses = buttons.filter(function (b) { return b.getAttribute("aria-pressed") === "true"; })
      .map(function (b) { return b.dataset.status; });
    cases.forEach(function (one) {
      var fits = (!statuses.length || statuses.indexOf(one.data.is) >= 0) &&
        selects.every(function (select) {
          return !select.value || JSON.parse(one.data[select.dataset.filter] || "[]").indexOf(select.value) >= 0;
        }) &&
        wanted.every(function (word) { return words(one).indexOf(word) >= 0; });
      one.body.hidden = !fits;
    });
    var number = shown().length;
    told.textContent = number === cases.length ? "" : number + " of " + cases.length + " cases shown";
  }

  function clearFilters() {
    search.value = "";
    selects.forEach(function (select) { select.value = ""; });
    buttons.forEach(function (button) { button.setAttribute("aria-pressed", "false"); });
    filter();
  }

  var waiting = 0;
  search.addEventListener("input", function () {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });
  search.addEventListener("keydown", function (event) {
    if (event.key === "ArrowDown" && shown().length) { event.preventDefault(); filter(); focusOn(null, "first"); }
  });
  selects.forEach(function (select) { select.addEventListener("change", filter); });
  buttons.forEach(function (button) {
    button.addEventListener("click", function () {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      filter();
    });
  });
  sorter.addEventListener("change", function () {
    var parts = sorter.value.split(" ");
    sortBy(parts[0], parts[1] === "down");
  });

  window.addEventListener("hashchange", goToHash);
  goToHash();
})();
