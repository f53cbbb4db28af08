import { addSumBeads } from "./beads.js";
import { CLOSER, Controls, FURTHER } from "./controls.js";
import { clamp, fill, h, TELEPHONE } from "./dom.js";
import { Drawer } from "./drawer.js";
import { EquationBar } from "./equation.js";
import { ForwardPass } from "./forward.js";
import { Groups } from "./groups.js";
import { Handles } from "./handles.js";
import { History } from "./history.js";
import { keyAttributes, keyShortcuts, pressed } from "./keys.js";
import { Ledger } from "./ledger.js";
import { Links, seen } from "./links.js";
import { Nudge } from "./nudge.js";
import { Panel } from "./panel.js";
import { Passes } from "./passes.js";
import { PassMap, PathList } from "./paths.js";
import { Playback } from "./playback.js";
import { Pours } from "./pours.js";
import { Predict } from "./predict.js";
import { ProgramLines } from "./program.js";
import { Search } from "./search.js";
import { MarkLegend, SensitivityCard } from "./sensitivity.js";
import { Stage } from "./stage.js";
import { TileLayer } from "./tile_layer.js";
import { roomAround, showFocused, sizeOf } from "./viewport.js";
import { Wave } from "./wave.js";

const AROUND = 20, STRIP = 120, CHIPS = 32; // pixels around the player, of its strip, and of the text above open groups
const TALL = 1600; // pixels: limit of the height of a player on a telephone before it is played
const AHEAD = 24; // limit of the steps that the camera reserves room for
const IS_BARE = /^<svg[^>]* nb-bare"/; // a drawing without the numbers that others have in their boxes

/**
 * The player: which step is shown and which node is selected. Its parts draw that and say what the user wants:
 * `stage` (the drawing), `controls`, `panel`, `ledger`, `search`, `groups` and `playback`.
 */
class Player {
  constructor(place, data, hooks) {
    const texts = data.texts || {};
    this.data = data;
    this.hooks = hooks;
    this.t = (key, places) => fill(texts, key, places);
    this.history = new History(data.timeline);
    this.last = this.history.frames.length;
    this.plays = this.last > 0;
    this.passes = this.history.passes();
    this.reduced = matchMedia("(prefers-reduced-motion: reduce)");
    this.index = 0;
    this.selected = null;
    this.scene = -1; // the number of the view that is drawn
    this.links = new Links();
    this.groups = new Groups(this, data.views || {});
    this.stops = this.history.stops(this.groups.viewOf);
    this.playback = new Playback(this);
    this.wave = new Wave(this);
    this.stacks = new Passes(this);
    this.search = new Search(this);
    this.predict = new Predict(this);
    this.forwardPass = new ForwardPass(this);
    this.program = new ProgramLines(this);
    this.marks = new MarkLegend(this);
    this.controls = new Controls(this);
    this.panel = new Panel(this);
    this.ledger = new Ledger(this);
    this.equation = new EquationBar(this);
    this.tiles = new TileLayer(this);
    this.paths = new PathList(this);
    this.nudge = new Nudge(this);
    this.handles = new Handles(this);
    this.card = new SensitivityCard(this);
    this.build(place, texts);
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(this.root);
    this.onroom = () => this.resized();
    addEventListener("resize", this.onroom);
    const first = hooks.index || data.start || 0;
    if (data.ask && this.plays) this.predict.begin(first);
    const rests = this.plays && !first && !data.ask;
    if (this.root.clientWidth) this.suit(rests); // so that one level is drawn, and one is measured
    if (data.svgs.length) this.go(first, false, rests);
    else this.controls.count.textContent = data.label;
    this.drawer.restore();
    if (this.links.failed) this.select(this.links.failed, this.stage.overflows); // values that could not be computed
  }

