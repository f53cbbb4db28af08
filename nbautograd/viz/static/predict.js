import { Arithmetic, isRight } from "./answer.js";
import { indexOf, largestAt } from "./cells.js";
import { Chain, PRODUCTS, SIGNS } from "./chain.js";
import { button, h, press } from "./dom.js";
import { atom, formula, lastName, rootOf } from "./formula.js";
import { isGroup, see } from "./links.js";
import { shortNumber } from "./numbers.js";
import { largestOf } from "./tile.js";

const HINTS = 2; // upstream and local; after one more wrong answer, the gradient itself is shown

/**
 * Predict, then see: the learner types each gradient before it is shown. What is not answered yet is taken out of the
 * state that the player shows, so that no part of it can tell.
 */
export class Predict {
  constructor(player) {
    const { t } = (this.player = player);
    this.on = false;
    this.answers = new Map(); // by question: the number of wrong answers, and true if done
    this.asked = new Map(); // by the number of a frame: its questions
    this.floor = 0; // the last step seen before
    this.message = "";
    this.resumes = false; // true if the player continues once the step is complete
    this.button = button("ask", t("ask"), () => this.toggle(), "?");
    press(this.button, false);
    this.score = h("span", { class: "nb-score", hidden: "" });
    this.field = h("input", { class: "nb-answer", type: "text", inputmode: "text", autocomplete: "off",
      spellcheck: "false", oninput: () => this.say("") });
    this.feedback = h("div", { class: "nb-feedback", role: "status" });
  }

  // -- what is asked --------------------------------------------------------------------------------------------------
  /** The questions of a frame: an element of each gradient that its node sends. */
  questions(index) {
    if (!this.asked.has(index)) this.asked.set(index, this.made(index));
    return this.asked.get(index);
  }

  made(index) {
    const frame = this.player.history.frames[index - 1], { tiles = [] } = this.player.data.timeline;
    if (frame?.kind !== "op") return [];
    const root = rootOf(frame.receives?.[0]?.[0] ?? "");
    return Object.entries(frame.tiles || {}).flatMap(([edge, number]) => {
      const tile = tiles[number], step = frame.chain?.find((one) => one.edge === edge);
      if ((frame.received || []).includes(edge) || !tile || (tile.block && !step?.element)) return [];
      const chosen = tile.block ? null : largestAt(tile.cells);
      const place = tile.block ? step.element.index : indexOf(chosen, tile.shape);
      const value = tile.block ? step.element.sent.replace(/\.$/, "") : tile.cells[chosen];
      const name = step ? lastName(step.sent_name) : this.nameOf(frame.scene, edge);
      const shown = `∂${root}/∂${atom(name)}${place.length ? `[${place.join(", ")}]` : ""}${this.way(frame, edge)}`;
      return [{ id: `${index} ${edge}`, index, edge, step, chosen, value, name: shown, 
        upstream: this.came(frame, step) }];
    });
  }

  /** The tile of what the node received. */
  came({ received = [], tiles = {} }, step) {
    return this.player.data.timeline.tiles[step?.upstream ?? tiles[received[0]]] || null;
  }

  /** Of a gradient that is only one of several that are summed: by which way it comes. */
  way(frame, edge) {
    const { history, t } = this.player, { edges } = history.scenes[frame.scene];
    const source = edges.find(([id]) => id === edge)?.[1];
    const flows = edges.filter(([, src, , kind]) => kind === "flow" && src === source);
    return flows.length > 1 ? ` (${t("via", { name: lastName(frame.receives[0][0]) })})` : "";
  }

  nameOf(scene, edge) {
    const { edges, nodes } = this.player.history.scenes[scene];
    const source = edges.find(([id]) => id === edge)?.[1];
    return nodes[source]?.label || nodes[source]?.name || "…";
  }

  /** Those of a frame that have no answer yet; what happens inside of a folded group is not asked. */
  open(index) {
    if (!this.on || index <= this.floor) return [];
    const { groups, history } = this.player, frame = history.frames[index - 1];
    const open = this.questions(index).filter(({ id }) => !this.answers.get(id)?.done);
    const view = open.length && groups.viewOf(frame.scene);
    return open.length && !isGroup(view?.nodes?.[see(view, frame.node)]) ? open : [];
  }

