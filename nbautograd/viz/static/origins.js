import { indexOf } from "./cells.js";
import { Chain } from "./chain.js";

const MOST_ELEMENTS = 1024; // limit of the elements of a convolution's result for tracing a gradient
const DEEP = 4; // limit of the operations without a tile for tracing an element
const FLOWS = new Set(["flow", "constant"]);

const countOf = (shape) => shape.reduce((product, n) => product * n, 1);

/**
 * Which elements of other tiles an element is made of. Tiles are named as in the drawing: `n1:value`, the value of a
 * node; `n1:arriving` and `n1:grad`, the rows of a leaf; `e2`, the gradient on an edge.
 */
export class Origins {
  /** `tileOf(key)`: the tile that is shown under a name, or null. */
  constructor(links, frames, tiles, tileOf) {
    Object.assign(this, { links, tiles, tileOf, steps: new Map(), chains: new Map() });
    for (const frame of frames) for (const step of frame.chain || []) this.steps.set(step.edge, step);
  }

  /** The cells that light up with one: itself, and what it came from. Names of tiles, with sets of cells. */
  of(key, cell) {
    const lit = new Map(), add = (name, cells) => {
      if (cells.length) lit.set(name, new Set([...(lit.get(name) || []), ...cells]));
    };
    add(key, [cell]);
    const [id, what] = key.split(":");
    if (what === "value") this.value(id, [cell], add);
    else if (what) this.leaf(id, what, cell, add);
    else this.gradient(id, cell, add);
    return lit;
  }

  // -- values -----------------------------------------------------------------------------------------------------
  /** What elements of a result came from. */
  value(id, cells, add, depth = 0) {
    const { links } = this, maker = links.nodes[id]?.kind === "op" ? id
      : links.makers(id).find(({ kind }) => kind === "result")?.src;
    if (!maker || depth > DEEP) return;
    for (const edge of links.makers(maker).filter(({ kind }) => FLOWS.has(kind))) {
      const from = [...new Set(cells.flatMap((cell) => this.inputs(maker, edge, this.shapeOf(id), cell)))];
      if (this.tileOf(`${edge.src}:value`)) add(`${edge.src}:value`, from);
      else if (from.length) this.value(edge.src, from, add, depth + 1);
    }
  }

  /** The elements of an operation's input on which an element of its result depends. */
  inputs(op, edge, result, cell) {
    const chain = this.chain(edge.id), own = this.shapeOf(edge.src);
    if (chain?.known) return chain.reached("upstream", cell);
    if (!result || !own) return [];
    if (this.links.nodes[op].window) return this.windowed(op, edge, own, result, cell);
    const { kinds = [], slots = [] } = this.links.nodes[op], kind = kinds[slots.indexOf(edge.slot)];
    const matrix = kind === "matrix" || (kind === undefined && kinds.includes("matrix"));
    if (matrix && own.length === 2 && result.length === 2) return this.factors(op, edge, own, result, cell);
    const unlike = kind === "matrix" && result.length === 1; // a matrix and a vector
    return ["other", "outer"].includes(kind) || unlike ? [] : byShape(result, own, cell);
  }

  /** Of a matrix product: a row of the left matrix, a column of the right one. */
  factors(op, edge, own, [, n], cell) {
    const factors = this.links.makers(op).filter(({ kind, src }) => FLOWS.has(kind) && this.shapeOf(src)?.length === 2);
    const slots = factors.map(({ slot }) => slot), left = edge.slot < Math.max(...slots) || slots.length < 2;
    const [rows, columns] = own, [row, column] = [Math.floor(cell / n), cell % n];
    const line = left ? row : column;
    if (left || columns !== n) return Array.from({ length: columns }, (_, k) => line * columns + k);
    return Array.from({ length: rows }, (_, k) => k * columns + line);
  }

