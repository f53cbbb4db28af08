import { Cells, indexOf, inlineTile } from "./cells.js";
import { h, s } from "./dom.js";
import { atom } from "./formula.js";
import { shortNumber } from "./numbers.js";
import { Origins } from "./origins.js";
import { gradientKey, histogramOf, largestOf, TileView } from "./tile.js";

const AWAY = 14; // pixels from the pointer to the card
const PANEL = { wide: 216, high: 150 }; // the room for a tile in the panel

/** All tiles that are seen at a moment: in boxes, on edges, in the ledger. An element lights what it came from. */
export class TileLayer {
  constructor(player) {
    this.player = player;
    this.drawn = new Map(); // by name, in the drawing
    this.elsewhere = new Map(); // by name, in the ledger: several may show the same tensor
    this.key = h("div", { class: "nb-key" });
    this.card = h("div", { class: "nb-tile-card", role: "status", hidden: "" });
    const { values = [], tiles = [] } = player.data.timeline;
    Object.assign(this, { values, tiles, scales: {} });
  }

  /** A tile by its number, or as it is. */
  value(known) { return (typeof known === "number" ? this.values[known] : known) || null; }

  gradient(number) { return this.tiles[number] || null; }

  tiled(tile) { return tile && tile.cells.length > 1 ? tile : null; }

  // -- in the drawing ---------------------------------------------------------------------------------------------
  load(svg, links) {
    this.links = links;
    this.drawn.clear();
    for (const group of svg.querySelectorAll("[data-cells]")) {
      const key = group.dataset.cells;
      this.drawn.set(key, new Cells(group, group.dataset.grid.split(" ").map(Number), !key.includes(":")));
    }
    const nodes = Object.values(links.nodes), largest = (name) =>
      Math.max(0, ...nodes.map((node) => this.tiled(this.value(node[name]))).filter(Boolean).map(largestOf)) || 1;
    const { equation, plays } = this.player;
    this.scales = { values: { kind: "values", largest: largest("tile") },
      gradients: plays ? equation.scale : { kind: "gradients", largest: largest("grad_tile") } };
    for (const [key, cells] of this.drawn) {
      const [id, what] = key.split(":");
      if (what === "value") cells.show(this.value(links.nodes[id]?.tile), this.scales.values);
    }
    this.origins = null;
    this.showKey();
  }

  listen(element) {
    const find = (event) => event.target.closest?.("[data-cells]");
    const look = (event) => {
      const group = find(event), key = group?.dataset.cells, cells = group && this.cellsIn(group);
      const cell = cells?.at(event) ?? null;
      if (cell === null) { this.leave(); return; }
      if (this.here?.group !== group || this.here.cell !== cell) this.point(group, key, cells, cell, event);
    };
    element.addEventListener("pointermove", look);
    element.addEventListener("pointerdown", look); // where nothing can hover
    element.addEventListener("pointerleave", () => this.leave());
  }

  cellsIn(group) {
    const drawn = this.drawn.get(group.dataset.cells);
    return drawn?.group === group ? drawn
      : this.elsewhere.get(group.dataset.cells)?.find((cells) => cells.group === group);
  }

  /** The tile of an edge at a moment, if it has one. */
  onEdge(state, id) { return this.drawn.has(id) ? this.tiled(this.gradient(state.tiles?.get(id))) : null; }

  gradientOn(id, number) { return this.drawn.has(id) ? this.tiled(this.gradient(number)) : null; }

  /** The middle of a place in which a tile would be shown; null where it is a text. */
  middleOf(key, number) {
    const cells = this.drawn.get(key), tile = cells && this.tiled(this.gradient(number));
    if (!tile) return null;
    const across = cells.columns === 1 ? 1 : tile.columns;
    return [cells.x + (across * cells.wide) / 2, cells.y + (Math.ceil(tile.cells.length / across) * cells.high) / 2];
  }

