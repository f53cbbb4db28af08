import { colorIn, hasDash, indexOf, LEVELS, paletteOf, shadeOf, tileWords } from "./cells.js";
import { attach, h, s } from "./dom.js";
import { moveOf } from "./keys.js";
import { shortNumber, textsOf } from "./numbers.js";

const NUMBERS = 16; // limit of the cells with a number each
const NUMBER_COLUMNS = 4;
const LOWEST = 15, LEAST_ROW = 12; // pixels of a row with a number: usual, and smallest
const DIGIT = 6.95, LARGE_DIGIT = 9.05; // pixels: width of a character, and of a single number

/** The largest number of a tile that has colors. */
export const largestOf = ({ cells, form = "" }) => ("bd".includes(form) && form ? 0
  : Math.max(0, ...cells.filter(Number.isFinite).map(Math.abs)));

/** Whether the cells of a tile show their numbers, where there is room for these. */
export const isWritten = ({ cells, columns, form }) =>
  form !== "b" && cells.length <= NUMBERS && columns <= NUMBER_COLUMNS;

/** The texts of the cells, where they may be written. */
const writtenIn = (tile) => (isWritten(tile) ? textsOf(tile) : []);

/** How high a row of a tile is, which has `high` pixels in all. */
export function rowHeight(tile, high) {
  const { cells, columns } = tile, rows = cells.length / columns;
  const usual = isWritten(tile) ? (cells.length === 1 ? 30 : rows === 1 ? 24 : 17) : rows === 1 ? 22 : 15;
  return Math.min(usual, high / rows);
}

/** How many columns a tile has in so much room, how wide and high a cell is, and whether it holds its number. */
export function cellsIn(tile, said, wide, high) {
  const { cells, columns } = tile, one = cells.length === 1;
  const longest = Math.max(tile.longest || 0, ...said.map(({ length }) => length)); // including later texts
  const least = one ? 60 : 50, tall = rowHeight(tile, high);
  const large = one && longest * LARGE_DIGIT + 8 <= wide, needs = longest * (large ? LARGE_DIGIT : DIGIT) + 3;
  const most = isWritten(tile) && tall >= LEAST_ROW ? { width: Math.max(needs, least), written: true, large } : null;
  const cell = (across, height) => ({ ...most, across, height, width: Math.min(most.width, wide / across) });
  if (most && needs * columns <= wide) return cell(columns, tall);
  const downwards = most && cells.length === columns && needs <= wide && high / columns >= LOWEST; // a vector
  if (downwards) return cell(1, Math.min(tall, high / columns));
  return { across: columns, width: Math.min(15, wide / columns), height: tall, written: false };
}

/** How wide a tile is that has so much height, and as much width as it needs. */
export function wideAs(tile, high) {
  const { across, width } = cellsIn(tile, writtenIn(tile), Infinity, high);
  return across * width;
}

/**
 * A tensor as a small matrix of colored cells. `point(i)` is told which cell is pointed at (or null), by the pointer
 * or by arrow keys, `pick(i)` which is clicked. `light(cells)` marks cells.
 */
