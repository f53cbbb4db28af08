// Plays a recorded backward pass. One module for the Jupyter widget (render) and for saved pages (mount).
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
    const state = { index, scene, active: new Set(), done: new Set(), bad: new Set(), freed: new Set(), labels: new Map(),
      leaves: new Map(), ledger: new Map(), frame: null };
    for (const frame of this.frames.slice(0, index)) {
      if (frame.scene !== scene) continue;
      for (const id of state.active) state.done.add(id);
      if (frame.kind === "start") { state.done.clear(); state.bad.clear(); state.labels.clear(); }
      state.active = new Set(frame.active);
      for (const id of frame.bad || []) state.bad.add(id);
      for (const id of frame.freed || []) state.freed.add(id);
      for (const [id, text] of Object.entries(frame.labels || {})) state.labels.set(id, text);
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

  /** What .grad was after each pass up to this step, by the leaf's name. */
  grads(index) {
    const found = new Map();
    for (const frame of this.frames.slice(0, index)) {
      if (frame.kind !== "accumulate") continue;
      const name = this.scenes[frame.scene].nodes[frame.node].name;
      found.set(name, [...(found.get(name) || []), frame.ledger[frame.node].after]);
    }
    return found;
  }
}

/** The drawing in its window: zoom, pan, and the state of one moment. */
class Stage {
  constructor(element, onselect) {
    this.element = element;
    this.onselect = onselect;
    this.listen();
  }

  load(text) {
    [this.svg, this.prefix] = drawing(text);
    this.full = this.svg.getAttribute("viewBox").split(" ").map(Number);
    this.svg.setAttribute("preserveAspectRatio", "xMidYMid meet");
    this.svg.removeAttribute("width");
    this.svg.removeAttribute("height");
    this.find = new Map();
    for (const key of ["node", "edge", "flow", "label", "slot"]) {
      for (const part of this.svg.querySelectorAll(`[data-${key}]`)) this.find.set(`${key} ${part.dataset[key]}`, part);
    }
    this.start = new Map([...this.find].filter(([key]) => key.startsWith("slot ")).map(([key, e]) => [key, e.textContent]));
    this.tokens = s("g", { class: "nb-tokens", "aria-hidden": "true" });
    this.svg.append(this.tokens);
    this.element.replaceChildren(this.svg);
    this.moved = false;
    this.fit();
  }

  part(kind, id) { return this.find.get(`${kind} ${id}`); }

  /** Show one moment. `now` limits what is lit to the step's beginning while its numbers still travel. */
  paint(state, travelling = null) {
    const on = (id) => state.active.has(id) && !travelling?.has(id);
    for (const [key, element] of this.find) {
      const [kind, id] = key.split(" ");
      if (kind === "slot") continue;
      const active = on(id), done = state.done.has(id), bad = state.bad.has(id) && (active || done);
      element.classList.toggle("nb-active", active);
      element.classList.toggle("nb-done", done && !active);
      element.classList.toggle("nb-bad", bad);
      if (kind === "node") element.classList.toggle("nb-freed", state.freed.has(id));
      if (kind === "edge") element.classList.toggle("nb-used", active || done);
      if (kind === "flow") element.setAttribute("marker-end", `url(#${this.prefix}-${active ? "active" : "done"})`);
      if (kind === "label") this.lines(element, active || done ? state.labels.get(id) || "" : "");
    }
    for (const [key, text] of this.start) {
      const [id, what] = key.slice(5).split(":");
      const leaf = state.leaves.get(id), element = this.find.get(key);
      if (what === "row") {
        element.classList.toggle("nb-some", !!leaf && leaf.arriving !== "–");
        element.parentNode.classList.toggle("nb-some", !!leaf && leaf.arriving !== "–");
        continue;
      }
      const before = { arriving: "⇠ ", grad: ".grad " }[what] || "";
      this.lines(element, leaf ? before + leaf[what] : text, before.length);
    }
  }

  /** Text on as many lines as it has, each below the one before. */
  lines(element, text, indent = 0) {
    if (element.dataset.shown === text) return;
    element.dataset.shown = text;
    const rows = text.split("\n");
    if (rows.length === 1) { element.textContent = text; return; }
    const rise = element.dataset.label ? -(rows.length - 1) * 7 : 0;
    element.replaceChildren(...rows.map((row, i) => s("tspan", { x: element.getAttribute("x"),
      dy: i ? 14 : rise, "xml:space": "preserve" }, (i ? "\u00a0".repeat(indent) : "") + row.replace(/ /g, "\u00a0"))));
  }

