import { addSums, isMixed } from "./folded_sums.js";
import { gradientBy } from "./formula.js";
import { isGroup, Links, see, seen } from "./links.js";

const RECEIVED = 6; // limit of the gradients listed in a group's step
const OF_A_PASS = ["done", "bad", "labels", "sizes", "tiles", "ran"]; // parts of a state that a new pass resets

const OF_GROUPS = ["op", "accumulate"]; // kinds of frames that are merged if they happen in one group

/** The state in which nothing has happened. */
export const emptyState = (index, scene) => ({
  index, scene, active: new Set(), done: new Set(), bad: new Set(), freed: new Set(), labels: new Map(),
  leaves: new Map(), ledger: new Map(), sizes: new Map(), tiles: new Map(), ran: new Map(), frame: null,
});

/**
 * What has happened after each number of steps; computed from the frames, never from the page. Frames name every
 * operation; a view in which some are folded into groups says for each what stands for it (`stands`), and shows what
 * happens in one group in succession as one step.
 */
export class History {
  constructor(timeline) {
    this.frames = timeline.frames;
    this.scenes = timeline.scenes;
    this.tiles = timeline.tiles || [];
    this.added = new Map(); // the numbers of tiles computed here
    const former = new Map(); // rows of the ledger mark only the new terms
    for (const frame of this.frames) {
      for (const [id, row] of Object.entries(frame.ledger || {})) {
        const place = `${frame.scene} ${frame.backward} ${id}`;
        const before = former.get(place), kept = row.kept || 0;
        for (const name of kept ? ["terms", "tiles"] : []) {
          row[name] = [...before[name].slice(0, kept), ...(row[name] || [])];
        }
        delete row.kept;
        former.set(place, { terms: row.terms, tiles: row.tiles || [] });
      }
    }
  }

  /** The `.grad` of leaves that have NaN or infinity, and why; nothing if all are finite. */
  wrong() {
    const frames = this.frames.filter(({ kind, alarms }) => kind === "accumulate" && alarms?.length);
    const [, numbers] = this.frames.find(({ kind, alarms }) => kind === "op" && alarms?.length)?.alarms || [];
    const why = [frames[0]?.alarms.join(" "), numbers].filter(Boolean).join("; ");
    return frames.length ? { names: [...new Set(frames.map(({ subtitle }) => subtitle))], why } : null;
  }

  sceneAt(index) {
    return this.frames.length ? this.frames[Math.max(index, 1) - 1].scene : 0;
  }

  /** Whether frame k and the next one belong to the step of one closed group of a view. */
  together(k, view) { return this.groupAt(k, view) !== "" && this.groupAt(k, view) === this.groupAt(k + 1, view); }

  /**
   * The closed group in whose step a frame is shown, if there is one. What is added to the `.grad` of a leaf beside the
   * group, or of a pile of them, while the group runs, belongs to the same step; else a pile has steps of its own.
   */
  groupAt(k, view) {
    const { backward, kind, node, scene } = this.frames[k - 1] || {}, own = see(view, node);
    if (!view || node === undefined || !OF_GROUPS.includes(kind)) return "";
    const name = (group) => `${scene} ${backward} ${group}`;
    const is = (id, what) => view.nodes[id]?.kind === what;
    if (is(own, "group")) return name(own);
    if (kind === "op") return "";
    const isLeaf = (frame) => frame?.kind === "accumulate" && !is(see(view, frame.node), "group");
    const near = (by) => {
      let at = k + by;
      while (isLeaf(this.frames[at - 1])) at += by;
      const frame = this.frames[at - 1], same = frame?.scene === scene && frame.backward === backward;
      return same && OF_GROUPS.includes(frame.kind) && see(view, frame.node);
    };
    const before = near(-1);
    if (before && is(before, "group") && before === near(1)) return name(before);
    return is(own, "pile") ? name(own) : "";
  }

  /** The first frame of the step that ends with, or holds, a frame. */
  beginning(index, view) {
    let first = index;
    while (first > 1 && this.together(first - 1, view)) first -= 1;
    return first;
  }

  /** After which frames the player stops: all but those that are followed by one of the same group. */
  stops(viewOf) {
    const found = [0];
    for (let k = 1; k <= this.frames.length; k++) {
      if (!this.together(k, viewOf(this.frames[k - 1].scene))) found.push(k);
    }
    return found;
  }

  /** The step that ends with a frame, as a view shows it. */
  step(index, view, t) {
    const frame = this.frames[index - 1];
    if (!frame || !view) return frame || null;
    const run = this.frames.slice(this.beginning(index, view) - 1, index);
    const shown = view.stands ? this.joined(frame, run, view) : frame;
    const node = view.nodes[see(view, frame.node)];
    const folded = isGroup(node) && OF_GROUPS.includes(frame.kind);
    return folded ? this.grouped(shown, frame, run, node, t) : shown;
  }

  /** Several frames as one, with what a view draws for each node and edge. */
  joined(frame, run, view) {
    const all = (name) => seen(view, run.flatMap((f) => f[name] || []));
    const entries = (name) => run.flatMap((f) => Object.entries(f[name] || {}));
    const keyed = (name) => Object.fromEntries(entries(name).map(([id, v]) => [see(view, id), v])
      .filter(([id]) => id && !isMixed(view, id)));
    const own = (name) => Object.fromEntries(entries(name).filter(([id]) => see(view, id) === id));
    return {
      ...frame, node: see(view, frame.node), active: all("active"), received: all("received"), bad: all("bad"),
      freed: all("freed"), labels: keyed("labels"), sizes: keyed("sizes"),
      tiles: keyed("tiles"), leaves: own("leaves"),
      ledger: Object.fromEntries(entries("ledger")), // includes leaves inside a group
      chain: (frame.chain || []).map((step) => Object.assign({}, step, { edge: see(view, step.edge) })),
      hooks: run.flatMap((f) => f.hooks || []).map(([id, text]) => [see(view, id), text]),
    };
  }

