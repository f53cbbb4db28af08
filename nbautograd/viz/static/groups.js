import { middleOf } from "./camera.js";
import { h, icon } from "./dom.js";
import { see } from "./links.js";
import { DOUBLE } from "./viewport.js";

const ANSWER = 6000; // milliseconds to wait for a kernel's answer
const STEPS = 16; // limit of the operations and groups of a folded graph at first sight
const WHOLE = 1.01; // windows that a whole drawing may fill
const IS_LEVEL = /^(L\d+|open)$/; // of the keys of a view, the one with the amount folded

/**
 * Which level of a scene is seen, which groups are open there, and which of the drawn views shows that. Levels nest:
 * each further one opens what the one before has closed.
 */
export class Groups {
  constructor(player, views) {
    this.player = player;
    this.views = views; // "scene:level,open groups" -> the number of its drawn scene
    this.opened = new Set();
    this.level = new Map(); // scene -> the key of its level; none: as drawn first
    this.asked = 0;
    this.changed = -Infinity; // time at which a group was opened or closed
    this.folds = Object.keys(views).some((view) => IS_LEVEL.test(view.split(":")[1]));
    this.viewOf = (number) => this.player.history.scenes[this.drawnFor(number)];
    this.chips = h("div", { class: "nb-chips" });
  }

  get scene() { return this.player.history.sceneAt(this.player.shown); }

  /** The keys of a scene's levels, the one at which most is drawn first. */
  levelsOf(number) {
    const every = Object.keys(this.views).filter((view) => view.startsWith(`${number}:`));
    const own = every.map((view) => view.split(":")[1]);
    const drawn = (key) => this.nodesOf(number, key).length;
    return own.filter((key) => !key || IS_LEVEL.test(key)).sort((a, b) => drawn(b) - drawn(a));
  }

  nodesOf(number, key) { return Object.values(this.player.history.scenes[this.views[`${number}:${key}`]].nodes); }

  /** How many windows the drawing of a level fills. */
  needs(number, key) { return this.player.beyond(this.player.drawingOf(this.views[`${number}:${key}`])); }

  levelOf(number) { return this.level.get(number) ?? ""; }

  /** The key of a scene's view with the groups open that are open now, as far as that scene has them. */
  keyOf(number) {
    const { scenes } = this.player.history, level = this.levelOf(number);
    if (!this.opened.size) return `${number}:${level}`;
    const own = Object.entries(this.views).filter(([key]) => key.startsWith(`${number}:`));
    const known = new Set(own.flatMap(([, drawn]) => scenes[drawn].groups.map(([group]) => group)));
    const open = [...this.opened].filter((key) => known.has(key));
    return `${number}:${[level, ...open].filter(Boolean).sort().join(",")}`;
  }

  drawnFor(number) {
    return this.views[this.keyOf(number)] ?? this.views[`${number}:${this.levelOf(number)}`] ?? number;
  }

  get all() { return this.player.drawn?.groups || []; }

  get closed() { return this.all.filter(([group, , closed]) => closed && this.player.links.nodes[group]); }

  openable(id) { return this.closed.some(([group]) => group === id); }

  /** As long as nothing was played or opened: the level of each scene at which most is drawn and the whole is seen. */
  choose() {
    if (this.changed > -Infinity || this.player.predict.on) return; // folded nodes do not ask questions
    const { player } = this;
    for (const number of player.ownScenes) {
      const levels = this.levelsOf(number), from = levels.slice(levels.indexOf(""));
      const needs = (key) => this.needs(number, key);
      const least = from.reduce((best, key) => (needs(key) < needs(best) ? key : best), "");
      const few = (key) => !key
        || this.nodesOf(number, key).filter(({ kind }) => ["op", "group"].includes(kind)).length <= STEPS;
      this.level.set(number, from.find((key) => needs(key) <= WHOLE && few(key)) ?? least);
    }
    player.stops = player.history.stops(this.viewOf);
  }

  /** Draw the level that suits the window; return whether that is another one than before. */
  fit() {
    this.choose();
    if (this.drawnFor(this.scene) === this.player.scene) return false;
    this.redraw();
    return true;
  }

  /** The level next to the one that is seen: the one above (-1), or below it (1); whether there is one. */
  change(by) {
    const { player, scene } = this, levels = this.levelsOf(scene), here = levels.indexOf(this.levelOf(scene));
    const to = levels[here - by];
    if (to === undefined || here < 0) return false;
    this.show(to);
    const index = levels.length - levels.indexOf(to);
    player.say(player.t("level_at", { index, count: levels.length }), undefined, player.rests);
    return true;
  }

  show(key) {
    this.changed = performance.now();
    this.opened.clear();
    this.level.set(this.scene, key);
    this.redraw();
    this.player.controls.showFolds();
  }

  /** Whether something is folded that another level opens. */
  get folded() { return this.levelsOf(this.scene)[0] !== this.levelOf(this.scene) || this.opened.size > 0; }

  /** Open everything; where everything is open, fold it until the whole is seen, or one level. */
  toggleEverything() {
    const { folded, scene } = this, levels = this.levelsOf(scene);
    const fits = levels.slice(1).find((key) => this.needs(scene, key) <= WHOLE);
    this.show(folded ? levels[0] : fits ?? levels.at(-1));
    return !folded;
  }