  build(place, texts) {
    const { data, plays, t } = this;
    if (data.theme === "light" || data.theme === "dark") place.dataset.nbTheme = data.theme;
    const canvas = h("div", { class: "nb-stage" });
    this.words = h("pre", { class: "nb-words" });
    this.caption = h("p", { class: "nb-caption", "aria-live": "polite" });
    const { controls, equation, ledger, panel, program, stacks } = this;
    this.moves = h("div", { class: "nb-moves" }, controls.transport, this.tiles.key);
    this.strip = h("div", { class: "nb-strip" },
      h("div", { class: "nb-says" }, plays && equation.element, this.caption),
      stacks.several && stacks.element, this.moves);
    const table = h("div", { class: "nb-leaves" }, ledger.element, stacks.several && stacks.note);
    const tabs = [["step", panel.element], plays && ["leaves", table],
      program.element && ["program", program.element], ["words", this.words], ["tools", controls.tools]];
    this.drawer = new Drawer(this, tabs.filter(Boolean));
    this.drawer.element.style.setProperty("--nb-code", program.room);
    this.strip.append(this.drawer.button);
    this.root = h("div", {
      class: `nb-player${plays ? " nb-plays" : ""}`, role: "group", tabindex: 0,
      "aria-label": t(plays ? "backward_of" : "graph_of", { label: data.label }), lang: texts.lang,
      "aria-keyshortcuts": keyShortcuts(this), ...keyAttributes((event) => pressed(this, event)),
    },
    data.head && h("pre", { class: "nb-head-text" }, data.head),
    h("div", { class: "nb-body" },
      h("div", { class: "nb-main" }, this.groups.chips, canvas, this.marks.element, this.strip),
      this.drawer.element),
    stacks.card.element, this.tiles.card, this.card.element);
    place.replaceChildren(this.root);
    const pick = (id, twice) => (twice ? this.doubled(id) : this.clicked(id));
    this.stage = new Stage(canvas, pick, (node, edge) => this.hover(node, edge));
    this.root.addEventListener("pointerup", (event) => { // the drawer opened by the second of two clicks
      if (!event.composedPath().includes(canvas)) this.stage.twice(event); // its target may have been removed
    });
    this.whole = this.root.clientWidth; // its width, measured again only after a possible change
    this.stage.texts = texts;
    this.stage.tiles = this.tiles;
    this.stage.pours = new Pours(this);
    this.stage.controls = controls;
    this.tiles.listen(canvas);
    this.tiles.listen(this.ledger.element);
    this.card.watch(canvas);
    this.handles.watch(canvas);
  }

  destroy() {
    this.playback.pause();
    this.playback.halt();
    clearTimeout(this.groups.asked);
    this.observer.disconnect();
    removeEventListener("resize", this.onroom);
  }

  /** What Python says of the graph that is drawn. */
  get drawn() { return this.history.scenes[this.scene]; }

  // -- showing a step -------------------------------------------------------------------------------------------------
  at(index) {
    if (index < 0) return this.forwardPass.state(index);
    const view = this.groups.viewOf(this.history.sceneAt(index));
    return this.predict.mask(this.history.at(index, view, this.t), view);
  }

  state() { return this.stacks.annotate(this.rests ? this.end() : this.at(this.index)); }

  /** What is seen before anything has been played: the whole graph with the gradients that the passes left. */
  end() {
    const state = this.at(this.last), { active, done } = state;
    return { ...state, active: new Set(), done: new Set([...done, ...active]), frame: null };
  }

  /** The step whose picture is shown. */
  get shown() { return this.rests ? this.last : this.index; }

  /** What flowed where in the pass that is shown. */
  passMap() {
    if (this.mapped?.index !== this.shown) this.mapped = { index: this.shown, map: new PassMap(this) };
    return this.mapped.map;
  }

  /** How many steps there are before one; of the forward pass, how many are left, below zero. */
  position(index) { return index < 0 ? index : this.stops.findIndex((stop) => stop >= index); }

  forward() { return this.index < 0 ? this.index + 1 : this.stops[this.position(this.index) + 1] ?? this.last; }

  backward() {
    if (this.rests) return this.last; // the visible part
    return this.index > 0 ? this.stops[this.position(this.index) - 1] ?? 0
      : Math.max(this.index - 1, this.forwardPass.first);
  }

  /** Before the backward pass; from there, before the forward pass. */
  beginning() { return this.rests || this.index > 0 ? 0 : this.forwardPass.first; }

  /** The step that ends at a place of the slider; null for the one before the backward pass. */
  stepAt(here) {
    if (here <= 0) return here < 0 ? this.forwardPass.state(here).frame : null;
    const index = this.stops[here], view = this.groups.viewOf(this.history.sceneAt(index));
    return this.history.step(index, view, this.t);
  }

  numbered(here) {
    const { first } = this.forwardPass;
    return here < 0 ? this.t("forward_step", { index: here - first, last: -first - 1 })
      : this.t("step", { index: here, last: this.stops.length - 1 });
  }

