import { besides, edgeTabs } from "./aside.js";
import { BESIDE, giveRoom, HEADS, LEAST_WORDS, lettersWide, lowest, MOVES, WORDS_HIGH } from "./bar_room.js";
import { LETTER } from "./camera.js";
import { indexOf, largestAt } from "./cells.js";
import { Chain, inBrackets, PRODUCTS, SIGNS, telling, TERMS } from "./chain.js";
import { h, renew, TELEPHONE } from "./dom.js";
import { cameAlong, fly } from "./flights.js";
import { atom, gradientBy, inLine, lastName, math, rootOf, unstretched } from "./formula.js";
import { drawnText, shortNumber, textsOf } from "./numbers.js";
import { meaning } from "./sensitivity.js";
import { cellsIn, histogramOf, isWritten, largestOf, rowHeight, TileView, wideAs } from "./tile.js";

const ROOM = { wide: 230, high: 52, least: 24 }; // of a tile in the bar, in pixels
const SIGN_WIDE = 34, AROUND_PARTS = 44, AROUND_BAR = 46; // pixels: a sign with its gaps; around all parts; the bar
const SENTENCES = [300, 220], TABS = 110; // pixels: the words beside them, and the buttons for several edges
const PART_GAP = 12, CELL_GAP = 10, SIGN_LEAST = 16; // pixels between parts of the strip, of the equation; of a sign
const ARRIVED = 0.4, MET = 0.5, SENT = 0.6; // fractions of a step's time at which the parts of the equation appear
const HEAD_WIDE = 150; // pixels of a name above a tile
const LONG_NAME = 16; // letters of a role and a name that may be cut
const PARTS = { upstream: "upstream", factor: "local", sent: "sent" }; // of the chain rule, as the page calls them
const FLOWS_BY = { CopySlices: "written_over" }; // texts for operations of the engine itself
const asShown = (text) => drawnText(text).replaceAll("-", "−").replace(/\.$/, ""); // texts from the kernel
const LOCAL = { kind: "local" }; // the scale of a local derivative

/**
 * The equation under the graph: upstream × local = sent, always with numbers. Of tensors it writes out the element
 * that is pointed at in any of the tiles, else the one that was clicked, else the largest.
 */
export class EquationBar {
  constructor(player) {
    this.player = player;
    this.element = h("div", { class: "nb-equation-bar", role: "group", "aria-label": player.t("equation") });
    this.key = ""; // the step and the edge whose elements can be chosen
    this.chosen = 0; // which of the node's edges
    this.pinned = null; // the element that was clicked
    this.scale = { kind: "gradients", largest: this.largest() };
    this.tall = this.high();
    this.aside = h("div", { class: "nb-hint nb-aside" }); // what else there is to say: the drawer has it
    giveRoom(this, this.element);
    const { frames } = player.history; // reserves the room of the largest step in all of them
    this.element.classList.toggle("nb-fails", frames.some(({ kind }) => kind === "error"));
  }

  /** The room for tiles that the highest of the recording needs: the bar is as high in all its steps. */
  high() {
    const { tiles = [], values = [] } = this.player.data.timeline;
    const needs = [...tiles, ...values].filter(({ cells }) => cells.length > 1).map((tile) =>
      (rowHeight(tile, ROOM.high) * tile.cells.length) / tile.columns + (tile.histogram ? 22 : 0));
    return Math.ceil(Math.min(Math.max(ROOM.least, ...needs), ROOM.high));
  }

  /** Make it as high as its steps need; they are asked only where its width or the views are others. */
  reserve() {
    const { player, element } = this, { strip } = player, wide = strip.clientWidth;
    const key = `${wide} ${player.shownScenes} ${player.stops.length}`;
    if (key === this.reserved || !element.clientWidth) return;
    this.reserved = key;
    const { below, least } = lowest(this, wide);
    this.place(below);
    element.style.setProperty("--nb-bar", `${least - (below ? MOVES : 0)}px`);
  }

  /** Put what goes through the pass below the equation, or beside it. */
  place(below) {
    this.player.strip.classList.toggle("nb-below", below);
    Object.assign(this, { below, measured: null });
  }

