import { indexOf, largestAt } from "./cells.js";
import { Chain } from "./chain.js";
import { h, s } from "./dom.js";
import { atom } from "./formula.js";
import { isGroup } from "./links.js";
import { shortNumber } from "./numbers.js";
import { TileView } from "./tile.js";

const SHOWN_PATHS = 12; // that are listed
const HUES = 6; // colors of paths; they repeat after the last
const LONG_PATH = 13; // limit of the written parts of a path
const STRIPE = 10; // pixels: paths that share an edge take turns along it
const SMALL_ROOM = { wide: 200, high: 48 }; // of a path's tile

/** What flowed along each edge in one pass, and how one step of the chain rule acts on any gradient. */
export class PassMap {
  constructor(player) {
    const { history, shown: index } = player, frames = history.frames, scene = history.sceneAt(index);
    const now = frames[Math.max(index, 1) - 1], number = now?.scene === scene ? now.backward : undefined;
    this.tiles = player.data.timeline.tiles || [];
    this.steps = new Map(); // by edge: the step of the chain rule
    this.came = new Map(); // by edge: the number of the tile of its gradient
    this.totals = new Map(); // by leaf: the tile of its sum
    this.seed = "";
    for (const frame of frames) {
      if (frame.scene !== scene || (number !== undefined && frame.backward !== number)) continue;
      for (const step of frame.chain || []) this.steps.set(step.edge, step);
      for (const [edge, tile] of Object.entries(frame.tiles || {})) this.came.set(edge, tile);
      for (const [id, row] of Object.entries(frame.ledger || {})) this.totals.set(id, row.total_tile);
      if (frame.kind === "start" && frame.receives) [[this.seed]] = frame.receives;
    }
    this.terms = new Map();
  }

  tile(number) { return this.tiles[number] || null; }

  /** The terms of each element that a step sends: which elements of the upstream gradient, times which factors. */
  termsOf(step) {
    if (!this.terms.has(step)) {
      const chain = new Chain(step, this.tiles);
      this.terms.set(step, chain.known ? chain.sent.cells.map((_, place) => chain.terms(place)) : null);
    }
    return this.terms.get(step);
  }

  /** What the step along an edge makes of the part of a gradient that came by one path; null where that is not told. */
  send(edge, cells, before) {
    const step = this.steps.get(edge), sent = this.tile(this.came.get(edge)), terms = step && this.termsOf(step);
    if (!cells || !sent || sent.block) return null;
    if (terms) return terms.map((some) => some.reduce((sum, [u, , local]) => sum + cells[u] * local, 0));
    const upstream = this.tile(step?.upstream ?? this.came.get(before));
    const part = upstream && !upstream.block && !sent.block && proportion(cells, upstream.cells);
    return Number.isFinite(part) ? sent.cells.map((value) => value * part) : null;
  }

  /** What a change of an input makes of the result: the same step forward; null where that is not told. */
  carry(edge, change) {
    const step = this.steps.get(edge), terms = step && this.termsOf(step);
    if (!change) return null;
    if (terms?.length === change.length) {
      const result = this.tile(step.upstream).cells.map(() => 0);
      terms.forEach((some, place) => some.forEach(([u, , local]) => { result[u] += local * change[place]; }));
      return result;
    }
    const local = change.length === 1 ? this.local(edge) : null;
    return local === null ? null : [local * change[0]];
  }

  /** The local derivative of a step between single numbers. */
  local(edge, before) {
    const step = this.steps.get(edge), sent = this.tile(this.came.get(edge));
    const upstream = this.tile(step?.upstream ?? this.came.get(before)), factor = step && this.tile(step.factor);
    if (sent?.cells.length !== 1 || upstream?.cells.length !== 1) return null;
    if (factor?.cells.length === 1) return factor.cells[0];
    return upstream.cells[0] ? sent.cells[0] / upstream.cells[0] : null;
  }
}

/** By what number all of `whole` is to be multiplied to give `cells`; NaN where there is none. */
function proportion(cells, whole) {
  const at = whole.reduce((best, value, i) => (Math.abs(value) > Math.abs(whole[best]) ? i : best), 0);
  const part = whole[at] ? cells[at] / whole[at] : 1;
  const near = (value, i) => Math.abs(value - part * whole[i]) <= 1e-4 * Math.abs(part * whole[at]) + 1e-12;
  return cells.length === whole.length && cells.every(near) ? part : NaN;
}