  step(index) {
    this.stepped = true;
    this.playback.pause();
    this.predict.resumes = false;
    if (index > this.index && this.predict.now) this.predict.insist();
    else this.go(index, true);
  }

  /** Show again what is shown: other groups are open, or another pass is compared. */
  again() { this.go(this.index, false, this.rests); }

  /** Show a step; `rests`: nothing has been played yet. */
  go(index, move = false, rests = false) {
    const from = this.position(this.index), { first } = this.forwardPass;
    const starts = this.rests && !rests;
    this.rests = rests;
    const wanted = this.predict.limit(clamp(Math.round(index) || 0, first, this.last));
    this.goesBack = wanted < this.index;
    this.index = wanted < 0 ? wanted : this.stops[this.position(wanted)] ?? this.last;
    this.root.classList.toggle("nb-goes", this.index < 0);
    this.playback.halt();
    const state = this.state(), moving = move && !this.reduced.matches;
    this.load(this.groups.drawnFor(state.scene));
    if (starts || this.stepped) this.shrink();
    this.stage.still();
    this.stage.last = null; // a click after a step counts as the first
    this.card.hide();
    this.choose(null);
    this.predict.say("");
    this.tell(state);
    this.lookAt(state, moving);
    this.root.classList.toggle("nb-rests", rests);
    if (starts) this.root.scrollIntoView({ block: "nearest" }); // the strip has become higher
    const still = !state.frame || ["start", "created", "forward"].includes(state.frame.kind);
    const here = this.position(this.index), flows = moving && here === from + 1;
    if (flows && !still) this.playback.animate(state, this.at(this.stops[here - 1] ?? 0));
    else if (flows && this.index < 0 && state.frame.node) this.forwardPass.animate(state);
    else this.stage.settle(state);
    this.predict.arrive();
    this.hooks.onindex?.(Math.max(this.index, 0));
  }

  load(scene) {
    if (scene === this.scene) return;
    this.scene = scene;
    this.links = new Links(this.drawn);
    this.draw();
    this.groups.showChips();
    this.words.textContent = this.drawn?.words || "";
    this.search.again();
  }

  draw() {
    this.stage.load(this.drawingOf(this.scene), this.links);
    this.stage.addOpeners(this.groups.closed.map(([group]) => group));
    addSumBeads(this);
    this.handles.load();
  }

  /** Of the drawings of a view, for windows of several sizes, the one that is seen best in this one. */
  drawingOf(scene) {
    const drawings = this.data.svgs[scene] || this.data.svgs[0];
    const needs = (svg) => [this.beyond(svg), sizeOf(svg)[3] + (IS_BARE.test(svg) ? TALL : 0)];
    const isLess = ([a, b], [c, d]) => a < c - 0.01 || (a < c + 0.01 && b < d); // the lowest of the fitting ones
    return drawings.reduce((best, svg) => (isLess(needs(svg), needs(best)) ? svg : best));
  }

  /** How many windows a drawing fills at its full size, the longer way; in a narrow one, sideways is worse. */
  beyond(svg) {
    const [, , w, high] = sizeOf(svg), { wide } = this.stage, sideways = Math.max(w / wide, 1);
    return wide < TELEPHONE ? sideways ** 4 * Math.max(high / this.room, 1) : Math.max(sideways, high / this.room);
  }

  /** The numbers of the scenes that are no views of others. */
  get ownScenes() {
    const { views = {} } = this.data, every = Object.keys(this.history.scenes).map(Number);
    return every.filter((i) => views[`${i}:`] === i);
  }

  /** The views of all scenes, with those groups open that are open now. */
  get shownScenes() { return this.ownScenes.map((i) => this.groups.drawnFor(i)); }

  /** Nearer: the next level where the whole of one is seen, else the same drawing larger. */
  closer() {
    const { groups, stage } = this;
    if (stage.scale < stage.scaleOf(stage.full) || !groups.change(1)) stage.zoom(CLOSER);
  }

  further() {
    const { groups, stage } = this;
    if (stage.scale > stage.scaleOf(stage.full) + 0.01 || !groups.change(-1)) stage.zoom(FURTHER);
  }

  /** Give the window of the drawing the height that the page has left beside the strip below it. */
  reserve() {
    const { rests, root, stage, strip } = this;
    root.classList.remove("nb-rests"); // the strip is higher while a pass is played
    if (this.plays) this.equation.reserve();
    const above = this.groups.opened.size ? CHIPS : 0;
    this.room = stage.within(roomAround(root) - strip.offsetHeight - above - AROUND);
    root.classList.toggle("nb-rests", rests);
    const scrolls = (rests || (this.data.start && !this.stepped)) && stage.wide < TELEPHONE; // readers scroll there
    const room = scrolls ? Math.max(this.room, TALL) : this.room;
    stage.reserve(this.shownScenes.map((i) => sizeOf(this.drawingOf(i))), room);
  }

