import { clamp } from "./dom.js";
import { paintSize } from "./sizes.js";

const RANK = 400, IN_ALL = 5000; // milliseconds: of a rank, and at most of all of them

/**
 * A pass seen at once: the gradient runs along all lines of one rank at the same time, each as wide as its gradient is
 * large. The step that is shown stays the one before the pass, until its end.
 */
export class Wave {
  constructor(player) { this.player = player; }

  /** The pass that comes next: the step before it, and its last one. */
  get pass() {
    const { player } = this, { index, last, passes } = player, at = player.rests || index >= last ? 0 : index;
    const ends = passes.map((_, i) => (i + 1 < passes.length ? passes[i + 1][1] - 1 : last));
    const i = Math.max(ends.findIndex((end) => end > at), 0);
    return [i ? passes[i][1] : 0, player.stops[player.position(ends[i])]];
  }

  /** All that a view draws, by how many lines lead from it to a result at most. */
  ranks() {
    const { links } = this.player, deep = new Map(), ranks = [];
    const put = (rank, id) => { (ranks[rank] ||= new Set()).add(id); };
    for (const id of links.order) {
      const rank = deep.get(id) || 0;
      put(rank, id);
      for (const edge of links.makers(id)) {
        if (edge.kind !== "constant") put(rank, edge.id);
        deep.set(edge.src, Math.max(deep.get(edge.src) || 0, rank + 1));
      }
    }
    return ranks;
  }

  play() {
    const { player } = this, { playback, stage, t } = player, [start, end] = this.pass;
    player.go(start);
    this.zooms = stage.overflows;
    if (this.zooms) stage.fit(true);
    player.say(t("wave_says"));
    Object.assign(this, { end, all: player.at(end), before: player.at(start), order: this.ranks() });
    this.ran = new Set([...this.all.active, ...this.all.done]);
    stage.waves = true;
    playback.timer = -1; // it plays
    this.rank(0);
  }

  /** One rank: its lines, then what they bring. */
  rank(k) {
    const { player } = this, { playback, stage } = player, ids = this.order[k];
    if (!ids) { this.finish(); return; }
    const active = new Set([...ids].filter((id) => this.ran.has(id)));
    const lines = [...active].filter((id) => stage.part("flow", id));
    const time = Math.min(RANK, IN_ALL / this.order.length);
    const moves = !player.reduced.matches;
    stage.paint(this.state(k, active), moves ? new Set(lines) : null);
    for (const id of lines) {
      stage.forget(id);
      paintSize(stage.part("flow", id), true, this.all.sizes.get(id), true);
    }
    playback.run(time, (part) => {
      for (const id of moves ? lines : []) stage.travelAlong(id, clamp(part, 0, 0.999), "");
    }, () => {
      stage.still();
      this.rank(k + 1);
    }, () => playback.playing);
  }

  /** Before the lines of a rank bring anything: all ranks before it are done. */
  state(k, active) {
    const { all, before, order, ran } = this, done = new Set(), leaves = new Map(before.leaves);
    for (const ids of order.slice(0, k)) for (const id of ids) if (ran.has(id)) done.add(id);
    for (const [id, leaf] of all.leaves) if (active.has(id) || done.has(id)) leaves.set(id, leaf);
    return { ...all, active, done, leaves, frame: null };
  }

  /** The step at its end, with the lines of the wave. */
  finish() {
    const { player } = this, { stage } = player, { zooms } = this;
    player.go(this.end);
    if (zooms) stage.fit(true);
    this.zooms = zooms;
    stage.waves = true;
    stage.settle(player.state());
  }

  /** Another step is shown, during the wave or after it. */
  stop() {
    const { playback, stage } = this.player;
    if (!stage.waves) return;
    stage.waves = false;
    stage.still();
    if (this.zooms) stage.fit();
    this.zooms = false;
    playback.pause();
  }
}