  /** Move the numbers of a step: first what the node receives, then what it sends. */
  travel(frame, progress) {
    this.tokens.replaceChildren();
    const received = new Set(frame.received);
    for (const id of frame.active || []) {
      const flow = this.part("flow", id);
      if (!flow) continue;
      const first = received.size === 0 || received.has(id);
      const both = received.size > 0 && received.size < (frame.active || []).filter((a) => this.part("flow", a)).length;
      const t = Math.min(Math.max(both ? (first ? progress * 2 : progress * 2 - 1) : progress, 0), 1);
      const length = flow.getTotalLength();
      flow.classList.toggle("nb-active", t > 0);
      flow.setAttribute("marker-end", t === 1 ? `url(#${this.prefix}-active)` : "none");
      flow.style.strokeDasharray = t < 1 ? `${length}` : "";
      flow.style.strokeDashoffset = t < 1 ? `${length * (1 - t)}` : "";
      const label = this.part("label", id);
      if (t > 0 && t < 1 && frame.labels?.[id]) this.token(flow.getPointAtLength(length * smooth(t)), frame.labels[id]);
      if (label && t === 1) { label.classList.add("nb-active"); this.lines(label, frame.labels?.[id] || ""); }
    }
    if (frame.kind === "accumulate") {
      const from = this.part("slot", `${frame.node}:arriving`), to = this.part("slot", `${frame.node}:grad`);
      const text = frame.ledger?.[frame.node]?.total;
      if (from && to && text && progress < 1) {
        const [a, b] = [from, to].map((e) => ({ x: Number(e.getAttribute("x")) + 44, y: Number(e.getAttribute("y")) - 4 }));
        const t = smooth(progress);
        this.token({ x: a.x + (b.x - a.x) * t, y: a.y + (b.y - a.y) * t }, text);
      }
    }
  }

  still() {
    this.tokens?.replaceChildren();
    for (const [key, flow] of this.find || []) {
      if (key.startsWith("flow ")) { flow.style.strokeDasharray = ""; flow.style.strokeDashoffset = ""; }
    }
  }

  token({ x, y }, text) {
    const lines = text.split("\n"), wide = Math.max(...lines.map((l) => l.length)) * 7 + 14, high = lines.length * 14 + 6;
    const group = s("g", { class: "nb-token", transform: `translate(${x} ${y})` },
      s("rect", { x: -wide / 2, y: -high / 2, width: wide, height: high, rx: 10 }));
    lines.forEach((line, i) => group.append(
      s("text", { "text-anchor": "middle", y: 4 + (i - (lines.length - 1) / 2) * 14 }, line.replace(/ /g, "\u00a0"))));
    this.tokens.append(group);
  }

  // -- the window -----------------------------------------------------------------------------------------------------

  /** As large as fits, but not so small that nothing can be read: then the window follows the active node. */
  fit(everything = false) {
    const [, , w, high] = this.full, wide = this.element.clientWidth || 800;
    const whole = Math.min(wide / w, TALLEST / high, 1.25);
    const readable = Math.min(0.95, Math.max(0.72, wide / w));
    this.scale = everything ? whole : Math.max(whole, readable);
    this.element.style.height = `${Math.ceil(Math.min(Math.max(high * this.scale, 200), TALLEST))}px`;
    this.center = [w / 2, high / 2];
    this.overflows = !everything && (w * this.scale > wide + 1 || high * this.scale > TALLEST + 1);
    this.show();
  }

  show() {
    const wide = this.element.clientWidth || 800, high = this.element.clientHeight || 300;
    const w = wide / this.scale, hgt = high / this.scale, [, , fw, fh] = this.full;
    const clamp = (c, size, total) => size >= total ? total / 2 : Math.min(Math.max(c, size / 2), total - size / 2);
    this.center = [clamp(this.center[0], w, fw), clamp(this.center[1], hgt, fh)];
    this.svg.setAttribute("viewBox", `${this.center[0] - w / 2} ${this.center[1] - hgt / 2} ${w} ${hgt}`);
  }