  /** The same as something that can travel, around the place (0, 0). */
  travelling(id, number) {
    const { wide, high, columns, written } = this.drawn.get(id), group = s("g", { class: "nb-cells" });
    const cells = new Cells(group, [0, 0, wide, high, columns, written]);
    cells.tile = this.gradient(number);
    const [width, height] = cells.size;
    Object.assign(cells, { tile: null, x: -width / 2, y: -height / 2 });
    cells.show(this.gradient(number), this.scales.gradients);
    return { group, width, height };
  }

  /** The size of the tile that is drawn on an edge. */
  sizeOn(id) {
    const cells = this.drawn.get(id);
    return cells?.tile ? cells.size : null;
  }

  /** Paint the gradients of a moment, without those whose edges are still `hidden`. */
  paint(state, hidden = null) {
    for (const [key, cells] of this.drawn) {
      const [id, what] = key.split(":");
      if (what === "value") continue;
      if (what) { cells.show(this.row(state, id, what), this.scales.gradients); continue; }
      const on = (state.active.has(id) || state.done.has(id)) && !hidden?.has(id);
      this.showOn(id, on ? this.onEdge(state, id) : null);
    }
    const colored = ([key, { tile }]) => tile && !key.endsWith(":value");
    this.key.classList.toggle("nb-some", [...this.drawn].some(colored));
    this.state = state;
  }

  showOn(id, tile) { this.drawn.get(id)?.show(tile, this.scales.gradients); }

  /** What a row of a leaf shows as a tile: what arrives, or `.grad`. */
  row(state, id, what) {
    const leaf = state.leaves.get(id), held = this.value(this.links.nodes[id]?.grad_tile);
    if (!this.drawn.has(`${id}:${what}`)) return null;
    return this.tiled(leaf ? this.gradient(leaf[`${what}_tile`]) : what === "grad" ? held : null);
  }

  /** What the text of a row says, beside the tile if there is one. */
  said(state, id, what, text) {
    if (!this.row(state, id, what)) return text;
    return what === "grad" ? ".grad" : text[0]; // an arrow, or the room of a bead
  }

  // -- in the ledger ----------------------------------------------------------------------------------------------
  /** The tile of a leaf's gradient as an element, made once. */
  inline(key, number, room) {
    const tile = this.tiled(this.gradient(number));
    if (!tile) return null;
    const made = inlineTile(tile, this.scales.gradients, room);
    made.cells.group.dataset.cells = key;
    return made;
  }

  // -- in the panel -----------------------------------------------------------------------------------------------
  /** A tensor as large as the panel has room for, to be walked through with the arrow keys; else null. */
  large(key, tile, scale) {
    if (!this.tiled(tile)) return null;
    const point = (cell) => this.lightFrom(key, tile, cell);
    return [new TileView(tile, { name: this.nameOf(key), scale, ...PANEL, point }).svg, this.about(tile)];
  }

  /** What is known of a node's value, or of a gradient. */
  largeValue(id) { return this.large(`${id}:value`, this.value(this.links.nodes[id]?.tile), this.scales.values); }

  largeGradient(key, number, text) {
    const [id, what] = key.split(":"), held = what === "grad" ? this.value(this.links.nodes[id]?.grad_tile) : null;
    const tile = number === undefined ? held : this.gradient(number);
    return this.large(key, tile, this.scales.gradients) || [text];
  }

  /** Light what an element came from; no element: nothing. */
  lightFrom(key, tile, cell) {
    this.light(cell === null ? new Map() : tile.block ? new Map([[key, new Set([cell])]]) : this.known.of(key, cell));
  }

  get known() {
    const frames = (this.player.data.timeline.frames || []).filter(({ scene }) => scene === this.state?.scene);
    this.origins ??= new Origins(this.links, frames, this.tiles, (name) => this.drawn.get(name)?.tile || null);
    return this.origins;
  }

