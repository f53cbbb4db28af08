import { button, choice, h, icon, press } from "./dom.js";
import { bin, operationsOf, SIZED_FROM, sizeLegend } from "./sizes.js";
import { Track } from "./timeline.js";

const SPEEDS = [0.25, 0.5, 1, 2, 4];
export const CLOSER = 1.25, FURTHER = 0.8; // the zoom factors of buttons and keys
const CLASSES = { in: "zoom-in", out: "zoom-out" }; // controls whose name differs from their icon

/** The controls below the picture, which go through the pass; and the tools, which are in the drawer. */
export class Controls {
  constructor(player) {
    this.player = player;
    const { t } = player;
    this.count = h("span", { class: "nb-count" });
    this.play = this.button("play", t("play_key"), () => player.playback.toggle());
    this.slider = h("input", { type: "range", class: "nb-slider", min: 0, max: player.stops.length - 1, step: 1,
      value: 0, "aria-label": t("step_slider"),
      oninput: () => this.slide(Number(this.slider.value)) });
    this.track = new Track(player, this.slider);
    this.speeds = choice("", t("speed"), [...SPEEDS.map((x) => [x, `${x}×`, x === 1]), [0, t("wave")]],
      (value) => { Object.assign(player.playback, { speed: value || 1, waves: !value }); });
    this.loop = this.toggle("loop", t("loop"), () => (player.playback.loops = !player.playback.loops));
    this.repeats = player.groups.folds && this.toggle("repeats", t("fold_all"), () => player.groups.toggleEverything());
    this.scaled = this.distinguishes();
    this.scale = this.toggle("scale", t("scale"), () => this.showScale(), this.scaled);
    this.legend = sizeLegend(t);
    this.legend.hidden = !this.scaled;
    this.transport = player.plays && this.movers();
    this.tools = this.toolbox();
  }

  /** Whether gradients are drawn as wide as they are large: of a large graph, whose gradients differ in that. */
  distinguishes() {
    const { frames, scenes } = this.player.history;
    if (!this.player.plays || !scenes.some((scene) => operationsOf(scene) >= SIZED_FROM)) return false;
    return new Set(frames.flatMap(({ sizes = {} }) => Object.values(sizes).map(bin))).size > 1;
  }

  button(name, label, onclick) { return button(CLASSES[name] || name, label, onclick, icon(name)); }

  /** A button that stays pressed; `action` returns whether it does now. */
  toggle(name, label, action, on = false) {
    const made = this.button(name, label, () => press(made, action()));
    press(made, on);
    return made;
  }

  /** Whether something is folded, on the button that opens it. */
  showFolds() {
    if (this.repeats) press(this.repeats, this.player.groups.folded);
  }

  slide(here) { this.goTo(here < 0 ? here : this.player.stops[here] ?? this.player.last); }

  goTo(index) {
    this.player.playback.pause();
    this.player.go(index);
  }

  /** Whether gradients are drawn by their sizes. */
  showScale() {
    this.scaled = !this.scaled;
    this.legend.hidden = !this.scaled;
    this.player.resize();
    return this.scaled;
  }

  /** What one moves through a pass with. */
  movers() {
    const { player } = this;
    return h("span", { class: "nb-transport", role: "group", "aria-label": player.t("playback") }, this.track.element,
      this.mover("back", () => player.backward()), this.play, this.mover("forward", () => player.forward()));
  }

  /** A button that goes to another step. */
  mover(name, to) { return this.button(name, this.player.t(name), () => this.player.step(to())); }

  /** What the drawer has for whoever looks for more: where one is, search, what is in view, how the pass plays. */
  toolbox() {
    const { player } = this, { plays, predict, search, stacks, t } = player;
    const row = (name, ...parts) => h("div", { class: "nb-tool", role: "group", "aria-label": t(name) }, ...parts);
    return h("div", { class: "nb-tools" },
      h("div", { class: "nb-head-line" }, h("strong", {}, t(plays ? "backward" : "graph")), " ", this.count),
      row("search", search.field, search.matches),
      row("view", this.button("out", t("out"), () => player.further()),
        this.button("in", t("in"), () => player.closer()),
        this.button("fit", t("fit"), () => player.stage.fit(true)), this.repeats, plays && this.scale,
        this.button("save", t("save"), () => player.save()), player.marks.button),
      this.legend,
      plays && row("playback", this.mover("first", () => player.beginning()), this.mover("last", () => player.last),
        this.loop, this.speeds, this.track.forward),
      plays && row("ask", predict.button, predict.score),
      stacks.several && row("compare", stacks.choice));
  }

  showPlaying(on) {
    const label = this.player.t(on ? "pause_key" : "play_key");
    this.play.replaceChildren(icon(on ? "pause" : "play"));
    this.play.setAttribute("aria-label", label);
    this.play.title = label;
    this.play.classList.toggle("nb-on", on);
  }

  /** Where the pass is: the count and the slider; `text` says it aloud. */
  showStep(here, label, text) {
    const { player } = this, { plays } = player, where = player.numbered(here);
    this.count.textContent = plays ? `${where} · ${label}` : player.data.label;
    this.count.title = this.count.textContent;
    this.track.show(here);
    this.slider.setAttribute("aria-valuetext", `${where}: ${text}`);
  }
}
