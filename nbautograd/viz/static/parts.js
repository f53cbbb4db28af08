// Shows a graph and plays a recorded backward pass. One module for the Jupyter widget (render) and for saved pages
// (mount), put together from parts.js, stage.js, saving.js and player.js in this order.
// Text only ever becomes text nodes; the drawing, which Python made, is parsed as XML and filtered. No network, no eval.

const SVG = "http://www.w3.org/2000/svg";
const MATH = "http://www.w3.org/1998/Math/MathML";
const DRAWABLE = new Set(["svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan",
  "title", "desc", "defs", "marker"]);
const ICONS = {
  first: "M5 4h3v16H5zM20 4v16L9 12z", back: "M17 4v16L6 12z", play: "M7 4v16l13-8z", pause: "M6 4h4v16H6zM14 4h4v16h-4z",
  forward: "M7 4v16l11-8z", last: "M4 4v16l11-8zM16 4h3v16h-3z", out: "M4 11h16v2.4H4z",
  in: "M10.8 4h2.4v6.8H20v2.4h-6.8V20h-2.4v-6.8H4v-2.4h6.8z",
  fit: "M4 4h6v2.4H6.4V10H4zM14 4h6v6h-2.4V6.4H14zM4 14h2.4v3.6H10V20H4zM17.6 14H20v6h-6v-2.4h3.6z",
  loop: "M7 7h9V4l5 4.5-5 4.5v-3H9.5v3H7zM17 17H8v3l-5-4.5L8 11v3h6.5v-3H17z",
  repeats: "M5 4h10v3H8v10H5zM10 9h10v11H10z",
  scale: "M4 15h3.4v5H4zM10.3 9.5h3.4V20h-3.4zM16.6 4H20v16h-3.4z",
  save: "M10.8 3h2.4v9l3.3-3.2 1.6 1.7L12 16.4l-6.1-5.9 1.6-1.7 3.3 3.2zM4 18.4h16V21H4z",
};
const STEP = 900; // milliseconds in which the numbers of a step travel, at normal speed
const BREAKS = new Set(["=", "+=", "+", "−", "·", "/"]); // before which a long formula may go on on the next line
const TALLEST = 600; // pixels of the picture's window
const REST = 900; // and for which the step then stays

/** An element with attributes, listeners (onclick: f) and children; false and null children are left out. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== false && child != null));
  return element;
}

/** A text with numbers and names put into its places. */
function fill(text, places) {
  return String(text ?? "").replace(/\{(\w+)\}/g, (whole, name) => (name in places ? String(places[name]) : whole));
}

function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function icon(name) {
  return s("svg", { viewBox: "0 0 24 24", width: 15, height: 15, "aria-hidden": "true", fill: "currentColor" },
    s("path", { d: ICONS[name] }));
}

/** Marks (see formulas.py) as MathML. */
function math(marks) {
  const m = (tag, ...children) => {
    const element = document.createElementNS(MATH, tag);
    element.append(...children);
    return element;
  };
  const row = (list) => m("mrow", ...list.map(one));
  const partial = (name) => m("mrow", m("mo", "∂"), m("mi", name));
  function one([kind, a, b]) {
    if (kind === "d") return m("mfrac", partial(a), partial(b));
    if (kind === "f") return m("mfrac", row(a), row(b));
    if (kind === "s") return m("msup", row(a), row(b));
    if (kind === "m") return m("mrow", m("mo", "["), m("mtable", ...a.map((line) => m("mtr", ...line.map((n) => m("mtd", m("mn", n)))))), m("mo", "]"));
    return m({ n: "mn", o: "mo" }[kind] || "mi", a);
  }
  return m("math", row(marks));
}

/** A formula that may go on on the next line: before an operator that is in no brackets, where it has no room. */
function formula(marks) {
  const pieces = [[]];
  let depth = 0;
  for (const mark of marks) {
    if (mark[0] === "o" && "([".includes(mark[1])) depth += 1;
    if (mark[0] === "o" && ")]".includes(mark[1])) depth -= 1;
    if (!depth && mark[0] === "o" && BREAKS.has(mark[1])) pieces.push([]);
    pieces.at(-1).push(mark);
  }
  const written = h("span", {}, ...pieces.filter((piece) => piece.length).map(math));
  for (const operator of written.querySelectorAll("math > mrow > mo:first-child")) operator.setAttribute("form", "infix");
  return written;
}

