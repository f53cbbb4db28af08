import { clamp, s } from "./dom.js";
import { shortNumber, textsOf } from "./numbers.js";

const GAP = 1, TIGHT = 5; // gap between two cells in pixels, and the side of cells without a gap
export const LEVELS = 8; // colors on each side of zero that keep numbers readable
const CELL_CLASSES = { none: "nb-not-finite", plain: "nb-plain" };
const FULL = "var(--nb-value-6)"; // a cell of a mask
const DASH = 0.9; // pixels: the height of the minus sign

/** The number of a value's color on a scale that ends at ±`largest`; by the square root, so that small ones show. */
function levelOf(value, largest) {
  if (!value) return 0;
  const share = Math.sqrt(Math.min(Math.abs(value) / (largest || 1), 1));
  return Math.sign(value) * Math.max(Math.round(share * LEVELS), 1);
}

/** The CSS of a color of a scale. */
export function paletteOf(level, kind) {
  if (!level) return "var(--nb-tile-zero)";
  const name = kind === "values" ? "value" : level < 0 ? "tile-minus" : "tile-plus";
  return `var(--nb-${name}-${Math.abs(level)})`;
}

/**
 * The color of a cell; "plain": it has an outline only; "none": its number is not finite. Decided here alone, and by
 * the same rules in draw/cells.py.
 * `scale`: that of all "gradients" or of all "values" of a picture, as `{ kind, largest }`; a "local" derivative has no
 * color: where there is no room for its number, one that is not zero is full.
 */
export function shadeOf(value, form, { kind, largest }, written = false) {
  if (!Number.isFinite(value)) return "none";
  if (form === "d" || (kind === "local" && written)) return "plain";
  if (form === "b" || kind === "local") return (form === "b" ? value >= 0.5 : value) ? FULL : "plain";
  return paletteOf(levelOf(value, largest), kind);
}

/** Give an element of cells their color. */
export function colorIn(element, color) {
  if (color in CELL_CLASSES) element.setAttribute("class", CELL_CLASSES[color]);
  else element.style.fill = color;
  return element;
}

/** True if a cell has the dash of a negative number, which its color does not show. */
export const hasDash = (value, form, { kind }, written) => value < 0 && !written && kind === "values" && form !== "d";

/** A tensor as colored cells inside an SVG element: all cells of one color are one path. */
export class Cells {
  /** `grid`: x, y, the width and height of a cell, how many columns, whether numbers are written into the cells. */
  constructor(group, [x, y, wide, high, columns, written], backed = false) {
    Object.assign(this, { group, x, y, wide, high, columns, written: !!written, backed, tile: null });
    this.gap = Math.min(wide, high) < TIGHT ? 0 : GAP;
  }

  /** How many columns the tile has here: a vector may stand as a column. */
  get across() { return this.columns === 1 ? 1 : this.tile.columns; }

  get size() { return [this.across * this.wide, Math.ceil(this.tile.cells.length / this.across) * this.high]; }

  show(tile, scale) {
    if (tile === this.tile && scale === this.scale) return;
    Object.assign(this, { tile, scale, lights: null });
    this.group.replaceChildren(...(tile ? this.parts() : []));
  }

  parts() {
    const { tile, wide, high, x, y, written, scale } = this, { form = "" } = tile, paths = new Map(), numbers = [];
    let dashes = "";
    tile.cells.forEach((value, i) => {
      const color = shadeOf(value, form, scale, written);
      paths.set(color, (paths.get(color) || "") + this.outline(i, color === "plain" ? 0.5 : 0));
      if (hasDash(value, form, scale, written)) dashes += this.dash(i);
      if (!written) return;
      const [left, top] = this.corner(i);
      const place = { x: left + (wide - this.gap) / 2, y: top + high / 2 + 3.5 };
      numbers.push(s("text", place, shortNumber(value, form)));
    });
    const painted = [...paths].map(([color, d]) => colorIn(s("path", { d }), color));
    if (dashes) painted.push(s("path", { class: "nb-below", d: dashes }));
    const [width, height] = this.size;
    if (this.backed) {
      painted.unshift(s("rect", { class: "nb-cells-back", x: x - 2, y: y - 2, width: width + 3, height: height + 3,
        rx: 2 }));
    }
    return [...painted, ...numbers, s("rect", { class: "nb-cells-hit", x, y, width, height })];
  }

