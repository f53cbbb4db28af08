import { extent } from "./camera.js";
import { indexOf, largestAt } from "./cells.js";
import { button, clamp, h, s } from "./dom.js";
import { isGroup } from "./links.js";
import { shortNumber } from "./numbers.js";

const PATIENCE = 700; // milliseconds to wait for a kernel's answer
const QUIET = 60; // milliseconds between two questions to the kernel
const SPAN = 200; // steps of the range
const GHOST_HIGH = 17; // pixels
const VALUES = new Set(["leaf", "op", "output", "tensor"]);

/**
 * What would change if a leaf had another value? Values at once by the recorded local derivatives; by the kernel,
 * where one runs and can compute the graph anew, as they would be. Nothing but the picture changes.
 */
export class Nudge {
  constructor(player) {
    this.player = player;
    this.serial = 0;
    this.active = false;
    this.answered = null;
    this.changed = []; // restores the changed numbers of the drawing
  }

  /** The range for an element of a leaf, and the line of what it comes to; nothing where its numbers are not known. */
  control(id, place) {
    const { player } = this, { t } = player, node = player.links.nodes[id], tile = this.tile(id);
    this.reset();
    if (node?.kind !== "leaf" || !tile || tile.block || !Number.isFinite(tile.cells[place])) return null;
    Object.assign(this, { leaf: id, place, base: tile.cells[place], value: tile.cells[place] });
    this.step = stepFor(this.base);
    const name = tile.cells.length > 1 ? `${node.name}[${indexOf(place, tile.shape).join(", ")}]` : node.name;
    const half = this.step * SPAN / 2, hint = t("nudge_hint");
    this.range = h("input", { type: "range", class: "nb-nudge-range", min: this.base - half, max: this.base + half,
      step: this.step, value: this.base, "aria-label": t("nudge", { name }), title: hint,
      oninput: () => this.set(Number(this.range.value)) });
    this.range.value = this.base;
    this.shown = h("b", { class: "nb-nudge-value" });
    this.back = button("nudge-back", t("nudge_back"), () => { this.reset(); this.range.focus(); }, "↺");
    this.told = h("div", { class: "nb-nudge-told", "aria-live": "polite" });
    this.write();
    return h("div", { class: "nb-nudge" },
      h("label", { class: "nb-nudge-line" }, h("span", { title: hint }, t("nudge", { name })), this.range, this.shown,
        this.back),
      this.told);
  }

  /** True if a change of a leaf's value changes other numbers: by its recorded gradient, or by a kernel. */
  grabs(id) {
    const { drawn, hooks, plays } = this.player, own = this.tile(id), [root] = drawn?.roots || [];
    if (!plays || !own || own.block || !own.cells.every(Number.isFinite) || drawn.roots.length > 1) return false;
    const map = this.player.passMap(), total = map.tile(map.totals.get(id));
    return !!hooks.onnudge || (!!total && !total.block && !!this.tile(root));
  }

  /** Take a leaf's value, or an element of it, into the hand; returns whether that can be done now. */
  grab(id, place = null) {
    const { player } = this;
    if (player.selected !== id) player.select(id);
    if (this.leaf !== id || !this.range?.isConnected) return false;
    if (place !== null && place !== this.place) player.paths.pick(place);
    return true;
  }

  /** A node's value as numbers; null where it has none. */
  tile(id) { return this.player.tiles.value(this.player.links.nodes[id]?.tile); }

  set(value) {
    const { player } = this, decimals = Math.max(0, -Math.floor(Math.log10(this.step)));
    this.value = Number(value.toFixed(decimals));
    this.range.value = this.value;
    this.active = this.value !== this.base;
    this.answered = null;
    this.predicted = this.active ? this.predict() : null;
    this.draw();
    this.write();
    if (this.active && player.hooks.onnudge) this.ask();
  }

  reset() {
    this.active = false;
    this.answered = this.predicted = null;
    this.serial += 1;
    clearTimeout(this.asking);
    clearTimeout(this.waiting);
    if (this.range) {
      this.value = this.base;
      this.range.value = this.base;
      this.write();
    }
    this.clear();
  }

