import { SIGN } from "./beads.js";
import { shared } from "./camera.js";
import { indexOf, largestAt } from "./cells.js";
import { dimsOf } from "./chain.js";
import { button, h, icon, press, s } from "./dom.js";
import { atom, formula, math, rootOf } from "./formula.js";
import { keyList } from "./keys.js";
import { isGroup } from "./links.js";
import { shortNumber } from "./numbers.js";
import { histogramOf, TileView } from "./tile.js";

const CARD_ROOM = { wide: 200, high: 90 }; // of a card's tile
const BESIDE_POINTER = 14; // pixels
const FAR = 1e5; // cost in pixels of a place that covers something
const CARD_NUDGE = 0.01;

/** What a gradient means, in words: for an element of a tensor, or for a number. */
export function meaning(t, name, root, value, partly = false) {
  if (!Number.isFinite(value)) return [];
  const key = partly ? "sensitivity_part" : "sensitivity";
  const said = [t(key, { name, root, change: shortNumber(value * CARD_NUDGE) })];
  if (partly) return said;
  if (value === 0) return [t("unmoved", { name, root })];
  if (value === 1) said.push(t("as_fast", { name, root }));
  else said.push(t(value < 0 ? "against" : "faster", { name, root, times: shortNumber(Math.abs(value)) }));
  return said;
}

/** Says beside the pointer what the number on an edge means, or by what an operation multiplies. */
export class SensitivityCard {
  constructor(player) {
    this.player = player;
    this.element = h("div", { class: "nb-sensitivity", role: "status", hidden: "" });
    this.edge = null;
  }

  watch(canvas) {
    const over = (event) => {
      const { hit, label } = event.target.dataset || {}, edge = hit || (event.target.textContent && label);
      const op = event.target.closest?.(".nb-op:not(.nb-group)")?.dataset.node;
      if (event.target.closest?.("[data-cells]")) this.hide(); // an element has a card of its own
      else if (edge) this.showEdge(edge, event);
      else if (op) this.showOp(op, event);
      else this.hide();
    };
    canvas.addEventListener("pointerover", (event) => over(event.target.closest?.("tspan") ? {
      target: event.target.closest("text"), clientX: event.clientX, clientY: event.clientY } : event));
    canvas.addEventListener("pointermove", (event) => { if (this.edge) this.place(event.clientX, event.clientY); });
    const away = ({ pointerType }) => { if (pointerType !== "touch") this.hide(); }; // a finger does not stay
    canvas.addEventListener("pointerleave", away);
    canvas.addEventListener("pointerdown", away);
  }

  hide() {
    this.element.hidden = true;
    this.edge = null;
  }

  /** The edges and operations of the node that is selected, else of the step that is shown, else all edges. */
  around() {
    const { links, predict, selected } = this.player, beside = [...links.makers(selected), ...links.users(selected)];
    const near = selected ? new Set([selected, ...beside.map(({ id }) => id)]) : this.player.state().active;
    const edges = links.edges.map(({ id }) => id), own = edges.filter((id) => near.has(id));
    const ops = [...near].filter((id) => links.nodes[id]?.kind === "op" && !predict.hides && this.aboutOp(id));
    return [...(own.length ? own : edges), ...ops];
  }

  /** The next of them has its card, for those who use the keyboard. */
  next(by) {
    const { player } = this, { links, stage } = player, all = this.around(), here = all.indexOf(this.edge);
    if (!all.length) return;
    const id = all[here < 0 ? (by > 0 ? 0 : all.length - 1) : (here + by + all.length) % all.length];
    const place = stage.part("node", id) || stage.svg.querySelector(`[data-hit="${CSS.escape(id)}"]`);
    if (!place) return;
    const { x, y, width, height } = place.getBoundingClientRect(), isNode = id in links.nodes;
    player.hover(isNode ? id : null, isNode ? null : id);
    this[isNode ? "showOp" : "showEdge"](id, { clientX: x + width / 2, clientY: y + height / 2 });
  }

  showEdge(id, at) {
    const edge = this.player.links.byId.get(id);
    if (edge && this.player.plays) this.show(id, this.aboutEdge(edge), at);
  }

  showOp(id, at) {
    const content = this.player.plays && !this.player.predict.hides && this.aboutOp(id);
    if (content) this.show(id, content, at);
    else this.hide();
  }

  show(id, content, { clientX, clientY }) {
    this.edge = id;
    this.element.replaceChildren(...content.filter(Boolean));
    this.element.hidden = false;
    this.place(clientX, clientY);
  }