  /** The room for each tile: what is said beside them has less of it where they show their numbers then only. */
  room(tiles = this.now.tiles || []) {
    const shows = (tile, wide) => !isWritten(tile) || cellsIn(tile, textsOf(tile), wide, this.tall).written;
    const [most, least] = SENTENCES.map((words) => this.share(tiles, this.stacked ? 0 : words)); // else below them
    const wide = [most, least].find((share) => tiles.every((tile) => shows(tile, share))) ?? most;
    return { bare: this.bare, high: this.tall, wide };
  }

  /** How wide tiles may be beside words: those that need less than their share leave the rest to the others. */
  share(tiles, words) {
    const needs = tiles.map((tile) => Math.min(wideAs(tile, this.tall), ROOM.wide)).sort((a, b) => a - b);
    let left = this.wide - words - AROUND_PARTS - (tiles.length - 1) * SIGN_WIDE, wide = ROOM.wide;
    needs.forEach((need, i) => {
      const share = left / (needs.length - i);
      if (need > share) wide = Math.min(wide, Math.max(share, ROOM.least));
      left -= Math.min(need, share);
    });
    return wide;
  }

  /** How wide the bar is, or will be: it is hidden before the first step. */
  get wide() {
    const { strip, beside } = this.widths, { chain = [] } = this.frame || {};
    const named = Math.max(...chain.map(({ sent_name: name }) => lastName(name).length)) + "for  (1)".length;
    const tabs = chain.length > 1 ? Math.min(TABS, named * LETTER + SIGN_WIDE) : 0;
    return strip - AROUND_BAR - (this.below ? 0 : beside) - (this.stacked ? 0 : tabs);
  }

  /** How wide the strip is, and what stands in it beside the bar; asked for where that may have changed only. */
  get widths() {
    const { controls, drawer, moves, root, stacks, strip, tiles } = this.player;
    const key = `${root.className} ${tiles.key.className} ${controls.count.textContent.length}`;
    if (key !== this.measured?.key) {
      this.measured = { key, strip: strip.clientWidth, beside: moves.offsetWidth + drawer.button.offsetWidth
        + (stacks.several ? stacks.element.offsetWidth + PART_GAP : 0) };
    }
    return this.measured;
  }

  /** Whether its parts stand below each other. */
  get stacked() { return this.widths.strip <= TELEPHONE; }

  /** The largest gradient of the recording: all of them have one scale. */
  largest() {
    const { timeline } = this.player.data, numbers = new Set();
    for (const { tiles = {}, ledger = {}, chain = [] } of timeline.frames) {
      const rows = Object.values(ledger).flatMap((row) => [row.before_tile, row.total_tile, row.after_tile]);
      const steps = chain.flatMap(({ upstream, product, sent }) => [upstream, product, sent]);
      for (const number of [...Object.values(tiles), ...rows, ...steps]) numbers.add(number);
    }
    const gradients = (timeline.tiles || []).filter((_, i) => numbers.has(i)); // one with equal numbers is one tile
    const largest = (tiles) => Math.max(0, ...tiles.map(largestOf));
    return largest(gradients.filter(({ cells }) => cells.length > 1)) || largest(gradients) || 1;
  }

  get tiles() { return this.player.data.timeline.tiles || []; }

  show(state) {
    const { frame } = state, key = frame ? `${state.index}` : "";
    if (key !== this.key) Object.assign(this, { key, chosen: 0, pinned: null });
    this.tellAside([]);
    Object.assign(this, { frame, state });
    const { paths, predict, selected } = this.player, told = state.index >= 0 && !predict.hides;
    const chosen = told && selected && paths.leadsTo(selected);
    if (!chosen) paths.clear();
    renew(this.element, predict.content(this, frame)
      || (chosen ? paths.content(selected) : predict.summary(this.content(frame), state)));
  }

  content(frame) {
    if (!frame) return [];
    if (frame.kind === "forward") return this.player.forwardPass.equation(this, frame);
    if (frame.kind === "error") return this.failure(frame);
    if (frame.chain?.length) return this.chain(frame);
    if (frame.kind === "accumulate") return this.sum(frame);
    if (frame.kind === "start" && frame.receives) return this.seed(frame);
    return this.flow(frame) || [this.remark(frame.caption || frame.title)];
  }