/** The paths from the root to a node: the first few as lists of edges, and how many there are. */
function pathsTo(links, roots, target) {
  const below = links.above(target).add(target), inner = new Map([[target, 1]]); // number of paths from a node to it
  const makers = (id) => links.makers(id).filter(({ src, kind }) => kind !== "constant" && below.has(src));
  for (const id of links.order.toReversed()) {
    if (id !== target && below.has(id)) inner.set(id, makers(id).reduce((sum, { src }) => sum + inner.get(src), 0));
  }
  const starts = roots.filter((id) => below.has(id));
  const paths = [], stack = starts.map((id) => [id, null]).reverse();
  while (stack.length && paths.length < SHOWN_PATHS) {
    const [id, trail] = stack.pop();
    if (id === target) {
      const edges = [];
      for (let part = trail; part; part = part.before) edges.unshift(part.edge);
      paths.push(edges);
      continue;
    }
    for (const edge of makers(id).reverse()) stack.push([edge.src, { edge, before: trail }]);
  }
  return { paths, count: starts.reduce((sum, id) => sum + inner.get(id), 0) };
}

/** The list of the paths that lead to the selected value, in the place of the equation. */
export class PathList {
  constructor(player) { this.player = player; }

  /** Whether paths can lead there. */
  leadsTo(id) {
    return ["leaf", "tensor"].includes(this.player.links.nodes[id]?.kind) && !this.player.drawn.roots.includes(id);
  }

  content(id) {
    const { links, drawn, t } = this.player, name = links.nodes[id].name;
    const { paths, count } = pathsTo(links, drawn.roots, id);
    this.map = this.player.passMap();
    const root = drawn.roots.map((key) => links.nodes[key]?.name).join(", ");
    this.target = id;
    this.paths = paths.map((edges) => this.follow(edges));
    if (!this.paths.some(({ edges }) => edges.some((edge) => this.map.came.has(edge.id)))) {
      this.draw([]);
      return [h("p", { class: "nb-remark-text" }, t("paths_none", { name }))];
    }
    this.draw(this.paths);
    this.views = [];
    const items = this.paths.map((path, i) => this.item(path, i));
    const more = count - paths.length;
    if (more > 0) items.push(h("li", { class: "nb-soft" }, t("paths_more", { count: more })));
    return [
      h("div", { class: "nb-paths" }, h("div", { class: "nb-paths-head" }, t("paths", { root, name })),
        h("ol", { class: "nb-path-list" }, ...items)),
      h("div", { class: "nb-equation-words nb-paths-sum" }, ...this.sum(count, name)),
    ];
  }

  /** A path with the gradient along it. */
  follow(edges) {
    const { links } = this.player, { map } = this;
    const root = edges.length ? edges[0].dst : this.target;
    const first = edges.find(({ kind }) => kind === "flow");
    const step = first && map.steps.get(first.id);
    const seed = map.tile(step?.upstream ?? map.came.get(edges[0]?.id));
    const nodes = [root, ...edges.map(({ src }) => src)], factors = [];
    const folded = nodes.some((id) => isGroup(links.nodes[id])); // the inner steps are not described here
    let cells = seed && !seed.block && !folded ? seed.cells : null, plain = cells?.length === 1;
    if (plain) factors.push(cells[0]);
    edges.forEach((edge, i) => {
      if (edge.kind !== "flow") return;
      const local = map.local(edge.id, edges[i - 1]?.id);
      cells = map.send(edge.id, cells, edges[i - 1]?.id);
      plain = plain && local !== null;
      factors.push(local);
    });
    const last = edges.at(-1), sent = last && !folded && map.tile(map.came.get(last.id));
    const words = nodes.map((id) => {
      const node = links.nodes[id];
      return node.kind === "op" ? node.symbol || node.name : node.name;
    });
    return { edges, nodes, factors: plain ? factors : null, cells, words: short(words), folded,
      shape: sent?.shape, columns: sent?.columns };
  }

  item(path, i) {
    const { t } = this.player, value = this.value(path, i);
    const written = path.factors && `${path.factors.map(factorText).join(" · ")} = `;
    const text = path.words.join(" → ");
    return h("li", { class: `nb-path nb-hue-${i % HUES}`, tabindex: 0,
      "aria-label": `${t("path_n", { n: i + 1, path: text })}: ${written || ""}${value.textContent}`,
      onpointerenter: () => this.light(i), onpointerleave: () => this.light(null),
      onfocus: () => this.light(i), onblur: () => this.light(null) },
    h("i", { class: "nb-swatch", "aria-hidden": "true" }, String(i + 1)), h("span", { class: "nb-path-way" }, text),
    h("span", { class: "nb-path-product" }, written, value));
  }

  value(path, i) {
    if (!path.cells) return h("span", { class: "nb-soft" }, path.folded ? "…" : this.player.t("path_unknown"));
    if (path.cells.length === 1) return h("b", {}, shortNumber(path.cells[0]));
    const tile = { shape: path.shape, columns: path.columns, cells: path.cells };
    const name = this.player.t("path_n", { n: i + 1, path: path.words.join(" → ") });
    const view = new TileView(tile, { name, scale: this.player.equation.scale, ...SMALL_ROOM,
      point: (cell) => this.point(cell), pick: (cell) => this.pick(cell) });
    this.views[i] = view;
    return view.svg;
  }

