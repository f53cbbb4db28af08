import { BUCKET, BucketCard, Buckets, BucketView, differenceText } from "./bucket.js";
import { choice, h, ROOMY } from "./dom.js";
import { moveOf } from "./keys.js";
import { bare, IS_NUMBER } from "./numbers.js";

const FEW_TABS = 4; // limit of the passes shown with their whole name
const RESULTS = 4; // limit of the leaves, or terms of a leaf, on one line

/** The passes of a recording as tabs, and another pass to compare the present one with. */
export class Passes {
  constructor(player) {
    this.player = player;
    this.buckets = new Buckets(player.data.timeline);
    this.card = new BucketCard(player);
    this.note = h("p", { class: "nb-bucket-note" });
    this.all = player.passes;
    this.several = this.all.length > 1;
    this.against = 0; // the pass to compare with; 0 for none
    this.known = new Map();
    if (this.several) this.build();
  }

  build() {
    const { all, player } = this, { t } = player;
    this.tabs = all.map(([n, first]) => h("button", { type: "button", role: "tab", class: "nb-pass-tab", tabindex: -1,
      "aria-selected": "false", title: t("pass_n", { n }), onclick: () => player.controls.goTo(first) },
    all.length > FEW_TABS ? String(n) : t("pass_n", { n })));
    this.list = h("span", { class: "nb-pass-tabs", role: "tablist", "aria-label": t("jump"),
      title: t("jump"), onkeydown: (event) => this.key(event) }, ...this.tabs);
    const options = [[0, t("compare_none")], ...all.map(([n]) => [n, t("compare_with", { n })])];
    this.choice = choice(" nb-against", t("compare"), options, (n) => this.compare(n));
    this.element = h("span", { class: "nb-passes" }, this.list);
  }

  /** The number of the pass that is shown, and its place among the tabs. */
  get present() { return this.player.history.frames[Math.max(this.player.shown, 1) - 1]?.backward ?? 1; }

  /** Whether another pass can be compared with: not while one's gradients are still to be predicted. */
  get compares() { return this.against && this.against !== this.present && !this.player.predict.hides; }

  get place() { return Math.max(this.all.findIndex(([n]) => n === this.present), 0); }

  /** To the beginning of the next pass, or of the one before. */
  move(by) {
    const to = this.all[this.place + by];
    if (to) this.player.controls.goTo(to[1]);
  }

  key(event) {
    const { place } = this, end = this.all.length - 1 - place;
    const by = moveOf(event, { ArrowLeft: -1, ArrowRight: 1, Home: -place, End: end });
    if (by === undefined) return;
    this.move(by);
    this.tabs[this.place].focus();
  }

  /** Compare with the pass before (of the first one: the next), or with none. */
  toggle() {
    if (!this.several) return;
    const { all, place } = this;
    this.compare(this.against ? 0 : all[place ? place - 1 : 1][0]);
  }

  compare(n) {
    const { player } = this;
    this.against = n;
    this.choice.value = n;
    player.playback.pause();
    player.again();
  }

  /** What a pass sent along each edge until a step, and what each leaf got, by tiles. */
  tilesOf(pass, until) {
    const edges = new Map(), leaves = new Map(), { frames, scenes } = this.player.history;
    let scene = -1;
    for (const frame of frames.slice(0, Math.max(until, 0))) {
      if (frame.backward !== pass || frame.kind === "created") continue;
      ({ scene } = frame);
      for (const [edge, tile] of Object.entries(frame.tiles || {})) edges.set(edge, tile);
      for (const [id, entry] of Object.entries(frame.ledger || {})) {
        const got = entry.total_tile ?? -1;
        if (got >= 0 && frame.kind !== "start") leaves.set(scenes[scene].nodes[id]?.name, got);
      }
    }
    return { edges, leaves, scene };
  }

  whole(pass) {
    if (!this.known.has(pass)) this.known.set(pass, this.tilesOf(pass, Infinity));
    return this.known.get(pass);
  }

  /** Whether two scenes have the same edges: their ids then mean the same. */
  alike(one, other) {
    const { scenes } = this.player.data.timeline, shape = (i) => JSON.stringify(scenes[i]?.edges);
    return one === other || shape(one) === shape(other);
  }