  zoom(factor, at = null) {
    const old = this.scale;
    this.scale = Math.min(Math.max(old * factor, 0.02), 4);
    if (at) {
      const box = this.element.getBoundingClientRect();
      const dx = at.clientX - box.left - box.width / 2, dy = at.clientY - box.top - box.height / 2;
      this.center[0] += dx / old - dx / this.scale;
      this.center[1] += dy / old - dy / this.scale;
    }
    this.overflows = true;
    this.show();
  }

  /** Bring the active parts into view, if the whole is not in view anyway. */
  follow(state, gently) {
    cancelAnimationFrame(this.gliding);
    if (!this.overflows || this.dragging) return;
    const boxes = [...state.active].map((id) => this.part("node", id)).filter(Boolean).map((g) => g.getBBox());
    for (const id of state.frame?.active || []) {
      const flow = this.part("flow", id);
      if (flow) { const b = flow.getBBox(); if (b.width * this.scale < this.element.clientWidth * 0.6) boxes.push(b); }
    }
    if (!boxes.length) return;
    const left = Math.min(...boxes.map((b) => b.x)), right = Math.max(...boxes.map((b) => b.x + b.width));
    const top = Math.min(...boxes.map((b) => b.y)), bottom = Math.max(...boxes.map((b) => b.y + b.height));
    const goal = [(left + right) / 2, (top + bottom) / 2], from = [...this.center], begun = performance.now();
    const glide = (now) => {
      const t = gently ? smooth(Math.min((now - begun) / 300, 1)) : 1;
      this.center = [from[0] + (goal[0] - from[0]) * t, from[1] + (goal[1] - from[1]) * t];
      this.show();
      if (t < 1) this.gliding = requestAnimationFrame(glide);
    };
    glide(begun);
  }

  listen() {
    const element = this.element;
    let down = null;
    element.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 300), event);
    }, { passive: false });
    element.addEventListener("pointerdown", (event) => {
      if (event.button === 0) down = { x: event.clientX, y: event.clientY, center: [...this.center], id: event.pointerId };
    });
    element.addEventListener("pointermove", (event) => {
      if (!down) return;
      const dx = event.clientX - down.x, dy = event.clientY - down.y;
      if (!this.dragging && Math.hypot(dx, dy) < 5) return;
      if (!this.dragging) element.setPointerCapture(down.id);
      this.dragging = true;
      this.center = [down.center[0] - dx / this.scale, down.center[1] - dy / this.scale];
      this.show();
    });
    const up = (event) => {
      if (down && !this.dragging && event.type === "pointerup") {
        this.onselect(event.target.closest?.("[data-node]")?.dataset.node || null);
      }
      down = null;
      this.dragging = false;
    };
    element.addEventListener("pointerup", up);
    element.addEventListener("pointercancel", up);
  }
}

const smooth = (t) => t * t * (3 - 2 * t);