  /** Whether something that the recording knows must not be shown yet. */
  get hides() { return this.on && this.player.history.frames.some((_, i) => this.open(i + 1).length > 0); }

  /** The step that is shown where one wants to go to another: no further than the first that is not answered. */
  limit(wanted) {
    for (let index = this.floor + 1; this.on && index <= wanted; index++) if (this.open(index).length) return index;
    return wanted;
  }

  // -- what is hidden -------------------------------------------------------------------------------------------------
  /** The state without what is asked. */
  mask(state, view) {
    if (!this.on || state.index < 0) return state;
    const open = this.open(state.index), hidden = new Set(open.map(({ edge }) => see(view, edge)));
    if (!open.length) return { ...state, pending: "?" };
    const { history, t } = this.player, before = history.at(state.index - 1, view, t);
    const former = before.scene === state.scene ? before : { ...before, leaves: new Map(), ledger: new Map() };
    const left = (all) => all.filter(([id]) => !hidden.has(id));
    const { frame } = state, own = (name) => Object.fromEntries(left(Object.entries(frame[name] || {})));
    const { kind, scene, backward, title, subtitle, node, where, source, saved, received, receives } = frame;
    return {
      ...state, pending: "?", asked: see(view, open[0].edge),
      active: new Set([...state.active].filter((id) => !hidden.has(id))),
      labels: new Map(left([...state.labels])), sizes: new Map(left([...state.sizes])),
      tiles: new Map(left([...state.tiles])),
      leaves: former.leaves, ledger: former.ledger, ran: former.ran, bad: former.bad, freed: former.freed,
      frame: { kind, scene, backward, title, subtitle, node, where, source, saved, received, receives, asks: open[0],
        active: (frame.active || []).filter((id) => !hidden.has(id)), labels: own("labels"), sizes: own("sizes"),
        tiles: own("tiles"), caption: t("ask_caption", { name: open[0].name }) },
    };
  }

  /** What the line below the drawing says: how the answer was, then the step. */
  told(text, state) {
    if (this.on && !state.frame) return this.player.t("ask_hint");
    const score = this.finished(state) && this.scoreOf(state.frame.backward).text;
    return [!state.frame?.asks && this.message, score && `${score}.`, text].filter(Boolean).join(" ");
  }

  // -- the equation bar -----------------------------------------------------------------------------------------------
  /** What the equation bar shows while something is asked; else nothing. */
  content(bar, frame) {
    const { t } = this.player, question = frame?.asks;
    if (this.on && !frame) return [bar.remark(t("ask_hint"))];
    if (!question) return null;
    const { step } = question, wrong = this.answers.get(question.id)?.wrong || 0;
    const factors = PRODUCTS.includes(step?.kind);
    bar.views = {};
    const tiles = [question.upstream, bar.tiles[step?.factor]].filter(Boolean);
    bar.now = { whole: false, tiles }; // hide elements: the bar would show the answer
    const upstream = wrong > 0
      ? bar.cell("upstream", t("upstream"), step?.upstream_name ?? frame.receives?.[0]?.[0] ?? "", question.upstream)
      : this.closed("upstream", t("upstream"));
    const sent = this.closed("sent", "", question.name);
    const parts = factors
      ? this.factors(bar, step, upstream, wrong > 1, sent) : [upstream, bar.sign("→"), sent];
    this.light(bar, question);
    return [h("div", { class: "nb-equation-parts" }, ...parts), this.words(frame, question, wrong)];
  }

  factors(bar, step, upstream, opened, sent) {
    const { t } = this.player, [from, to] = [lastName(step.upstream_name), lastName(step.sent_name)];
    const local = opened
      ? bar.cell("factor", t("local"), `∂${atom(from)}/∂${atom(to)}`, bar.tiles[step.factor], step.local)
      : this.closed("factor", t("local"));
    const sign = bar.sign(SIGNS[step.kind] || "×");
    const sums = opened && step.summed?.length ? [bar.sign(`Σ dim ${step.summed.map(([dim]) => dim).join(", ")}`)] : [];
    return [...(step.kind === "matrix" && step.left ? [local, sign, upstream] : [upstream, sign, local]), ...sums,
      bar.sign("="), sent];
  }