  /** Open a group, or close it again; false where that cannot be shown. */
  open(id) {
    this.changed = performance.now();
    const { player, opened, scene } = this, { hooks, t } = player;
    const before = [...opened], enters = !opened.delete(id);
    if (enters) opened.add(id);
    if (!(this.keyOf(scene) in this.views) && !hooks.onopen) {
      // a page without a kernel has views with one open group each
      for (const key of [...opened]) if (key !== id) opened.delete(key);
    }
    const key = this.keyOf(scene), first = enters && this.begins(id);
    if (key in this.views) { this.redraw(id, first); return true; }
    this.replace(before);
    if (!hooks.onopen) { player.say(t("needs_kernel")); return false; }
    player.say("…");
    hooks.onopen(key);
    clearTimeout(this.asked);
    this.asked = setTimeout(() => { player.say(t("needs_kernel")); }, ANSWER);
    return true;
  }

  /** Where the step of a group begins that is shown now: whoever goes into it sees that first; else nothing. */
  begins(id) {
    const { player } = this, { history, index, rests } = player, view = this.viewOf(this.scene);
    if (rests || index < 1 || see(view, history.frames[index - 1].node) !== id) return 0;
    return history.beginning(index, view);
  }

  /** Whether a node that is drawn is inside of an open group. */
  holds([group, , , members], id) {
    if (members.includes(id)) return true;
    const parentOf = (key) => this.all.find(([other]) => other === key)?.[4];
    for (let at = parentOf(id); at; at = parentOf(at)) if (at === group) return true;
    return false;
  }

  /** One level down: open the group that is selected or active, else the one nearest to the middle of the window. */
  deeper() {
    const { player } = this, { stage } = player, [x, y] = stage.center;
    const far = ([group]) => {
      const box = stage.box(group), [cx, cy] = box ? middleOf(box) : [Infinity, Infinity];
      return Math.hypot(cx - x, cy - y);
    };
    const own = [player.selected, player.state().frame?.node].find((id) => this.openable(id));
    const nearest = this.closed.length && this.closed.reduce((best, one) => (far(one) < far(best) ? one : best))[0];
    if (own || nearest) this.open(own || nearest);
  }

  /** Whether a click just now has opened a group, so that a second one is not meant for what it shows. */
  get justChanged() { return performance.now() - this.changed < DOUBLE; }

  /** One level up: close the innermost open group around a node, else, of all `others`, the one opened last. */
  higher(id = this.player.selected || this.player.state().frame?.node, others = true) {
    const open = this.all.filter(([group, , closed]) => this.opened.has(group) && !closed);
    const around = open.filter((group) => this.holds(group, id)).at(-1)?.[0];
    const last = [...this.opened].filter((key) => open.some(([group]) => group === key)).at(-1);
    const group = around || (others && last);
    if (group) this.open(group);
  }

  replace(keys) {
    this.opened.clear();
    for (const key of keys) if (!IS_LEVEL.test(key)) this.opened.add(key);
  }

  /** What the kernel answers: one more view. */
  add({ view, svgs, scene }) {
    const { data, history } = this.player, { scenes } = history;
    clearTimeout(this.asked);
    if (!(view in this.views)) {
      this.views[view] = scenes.length;
      data.svgs[scenes.length] = svgs;
      scenes.push(scene);
    }
    const before = new Set(this.opened), keys = view.slice(view.indexOf(":") + 1).split(",").filter(Boolean);
    const entered = keys.find((key) => !before.has(key) && !IS_LEVEL.test(key));
    const first = entered && this.begins(entered);
    this.replace(keys);
    this.redraw(entered, first);
  }

  /** Show the step again, or another one, after a group was opened or closed, which is brought into view. */
  redraw(group = "", index = 0) {
    const { player } = this, { stage } = player;
    player.playback.pause();
    player.stops = player.history.stops(this.viewOf);
    player.reserve();
    if (index) player.go(index);
    else player.again();
    const inside = this.all.find(([id]) => id === group)?.[3] || [];
    const near = [group, ...inside].find((id) => player.links.nodes[id]);
    if (near && stage.overflows && !index) stage.centre(near);
    player.search.centre();
  }

  /** What a group is called where it is closed. */
  called(group) {
    const { symbol, name } = this.player.history.scenes.map(({ nodes }) => nodes[group]).find(Boolean) || {};
    return [symbol || group, name?.includes(": ") && name.split(": ")[0]].filter(Boolean).join(" ");
  }

  /** A chip for each group that is open, which closes it again. */
  showChips() {
    const { player } = this;
    const open = this.all.filter(([group, , closed]) => this.opened.has(group) && !closed).map(([group]) => group);
    this.chips.replaceChildren(...[...new Set(open)].map((group) => {
      const name = this.called(group), label = player.t("close_group", { name });
      const close = () => { this.open(group); player.root.focus({ preventScroll: true }); };
      const about = { type: "button", class: "nb-button nb-closer", "aria-label": label, title: label, onclick: close };
      return h("button", about, icon("out"), name);
    }));
  }
}
