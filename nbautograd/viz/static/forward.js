import { h } from "./dom.js";
import { emptyState } from "./history.js";
import { isGroup, Links, see } from "./links.js";
import { heading, pairs, rowIf } from "./panel.js";
import { smooth } from "./viewport.js";

const INFIX = "+−-×·/÷@"; // signs between two operands
const TAKEN = 500; // milliseconds for the inputs to reach an operation
const WIDE_TOKEN = 12; // limit of the characters of a value; a longer one moves as its shape

/**
 * The forward pass, which comes before step 0: its steps have negative numbers, from `first`, before which nothing has
 * run, to -1, the last operation. Step 0 is the whole graph before the backward pass.
 */
export class ForwardPass {
  constructor(player) {
    this.player = player;
    this.known = new Map(); // by view: its steps
    this.links = new Map(); // and the edges between its nodes
    const [frame] = player.history.frames, { forward = [] } = player.data.timeline;
    this.pass = (frame && frame.kind !== "created" && forward[frame.scene]) || { steps: [], cells: {} };
    this.cells = Object.assign({}, ...forward.map(({ cells }) => cells));
    this.parts = new Map(forward.flatMap(({ steps }, scene) =>
      steps.filter((step) => step.length > 2).map(([id, ...columns]) => [`${scene} ${id}`, columns])));
  }

  /** The operations in the order in which they ran, as the view draws them: a closed group is one step. */
  get steps() {
    const { groups, history } = this.player, number = groups.drawnFor(history.sceneAt(0));
    if (!this.known.has(number)) {
      const view = history.scenes[number], drawn = this.pass.steps.map(([id]) => see(view, id));
      this.known.set(number, drawn.filter((id, i) => view?.nodes[id] && id !== drawn[i - 1]));
    }
    return this.known.get(number);
  }

  /** The first step; 0 where nothing is known of the forward pass. */
  get first() { return this.steps.length ? -this.steps.length - 1 : 0; }

  /** The part of its line that an operation was called from. */
  columns(scene, id) { return this.parts.get(`${scene} ${id}`); }

  linksOf(view) {
    if (!this.links.has(view)) this.links.set(view, new Links(view));
    return this.links.get(view);
  }

  /** What has run by a step: everything else is yet to come. */
  state(index) {
    const { groups, history } = this.player, scene = history.sceneAt(0), view = groups.viewOf(scene);
    const links = this.linksOf(view), { steps } = this, done = steps.slice(0, index - this.first), node = done.at(-1);
    const future = new Set(steps.slice(done.length));
    for (const { src, dst, kind } of links.edges) if (kind === "result" && future.has(src)) future.add(dst);
    for (const { id, src, dst } of links.edges) if (future.has(src) || future.has(dst)) future.add(id);
    const given = links.users(node).filter(({ kind }) => kind === "result");
    const edges = [...links.makers(node), ...given].map(({ id }) => id), results = given.map(({ dst }) => dst);
    return { ...emptyState(index, scene), future, active: new Set(node ? [node, ...results, ...edges] : []),
      look: steps[0], frame: { ...this.frame(node, results, links), scene } };
  }

  frame(node, results, links) {
    const { t } = this.player, about = links.nodes[node];
    if (!about) return { kind: "forward", title: t("forward_start"), caption: t("forward_hint") };
    const used = [...new Set(links.makers(node).map(({ src }) => src))];
    const out = results.length ? results : [node];
    const named = (id) => [links.nodes[id].label || links.nodes[id].name, links.nodes[id].value || ""];
    const made = out.map(named);
    const group = isGroup(about), title = group ? about.symbol || about.name : about.name;
    const saved = about.kept?.length ? t("forward_saves", { saved: about.kept.join(", ") }) : "";
    return {
      kind: "forward", node, title, subtitle: group ? about.name : about.expression, where: about.where,
      caption: (group ? t("group_step", { name: title, what: about.name, n: about.members })
        : `${title}, ${about.expression || made[0][0]} → ${oneLine(made[0][1]) || "…"}`)
        + (saved && ` · ${saved}`),
      takes: used.map(named).filter(([, value]) => value), gives: made, saved, kept: about.kept || [], used, out,
    };
  }