/** The drawing as elements of this page, with ids that no other drawing on the page has. */
function drawing(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  const root = document.importNode(parsed.documentElement, true);
  if (root.localName !== "svg") throw new Error("the picture cannot be read");
  const own = "nb" + Math.random().toString(36).slice(2, 10);
  const ids = [...root.querySelectorAll("[id]")].map((e) => e.id);
  const prefix = ids.length ? ids[0].replace(/-[a-z]+$/, "") : "nb";
  for (const element of [root, ...root.querySelectorAll("*")]) {
    if (!DRAWABLE.has(element.localName)) { element.remove(); continue; }
    for (const { name, value } of [...element.attributes]) {
      if (/^on|href$/i.test(name)) element.removeAttribute(name);
      else if (name === "id" || name === "marker-end" || name === "aria-labelledby") {
        element.setAttribute(name, value.replaceAll(prefix, own));
      }
    }
  }
  return [root, own];
}

/** What a view draws for a node or an edge of the whole graph, or nothing. */
const see = (view, id) => view?.stands?.[id] ?? id;
const seen = (view, ids = []) => [...new Set(ids.map((id) => see(view, id)))].filter(Boolean);

/**
 * What has happened after each number of steps; computed from the frames, never from the page. Frames name every
 * operation; a view in which some are folded into groups says for each what stands for it (`stands`), and shows what
 * happens in one group in succession as one step.
 */
class History {
  constructor(timeline) {
    this.frames = timeline.frames;
    this.scenes = timeline.scenes;
    const former = new Map(); // rows of the ledger tell only which terms are new
    for (const frame of this.frames) {
      for (const [id, row] of Object.entries(frame.ledger || {})) {
        const place = `${frame.scene} ${frame.backward} ${id}`;
        if (row.kept) { row.terms = [...former.get(place).slice(0, row.kept), ...row.terms]; delete row.kept; }
        former.set(place, row.terms);
      }
    }
  }

  sceneAt(index) {
    return this.frames.length ? this.frames[Math.max(index, 1) - 1].scene : 0;
  }

  /** Whether frame k and the next one happen in one closed group of a view. */
  together(k, view) {
    const one = this.frames[k - 1], other = this.frames[k], at = see(view, one.node);
    return !!other && one.node !== undefined && ["op", "accumulate"].includes(one.kind) && one.kind === other.kind && one.scene === other.scene
      && one.backward === other.backward && at === see(view, other.node) && ["group", "pile"].includes(view?.nodes[at]?.kind);
  }

  /** After which frames the player stops: all but those that are followed by one of the same group. */
  stops(viewOf) {
    const found = [0];
    for (let k = 1; k <= this.frames.length; k++) if (!this.together(k, viewOf(this.frames[k - 1].scene))) found.push(k);
    return found;
  }

  /** The step that ends with a frame, as a view shows it. */
  step(index, view, t) {
    const frame = this.frames[index - 1];
    if (!frame || !view?.stands) return frame || null;
    let first = index;
    while (first > 1 && this.together(first - 1, view)) first -= 1;
    const run = this.frames.slice(first - 1, index), all = (name) => seen(view, run.flatMap((f) => f[name] || []));
    const keyed = (name) => Object.fromEntries(run.flatMap((f) => Object.entries(f[name] || {})).map(([id, v]) => [see(view, id), v]).filter(([id]) => id));
    const own = (name) => Object.fromEntries(run.flatMap((f) => Object.entries(f[name] || {})).filter(([id]) => see(view, id) === id));
    const node = view.nodes[see(view, frame.node)], folded = ["group", "pile"].includes(node?.kind) && ["op", "accumulate"].includes(frame.kind);
    const shown = { ...frame, node: see(view, frame.node), active: all("active"), received: all("received"), bad: all("bad"), freed: all("freed"),
      labels: keyed("labels"), sizes: keyed("sizes"), leaves: own("leaves"), ledger: own("ledger"), hooks: run.flatMap((f) => f.hooks || []).map(([id, text]) => [see(view, id), text]) };
    if (!folded) return shown;
    const outside = (f, come) => (f.active || []).some((id) => this.isEdge(id) && (f.received || []).includes(id) === come && see(view, id));
    return { ...shown, title: node.symbol || node.name, subtitle: node.name, caption: frame.count ? frame.caption : t("group_step", { name: node.symbol, what: node.name, n: run.length }),
      receives: run.filter((f) => outside(f, true)).flatMap((f) => f.receives || []).slice(0, 6), sends: run.filter((f) => outside(f, false)).flatMap((f) => f.sends || []).slice(0, 6),
      notes: [...new Set(run.flatMap((f) => f.notes || []))], alarms: run.flatMap((f) => f.alarms || []), equations: undefined, saved: "" };
  }

  isEdge(id) { return id.startsWith("e"); }