  /** Whether all numbers of a step are in the bar, so that they need not be said elsewhere. */
  writes(frame) {
    if (this.player.predict.hides) return false;
    const there = (number) => (number ?? -1) >= 0;
    if (frame.kind === "accumulate") {
      const row = frame.ledger?.[frame.node];
      return !!row && there(row.total_tile) && there(row.after_tile);
    }
    if (frame.kind === "start") return frame.receives?.length === 1;
    if (frame.kind !== "op") return false;
    return frame.chain?.length
      ? frame.chain.every(({ upstream, sent }) => there(upstream) && there(sent))
      : !!this.flowing(frame);
  }

  /** The gradient with which a pass starts. */
  seed(frame) {
    const { t } = this.player;
    const cells = frame.receives.map(([name, value]) => this.plain("", name, h("b", { class: "nb-pre" }, value)));
    const own = frame.receives.every(([name]) => name.startsWith("∂"));
    return [
      h("div", { class: "nb-equation-parts nb-are-seeds" }, ...cells),
      h("div", { class: "nb-equation-words" }, h("div", {}, frame.words || t(own ? "seed_is_one" : "seed_was_given"))),
    ];
  }

  /** Cells and signs beside each other: names above tiles may be cut, tiles may not. */
  parts(all) {
    const parts = h("div", { class: "nb-equation-parts" }, ...all);
    const least = all.filter(Boolean).map(({ children, style, textContent }) => parseFloat(style.minWidth)
      || Math.max(lettersWide((children[0] || { textContent }).textContent), SIGN_LEAST));
    const needs = least.reduce((sum, wide) => sum + wide + CELL_GAP, 0);
    parts.style.minWidth = `${Math.min(needs, this.wide - LEAST_WORDS)}px`;
    return parts;
  }

  /** A cell of the bar whose value is no tile. */
  plain(role, name, ...body) {
    return h("div", { class: "nb-equation-cell" },
      h("div", { class: "nb-equation-head" }, h("span", { class: "nb-soft" }, role), " ", h("b", {}, name)),
      h("div", { class: "nb-equation-tile" }, ...body));
  }

  /** The tiles that a step received and sent, where both are known. */
  flowing({ group, kind, received = [], receives = [], sends = [], tiles = {} }) {
    const sent = Object.keys(tiles).filter((edge) => !received.includes(edge));
    const named = (edges, gradients, name) =>
      edges.map((edge, i) => [name(gradients[i]?.[0] ?? "", edge), this.tiles[tiles[edge]]]);
    const came = named(received, receives, (name) => name);
    const went = named(sent, sends, (name) => gradientBy(receives[0]?.[0] ?? "", name));
    const known = (list) => (group || list.length > 0) && list.every(([, tile]) => tile);
    return kind === "op" && known(came) && known(went) && went.length ? [came, went] : null;
  }

  /** A step without a formula: what came and what went. */
  flow(frame) {
    const [came, went] = this.flowing(frame) || [];
    if (!came) return null;
    const { t } = this.player;
    this.views = {};
    this.now = { whole: false, tiles: [...came, ...went].map(([, tile]) => tile) };
    const cells = (part, role, list) => list.map(([name, tile]) => this.cell(part, role, name, tile));
    return [
      this.parts([...cells("upstream", t("upstream"), came), this.sign("→"), ...cells("sent", t("sent_on"), went)]),
      h("div", { class: "nb-equation-words" },
        h("div", {}, t(frame.group ? "group_sums" : FLOWS_BY[frame.title] || "own_backward", { name: frame.title }))),
    ];
  }

  /** An error: how it came about, else what can be done. */
  failure({ story = [], alarms = [], caption }) {
    const { panel } = this.player, said = alarms.length ? alarms : [caption];
    if (story.length) return panel.story(story, alarms);
    return [h("ul", { class: "nb-advice" }, ...said.map((text) => h("li", {}, ...panel.cured(text))))];
  }

  remark(text) { return h("p", { class: "nb-remark-text" }, text); }

