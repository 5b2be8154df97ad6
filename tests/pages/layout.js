// What is wrong with the layout of the page that is open, as a list of [kind, where, ...]; empty where all is well.
(() => {
  const wide = document.documentElement.clientWidth, found = [];
  const name = (e) => e.tagName.toLowerCase() + " " + (e.textContent || "").trim().slice(0, 40);
  const isClipping = (e) => e.namespaceURI.endsWith("xhtml") && getComputedStyle(e).overflowX !== "visible";
  // What is seen of a box: an ancestor that clips or scrolls cuts it.
  const seen = (r, e) => {
    const box = { left: r.left, right: r.right, top: r.top, bottom: r.bottom };
    for (let p = e; p && p !== document.body; p = p.parentElement) {
      if (!isClipping(p)) continue;
      const c = p.getBoundingClientRect();
      box.left = Math.max(box.left, c.left); box.right = Math.min(box.right, c.right);
      box.top = Math.max(box.top, c.top); box.bottom = Math.min(box.bottom, c.bottom);
    }
    return box;
  };
  const isShown = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".hidden-text, .skip, script, style, select");
  if (document.documentElement.scrollWidth > wide) found.push(["scrolls sideways", document.documentElement.scrollWidth]);
  const boxes = [];
  const add = (r, e, node) => {
    const box = { ...seen(r, e), node, e };
    if (box.right - box.left < 2 || box.bottom - box.top < 2) return;
    if (box.right > wide + 1 || box.left < -1) found.push(["outside", name(e)]);
    boxes.push(box);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = texts.nextNode());) {
    if (!node.data.trim() || !isShown(node.parentElement)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const r of range.getClientRects()) add(r, node.parentElement, node);
  }
  for (const dot of document.querySelectorAll("svg circle, svg .diamond")) if (isShown(dot)) add(dot.getBoundingClientRect(), dot, dot);
  boxes.sort((a, b) => a.top - b.top);
  for (let i = 0; i < boxes.length; i++) {
    for (let j = i + 1; j < boxes.length && boxes[j].top < boxes[i].bottom; j++) {
      const a = boxes[i], b = boxes[j];
      if (a.node === b.node || (a.node === a.e && b.node === b.e)) continue;
      const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - b.top;
      if (x > 2 && y > 4) found.push(["overlap", name(a.e), name(b.e)]);
    }
  }
  // Numbers, states and ids are read as a whole.
  for (const e of document.querySelectorAll(".badge, .state, .grid .mono, .grid td.num, .runs .mono")) {
    if (!isShown(e)) continue;
    for (const node of e.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE || !node.data.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      if (new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1) found.push(["broken", name(e)]);
    }
  }
  // A column of a few letters is no column.
  for (const e of document.querySelectorAll("td, th")) {
    const box = seen(e.getBoundingClientRect(), e);
    if (!isShown(e) || !e.textContent.trim() || box.bottom - box.top < 2) continue;
    const range = document.createRange();
    range.selectNodeContents(e);
    const lines = new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size;
    if (e.clientWidth < 64 && lines > 6) found.push(["squeezed", name(e)]);
  }
  for (const e of document.querySelectorAll("body *")) {
    const style = getComputedStyle(e);
    if (isShown(e) && style.overflowX === "hidden" && style.textOverflow !== "ellipsis" && !e.matches(".clamp, thead") && e.scrollWidth > e.clientWidth + 1) {
      found.push(["cut", name(e)]);
    }
  }
  return found;
})()