  /** Write differences below the numbers on edges. */
  annotate(state) {
    this.differences = new Map();
    if (!this.compares || !state.frame) return state;
    const own = this.tilesOf(this.present, this.player.shown), other = this.whole(this.against);
    const { tiles } = this.player.data.timeline;
    for (const [name, tile] of own.leaves) {
      const text = differenceText(tiles[tile], tiles[other.leaves.get(name)]);
      if (text) this.differences.set(name, text);
    }
    if (!this.alike(own.scene, other.scene)) return state;
    for (const [edge, tile] of own.edges) {
      const text = state.labels.get(edge) && differenceText(tiles[tile], tiles[other.edges.get(edge)]);
      if (text && !text.endsWith(" 0")) state.labels.set(edge, `${state.labels.get(edge)}\n${text}`);
    }
    return state;
  }

  /** What the other pass added to a leaf, for the outline behind its bar. */
  ghostOf(name) {
    if (!this.compares) return null;
    const tile = this.whole(this.against).leaves.get(name);
    return tile === undefined ? null : this.buckets.segment(this.against, tile);
  }

  /** The cell of the ledger that holds a leaf's stack. */
  cell(name) {
    const { buckets, card, player } = this, { t } = player, stack = this.stacks.get(name) || buckets.begin({});
    const words = buckets.words(stack, t), own = buckets.extents.get(name) || [0, 0], ghost = this.ghostOf(name);
    const further = Number.isFinite(ghost?.amount) ? ghost.amount : 0;
    const ends = [own[0] + Math.min(further, 0), own[1] + Math.max(further, 0)];
    const view = new BucketView(stack, { name, ends, t, ghost, words,
      show: (segment, bar) => card.show(segment, bar),
      wide: player.whole < ROOMY ? BUCKET.narrow : BUCKET.wide });
    const many = stack.segments.filter(({ pass }) => pass).length > 1;
    const said = { class: many ? "nb-many" : "nb-soft", "aria-hidden": "true" }; // the bar's name says it as well
    return h("td", { class: "nb-each", title: stack.trail.join(" → ") }, view.svg, h("span", said, words));
  }

  show() {
    const { player } = this, asks = player.predict.open(player.shown).length > 0;
    this.stacks = this.buckets.at(asks ? player.shown - 1 : player.shown);
    this.card.element.hidden = true;
    if (!this.several) return;
    this.tabs.forEach((tab, i) => {
      const on = i === this.place;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      if (on) this.list.scrollLeft = tab.offsetLeft - this.list.clientWidth / 2;
    });
    this.note.textContent = this.told();
    this.note.title = this.note.textContent;
  }

  /** What the passes have done to `.grad` until the step that is shown. */
  told() {
    const { player } = this, { t } = player, stacks = this.buckets.at(player.shown);
    const passes = ({ segments }) => segments.filter(({ pass }) => pass).length, named = (choose) =>
      [...stacks].filter(([, stack]) => choose(stack)).map(([name]) => name).slice(0, 4).join(", ");
    const most = Math.max(0, ...[...stacks.values()].map(passes));
    const grown = most > 1 && named((stack) => passes(stack) === most), emptied = named(({ reset, segments }) =>
      ["zeroed", "none"].includes(reset) && !segments.length);
    this.note.classList.toggle("nb-many", !!grown);
    return grown ? t("why_zero", { names: grown, n: most })
      : emptied ? t("was_emptied", { names: emptied }) : t(most ? "one_pass" : "no_pass_yet");
  }

  /** What the passes left, in a line. */
  result(state) {
    if (this.several) return this.told();
    const { drawn, history, t } = this.player, rows = drawn.leaves.map(({ id, name }) => [name, state.ledger.get(id)])
      .filter(([, row]) => row?.after);
    const several = rows.find(([, { terms = [] }]) => terms.length > 1), wrong = history.wrong();
    const brief = ({ after, terms }) => [after, ...terms.map(([value]) => value)].every((text) => IS_NUMBER.test(text));
    const some = (names) => names.slice(0, RESULTS).join(", ") + (names.length > RESULTS ? ", …" : "");
    if (wrong) return t("rest_not_finite", { ...wrong, names: some(wrong.names) });
    if (several && brief(several[1]) && several[1].before === "None") {
      const [name, { after, terms }] = several, about = { name, value: bare(after), count: terms.length };
      if (terms.length > RESULTS) return t("rest_sum", about);
      return t("rest_paths", { ...about, terms: terms.map(([value]) => bare(value)).join(" + ") });
    }
    const written = rows.filter(([, row]) => brief(row)).slice(0, RESULTS);
    if (written.length === rows.length && rows.length) {
      return written.map(([name, { after }]) => `${name}.grad = ${bare(after)}`).join(" · ");
    }
    return rows.length ? t("rest_leaves", { names: some(rows.map(([name]) => name)) }) : t("before_caption");
  }
}
