import { attach, clamp, h, s } from "./dom.js";
import { moveOf } from "./keys.js";
import { shortNumber } from "./numbers.js";
import { TileView } from "./tile.js";

export const BUCKET = { wide: 120, narrow: 84, high: 18 }; // sizes of the bar of a leaf's .grad
const FAINT = 34; // per cent of color of the first pass; the last one has 100

const RESETS = { zeroed: "↺ 0", none: "↺ None", changed: "✎" }; // what was done to .grad between two passes

/** What a gradient counts for in a stack: a number by its value, a tensor by its norm. */
function amountOf(tile) {
  if (!tile) return null;
  const [one] = tile.cells;
  if (tile.cells.length === 1) return typeof one === "string" ? Number(one.replace("inf", "Infinity")) : one;
  if (tile.nan || tile.inf) return NaN;
  if (tile.norm !== undefined) return tile.norm;
  return Math.hypot(...tile.cells);
}

/** The cells of one tile less those of another one; nothing where they do not fit, or are means of blocks. */
function difference(one, other) {
  if (!one || !other || one.norm !== undefined || other.norm !== undefined) return null;
  if (String(one.shape) !== String(other.shape)) return null;
  const tile = { ...one, cells: one.cells.map((value, i) => value - other.cells[i]) };
  return tile.cells.every(Number.isFinite) ? tile : null;
}

/** `Δ −0.5`, of a tensor `‖Δ‖ 0.12`. */
export function differenceText(one, other) {
  const tile = difference(one, other);
  if (!tile) return "";
  const size = amountOf(tile);
  return tile.cells.length === 1 ? `Δ ${size > 0 ? "+" : ""}${shortNumber(size)}` : `‖Δ‖ ${shortNumber(size, "m")}`;
}

/**
 * Every leaf's .grad as a stack of passes: what each has added, by which paths, and where it was emptied in between;
 * `trail`: what it was after each pass.
 * Computed from the steps alone, by the leaf's name: a loop makes a new graph for each pass.
 */
export class Buckets {
  constructor({ frames, scenes, tiles = [] }) {
    Object.assign(this, { frames, scenes, tiles });
    this.extents = new Map();
    this.at(frames.length, (name, stack) => this.note(name, stack));
  }

  /** The stacks after a number of steps; `each` is told of every change. */
  at(index, each = null) {
    const stacks = new Map();
    for (const frame of this.frames.slice(0, Math.max(index, 0))) { // below zero: the forward pass
      const { nodes } = this.scenes[frame.scene];
      for (const [id, entry] of Object.entries(frame.ledger || {})) {
        const name = nodes[id]?.name;
        if (name === undefined) continue;
        const stack = stacks.get(name) || this.begin(entry);
        stacks.set(name, stack);
        if (frame.kind === "start") this.reset(stack, entry);
        else this.add(stack, entry, frame.backward);
        each?.(name, stack);
      }
    }
    return stacks;
  }

  segment(pass, number, parts = []) {
    const tile = this.tiles[number];
    return { pass, tile, amount: amountOf(tile), parts };
  }

  begin(entry) {
    const held = entry.before_tile >= 0 ? [this.segment(0, entry.before_tile)] : [];
    return { segments: held, emptied: [], reset: "", waiting: null, after: this.tiles[entry.before_tile], trail: [] };
  }

  /** A pass begins, and .grad may have been emptied or written to since the last one. */
  reset(stack, entry) {
    Object.assign(stack, { reset: entry.reset || "", waiting: null, emptied: [] });
    if (!entry.reset && entry.before === "None") stack.segments = []; // another leaf without a name, as of a checkpoint
    if (!entry.reset) return;
    if (RESETS[entry.reset]) stack.trail.push(RESETS[entry.reset]);
    stack.emptied = stack.segments;
    stack.segments = entry.reset === "changed" && entry.before_tile >= 0 ? [this.segment(0, entry.before_tile)] : [];
    stack.after = this.tiles[entry.before_tile];
  }

  /** Terms have arrived and wait for the others, or their sum has been added. */
  add(stack, entry, pass) {
    const parts = (entry.terms || []).map(([, via], i) => ({ via, amount: amountOf(this.tiles[entry.tiles?.[i]]) }));
    const segment = this.segment(pass, entry.total_tile ?? -1, parts);
    if (!entry.after) { stack.waiting = segment; return; }
    stack.trail.push(entry.after);
    if (stack.segments.at(-1)?.pass === pass) stack.segments.pop(); // a failed pass repeats it
    stack.segments.push(segment);
    Object.assign(stack, { waiting: null, emptied: [], after: this.tiles[entry.after_tile] });
  }