  at(index, view, t) {
    const scene = this.sceneAt(index), nodes = view?.nodes || {};
    const grouped = (id) => ["group", "pile"].includes(nodes[id]?.kind);
    const freed = Object.entries(nodes).filter(([, node]) => node.freed).map(([id]) => id);
    const state = { index, scene, active: new Set(), done: new Set(), bad: new Set(), freed: new Set(freed), labels: new Map(),
      leaves: new Map(), ledger: new Map(), sizes: new Map(), ran: new Map(), frame: null };
    const put = (map, id, value) => { map.delete(id); map.set(id, value); }; // the last one last
    let joins = false;
    this.frames.slice(0, index).forEach((frame, i) => {
      if (frame.scene !== scene) return;
      if (!joins) { for (const id of state.active) state.done.add(id); state.active = new Set(); }
      if (frame.kind === "start") { state.done.clear(); state.bad.clear(); state.labels.clear(); state.sizes.clear(); state.ran.clear(); }
      for (const id of seen(view, frame.active)) state.active.add(id);
      for (const id of seen(view, frame.bad)) state.bad.add(id);
      for (const id of seen(view, frame.freed)) if (!grouped(id)) state.freed.add(id);
      for (const [id, text] of Object.entries(frame.labels || {})) put(state.labels, see(view, id), text);
      for (const [id, size] of Object.entries(frame.sizes || {})) put(state.sizes, see(view, id), size);
      if (frame.node && frame.kind !== "start") state.ran.set(see(view, frame.node), frame);
      for (const [id, leaf] of Object.entries(frame.leaves || {})) state.leaves.set(id, leaf);
      for (const [id, row] of Object.entries(frame.ledger || {})) state.ledger.set(id, row);
      joins = this.together(i + 1, view);
      state.frame = frame;
    });
    if (state.frame) state.frame = this.step(index, view, t);
    return state;
  }

  /** What .grad was after each pass up to this step, by the leaf's name, with what was done to it in between. */
  grads(index) {
    const found = new Map(), resets = { zeroed: "↺ 0", none: "↺ None", changed: "✎" };
    const add = (name, text) => found.set(name, [...(found.get(name) || []), text]);
    for (const frame of this.frames.slice(0, index)) {
      const nodes = this.scenes[frame.scene].nodes;
      if (frame.kind === "start") {
        for (const [id, row] of Object.entries(frame.ledger || {})) if (row.reset && nodes[id]) add(nodes[id].name, resets[row.reset]);
      }
      const row = frame.kind === "accumulate" && frame.ledger?.[frame.node];
      if (row && nodes[frame.node]) add(nodes[frame.node].name, row.after);
    }
    return found;
  }

  /** [number of the pass, its first step] of every pass. */
  passes() {
    const found = new Map();
    this.frames.forEach((frame, i) => { if (!found.has(frame.backward)) found.set(frame.backward, i + 1); });
    return [...found];
  }
}

/** How the nodes of a scene hang together. */
class Links {
  constructor(scene) {
    this.nodes = scene?.nodes || {};
    this.edges = (scene?.edges || []).map(([id, src, dst, kind, slot]) => ({ id, src, dst, kind, slot }));
    this.into = new Map();
    this.from = new Map();
    for (const edge of this.edges) {
      this.into.set(edge.dst, [...(this.into.get(edge.dst) || []), edge]);
      this.from.set(edge.src, [...(this.from.get(edge.src) || []), edge]);
    }
    this.byId = new Map(this.edges.map((edge) => [edge.id, edge]));
    this.lines = new Map(); // "In [3], line 5" -> the nodes that this line made
    for (const [id, node] of Object.entries(this.nodes)) {
      if (node.where) this.lines.set(node.where, [...(this.lines.get(node.where) || []), id]);
    }
  }

  makers(id) { return this.into.get(id) || []; }

  users(id) { return this.from.get(id) || []; }

  /** What is only there to make this node: it can be hidden without hiding what others use. */
  private(id) {
    const before = new Set(), waiting = [id];
    while (waiting.length) {
      for (const { src } of this.makers(waiting.pop())) if (!before.has(src)) { before.add(src); waiting.push(src); }
    }
    before.delete(id);
    for (let changed = true; changed;) {
      changed = false;
      for (const other of before) {
        if (this.users(other).some(({ dst }) => dst !== id && !before.has(dst))) { before.delete(other); changed = true; }
      }
    }
    return before;
  }

  /** The lines of the cell that a line is in: [where, number, text], in order. */
  listing(where) {
    const first = (place) => this.nodes[this.lines.get(place)?.[0]] || {}, { cell } = first(where);
    return [...this.lines.keys()].filter((other) => first(other).cell === cell)
      .map((other) => [other, first(other).line || 0, first(other).source || ""])
      .sort((a, b) => a[1] - b[1]);
  }

  /** The nodes in which a text occurs, in the order of the picture. */
  search(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const said = ({ name, label, expression, symbol, value, shape, dtype, where, source }) =>
      [name, label, expression, symbol, value, shape, dtype, where, source].join("\n").toLowerCase();
    return Object.entries(this.nodes).filter(([, node]) => said(node).includes(wanted)).map(([id]) => id);
  }
}
