/** What a view draws for a node or an edge of the whole graph, or nothing. */
export const see = (view, id) => view?.stands?.[id] ?? id;
export const seen = (view, ids = []) => [...new Set(ids.map((id) => see(view, id)))].filter(Boolean);
export const isGroup = (node) => ["group", "pile"].includes(node?.kind);
export const isEdge = (id) => id.startsWith("e");

/** How the nodes of a scene hang together. */
export class Links {
  constructor(scene) {
    this.nodes = scene?.nodes || {};
    this.inner = scene?.inner || {}; // for lines that leave a group: the name of the value inside
    this.edges = (scene?.edges || []).map(([id, src, dst, kind, slot]) => ({ id, src, dst, kind, slot }));
    this.into = new Map();
    this.from = new Map();
    for (const edge of this.edges) {
      this.into.set(edge.dst, [...(this.into.get(edge.dst) || []), edge]);
      this.from.set(edge.src, [...(this.from.get(edge.src) || []), edge]);
    }
    this.byId = new Map(this.edges.map((edge) => [edge.id, edge]));
    this.failed = Object.keys(this.nodes).find((id) => this.nodes[id].failed); // the operation that was not computed
    this.lines = new Map(); // "In [3], line 5" -> the nodes of this line
    for (const [id, node] of Object.entries(this.nodes)) {
      if (node.where) this.lines.set(node.where, [...(this.lines.get(node.where) || []), id]);
    }
  }

  makers(id) { return this.into.get(id) || []; }

  users(id) { return this.from.get(id) || []; }

  /** What the value is called that goes along an edge. */
  valueOf({ src, id }) { return this.inner[id] || this.nodes[src]?.label || this.nodes[src]?.name || ""; }

  /** What the result of the operation is called into which an edge leads. */
  resultOf(edge) {
    const op = this.byId.get(edge)?.dst, box = this.users(op).find(({ kind }) => kind === "result");
    if (isGroup(this.nodes[op])) return this.nodes[op].symbol || this.nodes[op].name;
    return this.nodes[box?.dst]?.name || this.nodes[op]?.label || this.nodes[op]?.name || "";
  }

  /** All nodes, each before those that it is made from. */
  get order() {
    if (this.sorted) return this.sorted;
    const left = new Map(Object.keys(this.nodes).map((id) => [id, this.users(id).length]));
    this.sorted = [...left.keys()].filter((id) => !left.get(id));
    for (const id of this.sorted) {
      for (const { src } of this.makers(id)) {
        left.set(src, left.get(src) - 1);
        if (!left.get(src)) this.sorted.push(src);
      }
    }
    return this.sorted;
  }

  /** The nodes that a node has a part in. */
  above(id) {
    const above = new Set(), waiting = [id];
    while (waiting.length) {
      for (const { dst, kind } of this.users(waiting.pop())) {
        if (kind !== "constant" && !above.has(dst)) { above.add(dst); waiting.push(dst); }
      }
    }
    return above;
  }

  /** What is only there to make this node: it can be hidden without hiding what others use. */
  private(id) {
    const before = new Set(), waiting = [id];
    while (waiting.length) {
      for (const { src } of this.makers(waiting.pop())) {
        if (!before.has(src)) { before.add(src); waiting.push(src); }
      }
    }
    before.delete(id);
    for (let changed = true; changed;) {
      changed = false;
      for (const other of before) {
        const shared = this.users(other).some(({ dst }) => dst !== id && !before.has(dst));
        if (shared) { before.delete(other); changed = true; }
      }
    }
    return before;
  }

  /** The lines of the cell that a line is in: [where, or nothing if no node is from it, number, text], in order. */
  listing(where, cells = {}) {
    const first = (place) => this.nodes[this.lines.get(place)?.[0]] || {}, { cell } = first(where);
    const lines = [...this.lines.keys()].filter((other) => first(other).cell === cell);
    if (cells[cell]) {
      const own = new Map(lines.map((other) => [first(other).line, other]));
      return cells[cell].map(([number, text]) => [own.get(number) || "", number, text]);
    }
    return lines.map((other) => [other, first(other).line || 0, first(other).source || ""]).sort((a, b) => a[1] - b[1]);
  }

  /** The nodes in which a text occurs, in the order of the picture. */
  search(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const said = ({ name, names, label, expression, symbol, value, shape, dtype, where, source }) =>
      [name, names, label, expression, symbol, value, shape, dtype, where, source].join("\n").toLowerCase();
    return Object.entries(this.nodes).filter(([, node]) => said(node).includes(wanted)).map(([id]) => id);
  }
}