  /** From the whole graph to a window in which it is played, with the strip below it in view. */
  shrink() {
    if (this.stage.tall <= this.room) return;
    this.reserve();
    this.stage.fit();
    this.root.scrollIntoView({ block: "nearest" });
  }

  /** Where the graph is larger than the window: show what is active; before the first step, where the pass begins. */
  lookAt(state, gently) {
    if (state.active.size) this.stage.follow(state, gently, () => this.ahead());
    else if (this.stage.overflows && !this.stage.moved && !this.stage.centreAll()) {
      const roots = this.drawn?.roots || [];
      this.stage.centre(state.look || this.selected || roots.find((id) => !this.links.users(id).length) || roots[0]);
    }
  }

  /** What is active in the steps that come next, or came before where one goes back. */
  ahead() {
    const { history, index, stops } = this, here = this.position(index), scene = history.sceneAt(index);
    if (index < 0) {
      const by = this.goesBack ? -1 : 1, near = Array.from({ length: AHEAD }, (_, i) => index + by * (i + 1));
      return near.filter((at) => at > this.forwardPass.first && at < 0).map((at) => this.forwardPass.state(at));
    }
    const view = this.groups.viewOf(scene), back = stops.slice(Math.max(here - AHEAD, 1), here).reverse();
    const near = this.goesBack ? back : stops.slice(here + 1, here + 1 + AHEAD);
    return near.filter((stop) => history.sceneAt(stop) === scene).map((stop) => {
      const frame = history.step(stop, view, this.t);
      return { frame, active: new Set(seen(view, frame.active)), labels: new Map(Object.entries(frame.labels || {})) };
    });
  }

  /** One line below the drawing, whole on hover; `alone`: in the place of the equation. */
  say(text, more = text, alone = true) {
    this.caption.textContent = text;
    this.caption.title = more;
    this.strip.classList.toggle("nb-has-caption", alone);
  }

  /** The caption of a view before the first step. */
  opening(scene) {
    const { data: { label }, plays, t } = this;
    return [t(plays ? "before_caption" : "graph_caption", { label }), ...scene?.notes || []].join(" · ");
  }

  tell(state) {
    const { caption, data, plays } = this, here = this.position(this.index);
    const first = this.rests ? this.stacks.result(state) : this.opening(this.drawn);
    const shown = state.frame ? state.frame.caption || state.frame.title : first;
    const text = this.predict.told(shown, state), words = this.predict.told(state.frame?.words || shown, state);
    this.controls.showStep(here, this.drawn?.label || data.label, text);
    caption.setAttribute("aria-live", this.playback.playing ? "off" : "polite");
    this.say(words, text, !plays || !state.frame);
    this.root.dataset.step = here;
    this.panel.show(state);
    this.program.show(this.index);
    if (plays) {
      this.equation.show(state);
      this.stacks.show();
      this.ledger.show(state);
    }
  }

  /** Choose the level that suits the window, first for a strip of the usual height, then for the one that it needs. */
  suit(rests) {
    const { groups, root, stage } = this, room = roomAround(root);
    Object.assign(this, { rests, room: stage.within(room - STRIP), sized: { wide: root.clientWidth, room } });
    this.tiles.showKey(this.plays && this.tiles.tiles.some(({ cells }) => cells.length > 1), this.equation.scale);
    stage.measure();
    groups.choose();
    this.reserve();
    groups.choose();
    this.reserve();
  }

  /** The window has become wider or narrower, or the page higher. */
  resized() {
    const { stage } = this, room = roomAround(this.root);
    const wide = (this.whole = this.root.clientWidth);
    if (!stage.svg || !wide || (wide === this.sized?.wide && room === this.sized.room)) return;
    this.sized = { wide, room };
    this.resize();
  }

  /** Give each part its room again. */
  resize() {
    const { stage } = this;
    stage.measure();
    this.equation.measured = null;
    this.reserve();
    if ((this.rests || !this.stepped) && this.groups.fit()) return; // which has redrawn it
    if (this.drawingOf(this.scene) === stage.text) stage.fit();
    else this.draw();
    const state = this.state();
    this.playback.halt();
    stage.settle(state);
    this.lookAt(state, false);
    this.panel.show(state);
    if (this.plays && !this.predict.now) this.equation.show(state);
    this.search.again();
  }

