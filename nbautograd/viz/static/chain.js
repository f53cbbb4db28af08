/** Which elements of the upstream gradient and of the local derivative an element that was sent is made of. */
class Chain {
  constructor(step, tiles) {
    this.step = step;
    [this.upstream, this.factor, this.product, this.sent] = ["upstream", "factor", "product", "sent"].map(
      (name) => tiles[step[name]] || null,
    );
    // every element has a cell of its own
    this.whole = [this.upstream, this.factor, this.sent].every((tile) => tile && !tile.block) && !this.product?.block;
  }

  /** Whether it can be told which elements of the upstream gradient an element that was sent is made of. */
  get known() {
    return this.whole || this.moved;
  }

  /** Whether elements only go to other places. */
  get moved() {
    const { step, upstream, sent } = this;
    return step.kind === "move" && !!step.places && upstream && sent && !upstream.block && !sent.block;
  }

  /** [upstream, local] by their places, for each product that the element is the sum of. */
  terms(place) {
    const { kind, places } = this.step;
    if (this.moved) return places[place] < 0 ? [] : [[places[place], place]];
    if (!this.whole || !["diagonal", "matrix"].includes(kind)) return [];
    return kind === "matrix" ? this.products(place) : this.summed(place).map((k) => [this.source(k), k]);
  }

  products(place) {
    const { step, upstream, factor, sent } = this;
    const row = Math.floor(place / sent.columns), // of all matrices of a batch
      column = place % sent.columns;
    const inner = step.left ? factor.columns : upstream.columns,
      first = Math.floor(row / sent.shape.at(-2)) * inner; // row of the other factor in its matrix of the batch
    return Array.from({ length: inner }, (_, k) =>
      step.left
        ? [(first + k) * upstream.columns + column, row * factor.columns + k]
        : [row * upstream.columns + k, (first + k) * factor.columns + column],
    );
  }

  source(k) {
    const { step, upstream } = this;
    return step.places?.length ? step.places[k] : upstream.cells.length === 1 ? 0 : k;
  }

  /** The elements of the product that are summed to one that was sent; without sums it is the same one. */
  summed(place) {
    const { step, product, factor, sent } = this,
      wide = (product || factor).shape;
    if (!step.summed) return [place];
    const over = new Map(step.summed),
      extra = wide.length - sent.shape.length;
    const at = (index, shape) => index.reduce((flat, i, d) => flat * shape[d] + i, 0);
    const wanted = this.index(place, sent.shape),
      all = (product || factor).cells.length,
      found = [];
    for (let k = 0; k < all; k++) {
      const index = this.index(k, wide);
      const kept = index.map((i, d) => (over.has(d) ? 0 : i)).slice(extra);
      if (at(kept, sent.shape) === at(wanted, sent.shape)) found.push(k);
    }
    return found;
  }

  index(place, shape) {
    return indexOf(place, shape);
  }

  /** The elements that were sent to which an element of one of the tiles contributes. */
  reached(part, cell) {
    const column = { upstream: 0, factor: 1, product: 1 }[part],
      found = [];
    for (let place = 0; place < this.sent.cells.length; place++) {
      if (this.terms(place).some((term) => term[column] === cell)) found.push(place);
    }
    return found;
  }

  /** The largest element that was sent. */
  get largest() { return largestAt(this.sent.cells); }
}
