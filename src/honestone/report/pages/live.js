"use strict";
/* A page of a run that is under way, and the list of runs: asks once a second for what is new, and makes the page like that. Every
   node that stays is the same node, so that focus, selection and what was opened stay too. Nothing is made of text but text: the new
   page is read as a document, in which nothing runs. */
(function () {
  var KEYS = ["id", "data-case", "data-run", "data-round", "data-judge", "data-criterion", "data-item"];
  var OWN = /^(SCRIPT|NOSCRIPT|LINK|STYLE|BASE|META|IFRAME|OBJECT|EMBED)$/i;
  var KEPT = /^(open|hidden|value|checked|selected)$/;
  var STEP = 1000, RARELY = 5000;
  var timer = 0, due = 0, said = "";

  function part() { return document.querySelector("[data-from]"); }
  function state() { return part().dataset.state || ""; }

  function keyOf(node) {
    if (node.nodeType !== 1) { return node.nodeName; }
    for (var i = 0; i < KEYS.length; i++) {
      if (node.hasAttribute(KEYS[i])) { return node.nodeName + " " + KEYS[i] + " " + node.getAttribute(KEYS[i]); }
    }
    return node.nodeName;
  }

  function isOurs(node) { return node.nodeType === 8 || (node.nodeType === 1 && (OWN.test(node.nodeName) || node.hasAttribute("data-own"))); }

  function mayHave(name, value) {
    return !/^(on|style$|srcdoc$)/i.test(name) && (!/^(href|action|src)$/i.test(name) || /^([?#]|\/(?!\/))/.test(value));
  }

  function grown(node) {
    if (node.nodeType !== 1) { return document.createTextNode(node.data); }
    var made = document.createElementNS(node.namespaceURI, node.localName);
    Array.prototype.forEach.call(node.attributes, function (one) {
      if (mayHave(one.name, one.value)) { made.setAttribute(one.name, one.value); }
    });
    Array.prototype.forEach.call(node.childNodes, function (one) { if (!isOurs(one)) { made.appendChild(grown(one)); } });
    return made;
  }

  function dress(node, wanted) {
    Array.prototype.slice.call(node.attributes).forEach(function (one) {
      if (!wanted.hasAttribute(one.name) && !KEPT.test(one.name)) { node.removeAttribute(one.name); }
    });
    Array.prototype.forEach.call(wanted.attributes, function (one) {
      var kept = KEPT.test(one.name) && node.nodeName !== "PROGRESS";
      if (!kept && mayHave(one.name, one.value) && node.getAttribute(one.name) !== one.value) { node.setAttribute(one.name, one.value); }
    });
  }

  /* The children of a node as those of another: each is found by what it is about, else by its place. */
  function fill(node, wanted) {
    var old = {}, at = node.firstChild;
    Array.prototype.forEach.call(node.childNodes, function (one) {
      if (!isOurs(one)) { var key = keyOf(one); (old[key] = old[key] || []).push(one); }
    });
    Array.prototype.forEach.call(wanted.childNodes, function (one) {
      if (isOurs(one)) { return; }
      while (at && isOurs(at)) { at = at.nextSibling; }
      var found = (old[keyOf(one)] || []).shift();
      if (found) { liken(found, one); } else { found = grown(one); }
      if (found === at) { at = at.nextSibling; } else { node.insertBefore(found, at); }
    });
    Object.keys(old).forEach(function (key) { old[key].forEach(function (one) { node.removeChild(one); }); });
  }

  function liken(node, wanted) {
    if (node.nodeType !== 1) { if (node.data !== wanted.data) { node.data = wanted.data; } return; }
    dress(node, wanted);
    fill(node, wanted);
  }

  function show(fresh) {
    var focus = document.activeElement, next = fresh.querySelector("[data-from]");
    if (!next) { return; }
    if (fresh.body.dataset.page === "live") { liken(part(), next); }
    else { liken(document.body, fresh.body); document.title = fresh.title; }
    if (focus && focus !== document.activeElement && document.contains(focus)) { focus.focus({ preventScroll: true }); }
    say();
  }

  /* Seldom, for who hears the page: a change of state, and every tenth of the way. */
  function say() {
    var done = document.querySelector("[data-live=done]"), total = document.querySelector("[data-live=total]");
    var way = done && total && +total.textContent ? Math.floor(10 * done.textContent / total.textContent) : 0;
    var now = state() + way;
    if (!state() || now === said) { return; }
    said = now;
    line.textContent = state() + (done ? ": " + done.textContent + " of " + total.textContent + " done" : "");
  }

  function ask() {
    clearTimeout(timer);
    if (document.visibilityState !== "visible" || state() === "finished") { return; }
    var from = part(), began = Date.now(), request = new XMLHttpRequest(), query = new URLSearchParams(location.search);
    query.set("after", from.dataset.seq);
    if (began < due) { query.set("rows", "0"); }
    request.open("GET", from.dataset.from + "?" + query);
    request.responseType = "document";
    request.timeout = 30000;
    request.onloadend = function () {
      var fresh = request.status === 200 && request.response;
      line.classList.toggle("hidden-text", !!fresh);
      if (fresh) {
        show(fresh);
        /* A long table is made like the new one no more than a fifth of the time. */
        if (fresh.body.dataset.page !== "live") { due = Date.now() + 4 * (Date.now() - began); }
      } else {
        said = "";
        line.textContent = request.status ? "This page moves no more: the server answered " + request.status + "." : "The server has ended: this page moves no more.";
      }
      timer = setTimeout(ask, fresh && state() !== "interrupted" ? STEP : RARELY);
    };
    request.send();
  }

  var line = document.createElement("p");
  line.setAttribute("role", "status");
  line.setAttribute("data-own", "");
  line.className = "hidden-text";
  part().parentNode.insertBefore(line, part().nextSibling);
  document.addEventListener("visibilitychange", ask);
  timer = setTimeout(ask, STEP);
})();