  // -- by the recorded linear map -------------------------------------------------------------------------------------
  /** The changes of all values, by the node; null where the recording does not tell. */
  predict() {
    const { links, drawn } = this.player, map = this.player.passMap(), changes = new Map();
    const cells = this.tile(this.leaf).cells.map((_, i) => (i === this.place ? this.value - this.base : 0));
    changes.set(this.leaf, cells);
    const above = links.above(this.leaf);
    for (const id of links.order.toReversed()) if (above.has(id)) changes.set(id, this.changeOf(id, changes, map));
    const [root] = drawn.roots, total = map.tile(map.totals.get(this.leaf));
    const single = this.tile(root)?.cells.length === 1 && map.seed.startsWith("∂");
    if (!changes.get(root) && single && total && !total.block) {
      changes.set(root, [total.cells[this.place] * (this.value - this.base)]);
    }
    return changes;
  }

  changeOf(id, changes, map) {
    const { links } = this.player, makers = links.makers(id).filter(({ kind }) => kind !== "constant");
    let sum = null;
    if (isGroup(links.nodes[id])) return null;
    for (const edge of makers) {
      if (!changes.has(edge.src)) continue;
      const change = changes.get(edge.src), results = links.users(edge.src).filter(({ kind }) => kind === "result");
      const own = edge.kind === "flow" ? map.carry(edge.id, change) : results.length > 1 ? null : change;
      if (!own) return null;
      sum = sum ? sum.map((value, i) => value + own[i]) : own;
    }
    return sum;
  }

