// Shows a graph and plays a recorded backward pass. One module for the Jupyter widget (render) and for saved pages
// (mount), put together from parts.js, stage.js and player.js in this order.
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
const TALLEST = 500; // pixels of the picture's window
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

/** What has happened after each number of steps; computed from the frames, never from the page. */
class History {
  constructor(timeline) {
    this.frames = timeline.frames;
    this.scenes = timeline.scenes;
  }

  sceneAt(index) {
    return this.frames.length ? this.frames[Math.max(index, 1) - 1].scene : 0;
  }

  at(index) {
    const scene = this.sceneAt(index);
    const freed = Object.entries(this.scenes[scene]?.nodes || {}).filter(([, node]) => node.freed).map(([id]) => id);
    const state = { index, scene, active: new Set(), done: new Set(), bad: new Set(), freed: new Set(freed), labels: new Map(),
      leaves: new Map(), ledger: new Map(), sizes: new Map(), ran: new Map(), frame: null };
    for (const frame of this.frames.slice(0, index)) {
      if (frame.scene !== scene) continue;
      for (const id of state.active) state.done.add(id);
      if (frame.kind === "start") { state.done.clear(); state.bad.clear(); state.labels.clear(); state.sizes.clear(); state.ran.clear(); }
      state.active = new Set(frame.active);
      for (const id of frame.bad || []) state.bad.add(id);
      for (const id of frame.freed || []) state.freed.add(id);
      for (const [id, text] of Object.entries(frame.labels || {})) state.labels.set(id, text);
      for (const [id, size] of Object.entries(frame.sizes || {})) state.sizes.set(id, size);
      if (frame.node && frame.kind !== "start") state.ran.set(frame.node, frame);
      for (const [id, leaf] of Object.entries(frame.leaves || {})) state.leaves.set(id, leaf);
      for (const [id, row] of Object.entries(frame.ledger || {})) state.ledger.set(id, row);
      state.frame = frame;
    }
    return state;
  }

  /** Each leaf's row at the end of the pass that runs at this step, and the step of its accumulation. */
  outcome(index) {
    const at = this.frames[Math.max(index, 1) - 1];
    const rows = new Map(), steps = new Map();
    this.frames.forEach((frame, i) => {
      if (!at || frame.backward !== at.backward || frame.scene !== at.scene) return;
      for (const [id, row] of Object.entries(frame.ledger || {})) rows.set(id, row);
      if (frame.kind === "accumulate") steps.set(frame.node, i + 1);
    });
    return { rows, steps };
  }

  /** What .grad was after each pass up to this step, by the leaf's name, with what was done to it in between. */
  grads(index) {
    const found = new Map(), resets = { zeroed: "↺ 0", none: "↺ None", changed: "✎" };
    const add = (name, text) => found.set(name, [...(found.get(name) || []), text]);
    for (const frame of this.frames.slice(0, index)) {
      const nodes = this.scenes[frame.scene].nodes;
      if (frame.kind === "start") {
        for (const [id, row] of Object.entries(frame.ledger || {})) if (row.reset) add(nodes[id].name, resets[row.reset]);
      }
      if (frame.kind === "accumulate") add(nodes[frame.node].name, frame.ledger[frame.node].after);
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
    const cell = (text) => text.replace(/\d+$/, "");
    return [...this.lines.keys()].filter((other) => cell(other) === cell(where))
      .map((other) => [other, Number(other.match(/\d+$/)?.[0] || 0), this.nodes[this.lines.get(other)[0]].source || ""])
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