  /** Of a convolution: the window of the image, the kernel of the channel, the channel's bias. */
  windowed(op, edge, own, result, cell) {
    if (edge.slot > 1) return [indexOf(cell, result)[1]];
    const [stride, padding, dilation, [groups]] = this.links.nodes[op].window;
    const shapes = [0, 1].map((slot) => this.shapeOf(this.links.makers(op).find((e) => e.slot === slot)?.src));
    if (shapes.some((shape) => shape?.length !== result.length)) return [];
    const [image, kernel] = shapes, [n, channel, ...place] = indexOf(cell, result);
    const each = countOf(kernel.slice(1)), first = Math.floor(channel / (kernel[0] / groups)) * kernel[1];
    if (edge.slot === 1) return Array.from({ length: each }, (_, k) => channel * each + k);
    const lit = [];
    for (let k = 0; k < each; k++) {
      const [c, ...inside] = indexOf(k, kernel.slice(1));
      const at = inside.map((offset, d) => place[d] * stride[d] - padding[d] + offset * dilation[d]);
      if (at.some((i, d) => i < 0 || i >= image[d + 2])) continue;
      lit.push([n, first + c, ...at].reduce((flat, i, d) => flat * image[d] + i, 0));
    }
    return lit;
  }

  /** The elements that were received from which a gradient of a convolution's input or weight came. */
  received(edge, cell) {
    const result = this.shapeOf(edge.dst), all = result && this.links.nodes[edge.dst].window ? countOf(result) : 0;
    const own = this.shapeOf(edge.src);
    if (!own || all > MOST_ELEMENTS) return [];
    const every = Array.from({ length: all }, (_, r) => r);
    return every.filter((r) => this.windowed(edge.dst, edge, own, result, r).includes(cell));
  }

  shapeOf(id) {
    const shape = this.links.nodes[id]?.shape?.match(/\d+/g)?.map(Number);
    return shape ?? (this.links.nodes[id]?.shape === "()" ? [] : null);
  }

  // -- gradients --------------------------------------------------------------------------------------------------
  /** The step that computed the gradient on an edge, if each element has a cell of its own. */
  chain(edge) {
    if (!this.chains.has(edge)) {
      const step = this.steps.get(edge), chain = step && new Chain(step, this.tiles);
      this.chains.set(edge, chain || null);
    }
    return this.chains.get(edge);
  }

  /** A gradient on an edge came from what the operation received; at a result, from all that its users sent. */
  gradient(id, cell, add) {
    const { links } = this, edge = links.byId.get(id);
    if (!edge) return;
    if (edge.kind === "result") {
      this.sent(edge.dst, [cell], add);
      return;
    }
    const chain = this.chain(id);
    const from = chain?.known ? chain.terms(cell).map(([upstream]) => upstream) : this.received(edge, cell);
    const results = links.users(edge.dst).filter(({ kind }) => kind === "result");
    for (const result of results) add(result.id, from);
    this.sent(results[0]?.dst ?? edge.dst, from, add);
  }

  /** The gradients that the users of a tensor have sent to it. */
  sent(id, cells, add) {
    for (const edge of this.links.users(id)) if (edge.kind === "flow") add(edge.id, cells);
  }

  /** What arrives at a leaf is the sum of what was sent; `.grad` is what had arrived. */
  leaf(id, what, cell, add) {
    if (what === "grad") add(`${id}:arriving`, [cell]);
    this.sent(id, [cell], add);
  }
}

/** The elements of an input that an element of a result depends on, as far as the shapes tell. */
function byShape(result, own, cell) {
  const [all, inputs] = [countOf(result), countOf(own)];
  if (inputs === all) return [cell]; // element by element, or moved as a whole
  if (all === 1) return Array.from({ length: inputs }, (_, i) => i);
  const extra = result.length - own.length, at = indexOf(cell, result).slice(Math.max(extra, 0));
  const broadcast = extra >= 0 && own.every((n, d) => n === 1 || n === result[d + extra]);
  if (!broadcast) return [];
  return [own.reduce((flat, n, d) => flat * n + (n === 1 ? 0 : at[d]), 0)];
}