  // -- by the kernel --------------------------------------------------------------------------------------------------
  ask() {
    clearTimeout(this.asking);
    this.asking = setTimeout(() => {
      const { leaf, place, value } = this, serial = (this.serial += 1);
      this.player.hooks.onnudge({ leaf, place, value, serial });
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.answer({ serial }), PATIENCE);
    }, QUIET);
  }

  /** What the kernel says; an answer without values, or none in time, leaves the prediction. */
  answer(message) {
    if (!this.active || message.serial !== this.serial) return;
    if (message.values) clearTimeout(this.waiting);
    this.answered = message;
    this.draw();
    this.write();
  }

  // -- what is shown --------------------------------------------------------------------------------------------------
  /** The values of a node as they would be: [predicted, computed anew], each a list of numbers or null. */
  valuesOf(id) {
    const base = this.tile(id), change = this.predicted?.get(id);
    const own = (cells) => (base && !base.block && cells?.length === base.cells.length ? cells : null);
    return [own(change)?.map((by, i) => base.cells[i] + by) || null, own(this.answered?.values?.[id])];
  }

  write() {
    const { links, drawn, hooks, t } = this.player, [root] = drawn.roots, name = links.nodes[root]?.name;
    this.shown.textContent = shortNumber(this.value);
    this.back.disabled = !this.active;
    this.back.parentNode?.classList.toggle("nb-nudged", this.active);
    this.player.handles.show(this.leaf, this.value, "");
    if (!this.active) { this.told.textContent = t("nudge_hint"); return; }
    const [predicted, computed] = this.valuesOf(root), shape = this.tile(root)?.shape;
    const most = (cells) => largestAt(cells.map((value, i) => value - this.tile(root).cells[i]));
    const text = (cells) => (cells ? shownCells(cells, shape, most(cells)) : "?");
    const gradient = this.answered?.grads?.[this.leaf], leaf = links.nodes[this.leaf];
    const lines = [computed ? t("nudge_result", { root: name, predicted: text(predicted), true: text(computed) })
      : t("nudge_predicted", { root: name, predicted: text(predicted) })];
    const value = gradient && shownCells(gradient, this.tile(this.leaf).shape, this.place);
    if (gradient) lines.push(t("nudge_grad", { root: name, name: leaf.name, value }));
    if (!computed && (!hooks.onnudge || this.answered)) lines.push(t("nudge_only_linear"));
    this.player.handles.show(this.leaf, this.value, lines[0]);
    this.told.replaceChildren(...lines.map((line, i) => h("div", { class: i && !gradient ? "nb-soft" : "" }, line)));
  }

  clear() {
    this.ghosts?.remove();
    this.ghosts = null;
    for (const back of this.changed.splice(0)) back();
  }

  /** The values as they would be: in their tiles, on the rims of the boxes, and inside of operations. */
  draw() {
    const { links, stage } = this.player;
    this.clear();
    if (!this.active) return;
    this.ghosts = s("g", { class: "nb-ghosts", "aria-hidden": "true" });
    for (const [id, node] of Object.entries(links.nodes)) {
      if (VALUES.has(node.kind) && !stage.hidden?.has(id)) this.ghostsOf(id, stage.box(id));
    }
    for (const [id, cells] of Object.entries(this.answered?.grads || {})) {
      const box = stage.box(id);
      const place = id === this.leaf ? this.place : largestAt(cells), { shape } = this.tile(id) || {};
      if (box && shape) this.ghost(box, 1, `∂ ${shownCells(cells, shape, place)}`, "nb-true");
    }
    stage.svg.append(this.ghosts);
  }

  /** The value of a box as it would be; for the result also what was predicted. */
  ghostsOf(id, box) {
    const { drawn, t } = this.player, [predicted, computed] = this.valuesOf(id), cells = computed || predicted;
    const tile = this.tile(id);
    if (!box || !cells || cells.every((value, i) => alikeNumbers(value, tile.cells[i]))) return;
    this.paint(id, tile, cells);
    if (this.player.links.nodes[id].kind === "op") return;
    const place = largestAt(cells.map((value, i) => value - tile.cells[i]));
    const written = (values) => shownCells(values, tile.shape, place);
    this.ghost(box, 0, `→ ${written(cells)}`, computed ? "nb-true" : "nb-linear");
    if (!drawn.roots.includes(id)) return;
    if (!computed) this.ghost(box, 2, t("nudge_linear"), "nb-linear");
    else if (predicted) this.ghost(box, 2, `${t("nudge_linear")} ${written(predicted)}`, "nb-linear");
  }

  /** The cells of a node's tile, or the number inside of an operation, as they would be. */
  paint(id, tile, cells) {
    const { stage, tiles } = this.player, drawn = tiles.drawn.get(`${id}:value`), { values } = tiles.scales;
    const text = stage.part("node", id).querySelector(".nb-op > .nb-value"), element = drawn?.group || text;
    if (!element) return;
    const written = text?.textContent;
    if (drawn) drawn.show({ ...tile, cells }, values);
    else text.textContent = shortNumber(cells[0]);
    element.classList.add("nb-nudged");
    this.changed.push(() => {
      if (drawn) drawn.show(tile, values);
      else text.textContent = written;
      element.classList.remove("nb-nudged");
    });
  }

  /** A small text on the upper (0) or lower (1) rim of a box, or below it (2). */
  ghost(box, low, text, kind) {
    const wide = extent(text).width + 12, [, , fw, fh] = this.player.stage.full;
    const x = clamp(box.x + box.width - wide + 6, 2, fw - wide - 2);
    const rim = low > 1 ? box.y + box.height + 3 : box.y + low * box.height - GHOST_HIGH / 2;
    const y = clamp(rim, 1, fh - GHOST_HIGH - 1);
    this.ghosts.append(s("g", { class: `nb-ghost ${kind}` },
      s("rect", { x, y, width: wide, height: GHOST_HIGH, rx: 8 }),
      s("text", { x: x + wide / 2, y: y + 12.5, "text-anchor": "middle" }, text)));
  }

  /** Bring the range to whoever uses the keyboard. */
  focus() {
    const { player } = this, { drawn } = player;
    if (!this.range?.isConnected && drawn?.leaves?.length) player.select(drawn.leaves[0].id);
    if (this.range?.isConnected) this.range.focus();
  }
}

/** A round step of which about a hundred are as much as the value itself, or 1. */
const stepFor = (value) => 10 ** Math.round(Math.log10(Math.max(Math.abs(value), 1) / 100));
const alikeNumbers = (a, b) => Math.abs(a - b) <= 1e-5 * Math.max(Math.abs(a), Math.abs(b), 1e-6);
/** A number, or one element of a tensor with its index. */
const shownCells = (cells, shape, at) =>
  cells.length === 1 ? shortNumber(cells[0]) : `[${indexOf(at, shape).join(", ")}]: ${shortNumber(cells[at])}`;