  // -- the sum --------------------------------------------------------------------------------------------------------
  sum(count, name) {
    const { t } = this.player, all = this.paths.every(({ cells }) => cells), known = all && this.paths.length === count;
    const rule = h("div", { class: "nb-soft" }, t(count > 1 ? "paths_rule" : "paths_one"));
    this.line = h("div", { class: "nb-equation-element" });
    this.picked = null;
    this.total = this.recorded();
    this.name = this.gradientName(name);
    const along = (k) => this.paths.reduce((sum, { cells }) => sum + cells[k], 0);
    this.sums = all ? this.paths[0].cells.map((_, k) => along(k)) : [];
    const nudge = this.player.nudge.control(this.target, known ? this.place(null) : 0);
    const folded = this.paths.some((path) => path.folded) && h("div", { class: "nb-soft" }, t("paths_folded"));
    if (!known) return [nudge, folded, rule].filter(Boolean);
    this.point(null);
    const differs = this.total && !this.total.block && !alike(this.sums, this.total.cells);
    const recorded = differs && this.total.cells.slice(0, 4).map(shortNumber).join(", ");
    const other = differs && h("div", { class: "nb-soft" }, t("paths_other", { value: recorded }));
    return [this.line, nudge, other, rule].filter(Boolean);
  }

  /** What the pass itself summed up. */
  recorded() {
    const { links } = this.player, { map, target } = this;
    const maker = links.makers(target).find(({ kind }) => kind === "result");
    return map.tile(maker ? map.came.get(maker.id) : map.totals.get(target));
  }

  gradientName(name) {
    const last = this.paths[0].edges.at(-1), step = last && this.map.steps.get(last.id);
    return step?.sent_name || `∂/∂${atom(name)}`;
  }

  place(cell) { return cell ?? this.picked ?? largestAt(this.sums); }

  pick(cell) {
    this.picked = cell;
    const { nudge } = this.player, former = this.player.root.querySelector(".nb-nudge");
    const control = former && nudge.control(this.target, cell);
    if (control) former.replaceWith(control);
    this.point(null);
  }

  /** Write out the sum for one element: the one that is pointed at, else the one that was clicked, else the largest. */
  point(cell) {
    const [{ shape }] = this.paths, at = this.place(cell);
    const parts = this.paths.map((path) => shortNumber(path.cells[at]));
    const where = this.sums.length > 1 ? `[${indexOf(at, shape).join(", ")}]` : "";
    const sum = parts.length > 1 ? `${parts.map(bracketed).join(" + ")} = ` : "";
    const meant = h("span", { class: "nb-soft" }, ` = ${this.name}${where}`);
    this.line.replaceChildren(sum, h("b", {}, shortNumber(this.sums[at])), meant);
    for (const view of this.views) view?.light(new Set([at]));
  }

  // -- in the drawing -------------------------------------------------------------------------------------------------
  /** Each path in its color, below the boxes; where several share an edge, they take turns along it. */
  draw(paths) {
    const { stage } = this.player;
    this.clear();
    const users = new Map();
    paths.forEach(({ edges }, i) => edges.forEach(({ id }) => users.set(id, [...(users.get(id) || []), i])));
    this.overlay = s("g", { class: "nb-path-lines", "aria-hidden": "true" });
    for (const [id, numbers] of users) {
      const edge = stage.part("flow", id); // the whole path; that of the value may share its beginning with others
      if (!edge) continue;
      numbers.forEach((number, turn) => {
        const line = s("path", { class: `nb-path-line nb-hue-${number % HUES}`, "data-path": number,
          d: edge.getAttribute("d"), fill: "none" });
        if (numbers.length > 1) {
          line.setAttribute("stroke-dasharray", `${STRIPE} ${STRIPE * (numbers.length - 1)}`);
          line.setAttribute("stroke-dashoffset", -STRIPE * turn);
        }
        this.overlay.append(line);
      });
    }
    stage.svg.querySelector("[data-node]")?.before(this.overlay);
  }

  clear() {
    this.player.nudge.reset();
    this.overlay?.remove();
    this.overlay = null;
  }

  light(number) {
    const { stage } = this.player;
    for (const line of this.overlay?.children || []) {
      const own = Number(line.dataset.path) === number;
      line.classList.toggle("nb-lit", number !== null && own);
      line.classList.toggle("nb-dim", number !== null && !own);
    }
    const path = number === null ? null : this.paths[number];
    stage.light(path ? path.nodes : [], path ? path.edges.map(({ id }) => id) : []);
  }
}

const bracketed = (text) => (text.startsWith("−") ? `(${text})` : text);
const factorText = (value) => bracketed(shortNumber(value));
const short = (words) => words.length <= LONG_PATH ? words : [...words.slice(0, 6), "…", ...words.slice(-6)];

const alike = (some, others) => some.length === others.length && some.every((value, i) =>
  Math.abs(value - others[i]) <= 2e-3 * Math.max(...others.map((v) => Math.abs(v))) + 1e-9 || !Number.isFinite(value));