  closed(part, role, name = "") {
    return h("div", { class: `nb-equation-cell nb-closed nb-is-${part}` },
      h("div", { class: "nb-equation-head" }, h("span", { class: "nb-soft" }, role), h("b", {}, name)),
      h("div", { class: "nb-equation-sub" }), h("div", { class: "nb-equation-tile" }, "?"));
  }

  /** Mark what the element is made of, in the cells that are open. */
  light(bar, { step, chosen }) {
    if (!step || chosen === null) return;
    const terms = new Chain(step, bar.tiles).terms(chosen) || [];
    for (const [part, column] of [["upstream", 0], ["factor", 1]]) {
      bar.views[part]?.light(new Set(terms.map((term) => term[column])));
    }
  }

  /** Where the answer is typed, and what is said of it. */
  words(frame, { name, step }, wrong) {
    const { t } = this.player, hint = ["ask_none", "ask_upstream", "ask_local"][Math.min(wrong, HINTS)];
    const equations = wrong > 1 && !PRODUCTS.includes(step?.kind) && this.formulas();
    const action = (kind, label, onclick) =>
      h("button", { type: "button", class: `nb-button nb-${kind}`, onclick }, label);
    this.field.setAttribute("aria-label", t("ask_caption", { name }));
    this.field.placeholder = t("ask_type");
    return h("div", { class: "nb-equation-words nb-asking" },
      h("div", { class: "nb-question" }, h("b", {}, `${name} =`), this.field,
        action("check", t("ask_check"), () => this.check()), action("skip", t("ask_skip"), () => this.solve(true))),
      this.feedback, equations || h("div", { class: "nb-soft" }, t(hint, { title: frame.title })));
  }

  /** The formula of what is asked, where nothing else can be said of the local derivative. */
  formulas() {
    const { history, index } = this.player, { equations = [], tiles = {}, received = [] } = history.frames[index - 1];
    const edges = Object.keys(tiles).filter((edge) => !received.includes(edge));
    const { marks } = equations[edges.indexOf(this.now.edge)] || equations[0] || {};
    return marks && h("div", {}, formula(marks));
  }

  // -- answering ------------------------------------------------------------------------------------------------------
  get now() { return this.open(this.player.index)[0] || null; }

  say(message) {
    this.message = message;
    this.feedback.textContent = message;
  }

  /** A key in the field; whether it is used up. */
  key(event) {
    if (event.isComposing) return false;
    const empty = !this.field.value, { player } = this;
    const actions = { Enter: () => this.check(), Escape: () => player.root.focus({ preventScroll: true }),
      ...(empty && { ArrowLeft: () => player.step(player.backward()), "?": () => this.toggle() }) };
    if (!Object.hasOwn(actions, event.key)) return false;
    actions[event.key]();
    return true;
  }

  check() {
    const { now, player } = this, { t } = player, typed = this.field.value.trim();
    if (!now || !typed) { this.focus(); return; }
    const number = new Arithmetic(typed).value();
    if (number === null) {
      this.say(t("ask_unreadable"));
      this.focus();
      return;
    }
    const scale = now.upstream ? largestOf(now.upstream) : 1;
    if (isRight(number, now.value, scale)) { this.solve(false); return; }
    const answer = this.answers.get(now.id) || { wrong: 0, done: false };
    answer.wrong += 1;
    this.answers.set(now.id, answer);
    if (answer.wrong > HINTS) { this.solve(true); return; }
    this.say(t("ask_wrong", { value: typed }));
    player.equation.show(player.state());
    this.field.select();
    this.focus();
  }

  /** The answer is known: it runs along its edge, and the step goes on. */
  solve(shown) {
    const { now, player } = this, { t } = player;
    if (!now) return;
    const before = player.state(), { wrong = 0 } = this.answers.get(now.id) || {};
    this.answers.set(now.id, { wrong, done: true, shown });
    this.field.value = "";
    this.say(t(shown ? "ask_shown" : "ask_right", { name: now.name, value: shortNumber(now.value) }));
    const state = player.state(), frame = player.history.frames[now.index - 1];
    const view = player.groups.viewOf(frame.scene), edge = see(view, now.edge);
    player.equation.chosen = Math.max(frame.chain?.findIndex((step) => step.edge === now.edge) ?? 0, 0);
    player.tell(state);
    this.showScore();
    player.playback.halt();
    if (player.reduced.matches || !player.stage.part("flow", edge)) player.stage.settle(state);
    else player.playback.animate({ ...state, frame: { ...state.frame, active: [edge], received: [] } }, before);
    if (this.now) { this.focus(); return; }
    player.root.focus({ preventScroll: true });
    if (this.resumes) player.playback.play();
    this.resumes = false;
  }

