import { indexOf, largestAt } from "./cells.js";
import { shortNumber } from "./numbers.js";

export const SIGNS = { matrix: "@", outer: "⊗" }; // from the upstream gradient to the local derivative
export const dimsOf = (step) => step.summed.map(([d]) => d).join(", ");
export const PRODUCTS = ["diagonal", "matrix", "outer"]; // kinds of steps whose local derivative is one tensor
export const TERMS = { most: 9, wide: 150 }; // limit of the written terms of a sum

/** Which elements of the upstream gradient and of the local derivative an element that was sent is made of. */
export class Chain {
  constructor(step, tiles) {
    this.step = step;
    for (const name of ["upstream", "factor", "product", "sent"]) this[name] = tiles[step[name]] || null;
    this.came = [step.upstream, ...(step.more || [])].map((number) => tiles[number] || null);
    this.rows = step.rows || null; // for a node that is not a product: the terms of each element, or of one
    const own = (tile) => !!tile && !tile.block; // every element has its own cell
    this.whole = [...this.came, this.sent].every(own)
      && (this.rows ? true : own(this.factor) && !this.product?.block);
  }

  /** Whether it can be told which elements of the upstream gradient any element that was sent is made of. */
  get known() { return this.whole && this.came.length === 1 && !(this.rows?.only >= 0); }

  /** Whether an element that was sent may be a sum of several products, of what is no product of tensors. */
  get adds() {
    const { ends, only } = this.rows || { ends: [] };
    return only >= 0 || ends.some((end, i) => end - (ends[i - 1] ?? 0) > 1);
  }

  /**
   * [upstream, factor, local] for each product that the element is the sum of: the places of two cells, and the local
   * derivative; of several gradients that came, the place among all. Null where they are not known.
   */
  terms(place) {
    const { kind } = this.step, { cells } = this.factor || {};
    if (!this.whole) return [];
    if (this.rows) return this.row(place);
    if (!PRODUCTS.includes(kind)) return [];
    const both = kind === "diagonal" ? this.summed(place).map((k) => [this.source(k), k]) : this.products(place);
    return both.map(([u, f]) => [u, f, cells[f]]);
  }

  /** Whether an element can be written out. */
  tells(place) { return this.whole && !!this.terms(place) && (!!this.rows || PRODUCTS.includes(this.step.kind)); }

  /** All elements that came. */
  get cells() { return this.came.flatMap(({ cells }) => cells); }

  said({ cells, form }, place) { return shortNumber(cells[place], form); }

  termText([u, , local]) {
    return `${shortNumber(this.cells[u], this.came[0].form)} × ${shortNumber(local, this.factor?.form)}`;
  }

  row(place) {
    const { ends, ups, factors = [], only = -1 } = this.rows;
    if (only >= 0 && place !== only) return null;
    const [start, end] = only >= 0 ? [0, ends[0]] : [place ? ends[place - 1] : 0, ends[place]];
    return ups.slice(start, end).map((up, i) => [up, up, factors.length ? factors[start + i] : 1]);
  }

  products(place) {
    const { step, upstream, factor, sent } = this;
    if (step.kind === "outer") return [[Math.floor(place / sent.columns), place % sent.columns]];
    if (upstream.shape.length === 1) return upstream.cells.map((_, k) => [k, place * factor.columns + k]);
    const row = Math.floor(place / sent.columns), column = place % sent.columns; // of all matrices of a batch
    const inner = step.left ? factor.columns : upstream.columns;
    const first = Math.floor(row / sent.shape.at(-2)) * inner; // row of the other factor in its matrix of the batch
    return Array.from({ length: inner }, (_, k) => (step.left
      ? [(first + k) * upstream.columns + column, row * factor.columns + k]
      : [row * upstream.columns + k, (first + k) * factor.columns + column]));
  }

  source(k) {
    const { step, upstream } = this;
    return step.places?.length ? step.places[k] : upstream.cells.length === 1 ? 0 : k;
  }

  /** The elements of the product that are summed to one that was sent; without sums it is the same one. */
  summed(place) {
    const { step, product, factor, sent } = this, { cells, shape: wide } = product || factor;
    if (!step.summed) return [place];
    const over = new Map(step.summed), extra = wide.length - sent.shape.length;
    const kept = (k) => indexOf(k, wide).map((i, d) => (over.has(d) ? 0 : i)).slice(extra);
    const at = (index) => index.reduce((flat, i, d) => flat * sent.shape[d] + i, 0);
    return [...cells.keys()].filter((k) => at(kept(k)) === place);
  }

  /** The elements that were sent to which an element of one of the tiles contributes. */
  reached(part, cell) {
    const column = { factor: 1, product: 1 }[part] ?? 0, at = this.offset(part) + cell;
    return [...this.sent.cells.keys()].filter((place) => this.terms(place)?.some((term) => term[column] === at));
  }

  /** How many elements came before those of one of several gradients. */
  offset(part) {
    const before = this.came.slice(0, this.partsOf().indexOf(part));
    return part === "factor" || part === "product" ? 0 : before.reduce((sum, { cells }) => sum + cells.length, 0);
  }

  /** The cells of one of the gradients that came, of which terms are. */
  cellsOf(part, terms) {
    const first = this.offset(part), { cells } = this.came[this.partsOf().indexOf(part)];
    return new Set(terms.map(([u]) => u - first).filter((u) => u >= 0 && u < cells.length));
  }

  /** What the cells of the gradients that came are called. */
  partsOf() { return this.came.map((_, i) => (i ? `upstream${i}` : "upstream")); }

  /** The element that is written out where none is chosen. */
  get largest() { return this.rows?.only >= 0 ? this.rows.only : largestAt(this.sent?.cells || [0]); }

  /** How many letters the longest of all local derivatives has: their tile is as wide for each element. */
  get longest() {
    this.letters ??= Math.max(0, ...this.rows.factors.map((factor) => shortNumber(factor).length));
    return this.letters;
  }

  /** The local derivatives of all that came with respect to one element that was sent, as a tile. */
  localOf(place) {
    const cells = this.upstream.cells.map(() => 0);
    for (const [u, , local] of this.terms(place) || []) cells[u] = local;
    return { shape: this.upstream.shape, columns: this.upstream.columns, cells, form: "", longest: this.longest };
  }
}

/** The terms of a sum that say something: not those where nothing came; of many, the largest first. */
export function telling(terms, cells) {
  const some = terms.filter(([u]) => cells[u] !== 0), size = ([u, , local]) => Math.abs(cells[u] * local) || 0;
  if (!some.length) return terms.slice(0, 1);
  return some.length > TERMS.most ? some.sort((a, b) => size(b) - size(a)) : some;
}

export const inBrackets = (text, brackets) => (brackets ? `(${text})` : text);