  // -- a step of the chain rule --------------------------------------------------------------------------------
  chain(frame) {
    const { links, t } = this.player, step = frame.chain[Math.min(this.chosen, frame.chain.length - 1)];
    const chain = (this.now = new Chain(step, this.tiles));
    const [from, to] = [links.resultOf(step.edge), lastName(step.sent_name)];
    this.views = {};
    const product = PRODUCTS.includes(step.kind), moves = !product && !this.multiplies(chain);
    const passes = step.product !== undefined && chain.factor?.cells.every((cell) => cell === 1); // what came is summed
    const multiplied = !moves && !passes, factor = product ? chain.factor : multiplied && chain.localOf(chain.largest);
    this.now.tiles = [...chain.came, multiplied && factor, passes ? null : chain.product, chain.sent].filter(Boolean);
    const came = chain.came.map((tile, i) =>
      this.cell(chain.partsOf()[i], t("upstream"), frame.receives?.[i]?.[0] ?? step.upstream_name, tile));
    const local = multiplied && this.cell("factor", t("local"), `∂${atom(from)}/∂${atom(to)}`, factor, step.local);
    const sent = this.cell("sent", t("sent_on"), step.sent_name, chain.sent);
    const sign = this.sign(SIGNS[step.kind] || "×"), sums = step.product !== undefined
      && this.sign(`Σ dim ${step.summed.map(([d]) => d).join(", ")}`);
    const factors = step.kind === "matrix" && step.left ? [local, sign, ...came] : [...came, sign, local];
    const before = sums && !passes ? [this.cell("product", t("before_sum"), "", chain.product), sums] : [];
    const parts = passes ? [...came, sums, this.sign("="), sent] : moves ? [...came, this.sign("→"), sent]
      : [chain.adds && this.sign("Σ"), ...factors, this.sign("="), ...before, sent].filter(Boolean);
    this.words = h("div", { class: "nb-equation-words" });
    this.explain(null);
    return [edgeTabs(this, frame), this.parts(parts), this.words].filter(Boolean);
  }

  /** Whether what was sent is a sum of products that can be shown: what only moves has no local derivatives. */
  multiplies({ rows, whole, came }) { return !!rows?.factors.length && whole && came.length === 1; }

  choose(i) {
    Object.assign(this, { chosen: i, pinned: null });
    renew(this.element, this.content(this.frame), ".nb-pressed");
  }

  /** Show the equation of an edge that is pointed at. */
  edge(id) {
    if (this.player.paths.overlay) return;
    const i = this.frame?.chain?.findIndex((step) => step.edge === id) ?? -1;
    if (i >= 0 && i !== this.chosen) this.choose(i);
  }

  /** Explain an element of a gradient that is pointed at in the drawing; none: what was explained before. */
  follow(id, cell) {
    const { chain } = this.frame || {};
    if (!chain?.length || !this.now?.step) return;
    if (id) this.edge(id);
    const shown = id && chain[Math.min(this.chosen, chain.length - 1)].edge === id && this.now.whole;
    this.point("sent", shown ? cell : null);
  }

  sign(text) { return h("span", { class: `nb-equation-sign${text.length > 1 ? " nb-small" : ""}` }, text); }

  cell(part, role, name, tile, marks) {
    const scale = { factor: LOCAL, value: this.player.tiles.scales.values }[part] || this.scale;
    let body = h("span", { class: "nb-soft" }, "…");
    if (tile) {
      const points = !this.bare && this.now.whole && (part !== "factor" || !this.now.rows);
      this.views[part] = new TileView(tile, { name: `${role} ${name}`.trim(), scale, ...this.room(),
        point: points && ((place) => this.point(part, place)),
        pick: (place) => {
          this.pinned = part === "sent" ? place : (this.now.reached(part, place)[0] ?? null);
          this.explain(null);
        } });
      body = this.views[part].svg;
    }
    const shape = tile?.cells.length > 1 && !(part === "factor" && this.now.rows) ? tile.shape.join("×") : "";
    const written = marks?.length && !(marks.length === 1 && marks[0][0] === "n"); // the tile holds a number
    const head = h("div", { class: "nb-equation-head", title: `${role} ${name}`.length > LONG_NAME && name },
      h("span", { class: "nb-soft" }, role), " ", h("b", {}, name), " ",
      h("span", { class: "nb-equation-sub" }, written ? unstretched(math(inLine(marks))) : shape));
    const own = part.replace(/\d+$/, "");
    const cell = h("div", { class: `nb-equation-cell nb-is-${own}`, "data-part": PARTS[own] }, head,
      h("div", { class: "nb-equation-tile" }, body, tile ? histogramOf(tile) : null));
    const above = `${this.widths.strip > BESIDE ? role : ""} ${name} ${shape}`, short = !head.title;
    cell.style.minWidth = `${Math.max(body.getAttribute("width") || 0, short ? lettersWide(above.trim()) : 0)}px`;
    return cell;
  }

