/** The drawing in its window: zoom, pan, and the state of one moment. */
class Stage {
  constructor(element, onselect, onhover) {
    this.element = element;
    this.onselect = onselect;
    this.onhover = onhover;
    this.folded = new Set();
    this.scaled = false;
    this.listen();
  }

  load(text, links) {
    this.links = links;
    this.folded.clear();
    [this.svg, this.prefix] = drawing(text);
    this.full = this.svg.getAttribute("viewBox").split(" ").map(Number);
    this.svg.setAttribute("preserveAspectRatio", "xMidYMid meet");
    this.svg.removeAttribute("width");
    this.svg.removeAttribute("height");
    this.find = new Map();
    for (const key of ["node", "edge", "flow", "label", "slot"]) {
      for (const part of this.svg.querySelectorAll(`[data-${key}]`)) this.find.set(`${key} ${part.dataset[key]}`, part);
    }
    this.start = new Map([...this.find].filter(([key]) => key.startsWith("slot ")).map(([key, e]) => [key, e.textContent]));
    this.addTargets();
    this.nameSaved();
    this.covers = s("g", { class: "nb-covers" });
    this.svg.append(this.covers);
    this.tokens = s("g", { class: "nb-tokens", "aria-hidden": "true" });
    this.svg.append(this.tokens);
    this.rims = Object.fromEntries(["top", "right", "bottom", "left"].map((side) => [side, h("div", { class: `nb-rim nb-rim-${side}`, "aria-hidden": "true" })]));
    this.element.replaceChildren(this.svg, ...Object.values(this.rims));
    this.fit();
  }

  part(kind, id) { return this.find.get(`${kind} ${id}`); }

  /** A broad, unseen line over each edge, so that a pointer finds it. */
  addTargets() {
    for (const [key, edge] of this.find) {
      if (!key.startsWith("edge ")) continue;
      edge.before(s("path", { class: "nb-hit", "data-hit": key.slice(5), d: edge.getAttribute("d"), fill: "none" }));
    }
  }

  /** Each saved tensor says what it is when the pointer rests on its dot. */
  nameSaved() {
    for (const [id, node] of Object.entries(this.links.nodes)) {
      this.part("node", id)?.querySelectorAll(".nb-saved").forEach((dot, i) => { if (node.kept?.[i]) dot.append(s("title", {}, node.kept[i])); });
    }
  }

  /** A sign on each group that a click opens. */
  addOpeners(ids) {
    for (const id of ids) {
      const group = this.part("node", id), box = group?.querySelector(".nb-shape:nth-last-of-type(1)")?.getBBox();
      if (!box) continue;
      group.classList.add("nb-openable");
      const x = box.x + box.width - 11, y = box.y + 11;
      group.append(s("path", { class: "nb-plus", d: `M${x - 4} ${y}h8M${x} ${y - 4}v8`, fill: "none" }));
    }
  }

  // -- folding --------------------------------------------------------------------------------------------------------

  /** Hide what is only there to make a node, or show it again. */
  fold(id) {
    if (!this.folded.delete(id) && this.links.private(id).size) this.folded.add(id);
    this.showFolds();
    return this.folded.has(id);
  }

  showFolds() {
    const hidden = new Set();
    for (const id of this.folded) for (const other of this.links.private(id)) hidden.add(other);
    this.hidden = hidden;
    for (const [key, element] of this.find) {
      const [kind, id] = key.split(" ");
      if (kind === "slot") continue;
      const edge = kind !== "node" && this.links.byId.get(id);
      element.classList.toggle("nb-away", kind === "node" ? hidden.has(id) : !!edge && (hidden.has(edge.src) || hidden.has(edge.dst)));
    }
    for (const hit of this.svg.querySelectorAll("[data-hit]")) {
      hit.classList.toggle("nb-away", this.part("edge", hit.dataset.hit)?.classList.contains("nb-away") || false);
    }
    this.covers.replaceChildren();
    for (const id of this.folded) if (!hidden.has(id)) this.cover(id);
  }