  panel(frame) {
    const { equation, panel, t } = this.player;
    if (!frame.node) return [heading(frame.title), h("p", { class: "nb-hint" }, frame.caption), ...panel.listing(null)];
    const tiled = [...frame.used, ...frame.out].every((id) => this.tileOf(id)); // then the equation bar shows them
    return [
      heading(frame.title, frame.subtitle),
      ...(frame.where ? panel.listing(frame.where, frame.node) : []),
      equation.aside,
      h("dl", {}, ...rowIf(frame.takes.length && !tiled, t("forward_takes"), () => pairs(frame.takes, "=")),
        ...rowIf(frame.gives.length && !tiled, t("forward_gives"), () => pairs(frame.gives, "=")),
        ...rowIf(frame.kept.length, t("saves"), () => frame.kept.map((tensor) => h("div", {}, tensor)))),
    ];
  }

  tileOf(id) {
    const { links, tiles } = this.player, node = links.nodes[id];
    return isGroup(node) ? null : tiles.value(node.tile) || scalarTile(node);
  }

  /** What the equation bar shows: the values that the operation takes, and what it gives. */
  equation(bar, frame) {
    const { links, t } = this.player, about = links.nodes[frame.node];
    if (!about || isGroup(about)) return [bar.remark(frame.caption)];
    bar.views = {};
    bar.tellAside(frame.saved ? [h("div", {}, t("forward_dots"))] : []);
    bar.now = { whole: false, tiles: [...frame.used, ...frame.out].map((id) => this.tileOf(id)).filter(Boolean) };
    const cell = (role, id) => bar.cell("value", role, links.nodes[id].label || links.nodes[id].name,
      this.tileOf(id));
    const sign = about.symbol || about.name, between = frame.used.length === 2 && INFIX.includes(sign);
    const taken = frame.used.map((id, i) => [i > 0 && bar.sign(between ? sign : ","), cell("", id)]).flat();
    const gives = [bar.sign(between ? "=" : `${sign} →`), ...frame.out.map((id) => cell("", id))];
    return [h("div", { class: "nb-equation-parts" }, ...taken.filter(Boolean), ...gives),
      h("div", { class: "nb-equation-words" },
        h("div", { class: "nb-equation-element" }, frame.subtitle || frame.title),
        frame.saved ? h("div", {}, `${frame.saved}.`) : "")];
  }

  /** First what the operation takes goes along its edges, then what it gives is there. */
  animate(state) {
    const { links, playback, stage } = this.player, { frame } = state;
    const taken = links.makers(frame.node).filter(({ id }) => stage.part("edge", id));
    const given = links.users(frame.node).filter(({ kind }) => kind === "result");
    const later = new Set([...state.future, ...given.flatMap(({ id, dst }) => [id, dst])]);
    stage.paint({ ...state, future: later, active: new Set([...state.active].filter((id) => !later.has(id))) });
    playback.run(TAKEN / playback.speed, (part) => {
      stage.tokens.replaceChildren();
      for (const { id, src } of part < 1 ? taken : []) {
        const edge = stage.part("edge", id), value = links.nodes[src].value || links.nodes[src].name;
        const text = value.length > WIDE_TOKEN || value.includes("\n") ? links.nodes[src].shape || "" : value;
        if (text) stage.token(edge.getPointAtLength(edge.getTotalLength() * smooth(part)), text);
      }
    }, () => stage.settle(state));
  }

  /** Play it from its beginning. */
  play() {
    const { player } = this;
    player.playback.pause();
    player.go(this.first);
    player.playback.play();
  }
}

const oneLine = (text) => text.replace(/\s*\n\s*/g, " ");

/** A number that is written in the graph, such as a constant, as a tile. */
function scalarTile({ name, value }) {
  const number = Number(value || name);
  return Number.isFinite(number) ? { shape: [], columns: 1, cells: [number] } : null;
}