  // -- an element that is pointed at --------------------------------------------------------------------------------
  point(group, key, cells, cell, event) {
    this.here = { group, cell };
    this.lightFrom(key, cells.tile, cell);
    this.tell(key, cells.tile, cell, event);
    if (!key.includes(":") && !cells.tile.block) this.player.equation.follow(key, cell);
  }

  leave() {
    if (!this.here) return;
    this.here = null;
    this.light(new Map());
    this.card.hidden = true;
    this.player.equation.follow(null);
  }

  light(lit) {
    for (const [key, cells] of this.drawn) if (cells.lights || lit.has(key)) cells.light(lit.get(key));
    for (const [key, all] of this.elsewhere) for (const cells of all) cells.light(lit.get(key));
  }

  /** The name of what a tile shows. */
  nameOf(key) {
    const { links, player } = this, [id, what] = key.split(":"), root = player.drawn?.roots || [];
    const called = (node) => (node?.kind === "op" ? node.label || node.name : node?.name) || "";
    if (what === "value") return atom(called(links.nodes[id]));
    if (what === "grad") return `${called(links.nodes[id])}.grad`;
    const edge = what ? null : links.byId.get(id), end = edge?.kind === "result" ? edge.dst : what ? id : null;
    const value = end ? called(links.nodes[end]) : links.valueOf(edge || {});
    return `∂${atom(root.length === 1 ? called(links.nodes[root[0]]) : "L")}/∂${atom(value)}`;
  }

  /** The card beside the pointer: the element, and of a large tensor what the cells are. */
  tell(key, tile, cell, event) {
    const { block, shape, columns } = tile;
    const from = block && [Math.floor(cell / columns) * block[0], (cell % columns) * block[1]];
    const where = block ? from.map((first) => `${first}…`).join(", ") : indexOf(cell, shape).join(", ");
    const norm = !key.includes(":") && this.state?.labels.get(key)?.split("\n").at(-1);
    this.card.replaceChildren(
      h("div", {}, `${this.nameOf(key)}[${where}] = `, h("b", {}, shortNumber(tile.cells[cell], tile.form))),
      h("div", { class: "nb-soft" }, `(${shape.join(", ")})${norm && !/[[\]]/.test(norm) ? ` · ${norm}` : ""}`),
      this.about(tile));
    this.card.hidden = false;
    this.place(event);
  }

  /** What is to be said of a tile as a whole: how many cells are not finite, and of a large tensor what they are. */
  about(tile) {
    const { t } = this.player, { block, nan = 0, inf = 0 } = tile;
    const line = (text, kind = "nb-soft") => h("div", { class: kind }, text);
    return h("div", { class: "nb-about-tile" },
      block && line(t("block_means", { rows: block[0], columns: block[1] })),
      nan + inf > 0 && line(t("not_finite_count", { nan, inf }), "nb-bad-text"),
      histogramOf(tile),
      block && line(t("histogram", { low: shortNumber(tile.low, "m"), high: shortNumber(tile.high, "m") })));
  }

  place({ clientX, clientY }) {
    const root = this.player.root.getBoundingClientRect(), { offsetWidth: w, offsetHeight: high } = this.card;
    const x = clientX - root.left, y = clientY - root.top;
    const left = x + AWAY + w > root.width ? x - AWAY - w : x + AWAY;
    const top = y + AWAY + high > root.height ? y - AWAY - high : y + AWAY;
    this.card.style.left = `${Math.max(left, 2)}px`;
    this.card.style.top = `${Math.max(top, 2)}px`;
  }

  // -- the key to the colors ---------------------------------------------------------------------------------------
  /** There is one where gradients have colors; it is seen as soon as one of them is. */
  showKey(some = [...this.drawn.keys()].some((name) => !name.endsWith(":value")), scale = this.scales.gradients) {
    this.key.replaceChildren(...(some ? gradientKey(this.player.t("scale_gradients"), scale) : []));
  }
}