  /** What stands for the nodes that are folded into one: how many they are, and lines from what they still use. */
  cover(id) {
    const box = this.part("node", id)?.getBBox(), inside = this.links.private(id);
    if (!box) return;
    const sources = new Set();
    for (const other of [id, ...inside]) for (const { src } of this.links.makers(other)) if (!inside.has(src) && src !== id && !this.hidden.has(src)) sources.add(src);
    for (const source of sources) {
      const from = this.part("node", source)?.getBBox();
      if (!from || this.links.makers(id).some(({ src }) => src === source)) continue;
      const x0 = from.x + from.width, y0 = from.y + from.height / 2, x1 = box.x, y1 = box.y + box.height / 2, middle = (x0 + x1) / 2;
      this.covers.append(s("path", { class: "nb-shortcut", fill: "none", d: `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}` }));
    }
    const text = `▸ ${inside.size}`, wide = 16 + 7 * text.length;
    const badge = s("g", { class: "nb-fold", "data-fold": id, transform: `translate(${Math.max(box.x - 6, 2)} ${Math.max(box.y - 10, 2)})` },
      s("title", {}, fill(this.texts.unfold, { count: inside.size })),
      s("rect", { width: wide, height: 18, rx: 9 }), s("text", { x: wide / 2, y: 13, "text-anchor": "middle" }, text));
    this.covers.append(badge);
  }

  /** Light what belongs together: nodes and edges. */
  light(nodes, edges = []) {
    for (const element of this.lit || []) element.classList.remove("nb-near");
    this.lit = [...nodes.map((id) => this.part("node", id)), ...edges.flatMap((id) => [this.part("edge", id), this.part("flow", id), this.part("label", id)])].filter(Boolean);
    for (const element of this.lit) element.classList.add("nb-near");
  }

  mark(ids, current) {
    for (const element of this.element.querySelectorAll(".nb-found")) element.classList.remove("nb-found", "nb-current");
    for (const id of ids) this.part("node", id)?.classList.add("nb-found");
    this.part("node", current)?.classList.add("nb-current");
  }

  /** Bring a node into the middle of the window, large enough to be read. */
  centre(id) {
    const box = this.part("node", id)?.getBBox();
    if (!box) return;
    const [, , fw, fh] = this.full;
    if (this.scale < 0.7) this.scale = Math.max(this.scale, 0.9);
    this.overflows = this.overflows || fw * this.scale > this.element.clientWidth || fh * this.scale > this.element.clientHeight;
    this.center = [box.x + box.width / 2, box.y + box.height / 2];
    this.show();
  }

  /** Show one moment. `now` limits what is lit to the step's beginning while its numbers still travel. */
  paint(state, travelling = null) {
    const on = (id) => state.active.has(id) && !travelling?.has(id);
    for (const [key, element] of this.find) {
      const [kind, id] = key.split(" ");
      if (kind === "slot") continue;
      const active = on(id), done = state.done.has(id), bad = state.bad.has(id) && (active || done);
      element.classList.toggle("nb-active", active);
      element.classList.toggle("nb-done", done && !active);
      element.classList.toggle("nb-bad", bad);
      if (kind === "node") element.classList.toggle("nb-freed", state.freed.has(id));
      if (kind === "edge") element.classList.toggle("nb-used", active || done);
      if (kind === "flow") {
        element.setAttribute("marker-end", `url(#${this.prefix}-${active ? "active" : "done"})`);
        const size = this.scaled && (active || done) ? state.sizes.get(id) : undefined;
        if (size === undefined) delete element.dataset.size;
        else element.dataset.size = bin(size);
      }
      if (kind === "label") this.lines(element, active || done ? state.labels.get(id) || "" : "");
    }
    for (const [key, text] of this.start) {
      const [id, what] = key.slice(5).split(":");
      const leaf = state.leaves.get(id), element = this.find.get(key);
      if (what === "row") {
        element.classList.toggle("nb-some", !!leaf && leaf.arriving !== "–");
        element.parentNode.classList.toggle("nb-some", !!leaf && leaf.arriving !== "–");
        continue;
      }
      const before = { arriving: "⇠ ", grad: ".grad " }[what] || "";
      this.lines(element, leaf ? before + leaf[what] : text, before.length);
    }
  }

  /** What a hook did, above the node where it acted. */
  tell(frame) {
    for (const [id, text] of frame?.hooks || []) {
      const box = this.part("node", id)?.getBBox();
      if (box) this.token({ x: box.x + box.width / 2, y: box.y - 12 }, `⚓ ${text}`, "nb-hook");
    }
  }

