const MAP_WIDE = 210, MAP_TALL = 84; // pixels of the map
const AS_RIBBON = 1.7; // times that wide for a drawing that is a ribbon
const STRETCH = 3; // times that a ribbon is drawn higher than in proportion, so that it is seen
const LEAST_WINDOW = 9; // pixels of the rectangle, which must be found
const CORNERS = ["right bottom", "left bottom", "right top", "left top"];
const KINDS = { leaf: "leaf", pile: "leaf", output: "output" }; // what has a colour of its own

const rectanglePath = ({ x, y, width, height }) => `M${x} ${y}h${width}v${height}h${-width}z`;

/**
 * Where a drawing does not fit its window: the whole of it in a corner, with the window as a rectangle that can be
 * moved, a dot at what is active, and failures in red. Never over the node that is active.
 */
class Overview {
  constructor(player) {
    this.player = player;
    this.on = true;
    this.corner = CORNERS[0];
    this.edges = s("path", { class: "nb-overview-edges", fill: "none" });
    this.nodes = Object.fromEntries(["node", "leaf", "output", "done", "bad"].map(
      (kind) => [kind, s("path", { class: `nb-overview-${kind}` })]));
    this.sizes = BETWEEN.map((_, i) => s("path", { class: "nb-overview-size", "data-size": i, fill: "none" }));
    this.drawn = s("g", {}, this.edges, ...this.sizes, ...Object.values(this.nodes));
    this.window = s("rect", { class: "nb-overview-window", rx: 2 });
    this.dots = s("g", { class: "nb-overview-dots" });
    this.svg = s("svg", { "aria-hidden": "true" }, this.drawn, this.window, this.dots);
    const label = player.t("overview");
    this.element = h("div", { class: "nb-overview", tabindex: 0, role: "group", "aria-label": label, title: label,
      hidden: "", onkeydown: (event) => this.key(event), ondblclick: (event) => event.stopPropagation() }, this.svg);
    this.listen();
  }

  get stage() { return this.player.stage; }

  toggle() {
    this.on = !this.on;
    this.look(true);
    return this.on;
  }

  /** Draw the map of another drawing, or of the same one for a window of another size. */
  load() {
    const { stage } = this, [, , wide, high] = stage.full, boxes = this.boxes();
    this.boxOf = boxes;
    const room = Math.min(MAP_WIDE, stage.wide * 0.36), ribbon = wide / high > 6;
    const most = ribbon ? Math.min(room * AS_RIBBON, stage.wide * 0.6) : room;
    this.scale = Math.min(most / wide, MAP_TALL / high);
    this.tall = ribbon ? Math.min(STRETCH * this.scale, MAP_TALL / high) : this.scale;
    this.size = [Math.ceil(wide * this.scale), Math.ceil(high * this.tall)];
    this.svg.setAttribute("width", this.size[0]);
    this.svg.setAttribute("height", this.size[1]);
    this.drawn.setAttribute("transform", `scale(${this.scale} ${this.tall})`);
    const lines = [...stage.svg.querySelectorAll(".nb-edge")].map((edge) => edge.getAttribute("d"));
    this.edges.setAttribute("d", lines.join(""));
    const kinds = { node: [], leaf: [], output: [] };
    for (const [id, box] of boxes) kinds[KINDS[stage.links.nodes[id]?.kind] || "node"].push(rectanglePath(box));
    for (const [kind, parts] of Object.entries(kinds)) this.nodes[kind].setAttribute("d", parts.join(""));
    stage.element.append(this.element);
  }

  boxes() {
    const { stage } = this, ids = [...stage.find.keys()].filter((key) => key.startsWith("node "));
    return new Map(ids.map((key) => [key.slice(5), stage.box(key.slice(5))]).filter(([, box]) => box));
  }

  /** What has happened: a dot at each node that is active, what has run, what failed. */
  paint(state) {
    this.state = state;
    if (!this.boxOf || this.element.hidden) return;
    this.step();
    const paths = (ids) => [...ids].map((id) => this.boxOf.get(id)).filter(Boolean).map(rectanglePath).join("");
    this.nodes.done.setAttribute("d", paths(state.done));
    this.nodes.bad.setAttribute("d", paths([...state.bad].filter((id) => state.active.has(id) || state.done.has(id))));
    paintMapSizes(this.stage, state, this.sizes);
    const own = state.frame?.node, ids = this.boxOf.has(own) ? [own] : [...state.active];
    this.dots.replaceChildren(...ids.map((id) => this.boxOf.get(id)).filter(Boolean).map((box) => {
      const [x, y] = middleOf(box);
      return s("circle", { class: `nb-overview-dot${state.bad.has(own) ? " nb-bad" : ""}`,
        cx: x * this.scale, cy: y * this.tall, r: 4 });
    }));
  }