  /** What a group's step says; nothing of what happens inside. */
  grouped(shown, frame, run, node, t) {
    const ran = run.filter(({ kind }) => kind === "op").length, name = node.symbol || node.name;
    const filled = new Set(run.filter(({ kind }) => kind === "accumulate").map((f) => f.node)).size;
    const about = { name, what: node.name, n: ran, filled };
    const said = t(!ran ? "group_filled" : filled ? "group_both" : "group_step", about);
    return {
      ...shown, group: true, kind: ran ? "op" : frame.kind, title: name, subtitle: node.name,
      caption: frame.count ? frame.caption : said,
      notes: [...new Set(run.flatMap((f) => f.notes || []))], alarms: run.flatMap((f) => f.alarms || []),
      equations: undefined, chain: undefined, saved: "", words: "",
    };
  }

  /** What has come to a group and what it has sent, as the lines say it that lead from it and to it. */
  account({ frame, labels, tiles }, view) {
    const links = new Links(view), { active, node, receives } = frame;
    const told = (id) => labels.get(id) && (labels.get(id) !== "Σ" || tiles.get(id) >= 0);
    const known = ({ id, kind }) => kind !== "constant" && told(id);
    const lines = (all) => all.filter(known).slice(0, RECEIVED);
    const came = lines(links.users(node)), went = lines(links.makers(node).filter(({ id }) => active.includes(id)));
    const start = this.frames.find(({ kind, backward }) => kind === "start" && backward === frame.backward);
    const begun = [receives, start?.receives].map((list) => list?.[0]?.[0]);
    const gradient = begun.find((name) => name?.includes("/∂")) || "";
    const named = (line) => (line.kind === "result" ? links.nodes[line.dst].name : links.valueOf(line));
    return {
      received: came.map(({ id }) => id),
      tiles: Object.fromEntries([...came, ...went].map(({ id }) => [id, tiles.get(id)])),
      receives: came.map((line) => [gradientBy(gradient, named(line)), labels.get(line.id)]),
      sends: went.map((line) => [named(line), labels.get(line.id)]),
    };
  }

  /** The state after a number of steps, as a view shows it. */
  at(index, view, t) {
    const scene = this.sceneAt(index), nodes = view?.nodes || {};
    const freed = Object.entries(nodes).filter(([, node]) => node.freed).map(([id]) => id);
    const state = { ...emptyState(index, scene), freed: new Set(freed) };
    let joins = false;
    this.frames.slice(0, index).forEach((frame, i) => {
      if (frame.scene !== scene) return;
      const group = view && frame.kind === "accumulate" ? this.groupAt(i + 1, view) : "";
      const aside = group !== "" && !group.endsWith(` ${see(view, frame.node)}`);
      this.advance(state, frame, view, joins, aside);
      joins = this.together(i + 1, view);
      state.frame = frame;
    });
    if (state.frame) state.frame = this.step(index, view, t);
    addSums(state, this, index, view);
    if (state.frame?.group) Object.assign(state.frame, this.account(state, view));
    return state;
  }

  /** The number of a tile that was computed here. */
  addTile(key, tile) {
    if (!this.added.has(key)) this.added.set(key, this.tiles.push(tile) - 1);
    return this.added.get(key);
  }

  /** One frame further; `joins`: of the same step as the one before; `aside`: not what that step is about. */
  advance(state, frame, view, joins, aside = false) {
    if (!joins) {
      for (const id of state.active) state.done.add(id);
      state.active = new Set();
    }
    if (frame.kind === "start") for (const name of OF_A_PASS) state[name].clear();
    for (const id of seen(view, frame.active)) state[aside ? "done" : "active"].add(id);
    for (const id of seen(view, frame.bad)) state.bad.add(id);
    for (const id of seen(view, frame.freed)) if (!isGroup(view?.nodes?.[id])) state.freed.add(id);
    this.write(state, frame, view);
    if (frame.node && frame.kind !== "start") state.ran.set(see(view, frame.node), frame);
    for (const name of ["leaves", "ledger"]) {
      for (const [id, row] of Object.entries(frame[name] || {})) state[name].set(id, row);
    }
  }

  /** What stands on the edges of a frame, as text and as tiles. */
  write(state, { labels = {}, sizes = {}, tiles = {} }, view) {
    const put = (map, id, value) => { map.delete(id); map.set(id, value); }; // the last one comes last
    for (const [id, value] of Object.entries(labels)) {
      const line = see(view, id), mixed = isMixed(view, line);
      put(state.labels, line, mixed ? "" : value);
      put(state.tiles, line, mixed ? -1 : tiles[id] ?? -1);
    }
    for (const [id, value] of Object.entries(sizes)) put(state.sizes, see(view, id), value);
  }

  /** [number of the pass, its first step] of every pass. */
  passes() {
    const found = new Map();
    this.frames.forEach((frame, i) => { if (!found.has(frame.backward)) found.set(frame.backward, i + 1); });
    return [...found];
  }
}
