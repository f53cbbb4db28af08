const SPEEDS = [0.25, 0.5, 1, 2, 4];
const CLOSER = 1.25, FURTHER = 0.8; // by what the buttons and keys zoom
const CLASSES = { in: "zoom-in", out: "zoom-out" }; // what is called otherwise than its icon

/** The bar above the picture: search, what is in view, and the transport; and the legend below the picture. */
class Controls {
  constructor(player) {
    this.player = player;
    const { t } = player;
    this.count = h("span", { class: "nb-count" });
    this.play = this.button("play", t("play_key"), () => player.playback.toggle());
    this.slider = h("input", { type: "range", class: "nb-slider", min: 0, max: player.stops.length - 1, step: 1,
      value: 0, "aria-label": t("step_slider"),
      oninput: () => this.slide(Number(this.slider.value)) });
    this.track = new Track(player, this.slider);
    this.speeds = this.choice("", t("speed"), SPEEDS.map((x) => [x, `${x}×`, x === 1]),
      (value) => { player.playback.speed = value; });
    this.loop = this.toggle("loop", t("loop"), () => (player.playback.loops = !player.playback.loops));
    const { everything } = player.groups;
    this.repeats = everything && this.toggle("repeats", t(`${everything}_all`), () => player.groups.toggleEverything());
    this.scaled = player.history.scenes.some((scene) => operationsOf(scene) >= SIZED_FROM);
    this.scale = this.toggle("scale", t("scale"), () => this.showScale(), this.scaled);
    this.map = this.toggle("map", t("overview_toggle"), () => player.overview.toggle(), player.overview.on);
    this.legend = sizeLegend(t);
    this.legend.hidden = !this.scaled || !player.plays;
    this.bar = this.toolbar();
  }

  button(name, label, onclick) {
    const kind = `nb-button nb-${CLASSES[name] || name}`;
    const attributes = { type: "button", class: kind, "aria-label": label, title: label, onclick };
    return h("button", attributes, icon(name));
  }

  /** A button that stays pressed; `action` returns whether it does now. */
  toggle(name, label, action, on = false) {
    const show = (stays) => {
      button.setAttribute("aria-pressed", String(stays));
      button.classList.toggle("nb-pressed", stays);
    };
    const button = this.button(name, label, () => show(action()));
    show(on);
    return button;
  }

  /** A list to choose a number from: [value, text, whether it is chosen]. */
  choice(kind, label, options, action) {
    return h("select", { class: `nb-speed${kind}`, "aria-label": label, title: label,
      onchange: (event) => action(Number(event.target.value)) },
    ...options.map(([value, text, chosen]) => h("option", { value, selected: chosen && "" }, text)));
  }

  slide(here) { this.goTo(here < 0 ? here : this.player.stops[here] ?? this.player.last); }

  goTo(index) {
    this.player.playback.pause();
    this.player.go(index);
  }

  /** Whether gradients are drawn by their sizes: the legend takes a line of the drawing's window. */
  showScale() {
    this.scaled = !this.scaled;
    this.legend.hidden = !this.scaled;
    this.player.resize();
    return this.scaled;
  }

  toolbar() {
    const { player } = this, { plays, search, t } = player;
    return h("div", { class: "nb-bar", role: "group", "aria-label": t("playback") },
      h("span", { class: "nb-head-line" }, h("strong", {}, t(plays ? "backward" : "graph")), " ", this.count),
      h("span", { class: "nb-buttons nb-find" }, search.field, search.matches),
      h("span", { class: "nb-buttons", role: "group", "aria-label": t("view") }, plays && this.scale, this.repeats,
        this.map, this.button("out", t("out"), () => player.stage.zoom(FURTHER)),
        this.button("in", t("in"), () => player.stage.zoom(CLOSER)),
        this.button("fit", t("fit"), () => player.stage.fit(true)),
        this.button("save", t("save"), () => player.save()), player.marks.button),
      plays && this.transport());
  }

  transport() {
    const { player } = this, { t } = player;
    const step = (name, to) => this.button(name, t(name), () => player.step(to()));
    return h("span", { class: "nb-transport" }, h("span", { class: "nb-buttons" },
      step("first", () => player.beginning()), step("back", () => player.backward()), this.play,
      step("forward", () => player.forward()), step("last", () => player.last), this.loop),
    this.track.element, player.predict.button, player.predict.score, player.stacks.element, this.speeds);
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