  corner(i) {
    return [this.x + (i % this.across) * this.wide, this.y + Math.floor(i / this.across) * this.high];
  }

  outline(i, inside = 0) {
    const [left, top] = this.corner(i), w = this.wide - this.gap - 2 * inside;
    return `M${left + inside} ${top + inside}h${w}v${this.high - this.gap - 2 * inside}h${-w}z`;
  }

  dash(i) {
    const [left, top] = this.corner(i), w = this.wide - this.gap;
    return `M${left + w / 4} ${top + (this.high - this.gap - DASH) / 2}h${w / 2}v${DASH}h${-w / 2}z`;
  }

  /** The cell at a place of the page. */
  at({ clientX, clientY }) {
    const hit = this.group.lastElementChild?.getBoundingClientRect();
    if (!this.tile || !hit?.width) return null;
    const [w, high] = this.size;
    const column = Math.floor(((clientX - hit.left) / hit.width) * (w / this.wide));
    const row = Math.floor(((clientY - hit.top) / hit.height) * (high / this.high));
    const cell = row * this.across + column;
    return column >= 0 && column < this.across && cell >= 0 && cell < this.tile.cells.length ? cell : null;
  }

  light(cells) {
    this.lights?.remove();
    this.lights = null;
    if (!this.tile || !cells?.size) return;
    const d = [...cells].filter((i) => i < this.tile.cells.length).map((i) => this.outline(i)).join("");
    this.lights = s("path", { class: "nb-lights", d });
    this.group.lastElementChild.before(this.lights);
  }
}

/** The grid of a tile that has so much room, in pixels: with numbers if they fit in. */
export function gridIn(tile, { wide, high, line }) {
  const { cells, columns } = tile, rows = Math.ceil(cells.length / columns);
  const longest = () => Math.max(...textsOf(tile).map(({ length }) => length));
  if (cells.length <= 9 && rows * line <= high && tile.form !== "b") {
    const each = Math.max(longest() * 6.8 + 8, 22);
    if (each * columns <= wide) return [0, 0, each, line, columns, true];
  }
  const fit = (room, count) => clamp(room / count, 2, 9);
  const w = fit(wide, columns), down = fit(high, rows);
  return [0, 0, Math.min(w, 2 * down), Math.min(down, 2 * w), columns, false];
}

/** A tile that stands in a text: an element, and its cells. */
export function inlineTile(tile, scale, room) {
  const grid = gridIn(tile, room), group = s("g", { class: "nb-cells" }), cells = new Cells(group, grid);
  cells.show(tile, scale);
  const [width, height] = cells.size;
  const svg = s("svg", { class: "nb-inline-tile", width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": tileWords(tile, "", tile.cells.length <= 9) }, group);
  return { svg, cells };
}

/** What a screen reader is told of a tile. */
export function tileWords(tile, name, written) {
  const numbers = written ? textsOf(tile).join(", ") : "";
  return [name, `(${tile.shape.join(", ")})`, numbers].filter(Boolean).join(" ");
}

/** Which element of a tensor a place in the row of all its elements is. */
export function indexOf(place, shape) {
  const index = [];
  for (let d = shape.length - 1; d >= 0; d--) {
    index.unshift(place % shape[d]);
    place = Math.floor(place / shape[d]);
  }
  return index;
}

/** The place of the largest number. */
export function largestAt(cells) {
  const sizes = cells.map((value) => (Number.isFinite(value) ? Math.abs(value) : Infinity));
  return sizes.indexOf(Math.max(...sizes));
}
