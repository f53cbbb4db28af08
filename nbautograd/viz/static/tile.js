const NUMBERS = 16; // cells up to which each shows its number
const NUMBER_COLUMNS = 4;

/** `0.12346`, `-3`, `1.2e-7`: five significant digits, as texts have. */
function shortNumber(value) {
  const number = Number(value);
  if (!Number.isFinite(number)) return String(value);
  return String(Number(number.toPrecision(5)) || 0).replace("-", "−");
}

/** The same in at most six characters, for a cell. */
function cellNumber(value) {
  const number = Number(value);
  if (!Number.isFinite(number)) return String(value);
  const size = Math.abs(number),
    shown = String(Number(number.toPrecision(3)) || 0);
  const short = shown.length <= 6 ? shown : size >= 0.001 && size < 1e5 ? number.toFixed(3) : number.toExponential(0);
  return short.replaceAll("-", "−").replace("e+", "e");
}

/** The colour of a number on a scale that ends at ±`largest`: blue, pale, red. */
const shade = (value, largest, written = false) => shadeOf(levelOf(value, largest, written));

const largestOf = (tile) => Math.max(0, ...tile.cells.filter(Number.isFinite).map(Math.abs));

/** Whether the cells of a tile show their numbers. */
const isWritten = ({ cells, columns }) => cells.length <= NUMBERS && columns <= NUMBER_COLUMNS;

/** How high a row of a tile is, which has `high` pixels in all. */
function rowHeight(tile, high) {
  const { cells, columns } = tile, rows = cells.length / columns;
  const usual = isWritten(tile) ? (cells.length === 1 ? 30 : 24) : rows === 1 ? 22 : 15;
  return Math.min(usual, high / rows);
}

/**
 * A tensor as a small matrix of coloured cells. `point(i)` is told which cell is pointed at (or null), by the pointer
 * or by arrow keys, `pick(i)` which is clicked. `light(cells)` marks cells.
 */
class TileView {
  constructor(tile, { name, largest, wide, high, point, pick }) {
    const { columns, cells } = tile,
      rows = cells.length / columns;
    const written = isWritten(tile);
    const width = written ? Math.min(cells.length === 1 ? 84 : 50, wide / columns) : Math.min(15, wide / columns);
    const height = rowHeight(tile, high);
    this.tile = tile;
    this.columns = columns;
    const cell = s("rect", { width: width - 1, height: height - 1, rx: Math.min(2, width / 4) });
    this.rects = cells.map((value, i) => {
      const rect = cell.cloneNode(); // of a large tile, setting every attribute of every cell takes the time
      rect.setAttribute("x", (i % columns) * width);
      rect.setAttribute("y", Math.floor(i / columns) * height);
      rect.setAttribute("data-cell", i);
      if (Number.isFinite(value)) rect.style.fill = shade(value, largest, written);
      else rect.setAttribute("class", "nb-not-finite");
      return rect;
    });
    const numbers = written
      ? cells.map((value, i) => {
          const label = s("text", {
            x: ((i % columns) + 0.5) * width - 0.5,
            y: (Math.floor(i / columns) + 0.5) * height,
            class: cells.length === 1 ? "nb-one" : "",
          });
          label.textContent = cells.length === 1 ? shortNumber(value) : cellNumber(value);
          return label;
        })
      : [];
    const total = [columns * width, rows * height];
    this.svg = s(
      "svg",
      {
        class: "nb-tile",
        width: total[0],
        height: total[1],
        viewBox: `0 0 ${total.join(" ")}`,
        role: "img",
        "aria-label": this.words(name, written),
      },
      ...this.rects,
      ...numbers,
    );
    this.here = null;
    if (point) this.listen(point, pick);
    if (point && cells.length > 1) this.walk(name, point, pick);
  }

  words(name, written) {
    const { cells, shape } = this.tile;
    return [name, `(${shape.join(", ")})`, written ? cells.map(shortNumber).join(", ") : ""].filter(Boolean).join(" ");
  }

  listen(point, pick) {
    const cell = (event) => event.target.dataset?.cell;
    this.svg.addEventListener("pointermove", (event) => {
      const i = cell(event);
      if (i !== undefined && Number(i) !== this.here) {
        this.here = Number(i);
        point(this.here);
      }
    });
    this.svg.addEventListener("pointerleave", () => {
      this.here = null;
      point(null);
    });
    this.svg.addEventListener("click", (event) => {
      if (cell(event) !== undefined) pick?.(Number(cell(event)));
    });
  }

  /** The arrow keys go from cell to cell, and Enter clicks: as a slider, which says each cell aloud. */
  walk(name, point, pick) {
    const { cells, columns, shape } = this.tile, { svg } = this;
    const about = { role: "slider", tabindex: 0, "aria-label": this.words(name, false), "aria-valuemin": 0,
      "aria-valuemax": cells.length - 1 };
    for (const [key, value] of Object.entries(about)) svg.setAttribute(key, value);
    const say = (i) => {
      const place = this.tile.block ? "" : `[${indexOf(i, shape).join(", ")}]: `;
      svg.setAttribute("aria-valuenow", i);
      svg.setAttribute("aria-valuetext", place + shortNumber(cells[i]));
    };
    say(0);
    svg.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
      if (isForPage(event)) return;
      if (!by && (event.key !== "Enter" || !pick || this.here === null)) return;
      event.preventDefault();
      event.stopPropagation();
      if (!by) { pick(this.here); return; }
      const to = (this.here ?? -Math.max(by, 0)) + by;
      if (to < 0 || to >= cells.length) return;
      this.here = to;
      say(to);
      point(to);
    });
    svg.addEventListener("blur", () => {
      this.here = null;
      point(null);
    });
  }

  light(cells) {
    this.rects.forEach((rect, i) => rect.classList.toggle("nb-lit", cells.has(i)));
  }
}

/** A bar for each bin of what a large tensor holds. */
function histogramOf({ histogram, low, high }) {
  if (!histogram?.length) return null;
  const most = Math.max(...histogram),
    wide = 4,
    high_ = 22;
  const bars = histogram.map((count, i) =>
    s("rect", { x: i * wide, width: wide - 1, y: high_ - (count / most) * high_, height: (count / most) * high_ }),
  );
  return s(
    "svg",
    {
      class: "nb-histogram",
      width: histogram.length * wide,
      height: high_,
      role: "img",
      "aria-label": `${shortNumber(low)} … ${shortNumber(high)}`,
    },
    ...bars,
  );
}

/** The colours of a scale and what its ends mean. */
function scaleLegend(largest) {
  const levels = Array.from({ length: 2 * LEVELS + 1 }, (_, i) => i - LEVELS), wide = 6;
  const steps = levels.map((level, i) => {
    const rect = s("rect", { x: i * wide, width: wide, height: 7 });
    rect.style.fill = shadeOf(level);
    return rect;
  });
  const end = (value) => h("span", {}, cellNumber(value));
  return h("span", { class: "nb-tile-legend" }, end(-largest),
    s("svg", { width: levels.length * wide, height: 7, viewBox: `0 0 ${levels.length * wide} 7`,
      preserveAspectRatio: "none", "aria-hidden": "true" }, ...steps), end(largest));
}