  // -- choosing and pointing ------------------------------------------------------------------------------------------
  choose(id) {
    if (id === this.selected) return;
    this.selected = id;
    this.hooks.onselect?.(id || "");
  }

  select(id, centre = false) {
    this.choose(id);
    this.panel.show(this.state());
    if (this.plays && !this.predict.now) this.equation.show(this.state()); // an answer is typed there
    showFocused(this.root); // paths to a leaf make the strip higher
    this.panel.element.scrollTop = 0;
    if (id && centre) this.stage.centre(id);
    const node = id && this.links.nodes[id];
    if (!node) { this.drawer.unpeek(); return; }
    const about = [node.expression || node.name, this.t(`kind_${node.kind}`), node.value, node.shape];
    const text = node.failed ? this.t("failed_at", { name: node.name }) : about.filter(Boolean).join(" · ");
    this.say(text, text, !this.paths.overlay);
  }

  deselect() {
    this.select(null);
    this.tell(this.state());
  }

  clicked(id) {
    if (this.groups.openable(id) && this.groups.open(id)) return;
    if (id && id !== this.selected) this.drawer.peek();
    this.select(id === this.selected ? null : id);
    if (this.groups.openable(id)) this.say(this.t("needs_kernel"));
  }

  /** The second of two clicks at one place; the first has selected what was there. */
  doubled(id) {
    this.deselect();
    if (!id) this.stage.fit(true);
    else if (!this.groups.openable(id) && !this.groups.justChanged) this.groups.higher(id, false);
  }

  /** Formula, node, edge and source line light up together. */
  hover(node, edge, line = null) {
    const { links } = this;
    let nodes = [], edges = [], slots = [], where = line;
    if (edge) {
      const { src, dst, slot } = links.byId.get(edge) || {};
      [nodes, edges, slots] = [[src, dst], [edge], [[dst, slot]]];
      where = links.nodes[dst]?.where;
      this.equation.edge(edge);
    } else if (node) {
      edges = [...links.makers(node), ...links.users(node)].map(({ id }) => id);
      nodes = [node];
      slots = links.users(node).map(({ dst, slot }) => [dst, slot]);
      where = links.nodes[node]?.where || links.nodes[links.makers(node)[0]?.src]?.where;
    } else if (line) nodes = links.lines.get(line) || [];
    this.stage.light(nodes.filter(Boolean), edges);
    this.panel.light(slots, this.selected || this.state().frame?.node, where);
  }

  /** From node to node along the edges: with the flow, against it, or to the neighbor in the list. */
  walk(way) {
    const { links, selected, stage } = this, hidden = (id) => stage.hidden?.has(id);
    const ids = Object.keys(links.nodes).filter((id) => !hidden(id)), here = ids.indexOf(selected);
    let to = null;
    if (here < 0) to = this.drawn?.roots?.[0] || ids[0];
    else if (way === "users") to = links.users(selected)[0]?.dst;
    else if (way === "makers") to = links.makers(selected).find(({ src }) => !hidden(src))?.src;
    else to = ids[(here + way + ids.length) % ids.length];
    if (to) this.select(to, stage.overflows);
  }

  /** Hide what is only there to make a node, or show it again; of a group, open it. */
  fold(id) {
    if (this.groups.openable(id)) { this.groups.open(id); return; }
    this.stage.fold(id);
    this.panel.show(this.state());
    if (this.stage.hidden?.size) this.say(this.t("hidden", { count: this.stage.hidden.size }));
  }

  save() { this.stage.save(this.plays ? `backward-step-${this.index}.svg` : "graph.svg"); }
}

/** Build the player in an element. `hooks.index` is where it starts; `onindex(k)` and `onselect(id)` are told. */
export function mount(place, data, hooks = {}) {
  const player = new Player(place, data, hooks);
  return {
    go: (index) => player.go(index),
    play: () => player.playback.play(),
    pause: () => player.playback.pause(),
    add: (view) => player.groups.add(view),
    written: (lines) => player.program.came(lines),
    nudged: (message) => player.nudge.answer(message),
    select: (id) => { if (id !== (player.selected || "")) player.select(id || null, true); },
    destroy: () => player.destroy(),
  };
}