/** Build the player in an element. `hooks.index` is where it starts; `hooks.onindex(k)` hears of every step. */
export function mount(place, data, hooks = {}) {
  const history = new History(data.timeline), last = history.frames.length;
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  let index = 0, speed = 1, timer = 0, running = 0, selected = null, scene = -1;

  // -- the parts ------------------------------------------------------------------------------------------------------
  const button = (name, label, action) =>
    h("button", { type: "button", class: `nb-button nb-${name}`, "aria-label": label, title: label, onclick: action }, icon(name));
  const step = (to) => () => { pause(); go(to(), true); };
  const playButton = button("play", "Play (space)", () => (timer ? pause() : play()));
  const count = h("span", { class: "nb-count" });
  const slider = h("input", { type: "range", class: "nb-slider", min: 0, max: last, step: 1, value: 0,
    "aria-label": "Step of the backward pass", oninput: (event) => { pause(); go(Number(event.target.value)); } });
  const speeds = h("select", { class: "nb-speed", "aria-label": "Speed", title: "Speed",
    onchange: (event) => { speed = Number(event.target.value); } },
  ...[0.25, 0.5, 1, 2, 4].map((x) => h("option", { value: x, selected: x === 1 && "" }, `${x}×`)));
  const stageElement = h("div", { class: "nb-stage" });
  const caption = h("p", { class: "nb-caption", "aria-live": "polite" });
  const side = h("aside", { class: "nb-side", "aria-label": "This step" });
  const ledger = h("div", { class: "nb-ledger" });
  const words = h("pre", { class: "nb-words" });
  const root = h("div", { class: "nb-player", role: "group", tabindex: 0, "aria-label": `Backward pass: ${data.label}`,
    "aria-keyshortcuts": "Space ArrowLeft ArrowRight Home End", "data-lm-suppress-shortcuts": "true", onkeydown: key },
  h("div", { class: "nb-bar", role: "toolbar", "aria-label": "Playback" },
    h("span", { class: "nb-head-line" }, h("strong", {}, "backward"), " ", count),
    h("span", { class: "nb-group" },
      button("first", "First step (Home)", step(() => 0)), button("back", "Step back (←)", step(() => index - 1)), playButton,
      button("forward", "Step forward (→)", step(() => index + 1)), button("last", "Last step (End)", step(() => last))),
    slider, speeds,
    h("span", { class: "nb-group" },
      button("out", "Zoom out", () => stage.zoom(0.8)), button("in", "Zoom in", () => stage.zoom(1.25)),
      button("fit", "Fit all (double click)", () => stage.fit(true)), button("save", "Save this moment as SVG", save))),
  h("div", { class: "nb-body" }, h("div", { class: "nb-main" }, stageElement, caption), side),
  ledger,
  h("details", { class: "nb-more" }, h("summary", {}, "The graph in words"), words));
  place.replaceChildren(root);
  const stage = new Stage(stageElement, (id) => { selected = id === selected ? null : id; panel(history.at(index)); });
  stageElement.addEventListener("dblclick", () => stage.fit(true));

  // -- showing a step -------------------------------------------------------------------------------------------------
  function go(to, move = false) {
    const from = index;
    index = Math.min(Math.max(Math.round(to) || 0, 0), last);
    cancelAnimationFrame(running);
    running = 0;
    const state = history.at(index);
    if (state.scene !== scene) {
      scene = state.scene;
      stage.load(data.svgs[scene] || data.svgs[0]);
      words.textContent = history.scenes[scene]?.words || "";
    }
    stage.still();
    selected = null;
    tell(state);
    const animated = move && index === from + 1 && !reduced.matches && state.frame && state.frame.kind !== "start";
    stage.follow(state, move && !reduced.matches);
    if (animated) animate(state);
    else stage.paint(state);
    hooks.onindex?.(index);
  }

  /** First the step's beginning, then its numbers on their way, then its end. */
  function animate(state) {
    const before = history.at(state.index - 1);
    const travelling = new Set((state.frame.active || []).filter((id) => stage.part("flow", id)));
    stage.paint({ ...state, leaves: before.scene === state.scene ? before.leaves : state.leaves }, travelling);
    const begun = performance.now(), duration = STEP / speed;
    const tick = (now) => {
      const progress = Math.min((now - begun) / duration, 1);
      stage.travel(state.frame, progress);
      if (progress < 1) { running = requestAnimationFrame(tick); return; }
      running = 0;
      stage.still();
      stage.paint(state);
    };
    running = requestAnimationFrame(tick);
  }

  function tell(state) {
    const text = state.frame ? state.frame.caption || state.frame.title : "Before the backward pass.";
    const label = history.scenes[scene]?.label || data.label;
    count.textContent = `step ${index} of ${last} · ${label}`;
    count.title = count.textContent;
    slider.value = index;
    slider.style.setProperty("--nb-part", `${last ? (100 * index) / last : 0}%`);
    slider.setAttribute("aria-valuetext", `step ${index} of ${last}: ${text}`);
    caption.setAttribute("aria-live", timer ? "off" : "polite");
    caption.textContent = text;
    root.dataset.step = index;
    panel(state);
    table(state);
  }

  const row = (name, ...content) => [h("dt", {}, name), h("dd", {}, ...content)];
  const pairs = (list, sign) => list.map(([name, value]) => h("div", { class: "nb-pair" }, name, h("span", { class: "nb-sign" }, ` ${sign} `), h("b", {}, value)));

  function panel(state) {
    const node = selected && history.scenes[scene].nodes[selected];
    side.replaceChildren(...(node ? about(node, state) : state.frame ? now(state.frame) : idle()));
    for (const element of stageElement.querySelectorAll(".nb-selected")) element.classList.remove("nb-selected");
    if (node) stage.part("node", selected)?.classList.add("nb-selected");
  }

  function idle() {
    return [h("h4", {}, "Before the pass"), h("p", { class: "nb-hint" },
      "Values have gone from left to right. Press play, or →, to see the gradients come back. Click a node to read about it.")];
  }

  function now(frame) {
    const numbers = (equation) => equation.numbers && h("div", { class: "nb-numbers" }, equation.numbers);
    const formula = (equation) => {
      const written = math(equation.marks);
      written.setAttribute("aria-label", equation.text);
      return h("div", { class: "nb-equation" }, written, numbers(equation));
    };
    return [
      h("h4", {}, h("span", { class: "nb-title" }, frame.title), " ", h("span", { class: "nb-subtitle" }, frame.subtitle || "")),
      ...(frame.notes || []).map((note) => h("p", { class: `nb-note${/NaN|Error/.test(note) ? " nb-bad" : ""}` }, note)),
      h("dl", {},
        ...(frame.receives ? row("receives", ...pairs(frame.receives, "=")) : []),
        ...(frame.equations ? row(frame.kind === "accumulate" ? "adds to what was there" : "formula",
          h("div", { class: "nb-formula" }, ...frame.equations.map(formula))) : []),
        ...(frame.sends ? row(frame.kind === "accumulate" ? "now" : "sends", ...pairs(frame.sends, frame.kind === "accumulate" ? "=" : "←")) : []),
        ...(frame.where ? row("from cell", frame.where, frame.source && h("code", {}, frame.source)) : []),
        ...(frame.saved ? row("saves for backward", frame.saved) : [])),
    ];
  }

  function about(node, state) {
    const leaf = state.leaves.get(selected);
    return [
      h("h4", {}, h("span", { class: "nb-title" }, node.name), " ", h("span", { class: "nb-subtitle" }, node.expression || node.kind)),
      h("dl", {},
        ...(node.value ? row("value", h("span", { class: "nb-pre" }, node.value)) : []),
        ...(node.shape || node.dtype ? row("type", `${node.dtype || ""} ${node.shape || ""}`) : []),
        ...(leaf ? row("arriving", `${leaf.arriving} (${leaf.count})`) : []),
        ...(node.kind === "leaf" ? row(".grad", leaf ? leaf.grad : node.grad) : []),
        ...(node.formulas ? row("formula", h("div", { class: "nb-formula" }, ...node.formulas.map((f) => h("div", { class: "nb-equation" }, math(f))))) : []),
        ...(node.where ? row("from cell", node.where, node.source && h("code", {}, node.source)) : []),
        ...(node.saved ? row("saves for backward", node.saved + (state.freed.has(selected) ? ", now freed" : "")) : []),
        ...(node.notes ? row("note", ...node.notes) : [])),
      h("button", { type: "button", class: "nb-button nb-close", onclick: () => { selected = null; panel(state); } }, "Back to the step"),
    ];
  }

  // -- the ledger -----------------------------------------------------------------------------------------------------
  function table(state) {
    const { rows, steps } = history.outcome(index), passes = history.grads(index);
    const several = new Set(history.frames.map((f) => f.backward)).size > 1;
    const leaves = history.scenes[scene]?.leaves || [];
    if (!leaves.length) { ledger.replaceChildren(); return; }
    const soft = (text) => h("span", { class: "nb-soft" }, text);
    const body = leaves.slice(0, 200).map(({ id, name }) => {
      const final = rows.get(id), current = state.ledger.get(id);
      const got = current?.terms || [], coming = (final?.terms || []).slice(got.length);
      const arrivals = [];
      got.forEach(([value, via], i) => arrivals.push(i ? " + " : "", h("b", {}, value), soft(` via ${via}`)));
      coming.forEach(([value, via], i) => arrivals.push(soft(`${got.length || i ? " + " : ""}${value} via ${via}${i ? "" : ", next"}`)));
      if (arrivals.length > 18) arrivals.splice(9, arrivals.length - 15, soft(` … ${got.length + coming.length} terms in all … `));
      const later = steps.has(id) && final?.after ? soft(`${final.after} after step ${steps.get(id)}`) : "–";
      const sum = got.length ? [h("b", {}, current.total), coming.length && soft(` → ${final.total}`)].filter(Boolean) : ["–"];
      const lit = state.frame && state.frame.ledger?.[id] && state.frame.kind !== "start";
      return h("tr", { class: lit && "nb-lit" }, h("th", { scope: "row" }, name), h("td", {}, current?.before ?? final?.before ?? "None"),
        h("td", {}, ...(arrivals.length ? arrivals : ["–"])), h("td", {}, ...sum),
        h("td", {}, current?.after ? h("b", {}, current.after) : later),
        several && h("td", {}, (passes.get(name) || []).slice(-8).join("  ") || "–"));
    });
    const head = ["leaf", ".grad before", "arriving this pass", "sum", ".grad after", ...(several ? ["after each pass"] : [])];
    ledger.replaceChildren(h("table", {}, h("caption", { class: "nb-hidden" }, "What each leaf gets"),
      h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, ...body)));
  }

  // -- playing --------------------------------------------------------------------------------------------------------
  function face(name, label) {
    playButton.replaceChildren(icon(name));
    playButton.setAttribute("aria-label", label);
    playButton.title = label;
    playButton.classList.toggle("nb-on", name === "pause");
  }
  function next() {
    timer = setTimeout(() => {
      if (!root.isConnected || index >= last) { pause(); return; }
      go(index + 1, true);
      next();
    }, index === 0 ? 350 / speed : (STEP + REST) / speed);
  }
  function play() {
    if (index >= last) go(0);
    face("pause", "Pause (space)");
    next();
  }
  function pause() {
    clearTimeout(timer);
    timer = 0;
    face("play", "Play (space)");
  }

  function key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const target = event.target, tag = target.tagName;
    const actions = { " ": () => (timer ? pause() : play()), ArrowRight: step(() => index + 1), ArrowLeft: step(() => index - 1),
      Home: step(() => 0), End: step(() => last), Escape: () => { selected = null; panel(history.at(index)); } };
    event.stopPropagation(); // the notebook's shortcuts are not meant
    const own = tag === "SELECT" || tag === "SUMMARY" || (tag === "BUTTON" && event.key === " ");
    if (own || !Object.hasOwn(actions, event.key)) return;
    actions[event.key]();
    event.preventDefault();
  }

  /** The moment that is shown, as a file: what the style sheet says is written into the drawing. */
  function save() {
    const copy = stage.svg.cloneNode(true), [, , w, hgt] = stage.full;
    const properties = ["fill", "stroke", "stroke-width", "visibility", "font-weight", "font-family", "opacity", "stroke-dasharray"];
    const originals = stage.svg.querySelectorAll("*");
    copy.querySelectorAll("*").forEach((element, i) => {
      const style = getComputedStyle(originals[i]);
      if (DRAWABLE.has(element.localName)) for (const name of properties) element.setAttribute(name, style.getPropertyValue(name));
    });
    copy.setAttribute("viewBox", stage.full.join(" "));
    copy.setAttribute("width", w);
    copy.setAttribute("height", hgt);
    const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
    h("a", { href: url, download: `backward-step-${index}.svg` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }

  const observer = new ResizeObserver(() => { if (stage.svg && stageElement.clientWidth !== stage.wide) { stage.wide = stageElement.clientWidth; stage.fit(); stage.follow(history.at(index), false); } });
  observer.observe(stageElement);
  if (data.svgs.length) go(hooks.index ?? 0);
  else count.textContent = data.label;
  return { go, play, pause, destroy() { pause(); cancelAnimationFrame(running); observer.disconnect(); } };
}

/** anywidget's entry. */
function render({ model, el }) {
  let player, own = false, timer = 0;
  const send = (index) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (index === model.get("index")) return;
      own = true;
      try { model.set("index", index); model.save_changes(); } catch { /* no kernel: the player does not need one */ }
      own = false;
    }, 120);
  };
  const make = () => {
    player?.destroy();
    const data = { svgs: model.get("svgs"), timeline: model.get("timeline"), label: model.get("label") };
    player = mount(el, data, { index: model.get("index"), onindex: send });
  };
  const moved = () => { if (!own) player.go(model.get("index")); };
  make();
  model.on("change:timeline", make);
  model.on("change:index", moved);
  return () => {
    player.destroy();
    clearTimeout(timer);
    model.off("change:timeline", make);
    model.off("change:index", moved);
  };
}

export default { render };
