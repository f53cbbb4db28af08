const ANSWER = 6000; // milliseconds in which a kernel answers
const DOUBLE = 500; // milliseconds in which a second click belongs to the first

/** Which groups are open, and which of the drawn views of a scene shows them so. */
class Groups {
  constructor(player, views) {
    this.player = player;
    this.views = views; // "scene:open groups" -> the number of the scene that is drawn for it
    this.opened = new Set();
    this.asked = 0;
    this.changed = -Infinity; // when a group was opened or closed
    const has = (key) => Object.keys(views).some((view) => view.endsWith(`:${key}`));
    this.everything = ["fold", "open"].find(has); // what the button does with all groups at once
    this.viewOf = (number) => this.player.history.scenes[this.drawnFor(number)];
    this.chips = h("div", { class: "nb-chips" });
  }

  /** The key of a scene's view with the groups open that are open now, as far as that scene has them. */
  keyOf(number) {
    const { scenes } = this.player.history;
    const own = Object.entries(this.views).filter(([key]) => key.startsWith(`${number}:`));
    const known = new Set(own.flatMap(([, drawn]) => scenes[drawn].groups.map(([group]) => group)));
    const open = [...this.opened].filter((key) => known.has(key) || `${number}:${key}` in this.views);
    return `${number}:${open.sort().join(",")}`;
  }

  drawnFor(number) { return this.views[this.keyOf(number)] ?? number; }

  get all() { return this.player.drawn?.groups || []; }

  get closed() { return this.all.filter(([group, , closed]) => closed && this.player.links.nodes[group]); }

  openable(id) { return this.closed.some(([group]) => group === id); }

  /** Open all groups, or fold all, or undo that; returns whether it is done now. */
  toggleEverything() {
    const { opened, everything } = this;
    if (!opened.delete(everything)) {
      opened.clear();
      opened.add(everything);
    }
    this.redraw();
    return opened.has(everything);
  }

  /** Open a group, or close it again; false where that cannot be shown. */
  open(id) {
    this.changed = performance.now();
    const { player, opened } = this, { hooks, t } = player;
    const before = [...opened], number = player.history.sceneAt(player.index);
    if (!opened.delete(id)) opened.add(id);
    if (!(this.keyOf(number) in this.views) && !hooks.onopen) {
      // a page without a kernel knows views with one group open
      for (const key of [...opened]) if (key !== this.everything && key !== id) opened.delete(key);
    }
    const key = this.keyOf(number);
    if (key in this.views) { this.redraw(id); return true; }
    this.replace(before);
    if (!hooks.onopen) { player.say(t("needs_kernel")); return false; }
    player.say("…");
    hooks.onopen(key);
    clearTimeout(this.asked);
    this.asked = setTimeout(() => { player.say(t("needs_kernel")); }, ANSWER);
    return true;
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
    for (const key of keys) this.opened.add(key);
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
    this.replace(keys);
    this.redraw(keys.find((key) => !before.has(key)));
  }

  /** Show the step again, after a group was opened or closed, which is brought into view. */
  redraw(group = "") {
    const { player } = this, { stage } = player;
    player.playback.pause();
    player.stops = player.history.stops(this.viewOf);
    player.go(player.index);
    const inside = this.all.find(([id]) => id === group)?.[3] || [];
    const near = [group, ...inside].find((id) => player.links.nodes[id]);
    if (near && stage.overflows) stage.centre(near);
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