  /** Text on as many lines as it has, each below the one before. */
  lines(element, text, indent = 0) {
    if (element.dataset.shown === text) return;
    element.dataset.shown = text;
    const rows = text.split("\n");
    if (rows.length === 1) { element.textContent = text; return; }
    const rise = element.dataset.label ? -(rows.length - 1) * 7 : 0;
    element.replaceChildren(...rows.map((row, i) => s("tspan", { x: element.getAttribute("x"),
      dy: i ? 14 : rise, "xml:space": "preserve" }, (i ? "\u00a0".repeat(indent) : "") + row.replace(/ /g, "\u00a0"))));
  }

  /** Move the numbers of a step: first what the node receives, then what it sends. */
  travel(frame, progress) {
    this.tokens.replaceChildren();
    const received = new Set(frame.received);
    for (const id of frame.active || []) {
      const flow = this.part("flow", id);
      if (!flow) continue;
      const first = received.size === 0 || received.has(id);
      const both = received.size > 0 && received.size < (frame.active || []).filter((a) => this.part("flow", a)).length;
      const t = Math.min(Math.max(both ? (first ? progress * 2 : progress * 2 - 1) : progress, 0), 1);
      const length = flow.getTotalLength();
      flow.classList.toggle("nb-active", t > 0);
      flow.setAttribute("marker-end", t === 1 ? `url(#${this.prefix}-active)` : "none");
      flow.style.strokeDasharray = t < 1 ? `${length}` : "";
      flow.style.strokeDashoffset = t < 1 ? `${length * (1 - t)}` : "";
      const label = this.part("label", id);
      if (t > 0 && t < 1 && frame.labels?.[id]) this.token(flow.getPointAtLength(length * smooth(t)), frame.labels[id]);
      if (label && t === 1) { label.classList.add("nb-active"); this.lines(label, frame.labels?.[id] || ""); }
    }
    if (frame.kind === "accumulate") {
      const from = this.part("slot", `${frame.node}:arriving`), to = this.part("slot", `${frame.node}:grad`);
      const text = frame.ledger?.[frame.node]?.total;
      if (from && to && text && progress < 1) {
        const [a, b] = [from, to].map((e) => ({ x: Number(e.getAttribute("x")) + 44, y: Number(e.getAttribute("y")) - 4 }));
        const t = smooth(progress);
        this.token({ x: a.x + (b.x - a.x) * t, y: a.y + (b.y - a.y) * t }, text);
      }
    }
  }

  still() {
    this.tokens?.replaceChildren();
    for (const [key, flow] of this.find || []) {
      if (key.startsWith("flow ")) { flow.style.strokeDasharray = ""; flow.style.strokeDashoffset = ""; }
    }
  }

  token({ x, y }, text, kind = "") {
    const lines = text.split("\n"), wide = Math.max(...lines.map((l) => l.length)) * 7 + 14, high = lines.length * 14 + 6;
    const group = s("g", { class: `nb-token ${kind}`, transform: `translate(${x} ${y})` },
      s("rect", { x: -wide / 2, y: -high / 2, width: wide, height: high, rx: 10 }));
    lines.forEach((line, i) => group.append(
      s("text", { "text-anchor": "middle", y: 4 + (i - (lines.length - 1) / 2) * 14 }, line.replace(/ /g, "\u00a0"))));
    this.tokens.append(group);
  }

  // -- the window -----------------------------------------------------------------------------------------------------

  /** As large as fits, but not so small that nothing can be read: then the window follows the active node. */
  fit(everything = false) {
    const [, , w, high] = this.full, wide = this.element.clientWidth || 800;
    const whole = Math.min(wide / w, TALLEST / high, 1.25);
    const readable = Math.min(0.95, Math.max(0.72, wide / w));
    this.scale = everything || whole > 0.62 ? whole : Math.max(whole, readable);
    this.element.style.height = `${Math.ceil(Math.min(Math.max(high * this.scale, 200), TALLEST))}px`;
    this.center = [w / 2, high / 2];
    this.overflows = !everything && (w * this.scale > wide + 1 || high * this.scale > TALLEST + 1);
    this.moved = everything;
    this.show();
  }