  /** A cell of one of the tiles is pointed at, or none. */
  point(part, cell) {
    const reached = cell === null ? [] : part === "sent" ? [cell] : this.now.reached(part, cell);
    this.explain(reached.length ? { place: reached[0], reached, part, cell } : null);
  }

  /** Write out one element: its terms, what they come to, and what that means. */
  explain(at) {
    const { now } = this, { step } = now, name = lastName(step.sent_name);
    const wanted = at?.place ?? this.pinned ?? now.largest, place = now.tells(wanted) ? wanted : now.largest;
    if (!now.tells(place)) {
      this.words.replaceChildren(...this.told(step, name));
      return;
    }
    this.showLocal(place);
    const all = now.terms(place), terms = now.rows ? telling(all, now.cells) : all;
    const said = all.length === 1 && now.tiles.every(({ cells }) => cells.length === 1); // by the tiles themselves
    const story = this.story(step, name), means = this.means(place, name);
    this.words.replaceChildren(
      ...said ? [] : [h("div", { class: "nb-equation-element" }, this.summed(terms),
        h("b", {}, now.said(now.sent, place)))],
      ...this.warned(this.frame), ...story.length ? story : means);
    if (this.bare) return; // only its height is asked for
    this.tellAside([...story.length ? means : [], ...besides(this, name, terms.length)]);
    this.lightUp(at, place, now.rows ? terms.slice(0, TERMS.most) : all);
  }

  /** The terms of an element, as far as there is room for them. */
  summed(terms) {
    const { now } = this, { only = -1, count } = now.rows || {}, shown = terms.slice(0, this.most);
    const written = shown.map((term) => inBrackets(now.termText(term), terms.length > 1)).join(" + ");
    return written && `${written}${this.left(only < 0 ? terms.length : count, shown.length)} = `;
  }

  warned({ alarms = [] }) { return alarms.map((text) => h("div", { class: "nb-bad-text" }, text)); }

  /** What the number of an element means for the root. */
  means(place, name) {
    const { now, player } = this, { links, t } = player, { edge, sent_name: sent } = now.step;
    const shown = now.sent.cells.length > 1 ? `${atom(name)}[${indexOf(place, now.sent.shape).join(", ")}]` : name;
    const ways = links.users(links.byId.get(edge)?.src).length > 1;
    return meaning(t, shown, rootOf(sent), now.sent.cells[place], ways).slice(0, 1).map((text) => h("div", {}, text));
  }

  /** Say in the drawer what the strip has no room for: it is as high in all steps as the one that says most. */
  tellAside(parts) { if (!this.bare) this.aside.replaceChildren(...parts); }

  lightUp(at, place, terms) {
    const { now, views } = this, factors = new Set(terms.map(([, f]) => f));
    const lit = at || this.pinned !== null || now.sent.cells.length > 1;
    const marks = !lit ? {} : { sent: new Set(at?.reached || [place]), factor: factors, product: factors,
      ...Object.fromEntries(now.partsOf().map((part) => [part, now.cellsOf(part, terms)])) };
    if (at && at.part !== "sent") marks[at.part] = new Set([at.cell]);
    for (const [part, view] of Object.entries(views)) view.light(marks[part] || new Set());
  }

  /** How many terms of a sum are written out, by the room that the tiles leave. */
  get most() {
    const lines = Math.max(1, Math.floor((this.tall + HEADS) / WORDS_HIGH) - 1), all = Object.values(this.views || {});
    const wide = ({ svg }) => Math.max(Number(svg.getAttribute("width")) + SIGN_WIDE, HEAD_WIDE);
    const free = this.wide - AROUND_PARTS - all.reduce((sum, view) => sum + wide(view), 0);
    const least = this.player.whole < TELEPHONE && this.frame.chain.length > 1 ? 1 : 2; // it has few lines there
    return Math.max(least, Math.min(TERMS.most, Math.floor(free / TERMS.wide) * lines));
  }

  /** "+ …" for the terms that are not written out, with their number where it is known. */
  left(all, written) {
    if (all >= 0 && all <= written) return "";
    return all < 0 ? " + …" : ` + … ${this.player.t("terms_left", { count: all - written })}`;
  }

  /** What the operation does with the elements that came. */
  story(step, name) {
    return step.story ? [h("div", { class: "nb-story-line" }, this.player.t(step.story, { name }))] : [];
  }

