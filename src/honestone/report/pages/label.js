"use strict";
(function () {
  var data = document.body.dataset, at = Number(data.at), of = Number(data.of), keys = JSON.parse(data.keys || "{}");
  var said = document.querySelector("[data-hs=said]"), main = document.getElementById("main");
  var form = document.getElementById("form"), score = document.getElementById("score");
  var evidence = document.getElementById("evidence"), note = document.getElementById("note"), edited = document.getElementById("edited");
  var picked = null, busy = false, line = Promise.resolve();

  function go(place) { location.assign(location.pathname + "?at=" + place); }
  function say(words) { if (said) { said.textContent = words; } }
  function length(text) { return Array.from(text).length; }

  /* ---- words that are selected in the text, with their place in code points */

  function selected() {
    var chosen = getSelection();
    if (!chosen || chosen.isCollapsed || !chosen.rangeCount) { return null; }
    var range = chosen.getRangeAt(0).cloneRange();
    var start = range.startContainer, holder = (start.nodeType === 1 ? start : start.parentElement).closest("[data-hs=text]");
    if (!holder) { return null; }
    if (!holder.contains(range.endContainer)) { range.setEnd(holder, holder.childNodes.length); }
    var quote = range.toString(), before = document.createRange();
    before.setStart(holder, 0);
    before.setEnd(range.startContainer, range.startOffset);
    var first = Number(holder.dataset.from) + length(before.toString());
    return quote.trim() ? { quote: quote, start: first, end: first + length(quote) } : null;
  }

  function pick() {
    var found = evidence && selected();
    if (!found) { return false; }
    picked = found;
    evidence.value = found.quote;
    getSelection().removeAllRanges();
    return true;
  }

  function quotes() {
    var words = evidence ? evidence.value : "";
    if (!words.trim()) { return []; }
    return [picked && picked.quote === words ? picked : { quote: words }];
  }

  /* ---- sending: nothing moves on before the answer is on disk */

  /* One after the other. After an answer nothing more is taken here: what is typed next is for the next item. */
  function send(more, done) {
    if (busy) { return; }
    busy = "value" in more || "hand" in more;
    var sent = { at: at, question: data.question, sheet: data.sheet };
    if (form) { pick(); sent.evidence = quotes(); sent.note = note.value; }
    Object.assign(sent, more);
    line = line.then(function () {
      return fetch(location.pathname, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(sent) })
        .then(function (answer) { return answer.json().then(function (got) { return { ok: answer.ok, got: got }; }); })
        .then(function (one) {
          if (one.ok) { done(one.got); } else { busy = false; say(one.got.said); }
        })
        .catch(function () { busy = false; say("The server does not answer: is the command still running?"); });
    });
  }

  function moved(got) { if (got.words) { finish("Handed in", got.words); } else if (got.done) { wait("Handed in", "The command continues; what it asks next is shown here."); } else { go(got.at); } }
  function answer(value) { send({ value: value }, moved); }
  function keep() { send({}, function () { say("Kept: it goes with your answer."); }); }

  /* ---- waiting for the next question */

  function head(words) {
    document.title = words;
    document.querySelector("h1").textContent = words;
    document.querySelectorAll("header .soft").forEach(function (one) { one.remove(); });
  }

  function finish(title, words) {
    var shown = document.createElement("p");
    shown.setAttribute("role", "status");
    shown.textContent = words;
    data.at = String(of);
    at = 0;
    head(title);
    main.className = "";
    main.replaceChildren(shown);
    form = score = evidence = note = edited = null;
    return shown;
  }

  function wait(title, words) { poll(finish(title, words), 0); }

  function poll(shown, failed) {
    setTimeout(function () {
      fetch(location.pathname + "/next").then(function (answer) { return answer.json(); }).then(function (got) {
        if (got.sheet) { location.assign(location.pathname); } else { poll(shown, 0); }
      }).catch(function () {
        if (failed < 2) { poll(shown, failed + 1); } else { head("The command has ended"); shown.textContent = "The command has ended. This page can be closed."; }
      });
    }, 700);
  }

  /* ---- keys */

  function forward() {
    var next = document.querySelector("a.next, button.next");
    if (next) { next.click(); }
    else if (form && data.answered !== undefined) { go(at + 1); }
    else if (form) { say("Answer it first, or press s to skip it."); }
  }

  function act(key) {
    var can = form && document.querySelector("[data-key='" + key + "']");
    switch (key) {
      case "y": case "n": case "x":
        if (can) { answer(key === "x" ? "n/a" : key === "y"); }
        else if (form) { say(key === "x" ? "This one always applies: answer it, or skip it with s." : "Answer with a number on the scale."); }
        break;
      case "s": if (can) { answer(null); } break;
      case "e": if (evidence) { if (pick()) { keep(); } else { evidence.focus(); } } break;
      case "w": if (note) { pick(); note.focus(); } break;
      case "b": case "arrowleft": case "backspace": if (at > 0) { go(at - 1); } break;
      case "enter": case "arrowright": forward(); break;
      case "?": var list = document.getElementById("keys"); list.hidden = !list.hidden; list.scrollIntoView(); break;
      default: return false;
    }
    return true;
  }

  function inField(event) {
    if (event.key === "Escape") { event.target.blur(); }
    if (event.key === "Enter" && !event.shiftKey && (event.target === evidence || event.target === note)) {
      event.preventDefault();
      event.target.blur();
      keep();
    }
  }

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) { return; }
    if (/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) { inField(event); return; }
    if (/^(BUTTON|A|SUMMARY)$/.test(event.target.tagName) && event.key === "Enter") { return; }
    if (event.target.matches("pre") && event.key.startsWith("Arrow")) { return; }
    if (score && /^[0-9.-]$/.test(event.key)) {
      event.preventDefault();
      pick(); /* a field that gets the focus takes the selection away */
      score.value = event.key;
      score.focus();
      return;
    }
    var key = event.key === "Process" && event.code.startsWith("Key") ? event.code.slice(3) : event.key;
    if (act(keys[key] || key.toLowerCase())) { event.preventDefault(); }
  });

  document.addEventListener("mousedown", function (event) { if (event.target.closest(".ask")) { pick(); } });

  document.addEventListener("click", function (event) {
    var button = event.target.closest("button");
    if (!button) { return; }
    if (button.dataset.key) { act(button.dataset.key); }
    if (button.dataset.value) { answer(Number(button.dataset.value)); }
    if (button.dataset.hand) { send({ hand: button.dataset.hand, text: edited ? edited.value : undefined }, moved); }
  });

  if (form) {
    form.addEventListener("submit", function (event) {
      event.preventDefault();
      var words = score ? score.value.trim().replace(",", ".") : "";
      if (words) { answer(isFinite(Number(words)) ? Number(words) : words); }
    });
    evidence.addEventListener("input", function () { picked = null; });
  }
  if (edited) {
    edited.addEventListener("change", function () { send({ text: edited.value }, function () { say("Kept."); }); });
  }
  if (data.waiting !== undefined) { wait("Nothing is asked yet", "What the command asks next is shown here."); }
})();
