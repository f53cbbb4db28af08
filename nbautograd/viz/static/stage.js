import { paintBeads } from "./beads.js";
import { Camera, extent, rectangle } from "./camera.js";
import { attach, clamp, DRAWABLE, drawing, fill, h, notFinite, s } from "./dom.js";
import { paintSums } from "./folded_sums.js";
import { drawnText, IS_NUMBER } from "./numbers.js";
import { POUR } from "./pours.js";
import { paintSize } from "./sizes.js";
import { smooth } from "./viewport.js";

/** The text of a leaf's .grad after a pass, with the terms of its sum: what was there before, and what came. */
function heldIn({ arriving, grad, kept }, { before, total } = {}, room = 0) {
  if (!kept || arriving.endsWith(` = ${grad}`)) return kept ? arriving : grad;
  if (!IS_NUMBER.test(before) || !Number(before)) return grad;
  const sums = [arriving.split(" = ")[0], total].map((came) => `${before} + ${came} = ${grad}`);
  return sums.find((sum) => extent(`.grad ${sum}`).width <= room) ?? grad;
}

const SAVED_STYLES = ["fill", "stroke", "stroke-width", "visibility", "font-weight", "font-family", "opacity",
  "stroke-dasharray", "display"];
const RIMS = ["top", "right", "bottom", "left"];

/** The drawing of a graph: the state of one moment, what is folded, and what is pointed at. */
export class Stage extends Camera {
  constructor(element, onselect, onhover) {
    super(element);
    this.onselect = onselect;
    this.onhover = onhover;
    this.folded = new Set();
    element.addEventListener("pointerover", ({ target }) => {
      const node = target.closest?.("[data-node]")?.dataset.node, edge = target.closest?.("[data-hit]")?.dataset.hit;
      const tile = target.closest?.("[data-cells]")?.dataset.cells;
      this.onhover(node || null, edge || (tile && !tile.includes(":") ? tile : null));
    });
    element.addEventListener("pointerleave", () => this.onhover(null, null));
  }

  clicked(target, twice = false) {
    const badge = target.closest?.("[data-fold]");
    if (badge) this.fold(badge.dataset.fold);
    else this.onselect(target.closest?.("[data-node]")?.dataset.node || null, twice);
  }

  load(text, links) {
    Object.assign(this, { text, links });
    this.folded.clear();
    [this.svg, this.prefix] = drawing(text);
    this.full = this.svg.getAttribute("viewBox").split(" ").map(Number);
    this.svg.setAttribute("preserveAspectRatio", "xMidYMid meet");
    this.svg.removeAttribute("width");
    this.svg.removeAttribute("height");
    this.find = new Map();
    this.boxes = new Map();
    this.beads = null;
    this.painted = new Map(); // the drawn state of each part: a step touches only the changes
    this.start = new Map();
    for (const kind of ["node", "edge", "flow", "label", "slot"]) {
      for (const element of this.svg.querySelectorAll(`[data-${kind}]`)) {
        const id = element.dataset[kind], key = `${kind} ${id}`;
        this.find.set(key, element);
        if (kind === "slot") this.start.set(key, element.textContent);
        else this.painted.set(key, { kind, id, element, look: "" });
      }
    }
    this.tiles.load(this.svg, links);
    this.addTargets();
    this.nameSaved();
    this.covers = s("g", { class: "nb-covers" });
    this.tokens = s("g", { class: "nb-tokens", "aria-hidden": "true" });
    this.svg.append(this.covers, this.tokens);
    const rim = (side) => h("div", { class: `nb-rim nb-rim-${side}`, "aria-hidden": "true" });
    this.rims = Object.fromEntries(RIMS.map((side) => [side, rim(side)]));
    this.element.replaceChildren(this.svg, ...Object.values(this.rims));
    this.fit();
  }

  /** True if the width of a gradient's line shows its size. */
  get scaled() { return this.waves || this.controls.scaled; }

  part(kind, id) { return this.find.get(`${kind} ${id}`); }

  /** A broad, unseen line over each edge, and a box around each bare number, so that a pointer finds them. */
  addTargets() {
    for (const [key, edge] of this.find) {
      if (!key.startsWith("edge ")) continue;
      edge.before(s("path", { class: "nb-hit", "data-hit": key.slice(5), d: edge.getAttribute("d"), fill: "none" }));
    }
    for (const id of Object.keys(this.links.nodes)) {
      const group = this.part("node", id);
      if (!group || group.querySelector(".nb-shape")) continue;
      const { x, y, width } = this.box(id);
      group.prepend(s("rect", { class: "nb-grip", x, y: y - 3, width, height: 26, fill: "none" }));
    }
  }