  /** Beside the pointer or the nodes that it speaks of: where it is whole and covers least of these. */
  place(clientX, clientY) {
    const { player: { root }, element: { offsetWidth: w, offsetHeight: high, style } } = this;
    const around = root.getBoundingClientRect(), [x, y] = [clientX - around.left, clientY - around.top];
    const spoken = this.spokenOf().map((node) => node.getBoundingClientRect()).map((box) =>
      ({ x: box.x - around.x, y: box.y - around.y, width: box.width, height: box.height }));
    const beside = (from, to, size) => [to + BESIDE_POINTER, from - size - BESIDE_POINTER];
    const lefts = [beside(x, x, w), ...spoken.map((box) => beside(box.x, box.x + box.width, w))].flat();
    const tops = [beside(y, y, high), ...spoken.map((box) => beside(box.y, box.y + box.height, high))].flat();
    const within = (at, size, whole) => Math.max(Math.min(at, whole - size - 6), 6);
    const cost = ([left, top]) => Math.hypot(left + w / 2 - x, top + high / 2 - y)
      + (left < x && x < left + w && top < y && y < top + high ? FAR : 0) // the hovered element
      + FAR * spoken.filter((box) => shared(box, { x: left, y: top, width: w, height: high })).length;
    const spots = lefts.flatMap((left) => tops.map((top) =>
      [within(left, w, around.width), within(top, high, around.height)]));
    const [left, top] = spots.reduce((best, spot) => (cost(spot) < cost(best) ? spot : best));
    Object.assign(style, { left: `${left}px`, top: `${top}px` });
  }

  /** The drawn nodes that it speaks of: the ends of an edge, or an operation. */
  spokenOf() {
    const { links, stage } = this.player, { src, dst } = links.byId.get(this.edge) || { src: this.edge };
    return [src, dst].map((id) => id && stage.part("node", id)).filter(Boolean);
  }

  // -- an edge --------------------------------------------------------------------------------------------------------
  aboutEdge(edge) {
    const { player } = this, { links, t } = player, map = player.passMap(), state = player.state();
    const said = links.valueOf(edge), others = Object.values(player.drawn.stands || {}).filter((id) => id === edge.id);
    if (edge.kind === "constant") return [this.head(said), this.line(t("no_gradient_here"), true)];
    if (others.length) return [this.head(said), this.line(t("several_edges", { count: others.length + 1 }), true)];
    const step = map.steps.get(edge.id), tile = map.tile(map.came.get(edge.id));
    const name = this.gradientOf(edge, map, step), shown = state.active.has(edge.id) || state.done.has(edge.id);
    if (!shown || !tile) {
      return [this.head(name), this.line(shown ? state.labels.get(edge.id) || "" : t("not_here_yet"), true)];
    }
    const undone = step?.summed && this.line(this.undone(edge, step), true);
    return [...this.meant(edge, name, tile), undone, this.formulaOf(edge),
      tile.cells.length > 1 && new TileView(tile, { name, scale: player.equation.scale, ...CARD_ROOM }).svg,
      tile.block && histogramOf(tile)];
  }

  /** The number on an edge, and in words what it means. */
  meant(edge, name, tile) {
    const { links, t } = this.player, one = tile.cells.length === 1, at = largestAt(tile.cells);
    const own = edge.kind === "result" ? links.nodes[edge.dst].name : links.valueOf(edge);
    const ways = isGroup(links.nodes[edge.src]) ? 1 : links.users(edge.src).length;
    const element = one ? own : `${atom(own)}[${indexOf(at, tile.shape).join(", ")}]`;
    const several = edge.kind === "flow" && ways > 1;
    const words = tile.block ? [] : meaning(t, element, rootOf(name), tile.cells[at], several);
    const way = { name: own, via: links.resultOf(edge.id), count: ways };
    return [this.head(one ? `${name} = ${shortNumber(tile.cells[0])}` : name, one ? "" : tile.shape.join("×")),
      ...words.map((text) => this.line(text)), several && this.line(t("one_way", way), true)];
  }

  undone(edge, step) {
    const { links, t } = this.player;
    return t("undo_broadcast", { dims: dimsOf(step), name: links.nodes[edge.src].name });
  }

  head(text, more = "") {
    const about = more && h("span", { class: "nb-soft" }, ` ${more}`);
    return h("div", { class: "nb-sensitivity-head" }, h("b", {}, text), about);
  }

  line(text, soft = false) { return h("div", { class: soft ? "nb-soft" : "" }, text); }

  /** What is called what goes along an edge. */
  gradientOf(edge, map, step) {
    if (step) return step.sent_name;
    const { links } = this.player;
    for (const { id } of links.makers(edge.src)) if (map.steps.get(id)) return map.steps.get(id).upstream_name;
    return map.seed || `∂/∂${atom(links.valueOf(edge))}`;
  }

  formulaOf(edge) {
    const { formulas, slots } = this.player.links.nodes[edge.dst] || {};
    const marks = edge.kind === "flow" && formulas?.[slots?.indexOf(edge.slot)];
    return marks && h("div", { class: "nb-formula" }, formula(marks));
  }