export class TileView {
  constructor(tile, { name, scale, wide, high, point, pick, bare }) {
    const { cells, form = "" } = tile, said = writtenIn(tile);
    const { across, width, height, written, large } = cellsIn(tile, said, wide, high), rows = cells.length / across;
    this.tile = tile;
    this.across = across;
    const cell = s("rect", { width: width - 1, height: height - 1, rx: Math.min(2, width / 4) });
    this.rects = (bare ? [] : cells).map((value, i) => {
      const rect = cell.cloneNode(); // of a large tile, setting every attribute of every cell takes the time
      rect.setAttribute("x", (i % across) * width);
      rect.setAttribute("y", Math.floor(i / across) * height);
      rect.setAttribute("data-cell", i);
      return colorIn(rect, shadeOf(value, form, scale, written));
    });
    const below = (bare ? [] : cells).flatMap((value, i) => (hasDash(value, form, scale, written)
      ? [`M${((i % across) + 0.25) * width} ${(Math.floor(i / across) + 0.5) * height}h${width / 2}`] : []));
    const numbers = (written && !bare ? said : []).map((text, i) => s("text", {
      x: ((i % across) + 0.5) * width - 0.5, y: (Math.floor(i / across) + 0.5) * height, class: large ? "nb-one" : "",
    }, text));
    const [w, tall] = [across * width, rows * height];
    this.svg = s("svg", { class: "nb-tile", width: w, height: tall, viewBox: `0 0 ${w} ${tall}`, role: "img",
      "aria-label": tileWords(tile, name, written) },
    ...this.rects, below.length > 0 && s("path", { class: "nb-dashes", d: below.join("") }), ...numbers);
    this.here = null;
    if (point) this.listen(point, pick);
    if (point && cells.length > 1) this.walk(name, point, pick);
  }

  listen(point, pick) {
    const cell = (event) => event.target.dataset?.cell;
    attach(this.svg, {
      onpointermove: (event) => {
        const i = cell(event);
        if (i === undefined || Number(i) === this.here) return;
        this.here = Number(i);
        point(this.here);
      },
      onpointerleave: () => this.leave(point),
      onclick: (event) => { if (cell(event) !== undefined) pick?.(Number(cell(event))); },
    });
  }

  leave(point) {
    this.here = null;
    point(null);
  }

  /** The arrow keys go from cell to cell, and Enter clicks: as a slider, which says each cell aloud. */
  walk(name, point, pick) {
    const { cells, form, shape } = this.tile, { across, svg } = this;
    attach(svg, { role: "slider", tabindex: 0, "aria-label": tileWords(this.tile, name, false), "aria-valuemin": 0,
      "aria-valuemax": cells.length - 1 });
    const say = (i) => {
      const place = this.tile.block ? "" : `[${indexOf(i, shape).join(", ")}]: `;
      attach(svg, { "aria-valuenow": i, "aria-valuetext": place + shortNumber(cells[i], form) });
    };
    say(0);
    svg.addEventListener("keydown", (event) => {
      const by = moveOf(event, { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across,
        ...(pick && this.here !== null && { Enter: 0 }) });
      if (by === undefined) return;
      if (!by) { pick(this.here); return; }
      const to = (this.here ?? -Math.max(by, 0)) + by;
      if (to < 0 || to >= cells.length) return;
      this.here = to;
      say(to);
      point(to);
    });
    svg.addEventListener("blur", () => this.leave(point));
  }

  light(cells) {
    this.rects.forEach((rect, i) => rect.classList.toggle("nb-lit", cells.has(i)));
  }
}

/** A bar for each bin of what a large tensor holds. */
export function histogramOf({ histogram, low, high: highest }) {
  if (!histogram?.length) return null;
  const most = Math.max(...histogram), wide = 4, high = 22;
  const bars = histogram.map((count, i) => s("rect",
    { x: i * wide, width: wide - 1, y: high - (count / most) * high, height: (count / most) * high }));
  return s("svg", { class: "nb-histogram", width: histogram.length * wide, height: high, role: "img",
    "aria-label": `${shortNumber(low, "m")} … ${shortNumber(highest, "m")}` }, ...bars);
}

/** The colors of gradients, and what the ends of their scale mean. */
export function gradientKey(name, { kind, largest }) {
  const levels = Array.from({ length: 2 * LEVELS + 1 }, (_, i) => i - LEVELS), wide = 3;
  const steps = levels.map((level, i) => {
    const rect = s("rect", { x: i * wide, width: wide, height: 7 });
    rect.style.fill = paletteOf(level, kind);
    return rect;
  });
  const end = (value) => h("span", {}, shortNumber(value));
  return [name, end(-largest), s("svg", { width: levels.length * wide, height: 7,
    viewBox: `0 0 ${levels.length * wide} 7`, "aria-hidden": "true" }, ...steps), end(largest)];
}
