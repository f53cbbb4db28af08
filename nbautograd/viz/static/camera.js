import { clamp } from "./dom.js";
import { Viewport } from "./viewport.js";

const MARGIN = 12; // margin around the target, in pixels of the window
const CLOSE = 0.6; // share of the window for a node and its neighbors
export const LETTER = 7, LINE = 14; // height of a text on an edge, in pixels

const joined = (a, b) => {
  const x = Math.min(a.x, b.x), y = Math.min(a.y, b.y);
  const right = Math.max(a.x + a.width, b.x + b.width), low = Math.max(a.y + a.height, b.y + b.height);
  return { x, y, width: right - x, height: low - y };
};
export const isIn = ([x, y], box) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
export const middleOf = (box) => [box.x + box.width / 2, box.y + box.height / 2];
export const shared = (a, b) => Math.max(Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x), 0)
  * Math.max(Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y), 0);
export const attribute = (element, name) => Number(element.getAttribute(name));
export const rectangle = (rect) =>
  Object.fromEntries(["x", "y", "width", "height"].map((name) => [name, attribute(rect, name)]));

/** The size of a text of several lines. */
export const extent = (text) => {
  const lines = text.split("\n");
  return { width: Math.max(...lines.map((line) => line.length)) * LETTER, height: lines.length * LINE };
};

/**
 * Where the parts of a drawing are, and how the window gets to them. Places are read from what the drawing says, since
 * it may not be on the page yet, and the page need not be laid out for them.
 */
export class Camera extends Viewport {
  box(id) {
    if (!this.boxes.has(id)) this.boxes.set(id, this.boxOf(this.part("node", id)));
    return this.boxes.get(id);
  }

  boxOf(group) {
    if (!group) return null;
    const cards = [...group.querySelectorAll(".nb-shape")].map(rectangle);
    if (cards.length) return cards.reduce(joined);
    const text = group.querySelector("text"); // a bare number
    return text && { x: attribute(text, "x") - 16, y: attribute(text, "y") - 15, width: 32, height: 20 };
  }

  /** What the line of a gradient stays within. */
  reach(id) {
    const numbers = this.part("flow", id)?.getAttribute("d").match(/-?[\d.]+/g)?.map(Number);
    if (!numbers) return null;
    const xs = numbers.filter((_, i) => i % 2 === 0), ys = numbers.filter((_, i) => i % 2);
    const x = Math.min(...xs), y = Math.min(...ys);
    return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
  }

  /** What the text on an edge takes up. */
  labelBox(id, text) {
    const label = text && this.part("label", id);
    if (!label) return null;
    const [width, height] = this.tiles.sizeOn(id) || Object.values(extent(text));
    return { x: attribute(label, "x") - width / 2, y: attribute(label, "y") - 4 - height / 2, width, height };
  }

  /** Where on the page the middle of an edge's text is, once the window is at rest; null where it is not seen then. */
  labelOnPage(id) {
    const label = this.part("label", id), box = this.svg.getBoundingClientRect(), [cx, cy] = this.goal;
    if (!label) return null;
    const across = (attribute(label, "x") - cx) * this.scale, down = (attribute(label, "y") - 4 - cy) * this.scale;
    const place = [box.x + box.width / 2 + across, box.y + box.height / 2 + down];
    return isIn(place, box) ? place : null;
  }

  /** True if a box fits into the window, or into a part of it. */
  fits({ width, height }, part = 1) {
    return width * this.scale <= this.wide * part - 2 * MARGIN && height * this.scale <= this.tall * part - 2 * MARGIN;
  }

  /** True if all of a box is in the window when the window rests. */
  sees(box) {
    const { x, y, width, height } = this.around(this.goal), edge = MARGIN / 2 / this.scale;
    return box.x >= x + edge && box.x + box.width <= x + width - edge
      && box.y >= y + edge && box.y + box.height <= y + height - edge;
  }

  /** The node of a step, with the numbers on its edges that are close to it. */
  own(state) {
    const ids = [...state.active], node = this.box(state.frame?.node) || ids.map((id) => this.box(id)).find(Boolean);
    const texts = ids.map((id) => this.labelBox(id, state.labels.get(id))).filter(Boolean);
    return node && this.grown(node, texts, CLOSE);
  }

  /** A box and, one after the other, those of others, as long as all together fit into a part of the window. */
  grown(box, others, part = 1) {
    let all = box;
    for (const other of others) {
      const more = joined(all, other);
      if (this.fits(more, part)) all = more;
    }
    return all;
  }