  /** The local derivatives of what came with respect to one element, of what is no product. */
  showLocal(place) {
    const { factor } = this.views;
    if (!this.now.rows || !factor || factor.place === place) return;
    const tile = this.now.localOf(place), { svg } = new TileView(tile, { name: this.player.t("local"),
      scale: LOCAL, ...this.room() });
    factor.svg.replaceWith(svg);
    this.views.factor = Object.assign(factor, { svg, place, rects: [...svg.querySelectorAll("rect")] });
  }

  /** What is said where no element can be written out from the tiles. */
  told(step, name) {
    const { t } = this.player, { element } = step, line = this.story(step, name);
    if (!element) return [h("div", { class: line.length ? "nb-soft" : "" }, t(step.told, { name: this.frame.title })),
      ...line];
    const { count = -1 } = element, some = element.terms.filter(([u]) => Number(u) !== 0);
    const used = (some.length ? some : element.terms).slice(0, this.most);
    const complete = count === element.terms.length && some.length <= used.length;
    const more = complete ? "" : this.left(count, used.length);
    const written = used.map((term) => inBrackets(term.map(asShown).join(" × "), used.length > 1)).join(" + ");
    return [
      h("div", { class: "nb-soft" }, t("element", { index: `${atom(name)}[${element.index.join(", ")}]` })),
      h("div", { class: "nb-equation-element" }, written && `${written}${more} = `, h("b", {}, asShown(element.sent))),
      ...line,
      element.count > 1 && !line.length && h("div", { class: "nb-soft" }, t("n_products", { count: element.count })),
    ].filter(Boolean);
  }

  // -- in motion --------------------------------------------------------------------------------
  /** While numbers travel along the edges: what came flies into the bar, meets the local derivative, and leaves. */
  progress(part) {
    const phase = part < ARRIVED ? 0 : part < MET ? 1 : part < SENT ? 2 : 3;
    const before = Number(this.element.dataset.phase ?? -1);
    if (phase === before || !this.frame?.chain) return;
    this.element.dataset.phase = phase;
    const step = this.frame.chain[this.chosen], comes = (at) => before < at && at <= phase; // a slow page skips phases
    if (step && comes(1)) fly(this, cameAlong(this), "upstream", true);
    if (step && comes(3)) fly(this, step.edge, "sent", false);
  }

  /** All cells are shown. */
  still() { delete this.element.dataset.phase; }

  // -- accumulation --------------------------------------------------------------------------------
  /** `.grad` before + what arrived = `.grad` after. */
  sum(frame) {
    const { t } = this.player, row = frame.ledger?.[frame.node];
    if (!row) return [this.remark(frame.caption)];
    this.views = {};
    const name = frame.subtitle, tile = (number) => this.tiles[number] || null;
    this.now = { whole: false, tiles: [row.before_tile, row.total_tile, row.after_tile].map(tile).filter(Boolean) };
    const none = this.plain(t("grad_before"), "", row.before);
    const parts = [
      row.before_tile === undefined ? none : this.cell("before", t("grad_before"), "", tile(row.before_tile)),
      this.sign(row.before === "None" ? "←" : "+"), this.cell("total", t("arrived_sum"), "", tile(row.total_tile)),
      this.sign("="), this.cell("after", t("now"), name, tile(row.after_tile)),
    ];
    const words = [...this.warned(frame), ...this.added(row, name)];
    return [this.parts(parts), h("div", { class: "nb-equation-words" }, ...words)];
  }

  /** The addition to `.grad`, written out for one element. */
  added(row, name) {
    const { stacks, t } = this.player, [before, came, now] = ["before", "total", "after"].map((part) =>
      this.tiles[row[`${part}_tile`]]);
    const largest = now && largestAt(now.cells);
    const whole = [before, came, now].every((tile) => tile && tile.norm === undefined);
    const index = whole && now.cells.length > 1 ? `${atom(name)}[${indexOf(largest, now.shape).join(", ")}]: ` : "";
    const [was, more, is] = whole ? [before, came, now].map(({ cells }) => shortNumber(cells[largest])) : [];
    const said = [whole && h("div", { class: "nb-equation-element" }, `${index}${was} + ${more} = `, h("b", {}, is)),
      !before && h("div", {}, t("adds_first", { name }))].filter(Boolean);
    const always = stacks.several ? [] : [h("div", {}, t("adds_up"))];
    if (said.length) this.tellAside(always);
    return said.length ? said : always;
  }
}