  /** A step has come into view. */
  arrive() {
    const { playback, root } = this.player;
    this.showScore();
    if (!this.now) return;
    if (playback.playing) {
      playback.pause();
      this.resumes = true;
    }
    if (root.contains(document.activeElement)) this.focus();
  }

  /** One wants to go on without an answer. */
  insist() {
    this.say(this.player.t("ask_first"));
    this.focus();
  }

  focus() { this.field.focus({ preventScroll: true }); }

  // -- the score ------------------------------------------------------------------------------------------------------
  /** Of one pass: how many were asked, how many were right at once, and what had to be shown. */
  scoreOf(backward) {
    const { frames } = this.player.history, { t } = this.player;
    const all = frames.flatMap((frame, i) => (frame.backward === backward ? this.questions(i + 1) : []));
    const done = all.filter(({ id }) => this.answers.get(id)?.done), about = ({ id }) => this.answers.get(id);
    const right = done.filter((one) => !about(one).wrong && !about(one).shown).length;
    const text = t("score", { right, count: done.length });
    return { right, count: done.length, text, missed: done.filter((one) => about(one).wrong || about(one).shown) };
  }

  showScore() {
    if (!this.on) return;
    const { history, index } = this.player, frame = history.frames[Math.max(index, 1) - 1];
    const { right, count, text } = this.scoreOf(frame?.backward);
    this.score.textContent = `${right}/${count}`;
    this.score.title = text;
    this.score.setAttribute("aria-label", text);
  }

  /** Whether this is the last step of a pass in which something was asked. */
  finished({ frame, index }) {
    const next = this.player.history.frames[index];
    const last = this.on && !!frame && !frame.asks && next?.backward !== frame.backward;
    return last && this.scoreOf(frame.backward).count > 0;
  }

  /** How the pass went, in the place of the bar's words. */
  summary(parts, state) {
    if (!this.finished(state)) return parts;
    const { text, missed } = this.scoreOf(state.frame.backward), { t } = this.player;
    const line = ({ name, value, id }) => `${name} = ${shortNumber(value)}`
      + (this.answers.get(id).wrong ? ` (${t("ask_tries", { count: this.answers.get(id).wrong })})` : "");
    const card = h("div", { class: "nb-equation-words" }, h("div", { class: "nb-question" }, h("b", {}, text),
      h("button", { type: "button", class: "nb-button nb-again", onclick: () => this.start(0) }, t("ask_again"))),
    missed.length > 0 && h("div", { class: "nb-soft" }, t("ask_missed", { list: missed.map(line).join(", ") })));
    return [...parts.filter((part) => !part.classList.contains("nb-equation-words")), card];
  }

  // -- on and off -----------------------------------------------------------------------------------------------------
  toggle() {
    const { player } = this;
    if (!this.on) { this.start(player.index >= player.last ? 0 : player.index); return; }
    this.turn(false);
    player.resize(); // the drawing gets the room of a question
    player.again();
    player.root.focus({ preventScroll: true });
  }

  /** Ask from the beginning, or for what comes after the step that is shown first. */
  begin(index) {
    this.floor = index;
    this.turn(true);
  }

  /** Ask anew for what comes after a step. */
  start(index) {
    const { player } = this;
    player.playback.pause();
    this.answers.clear();
    this.floor = Math.max(index, 0);
    this.turn(true);
    player.resize();
    player.go(index);
    player.root.focus({ preventScroll: true });
  }

  turn(on) {
    this.on = on;
    this.message = "";
    this.resumes = false;
    press(this.button, on);
    this.player.equation.element.classList.toggle("nb-asks", on); // each step reserves the room of a question
    this.score.hidden = !on;
  }
}