  show() {
    const wide = this.element.clientWidth || 800, high = this.element.clientHeight || 300;
    const w = wide / this.scale, hgt = high / this.scale, [, , fw, fh] = this.full;
    const clamp = (c, size, total) => size >= total ? total / 2 : Math.min(Math.max(c, size / 2), total - size / 2);
    this.center = [clamp(this.center[0], w, fw), clamp(this.center[1], hgt, fh)];
    const [x, y] = [this.center[0] - w / 2, this.center[1] - hgt / 2], beyond = 18; // a margin holds nothing
    this.svg.setAttribute("viewBox", `${x} ${y} ${w} ${hgt}`);
    const cut = { top: y > beyond, left: x > beyond, bottom: y + hgt < fh - beyond, right: x + w < fw - beyond };
    for (const [side, rim] of Object.entries(this.rims)) rim.hidden = !cut[side];
  }

  zoom(factor, at = null) {
    const old = this.scale;
    this.scale = Math.min(Math.max(old * factor, 0.02), 4);
    if (at) {
      const box = this.element.getBoundingClientRect();
      const dx = at.clientX - box.left - box.width / 2, dy = at.clientY - box.top - box.height / 2;
      this.center[0] += dx / old - dx / this.scale;
      this.center[1] += dy / old - dy / this.scale;
    }
    this.overflows = this.moved = true;
    this.show();
  }

  /** Bring the active parts into view, if the whole is not in view anyway. */
  follow(state, gently) {
    cancelAnimationFrame(this.gliding);
    if (!this.overflows || this.dragging) return;
    const boxes = [...state.active].map((id) => this.part("node", id)).filter(Boolean).map((g) => g.getBBox());
    for (const id of state.frame?.active || []) {
      const flow = this.part("flow", id);
      if (flow) { const b = flow.getBBox(); if (b.width * this.scale < this.element.clientWidth * 0.6) boxes.push(b); }
    }
    if (!boxes.length) return;
    const left = Math.min(...boxes.map((b) => b.x)), right = Math.max(...boxes.map((b) => b.x + b.width));
    const top = Math.min(...boxes.map((b) => b.y)), bottom = Math.max(...boxes.map((b) => b.y + b.height));
    const goal = [(left + right) / 2, (top + bottom) / 2], from = [...this.center], begun = performance.now();
    const glide = (now) => {
      const t = gently ? smooth(Math.min((now - begun) / 300, 1)) : 1;
      this.center = [from[0] + (goal[0] - from[0]) * t, from[1] + (goal[1] - from[1]) * t];
      this.show();
      if (t < 1) this.gliding = requestAnimationFrame(glide);
    };
    glide(begun);
  }

  listen() {
    const element = this.element;
    let down = null;
    element.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 300), event);
    }, { passive: false });
    element.addEventListener("pointerdown", (event) => {
      if (event.button === 0) down = { x: event.clientX, y: event.clientY, center: [...this.center], id: event.pointerId };
    });
    element.addEventListener("pointermove", (event) => {
      if (!down) return;
      const dx = event.clientX - down.x, dy = event.clientY - down.y;
      if (!this.dragging && Math.hypot(dx, dy) < 5) return;
      if (!this.dragging) element.setPointerCapture(down.id);
      this.dragging = this.moved = true;
      this.center = [down.center[0] - dx / this.scale, down.center[1] - dy / this.scale];
      this.show();
    });
    const up = (event) => {
      if (down && !this.dragging && event.type === "pointerup") {
        const badge = event.target.closest?.("[data-fold]");
        if (badge) this.fold(badge.dataset.fold);
        else this.onselect(event.target.closest?.("[data-node]")?.dataset.node || null);
      }
      down = null;
      this.dragging = false;
    };
    element.addEventListener("pointerup", up);
    element.addEventListener("pointercancel", up);
    const over = (event) => {
      const node = event.target.closest?.("[data-node]")?.dataset.node;
      const edge = event.target.closest?.("[data-hit]")?.dataset.hit;
      this.onhover(node || null, edge || null);
    };
    element.addEventListener("pointerover", over);
    element.addEventListener("pointerleave", () => this.onhover(null, null));
  }
}

const smooth = (t) => t * t * (3 - 2 * t);

/** Which of five classes a gradient's size is in: vanished, small, usual, large, exploding (log10 per element). */
const BOUNDS = [-6, -3, 2, 5];
const bin = (size) => BOUNDS.filter((bound) => size > bound).length;