  /** The window has moved; `settled`: it has come to where it stays. */
  look(settled) {
    const { stage } = this;
    if (!this.boxOf || !stage.svg) return;
    const { x, y, width, height } = stage.seen, [, , wide, high] = stage.full;
    const cut = width < wide - 1 || height < high - 1, { map } = this.player.controls;
    if (cut || !stage.moved) map.hidden = !cut; // the button stays while one zooms and drags
    const hidden = !this.on || !cut || stage.wide < 3 * LEAST_WINDOW;
    if (hidden !== this.element.hidden) {
      this.element.hidden = hidden;
      if (!hidden && this.state) this.paint(this.state);
    }
    if (hidden) return;
    const place = (start, size, total, scale) => {
      const shown = Math.max(Math.min(size, total) * scale, LEAST_WINDOW);
      const middle = (Math.max(start, 0) + Math.min(start + size, total)) / 2 * scale;
      return [Math.min(Math.max(middle - shown / 2, 0.75), Math.max(total * scale - shown - 0.75, 0.75)), shown - 1.5];
    };
    const [left, broad] = place(x, width, wide, this.scale), [top, tall] = place(y, height, high, this.tall);
    for (const [name, value] of Object.entries({ x: left, y: top, width: broad, height: tall })) {
      this.window.setAttribute(name, value);
    }
    if (settled) this.step();
  }

  /** Step aside, to the corner that covers least of what is active; out of the way where each covers the node. */
  step() {
    const { stage, state } = this, own = state?.frame?.node;
    const cost = (corner) => {
      const area = this.areaAt(corner), over = (id) => {
        const box = this.boxOf.get(id) || stage.labelBox(id, state?.labels?.get(id));
        return box ? shared(area, this.onScreen(box)) : 0;
      };
      const others = [...state?.active || []].reduce((sum, id) => sum + over(id), 0);
      return 100 * over(own) + 10 * over(this.player.selected) + others;
    };
    const costs = new Map(CORNERS.map((corner) => [corner, cost(corner)]));
    if (costs.get(this.corner) > 0) {
      this.corner = CORNERS.reduce((best, corner) => (costs.get(corner) < costs.get(best) ? corner : best));
    }
    this.element.dataset.corner = this.corner;
    this.element.classList.toggle("nb-aside", !!own && this.boxOf.has(own)
      && shared(this.areaAt(this.corner), this.onScreen(this.boxOf.get(own))) > 0 && stage.overflows);
  }

  onScreen({ x, y, width, height }) {
    const { seen: view, scale } = this.stage;
    return { x: (x - view.x) * scale, y: (y - view.y) * scale, width: width * scale, height: height * scale };
  }

  /** What the map covers of the stage in a corner, with a rim. */
  areaAt(corner) {
    const { stage } = this, width = this.size[0] + 28, height = this.size[1] + 28;
    const x = corner.includes("right") ? stage.wide - width : 0;
    return { x, y: corner.includes("bottom") ? stage.tall - height : 0, width, height };
  }

  // -- moving the window ----------------------------------------------------------------------------------------------
  listen() {
    let grip = null; // where the pointer holds the window, from its middle
    const at = (event) => {
      const box = this.svg.getBoundingClientRect();
      return [(event.clientX - box.left) / this.scale, (event.clientY - box.top) / this.tall];
    };
    this.element.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      if (event.button !== 0) return;
      const [x, y] = at(event), view = this.stage.seen, [cx, cy] = this.stage.center;
      const inside = x > view.x && x < view.x + view.width && y > view.y && y < view.y + view.height;
      grip = inside ? [x - cx, y - cy] : [0, 0];
      this.element.setPointerCapture(event.pointerId);
      this.element.focus({ preventScroll: true });
      if (!inside) this.move([x, y]);
    });
    this.element.addEventListener("pointermove", (event) => {
      event.stopPropagation();
      if (!grip) return;
      const [x, y] = at(event);
      this.move([x - grip[0], y - grip[1]], false);
    });
    const up = (event) => {
      event.stopPropagation();
      if (grip) this.look(true);
      grip = null;
    };
    this.element.addEventListener("pointerup", up);
    this.element.addEventListener("pointercancel", up);
  }

  move(center, settled = true) {
    const { stage } = this;
    cancelAnimationFrame(stage.gliding);
    stage.moved = true;
    stage.center = center;
    stage.show(settled);
  }

  /** The arrow keys move the window by a third of it; Enter brings back what is active. */
  key(event) {
    const { stage, player } = this, { width, height } = stage.seen, [x, y] = stage.center;
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }, way = ways[event.key];
    if (isForPage(event)) return;
    if (way) this.move([x + way[0] * width / 3, y + way[1] * height / 3]);
    else if (event.key === "Enter") {
      stage.centre(this.state?.frame?.node || player.selected || player.drawn?.roots?.[0]);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