  // -- an operation ---------------------------------------------------------------------------------------------------
  aboutOp(id) {
    const { player } = this, { links, t } = player, { nodes } = links;
    const map = player.passMap(), steps = links.makers(id).map((edge) => [edge, map.steps.get(edge.id)]);
    const known = steps.filter(([, step]) => step?.local?.length);
    if (!known.length) return null;
    const lines = known.map(([edge, step]) => {
      const factor = map.tile(step.factor);
      const number = factor?.cells.length === 1 ? ` = ${shortNumber(factor.cells[0], factor.form)}` : "";
      const from = links.resultOf(edge.id), to = nodes[edge.src]?.name;
      const name = h("span", {}, `∂${atom(from)}/∂${atom(to)} = `);
      return h("div", { class: "nb-sensitivity-local" }, name, math(step.local), number);
    });
    return [this.head(nodes[id].expression || nodes[id].name), this.line(t("local_of"), true), ...lines];
  }
}

// -- what the marks mean ----------------------------------------------------------------------------------------------

/** A list of the marks that occur in drawings, each with what it means; and of the keys. */
export class MarkLegend {
  constructor(player) {
    this.player = player;
    const { t } = player;
    this.element = h("div", { class: "nb-marks", role: "dialog", "aria-label": t("marks"), tabindex: -1, hidden: "" });
    this.button = button("marks-button", t("marks"), () => this.toggle(), icon("marks"));
    press(this.button, false, "aria-expanded");
  }

  get open() { return !this.element.hidden; }

  toggle() {
    if (!this.open) {
      this.from = this.player.root.getRootNode().activeElement;
      this.element.replaceChildren(...this.content());
    }
    this.element.hidden = this.open;
    press(this.button, this.open, "aria-expanded");
    if (this.open) this.element.focus();
    else (this.player.root.contains(this.from) ? this.from : this.button).focus({ preventScroll: true });
  }

  content() {
    const { t } = this.player;
    const close = h("button", { type: "button", class: "nb-button", "aria-label": t("close"), title: t("close"),
      onclick: () => this.toggle() }, "×");
    const list = Object.entries(MARKS).filter(([name]) => this.player.plays || !ONLY_PLAYED.has(name));
    return [h("div", { class: "nb-marks-head" }, h("b", {}, t("marks_title")), close),
      h("ul", {}, ...list.map(([name, parts]) => h("li", {}, this.sample(parts), h("span", {}, t(`mark_${name}`))))),
      h("div", { class: "nb-keys-head" }, h("b", {}, t("keys_title"))), keyList(this.player)];
  }

  sample(parts) {
    const shapes = parts.map(([tag, kind, attributes]) => s("g", { class: kind }, s(tag, attributes)));
    return s("svg", { viewBox: "0 0 44 24", width: 44, height: 24, "aria-hidden": "true", class: "nb-mark" },
      ...shapes);
  }
}

const ONLY_PLAYED = new Set(["arriving", "bead", "broadcast", "flow"]);
const boxMark = { x: 3, y: 3, width: 38, height: 18, rx: 4, class: "nb-shape" };
const pillMark = { ...boxMark, rx: 9 };
const wireMark = { d: "M3 12H35", class: "nb-edge" };
const beadGround = { cx: 22, cy: 12, r: 8, class: "nb-bead-ground" };
const beadSign = { d: `M25 8.4${SIGN}`, class: "nb-bead-sign", fill: "none" };
const MARKS = {
  leaf: [["rect", "nb-node nb-leaf", boxMark]],
  tensor: [["rect", "nb-node nb-tensor", boxMark]],
  output: [["rect", "nb-node nb-output", boxMark]],
  constant: [["rect", "nb-node nb-constant", { ...boxMark, "stroke-dasharray": "4 3" }]],
  op: [["rect", "nb-node nb-op", pillMark]],
  group: [["rect", "nb-node nb-op", { ...boxMark, x: 7, y: 6, width: 34, height: 15 }],
    ["rect", "nb-node nb-op", { ...boxMark, width: 34, height: 15 }]],
  saved: [["rect", "nb-node nb-op", { ...pillMark, height: 14 }],
    ["circle", "", { cx: 22, cy: 17, r: 3, class: "nb-saved" }]],
  freed: [["rect", "nb-node nb-op", { ...pillMark, height: 14 }],
    ["circle", "nb-freed", { cx: 22, cy: 17, r: 3, class: "nb-saved" }]],
  forward: [["path", "", wireMark], ["path", "", { d: "M34 8.6L41 12L34 15.4z", class: "nb-head-wire" }]],
  flow: [["path", "", { d: "M41 12H9", class: "nb-flow nb-active" }],
    ["path", "", { d: "M10 8L3 12L10 16z", class: "nb-head-active" }]],
  arriving: [["path", "nb-mark-arriving", { d: "M3 12h3m3 0h3m3 0h6M8 8L3 12L8 16", fill: "none" }]],
  bead: [["circle", "", beadGround],
    ["circle", "", { cx: 22, cy: 12, r: 8, class: "nb-bead-ring", fill: "none", pathLength: 2,
      "stroke-dasharray": "1 2" }],
    ["path", "", beadSign]],
  broadcast: [["path", "", wireMark], ["circle", "", beadGround], ["path", "", beadSign]],
};