  /** The ends of a leaf's scale: it must not change from step to step. */
  note(name, { segments, waiting }) {
    let [low, high] = this.extents.get(name) || [0, 0], left = 0, right = 0;
    for (const segment of waiting ? [...segments, waiting] : segments) {
      for (const { amount } of segment.parts.length ? segment.parts : [segment]) { // terms of both signs need more room
        if (Number.isFinite(amount)) { if (amount < 0) left += amount; else right += amount; }
      }
      low = Math.min(low, left);
      high = Math.max(high, right);
    }
    this.extents.set(name, [low, high]);
  }

  /** How many passes .grad holds, in words. */
  words(stack, t) {
    const count = stack.segments.filter(({ pass }) => pass > 0).length;
    if (!stack.segments.length) return stack.reset ? `↺ ${t(`reset_${stack.reset}`)}` : t("bucket_empty");
    if (count > 1) return t("not_zeroed", { n: count });
    if (!count) return t(stack.reset ? "reset_changed" : "from_before");
    return t("holds", { n: stack.segments.at(-1).pass });
  }
}

const marksOf = (i, segment) => ({ "data-segment": i, "data-pass": segment.pass });

/** A stack as a bar: to the right of the line what adds, to its left what takes away; a tick where .grad is now. */
export class BucketView {
  constructor(stack, { name, ends: [low, high], t, ghost, words, show, wide = BUCKET.wide }) {
    const span = high - low || 1, tall = BUCKET.high, room = wide - 8;
    this.stack = stack;
    this.x = (amount) => 4 + ((amount - low) / span) * room;
    this.passes = Math.max(1, ...stack.segments.map(({ pass }) => pass));
    const sum = stack.segments.reduce((total, { amount }) => total + amount, 0);
    const scalar = stack.after?.cells.length === 1, now = scalar ? amountOf(stack.after) : null;
    const bad = stack.segments.find(({ amount }) => amount !== null && !Number.isFinite(amount));
    this.svg = s("svg", { class: "nb-bucket", width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}`, role: "img",
      "aria-label": this.spoken(name, words, t) },
    s("path", { class: "nb-bucket-floor", d: `M4 ${tall - 0.5}H${wide - 4}` }),
    ...this.stacked(stack.emptied, () => ({ class: "nb-bucket-was", y: 2.5, height: tall - 5 })),
    ...(ghost ? this.ghost(ghost, tall) : []),
    ...this.stacked(stack.segments, (segment, i) => this.filled(segment, i, tall)),
    ...this.stacked(stack.waiting ? [...stack.segments, stack.waiting] : [], (segment) =>
      segment === stack.waiting && { class: "nb-bucket-waits", y: 3.5, height: tall - 7 }),
    s("path", { class: "nb-bucket-zero", d: `M${this.x(0)} 0V${tall}` }),
    Number.isFinite(now) && Math.abs(sum) > 0
      && s("path", { class: "nb-bucket-now", d: `M${this.x(clamp(now, low, high))} 0V${tall}` }),
    bad && s("text", { class: "nb-bucket-nan", x: 8, y: tall - 5 }, shortNumber(bad.amount)));
    this.listen(show, t);
  }

  /** Rectangles side by side, on each side of zero; `look` says how each one looks, or that it only takes its room. */
  stacked(segments, look) {
    let left = 0, right = 0;
    return segments.flatMap((segment, i) => {
      const { amount } = segment;
      if (!Number.isFinite(amount)) return [];
      const from = amount < 0 ? left + amount : right, to = amount < 0 ? left : right + amount;
      if (amount < 0) left = from; else right = to;
      const about = look(segment, i);
      if (!about) return [];
      const x = this.x(from), width = Math.max(this.x(to) - x - 0.75, 1);
      const { fill: color, ...attributes } = about, rect = s("rect", { x, width, rx: 1.5, ...attributes });
      if (color) rect.style.fill = color;
      return [rect, ...(color ? this.joints(segment, x, width) : [])];
    });
  }

  filled(segment, i, tall) {
    const share = segment.pass ? FAINT + ((100 - FAINT) * segment.pass) / this.passes : 0;
    const ink = segment.amount < 0 ? "minus" : "plus";
    const color = share ? `color-mix(in oklab, var(--nb-tile-${ink}-8) ${share.toFixed(0)}%, var(--nb-bg))`
      : "var(--nb-wire)";
    return { class: "nb-bucket-pass", y: 2, height: tall - 4, fill: color, ...marksOf(i, segment) };
  }

  /** Inside a pass, a line between its paths. */
  joints({ parts }, x, width) {
    const sizes = parts.map(({ amount }) => Math.abs(amount)), whole = sizes.reduce((sum, size) => sum + size, 0);
    if (parts.length < 2 || parts.length > 8 || !(whole > 0)) return [];
    let at = 0;
    return sizes.slice(0, -1).map((size) => {
      at += size;
      return s("path", { class: "nb-bucket-joint", d: `M${x + (at / whole) * width} 2V${BUCKET.high - 2}` });
    });
  }

  /** What another pass added, as an outline around what this one does. */
  ghost(ghost, tall) {
    const { segments } = this.stack, own = segments.at(-1);
    const before = own?.pass ? segments.slice(0, -1) : segments;
    return this.stacked([...before, ghost], (segment) =>
      segment === ghost && { class: "nb-bucket-ghost", y: 0.75, height: tall - 1.5 });
  }

  spoken(name, words, t) {
    const parts = this.stack.segments.map((segment) => segmentText(segment, t));
    return [`${name}.grad: ${words}`, ...parts].join("; ");
  }

  /** The segment that is pointed at, or that arrow keys have come to, is told to `show`. */
  listen(show, t) {
    let here = -1;
    const { segments } = this.stack, tell = (i) => { here = i; show(segments[i] || null, this.svg); };
    this.svg.addEventListener("pointerover", ({ target }) => {
      const i = target.dataset?.segment;
      if (i !== undefined) tell(Number(i));
    });
    for (const name of ["pointerleave", "blur"]) this.svg.addEventListener(name, () => tell(-1));
    if (!segments.length) return;
    const say = (i) => attach(this.svg, { "aria-valuenow": i, "aria-valuetext": segmentText(segments[i], t) });
    attach(this.svg, { role: "slider", tabindex: 0, "aria-valuemin": 0, "aria-valuemax": segments.length - 1 });
    say(0);
    this.svg.addEventListener("keydown", (event) => {
      const by = moveOf(event, { ArrowLeft: -1, ArrowRight: 1 });
      if (by === undefined) return;
      tell(clamp(here < 0 ? (by > 0 ? 0 : segments.length - 1) : here + by, 0, segments.length - 1));
      say(here);
    });
  }
}

/** `pass 2: 3 = 2 (via a) + 1 (via b)`, of a tensor with norms. */
export function segmentText({ pass, amount, tile, parts }, t) {
  const norm = tile && tile.cells.length > 1;
  const number = (value) => (norm ? `‖${shortNumber(value, "m")}‖` : shortNumber(value));
  const paths = parts.length > 1 && parts.length <= 4 && !norm
    ? ` = ${parts.map((part) => `${shortNumber(part.amount)} (${t("via", { name: part.via })})`).join(" + ")}` : "";
  const name = pass ? t("pass_n", { n: pass }) : t("from_before");
  return `${name}: ${amount === null ? "…" : number(amount)}${paths}`;
}

/** A card beside a bar: the segment that is pointed at, as numbers and as a tile. */
export class BucketCard {
  constructor(player) {
    this.player = player;
    this.element = h("div", { class: "nb-bucket-card", hidden: "", "aria-hidden": "true" });
  }

  show(segment, bar) {
    this.element.hidden = !segment;
    if (!segment) return;
    const { t, root } = this.player, { tile } = segment;
    const view = tile && new TileView(tile, { name: "", scale: this.player.equation.scale, wide: 190, high: 120 });
    this.element.replaceChildren(h("div", {}, segmentText(segment, t)), view ? view.svg : "");
    const at = bar.getBoundingClientRect(), all = root.getBoundingClientRect(), own = this.element.offsetWidth;
    this.element.style.left = `${Math.max(Math.min(at.left - all.left, all.width - own - 8), 4)}px`;
    this.element.style.top = `${at.top - all.top - this.element.offsetHeight - 6}px`;
  }
}