  /** Each saved tensor says what it is when the pointer rests on its dot. */
  nameSaved() {
    for (const [id, node] of Object.entries(this.links.nodes)) {
      for (const [i, dot] of [...this.part("node", id)?.querySelectorAll(".nb-saved") || []].entries()) {
        if (node.kept?.[i]) dot.append(s("title", {}, node.kept[i]));
      }
    }
  }

  /** A sign on each group that a click opens. */
  addOpeners(ids) {
    for (const id of ids) {
      const group = this.part("node", id), front = [...group?.querySelectorAll(".nb-shape") || []].at(-1);
      if (!front) continue;
      const box = rectangle(front);
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
  }

  showFolds() {
    const hidden = new Set();
    for (const id of this.folded) for (const other of this.links.private(id)) hidden.add(other);
    this.hidden = hidden;
    for (const { kind, id, element } of this.painted.values()) {
      const edge = kind !== "node" && this.links.byId.get(id);
      const away = kind === "node" ? hidden.has(id) : !!edge && (hidden.has(edge.src) || hidden.has(edge.dst));
      element.classList.toggle("nb-away", away);
    }
    for (const hit of this.svg.querySelectorAll("[data-hit]")) {
      hit.classList.toggle("nb-away", this.part("edge", hit.dataset.hit)?.classList.contains("nb-away") || false);
    }
    this.covers.replaceChildren();
    for (const id of this.folded) if (!hidden.has(id)) this.cover(id);
  }

  /** What stands for the nodes that are folded into one: how many they are, and lines from what they still use. */
  cover(id) {
    const box = this.box(id), inside = this.links.private(id);
    if (!box) return;
    const makers = [id, ...inside].flatMap((other) => this.links.makers(other).map(({ src }) => src));
    for (const source of new Set(makers)) {
      if (inside.has(source) || source === id || this.hidden.has(source)) continue;
      const from = this.box(source);
      if (!from || this.links.makers(id).some(({ src }) => src === source)) continue;
      const x0 = from.x + from.width, y0 = from.y + from.height / 2, x1 = box.x, y1 = box.y + box.height / 2;
      const middle = (x0 + x1) / 2, d = `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`;
      this.covers.append(s("path", { class: "nb-shortcut", fill: "none", d }));
    }
    const text = `▸ ${inside.size}`, wide = 16 + 7 * text.length;
    const transform = `translate(${Math.max(box.x - 6, 2)} ${Math.max(box.y - 10, 2)})`;
    this.covers.append(s("g", { class: "nb-fold", "data-fold": id, transform },
      s("title", {}, fill(this.texts, "unfold", { count: inside.size })),
      s("rect", { width: wide, height: 18, rx: 9 }), s("text", { x: wide / 2, y: 13, "text-anchor": "middle" }, text)));
  }

  /** Light what belongs together: nodes and edges. */
  light(nodes, edges = []) {
    for (const element of this.lit || []) element.classList.remove("nb-near");
    const parts = (id) => ["edge", "flow", "label"].map((kind) => this.part(kind, id));
    this.lit = [...nodes.map((id) => this.part("node", id)), ...edges.flatMap(parts)].filter(Boolean);
    for (const element of this.lit) element.classList.add("nb-near");
  }

  /** A ring around the node that is selected. */
  ring(id) {
    for (const element of this.element.querySelectorAll(".nb-ring")) element.remove();
    for (const element of this.element.querySelectorAll(".nb-selected")) element.classList.remove("nb-selected");
    const group = id && this.part("node", id), box = group && this.box(id);
    if (!box) return;
    group.classList.add("nb-selected");
    const { x, y, width, height } = box;
    const rx = Math.min(12, height / 2) + (group.classList.contains("nb-op") ? 16 : 0);
    group.append(s("rect", { class: "nb-ring", x: x - 5, y: y - 5, width: width + 10, height: height + 10, rx }));
  }

  mark(ids, current) {
    const marked = this.element.querySelectorAll(".nb-found");
    for (const element of marked) element.classList.remove("nb-found", "nb-current");
    for (const id of ids) this.part("node", id)?.classList.add("nb-found");
    this.part("node", current)?.classList.add("nb-current");
  }

  /** Show one moment, without the edges and labels whose numbers are still `travelling`. */
  paint(state, travelling = null) {
    const on = (id) => state.active.has(id) && !travelling?.has(id), thread = this.thread(state.frame);
    for (const part of this.painted.values()) {
      const { kind, id, element } = part, active = on(id), reached = active || state.done.has(id);
      const size = kind === "flow" && this.scaled && reached ? state.sizes.get(id) : undefined;
      const text = kind !== "label" ? "" : reached ? this.written(state, id) : state.pending || "";
      const classes = this.classesOf(part, state, active, reached, thread);
      const names = Object.keys(classes), look = `${names.filter((name) => classes[name])} ${size} ${text}`;
      if (part.look === look) continue;
      part.look = look;
      for (const name of names) element.classList.toggle(`nb-${name}`, Boolean(classes[name]));
      if (kind === "flow") this.paintFlow(element, active, size);
      if (kind === "label") this.lines(element, text);
    }
    this.tiles.paint(state, travelling);
    this.paintLeaves(state);
    paintBeads(this, state);
    paintSums(this, state, travelling);
  }

  /** The classes of a node, a line or a label at one moment, each with whether it is on. */
  classesOf({ kind, id }, state, active, reached, thread) {
    const bad = (state.bad.has(id) && reached) || id === this.links.failed;
    return { active, done: state.done.has(id) && !active, bad, thread: thread.has(id), future: state.future?.has(id),
      freed: kind === "node" && state.freed.has(id), used: kind === "edge" && reached,
      asked: kind === "label" && id === state.asked };
  }

  /** Paint a line and its label at the next step whatever they show: something else has touched them. */
  forget(id) {
    for (const kind of ["flow", "label"]) {
      const part = this.painted.get(`${kind} ${id}`);
      if (part) part.look = null;
    }
  }

  /** Of an error: what was written to since it was saved, and its lines to the operation that needs it. */
  thread(frame) {
    const { node, story } = frame || {}, { links } = this, changed = (id) => links.nodes[id]?.now;
    if (!story?.length) return new Set();
    const lines = [...links.makers(node).filter(({ src }) => changed(src)),
      ...links.users(node).filter(({ dst, kind }) => kind === "result" && changed(dst))];
    return new Set(lines.flatMap(({ id, src, dst }) => [id, src, dst]));
  }

  /** What stands on an edge as text: nothing where there is a tile. */
  written(state, id) { return this.tiles.onEdge(state, id) ? "" : state.labels.get(id) || ""; }

  /** The line of a gradient: its head, and the class of its size where sizes are shown. */
  paintFlow(element, active, size) {
    element.setAttribute("marker-end", `url(#${this.prefix}-${active ? "active" : "done"})`);
    paintSize(element, this.scaled, size, active);
  }

  /** The rows of the leaves: what is arriving, and what `.grad` holds. */
  paintLeaves(state) {
    for (const [key, text] of this.start) {
      const [id, what] = key.slice(5).split(":");
      const leaf = state.leaves.get(id), element = this.find.get(key);
      if (what === "row") {
        const waits = !!leaf && leaf.arriving !== "–" && !leaf.kept;
        element.classList.toggle("nb-some", waits);
        element.parentNode.classList.toggle("nb-some", waits);
        continue;
      }
      const before = { arriving: text.startsWith("⇠") ? "⇠ " : "\u00a0 ", grad: ".grad " }[what] || "";
      const room = what === "grad" && leaf ? this.box(id).width - 2 * POUR.side : 0;
      const said = leaf ? before + (room ? heldIn(leaf, state.ledger.get(id), room) : leaf[what]) : text;
      this.lines(element, before ? this.tiles.said(state, id, what, said) : said, before.length);
    }
  }

  /** Show a step that has come to its end. */
  settle(state) {
    this.paint(state);
    this.pours.paint(state);
    this.tell(state);
  }

  /** What a hook did, beside the node where it acted. */
  tell(state) {
    for (const [id, text] of state.frame?.hooks || []) {
      if (!this.box(id)) continue;
      const said = `⚓ ${text.replace(" → ", "\n→ ")}`, { width, height } = extent(said);
      const [x, y] = this.freePlace(id, { width: width + 14, height: height + 6 }, state.labels);
      this.tokens.append(this.tail(id, [x, y]));
      this.token({ x, y }, said, "nb-hook");
    }
  }

  /** A line from a place to the nearest point of a node. */
  tail(id, [x, y]) {
    const box = this.box(id), near = (at, from, size) => clamp(at, from + 8, from + size - 8);
    return s("path", { class: "nb-hook-tail",
      d: `M${x} ${y}L${near(x, box.x, box.width)} ${near(y, box.y, box.height)}` });
  }

  /** Text on as many lines as it has, each below the one before. */
  lines(element, printed, indent = 0) {
    const text = drawnText(printed);
    if (element.dataset.shown === text) return;
    element.dataset.shown = text;
    element.classList.toggle("nb-bad-text", notFinite(text));
    const rows = text.split("\n");
    if (rows.length === 1) { element.textContent = text; return; }
    const rise = element.dataset.label ? -(rows.length - 1) * 7 : 0;
    element.replaceChildren(...rows.map((row, i) => s("tspan", { x: element.getAttribute("x"),
      dy: i ? 14 : rise, "xml:space": "preserve" }, (i ? "\u00a0".repeat(indent) : "") + row.replace(/ /g, "\u00a0"))));
  }

  /** Move the numbers of a step: first what the node receives, then what it sends. */
  travel(frame, progress) {
    this.tokens.replaceChildren();
    const received = new Set(frame.received), moving = (frame.active || []).filter((id) => this.part("flow", id));
    const both = received.size > 0 && received.size < moving.length;
    for (const id of moving) {
      const first = received.size === 0 || received.has(id);
      const share = both ? progress * 2 - (first ? 0 : 1) : progress;
      this.travelAlong(id, clamp(share, 0, 1), frame.labels?.[id] || "", frame.tiles?.[id]);
    }
  }

  /** A gradient on its way along an edge. */
  travelAlong(id, t, text, number) {
    const flow = this.part("flow", id), label = this.part("label", id), length = flow.getTotalLength();
    this.forget(id);
    flow.classList.toggle("nb-active", t > 0);
    flow.setAttribute("marker-end", t === 1 ? `url(#${this.prefix}-active)` : "none");
    flow.style.strokeDasharray = t < 1 ? `${length}` : "";
    flow.style.strokeDashoffset = t < 1 ? `${length * (1 - t)}` : "";
    const tile = this.tiles.gradientOn(id, number);
    if (t > 0 && t < 1 && (text || tile)) {
      this.token(flow.getPointAtLength(length * smooth(t)), text, "", tile && id, number);
    }
    if (label && t === 1) {
      label.classList.add("nb-active");
      if (tile) this.tiles.showOn(id, tile);
      else this.lines(label, text);
    }
  }

  still() {
    this.tokens?.replaceChildren();
    for (const { kind, element: { style } } of this.painted?.values() || []) {
      if (kind === "flow" && style.strokeDasharray) style.strokeDasharray = style.strokeDashoffset = "";
    }
  }

  /** Numbers on their way: a text, or the tile of an edge. */
  token({ x, y }, printed, kind = "", edge = null, number = -1) {
    const text = drawnText(printed);
    const group = s("g", { class: `nb-token ${kind}`, transform: `translate(${x} ${y})` });
    const tile = edge && this.tiles.travelling(edge, number);
    const { width, height } = tile || extent(text), wide = width + (tile ? 6 : 14), high = height + 6;
    group.append(s("rect", { x: -wide / 2, y: -high / 2, width: wide, height: high, rx: tile ? 4 : 10 }));
    if (tile) group.append(tile.group);
    else text.split("\n").forEach((line, i, lines) => group.append(
      s("text", { "text-anchor": "middle", y: 4 + (i - (lines.length - 1) / 2) * 14 }, line.replace(/ /g, "\u00a0"))));
    this.tokens.append(group);
  }

  /** The moment that is shown, as a file: what the style sheet says is written into the drawing. */
  save(name) {
    const copy = this.svg.cloneNode(true), [, , wide, high] = this.full;
    const originals = this.svg.querySelectorAll("*");
    copy.querySelectorAll("*").forEach((element, i) => {
      if (!DRAWABLE.has(element.localName)) return;
      const style = getComputedStyle(originals[i]);
      for (const property of SAVED_STYLES) element.setAttribute(property, style.getPropertyValue(property));
    });
    attach(copy, { viewBox: this.full.join(" "), width: wide, height: high });
    const text = new XMLSerializer().serializeToString(copy);
    const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    h("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}