  /** The other active boxes of a step, the nearest first. */
  beside(state, own) {
    const ends = (id) => { const { src, dst } = this.links.byId.get(id) || {}; return [this.box(src), this.box(dst)]; };
    const text = (id) => this.labelBox(id, state.labels.get(id)), [x, y] = middleOf(own);
    const far = (box) => { const [a, b] = middleOf(box); return Math.hypot(a - x, b - y); };
    const parts = [...state.active].flatMap((id) => [this.box(id), this.reach(id), text(id)].concat(ends(id)));
    return parts.filter(Boolean).sort((a, b) => far(a) - far(b));
  }

  /**
   * Bring the active node into view. Where it is in view already, nothing moves; else the window goes, as little as it
   * can, where it can stay for as many of the steps that come next (`ahead`) as it has room for.
   */
  follow(state, gently, ahead = () => []) {
    const own = this.overflows && !this.dragging && this.own(state);
    if (!own || this.sees(own)) return;
    let target = own;
    for (const next of ahead()) {
      const box = this.own(next), more = box && joined(target, box);
      if (!more || !this.fits(more)) break;
      target = more;
    }
    this.glide(this.nearest(this.grown(target, this.beside(state, own))), gently);
  }

  /** The centre nearest to where the window is, from which all of a box is seen. */
  nearest(box) {
    const { width, height } = this.seen, edge = MARGIN / this.scale, [x, y] = this.goal;
    const near = (c, from, size, room) => clamp(c, from + size + edge - room / 2, from - edge + room / 2);
    return [near(x, box.x, box.width, width), near(y, box.y, box.height, height)];
  }

  /** Bring all boxes into view, where they fit: beyond them there are lines only. Whether they do. */
  centreAll() {
    const boxes = Object.keys(this.links.nodes).map((id) => this.box(id)).filter(Boolean);
    const all = boxes.length ? boxes.reduce(joined) : null, { width, height } = this.seen;
    if (!all || all.width > width || all.height > height) return false;
    this.center = middleOf(all);
    this.show();
    return true;
  }

  /** Bring a node into the middle of the window, large enough to be read. */
  centre(id) {
    const box = this.box(id);
    if (!box) return;
    const [, , fw, fh] = this.full;
    cancelAnimationFrame(this.gliding);
    if (this.scale < 0.7) this.scale = 1;
    this.overflows = this.overflows || fw * this.scale > this.wide || fh * this.scale > this.tall;
    this.center = middleOf(box);
    this.show();
  }

  /** The place for a text beside a node: over no box, and least of edges and their texts. */
  freePlace(id, { width, height }, labels) {
    const box = this.box(id), [x, y] = middleOf(box), [, , fw, fh] = this.full;
    const above = box.y - height / 2 - 4, below = box.y + box.height + height / 2 + 6;
    const left = box.x + box.width / 2 - width / 2, right = box.x + box.width / 2 + width / 2;
    const taken = [...this.find.keys()].filter((key) => key.startsWith("node ")).map((key) => this.box(key.slice(5)));
    const nodes = taken.length;
    taken.push(...[...labels].map(([edge, text]) => this.labelBox(edge, text)));
    const paths = [...this.find].filter(([key]) => key.startsWith("flow ")).map(([, path]) => path);
    const points = paths.flatMap((path) => Array.from({ length: 9 }, (_, i) =>
      path.getPointAtLength(path.getTotalLength() * i / 8)));
    const inside = (own, at) => at.x > own.x && at.x < own.x + width && at.y > own.y && at.y < own.y + height;
    const cost = ([cx, cy]) => {
      const own = { x: cx - width / 2, y: cy - height / 2, width, height };
      const whole = { x: 0, y: 0, width: fw, height: fh };
      return width * height - shared(own, whole) + Math.hypot(cx - x, cy - y) / 10
        + taken.reduce((sum, other, i) => sum + (other ? shared(own, other) * (i < nodes ? 12 : 1) : 0), 0)
        + 100 * points.filter((at) => inside(own, at)).length;
    };
    const spots = [[x, above], [x, below], [left, above], [right, above], [left, below], [right, below],
      [x, above - 26], [x, below + 26], [box.x + box.width + width / 2 + 8, y], [box.x - width / 2 - 8, y]];
    return spots.reduce((best, spot) => (cost(spot) < cost(best) ? spot : best));
  }
}
