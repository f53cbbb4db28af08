import { Axis, roundTicks } from "./axes.js";
import { attach, clamp, fill, h, icon, s, TELEPHONE } from "./dom.js";
import { keyAttributes, leave, SPOKEN } from "./keys.js";
import { mount } from "./player.js";
import { commonPrefix, middleCut, numberOf, RidgeView, usedBins } from "./ridges.js";

const PLOT = { high: 150, top: 26, bottom: 126, left: 64, right: 172 }; // one plot, and room for the names of its lines
const INKS = ["leaf", "grad", "out", "teal", "size-4", "muted", "ochre", "indigo"];
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
const HEALTHY = [3e-4, 3e-3]; // share of an update, next to its weights
const NEAR = 14; // pixels from a line within which it is hovered
const APART = 14; // pixels between two names
const NAME_LETTER = 7.2; // pixels per letter of a name
const SETTLED = 160; // milliseconds without another step until its pass is shown

const nonFinite = (value) => (value === null || Number.isNaN(value) ? "NaN" : numberOf(value));

/** One plot of the lens: lines over the steps. */
class LensPlot {
  constructor(lens, { title, lines, band = null, form = "m", options = {} }) {
    Object.assign(this, { lens, title, lines, band, form, options });
    const rest = () => { this.drags = false; };
    this.svg = s("svg", { class: "nb-lens-plot", role: "img", "aria-label": title,
      onpointermove: (event) => this.point(event), onpointerup: rest, onpointercancel: rest,
      onpointerleave: () => { this.light(null); lens.hover(null); },
      onpointerdown: (event) => {
        this.svg.setPointerCapture(event.pointerId);
        this.drags = true;
        lens.select(this.at(event));
      } });
  }

  at({ clientX }) {
    const box = this.svg.getBoundingClientRect();
    return this.lens.nearest(clientX - box.left);
  }

  point(event) {
    const i = this.at(event), y = event.clientY - this.svg.getBoundingClientRect().top;
    if (this.drags) this.lens.select(i); else this.lens.hover(i);
    const away = ({ values }) => Math.abs((this.axis.y(values[i]) ?? Infinity) - y);
    const [closest] = this.lines.toSorted((a, b) => away(a) - away(b));
    this.light(this.lines.length > 1 && away(closest) < NEAR ? closest : null);
  }

  light(line) {
    if (this.lit === line) return;
    this.lit = line;
    this.svg.classList.toggle("nb-some-lit", !!line);
    for (const one of this.lines) {
      for (const part of one.parts) part.classList.toggle("nb-lit", one === line);
    }
    this.place();
    this.show(this.lens.shown);
  }

  draw() {
    const { lens, band, options } = this, { wide, right } = lens;
    const numbers = this.lines.flatMap(({ values }) => values);
    const least = (numbers.some(Number.isFinite) && band) || [];
    this.axis = new Axis(numbers, PLOT.top, PLOT.bottom, { ...options, least });
    attach(this.svg, { viewBox: `0 0 ${wide} ${PLOT.high}`, width: wide, height: PLOT.high });
    this.cursor = s("g", { class: "nb-lens-cursor" });
    const title = s("text", { class: "nb-lens-title", x: PLOT.left, y: 14 }, this.title);
    this.svg.replaceChildren(...(band ? this.healthy() : []), ...this.grid(wide - right), title,
      ...this.lines.flatMap((line) => this.line(line)), this.cursor);
    this.place();
  }

  healthy() {
    const { lens } = this, [low, high] = this.band, y = this.axis.y(high), height = this.axis.y(low) - y;
    const width = lens.wide - lens.right - PLOT.left, words = lens.t("healthy");
    return [s("rect", { class: "nb-lens-band", x: PLOT.left, y, width, height }),
      s("text", { x: PLOT.left + 4, y: y + height - 4 }, words)];
  }

  grid(end) {
    const ticks = this.axis.ticks.flatMap(([value, text]) => {
      const y = this.axis.y(value);
      return [s("path", { class: "nb-lens-grid", d: `M${PLOT.left} ${y.toFixed(1)}H${end}` }),
        s("text", { class: "nb-lens-tick", x: PLOT.left - 7, y: y + 4, "text-anchor": "end" }, text)];
    });
    const across = this.lens.stepTicks().map(([value, text]) => s("text", { class: "nb-lens-tick",
      x: this.lens.x(value), y: PLOT.bottom + 17, "text-anchor": "middle" }, text));
    return [...ticks, ...across];
  }

  /** A line, broken where a number is not finite, and a cross there. */
  line(line) {
    const { lens } = this, { steps } = lens.data;
    let d = "", pen = "M", points = 0;
    const crosses = [];
    line.values.forEach((value, i) => {
      const y = this.axis.y(value), x = lens.x(steps[i]).toFixed(1);
      if (y === null) {
        if (value !== null || line.bad?.has(i)) crosses.push(x);
        pen = "M";
        return;
      }
      d += `${pen}${x} ${y.toFixed(1)}`;
      pen = "L";
      points += 1;
    });
    const path = s("path", { class: "nb-lens-line", d: points === 1 ? `${d}h0.1` : d, "stroke-dasharray": line.dash });
    const name = s("text", { class: "nb-lens-name", x: lens.wide - lens.right + 10 });
    for (const part of [path, name]) part.style.setProperty("--nb-ink", line.ink);
    line.parts = [path, name];
    for (const part of line.parts) part.classList.toggle("nb-lit", line === this.lit);
    line.name_ = name;
    const some = crosses.length > 30 ? crosses.filter((x, i) => i % Math.ceil(crosses.length / 30) === 0) : crosses;
    const marks = some.map((x) => s("path", { class: "nb-lens-bad", d: `M${x - 4} ${PLOT.top - 4}l8 8m0 -8l-8 8` }));
    return [path, name, ...marks];
  }

  /** Names beside the ends of their lines: of many that are close together, those for which there is room. */
  place() {
    const { lines, lit } = this;
    const ends = lines.map((line) => [this.axis.y(line.values.findLast(Number.isFinite)), line])
      .filter(([y]) => y !== null);
    const rank = ([, line]) => (line === lit ? 0 : line === lines[0] ? 1 : line === lines.at(-1) ? 2 : 3);
    const many = ends.length * APART > PLOT.high - 10, taken = [];
    for (const one of lines) one.name_.style.display = "none";
    const order = many ? ends.toSorted((a, b) => rank(a) - rank(b)) : ends.toSorted((a, b) => a[0] - b[0]);
    let floor = -Infinity;
    order.forEach(([y, line], i) => {
      let at = y;
      if (!many) {
        at = Math.max(y, floor + APART);
        at = Math.min(at, PLOT.high - 6 - (order.length - 1 - i) * APART);
        floor = at;
      } else if (taken.some((other) => Math.abs(other - y) < APART)) return;
      taken.push(at);
      line.name_.style.display = "";
      line.name_.setAttribute("y", at + 4);
    });
  }

  /** The numbers of one step: at the names, and as dots on the lines. */
  show(i) {
    const { lens } = this, x = lens.x(lens.data.steps[i]), few = this.lines.length <= INKS.length;
    this.cursor.replaceChildren(s("path", { d: `M${x} ${PLOT.top - 4}V${PLOT.bottom + 4}` }));
    const room = Math.floor((lens.right - 10) / NAME_LETTER);
    for (const line of this.lines) {
      const y = this.axis.y(line.values[i]), value = line.values[i];
      const text = line.bad?.has(i) && !Number.isFinite(value) ? nonFinite(value) : numberOf(value, this.form);
      const named = line.short && `${middleCut(line.short, Math.max(room - text.length - 1, 3))} `;
      line.name_.textContent = `${named ?? ""}${text}`;
      line.name_.append(s("title", {}, `${line.name || this.title}: ${text}`));
      if (y === null || (!few && line !== this.lit)) continue;
      const dot = s("circle", { cx: x, cy: y, r: 3.5 });
      dot.style.setProperty("--nb-ink", line.ink);
      this.cursor.append(dot);
    }
  }
}

/** A training run to be explored: hover for the values of a step, click for its pass, which plays below. */
class Lens {
  constructor(place, data, hooks) {
    const texts = data.texts || {};
    Object.assign(this, { data, hooks, index: Math.max(data.steps.length - 1, 0), pointed: null });
    if (!hooks.onpass) data.recorded = data.recorded.filter((step) => data.passes[step]); // a page has room for some
    const prefix = commonPrefix(data.leaves.map(({ name }) => name));
    for (const leaf of data.leaves) leaf.short = leaf.name.slice(prefix.length);
    this.t = (key, places) => fill(texts, key, places);
    if (data.theme === "light" || data.theme === "dark") place.dataset.nbTheme = data.theme;
    this.build(place, texts);
    if (!data.steps.length) return;
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(this.root);
    this.resized();
    this.tell();
  }

  /** The step that is shown: the one that is pointed at, else the one that was chosen. */
  get shown() { return this.pointed ?? this.index; }

  build(place, texts) {
    const { data, t } = this, { leaves } = data, several = leaves.length > INKS.length;
    const numbers = (values) => values.map((value) =>
      (typeof value === "string" ? Number(value.replace("inf", "Infinity")) : value));
    const part = (i) => Math.round((100 * i) / (leaves.length - 1)); // position between the first and the last layer
    const look = (i) => (several
      ? { ink: `color-mix(in oklab, var(--nb-grad) ${part(i)}%, var(--nb-leaf))`, dash: "" }
      : { ink: `var(--nb-${INKS[i]})`, dash: DASHES[i % DASHES.length] });
    const lines = (what) => leaves.map((leaf, i) => ({ name: leaf.name, short: leaf.short, ...look(i),
      values: numbers(leaf[what]), bad: new Set(what === "norms" ? leaf.bad.map(([at]) => at) : []) }));
    const losses = numbers(data.losses), bad = new Set(losses.keys().filter((i) => losses[i] === null));
    this.plots = [new LensPlot(this, { title: t("loss_axis"), form: "",
      lines: [{ name: "", values: losses, ink: "var(--nb-fg)", dash: "", bad }] })];
    if (leaves.length) {
      this.plots.push(new LensPlot(this, { title: t("norm_axis"), lines: lines("norms") }));
      this.plots.push(new LensPlot(this, { title: t("ratio_axis"), lines: lines("ratios"), band: HEALTHY,
        options: { log: true } }));
    }
    this.inks = leaves.map((leaf, i) => look(i).ink);
    this.grid = h("div", { class: "nb-ridge-grid" });
    this.count = h("span", { class: "nb-count" });
    this.slider = h("input", { type: "range", class: "nb-slider", min: 0, step: 1,
      max: Math.max(data.steps.length - 1, 0), "aria-label": t("lens_step"),
      oninput: () => this.select(Number(this.slider.value)) });
    this.marks = s("svg", { class: "nb-lens-marks", height: 12, "aria-hidden": "true" });
    this.note = h("p", { class: "nb-lens-note", "aria-live": "polite" });
    this.stage = h("div", { class: "nb-lens-pass" });
    const move = (name, label, by) => h("button", { type: "button", class: "nb-button",
      "aria-label": label, title: label, onclick: () => by() }, icon(name));
    this.root = h("div", { class: "nb-player nb-lens", role: "group", tabindex: 0, "aria-label": data.label,
      "aria-keyshortcuts": Object.keys(this.keys()).map((key) => SPOKEN[key] ?? key).join(" "),
      lang: texts.lang, ...keyAttributes((event) => this.key(event)) },
    h("div", { class: "nb-bar" }, h("span", { class: "nb-head-line" }, h("strong", {}, t("training")), " ", this.count),
      h("span", { class: "nb-transport" }, h("span", { class: "nb-buttons" },
        move("first", t("lens_previous"), () => this.toRecorded(-1)), move("back", t("lens_back"), () => this.move(-1)),
        move("forward", t("lens_forward"), () => this.move(1)), move("last", t("lens_next"), () => this.toRecorded(1))),
      this.slider)),
    ...this.plots.map(({ svg }) => svg), this.marks,
    leaves.length > 0 && h("h4", { class: "nb-lens-head" }, t("ridges_head"),
      h("span", { class: "nb-soft" }, ` ${t("ridges_about")}`)),
    this.grid, this.note, this.stage);
    place.replaceChildren(this.root);
  }

  resized() {
    const wide = Math.round(this.root.clientWidth);
    if (!wide || wide === this.wide) return;
    this.wide = wide;
    this.right = wide < TELEPHONE ? 124 : PLOT.right;
    for (const plot of this.plots) plot.draw();
    this.drawRidges();
    this.drawMarks();
    this.show();
  }

  /** As many beside each other as there is room for. */
  drawRidges() {
    const { bins, leaves, steps } = this.data, { inks, t } = this, range = usedBins(leaves, bins);
    const room = this.wide - 28;
    const columns = Math.max(2, Math.floor(room / 230)), wide = Math.min(Math.floor(room / columns) - 10, 300);
    this.ridges = leaves.map((leaf, i) => new RidgeView(leaf, { steps, bins, range, ink: inks[i], t, wide }));
    this.grid.style.setProperty("--nb-columns", columns);
    this.grid.replaceChildren(...this.ridges.map(({ svg }) => svg));
  }

  x(step) {
    const { steps } = this.data, span = Math.max(steps.at(-1) - steps[0], 1);
    return PLOT.left + 4 + ((step - steps[0]) / span) * (this.wide - this.right - PLOT.left - 8);
  }

  stepTicks() {
    const { steps } = this.data;
    if (steps.length < 2) return [[steps[0], `${this.t("steps_axis")} ${steps[0]}`]];
    const every = roundTicks(steps[0], steps.at(-1), this.wide < TELEPHONE ? 3 : 6);
    const ticks = every.filter(([value]) => value % 1 === 0);
    return ticks.map(([value], i) => [value, i ? `${value}` : `${this.t("steps_axis")} ${value}`]);
  }

  nearest(x) {
    const { steps } = this.data;
    let best = 0;
    for (let i = 1; i < steps.length; i++) {
      if (Math.abs(this.x(steps[i]) - x) < Math.abs(this.x(steps[best]) - x)) best = i;
    }
    return best;
  }

  /** Dots below the plots at the steps whose pass can be played. */
  drawMarks() {
    const { outstanding, recorded } = this.data, leaps = new Set(outstanding);
    this.marks.setAttribute("width", this.wide);
    this.marks.replaceChildren(...recorded.map((step) => s("circle", { cx: this.x(step), cy: 6,
      r: leaps.has(step) ? 4 : 2.5, "data-step": step, class: leaps.has(step) ? "nb-lens-leap" : "",
      onclick: () => this.select(this.data.steps.indexOf(step)) },
    s("title", {}, this.t("lens_recorded", { n: step })))));
  }

  hover(i) {
    if (i === this.pointed) return;
    this.pointed = i;
    this.show();
  }

  show() {
    const i = this.shown;
    for (const plot of this.plots) plot.show(i);
    for (const ridge of this.ridges) ridge.show(i);
    const { losses, steps } = this.data;
    const about = { index: steps[i], last: steps.at(-1), loss: losses[i] === null ? "NaN" : numberOf(losses[i], "") };
    this.count.textContent = this.t("lens_at", about);
    this.slider.value = this.index;
    this.slider.style.setProperty("--nb-part", `${(100 * this.index) / Math.max(steps.length - 1, 1)}%`);
    this.slider.setAttribute("aria-valuetext", this.count.textContent);
    this.root.dataset.step = steps[i];
  }

  /** Choose a step; its pass is shown as soon as no further one is chosen. */
  select(i) {
    const to = clamp(i, 0, this.data.steps.length - 1);
    this.pointed = null;
    if (to !== this.index || !this.player) {
      this.index = to;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.load(), SETTLED);
    }
    this.show();
  }

  move(by) { this.select(this.index + by); }

  /** To the next step whose pass was recorded, or to the one before. */
  toRecorded(way) {
    const { recorded, steps } = this.data, here = steps[this.index];
    const to = way > 0 ? recorded.find((step) => step > here) : recorded.findLast((step) => step < here);
    if (steps.includes(to)) this.select(steps.indexOf(to));
  }

  /** What each key does. */
  keys() {
    const last = this.data.steps.length - 1;
    return {
      ArrowLeft: () => this.move(-1), ArrowRight: () => this.move(1), Home: () => this.select(0),
      End: () => this.select(last), PageUp: () => this.toRecorded(-1), PageDown: () => this.toRecorded(1),
      "[": () => this.lightLeaf(-1), "]": () => this.lightLeaf(1), Enter: () => this.load(),
      Escape: () => leave(this.root),
      " ": () => { this.load(); this.player?.play(); },
    };
  }

  key(event) {
    const moves = this.keys();
    const confirms = event.target.tagName === "BUTTON" && [" ", "Enter"].includes(event.key);
    if (confirms || !Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    moves[event.key]();
  }

  /** The next leaf's lines stand out, with their names and numbers. */
  lightLeaf(by) {
    const count = this.data.leaves.length;
    if (!count) return;
    this.leaf = ((this.leaf ?? (by > 0 ? -1 : 0)) + by + count) % count;
    const said = this.plots.slice(1).map((plot) => {
      const line = plot.lines[this.leaf];
      plot.light(line);
      return `${plot.title}: ${numberOf(line.values[this.index])}`;
    });
    this.note.textContent = [this.data.leaves[this.leaf].name, ...said].join(" · ");
  }

  // -- the pass of a step -------------------------------------------------------------------------------------------
  load() {
    clearTimeout(this.timer);
    const step = this.data.steps[this.index], { passes } = this.data;
    if (step === this.loaded) return;
    if (passes[step]) this.play(step, passes[step]);
    else {
      this.unload();
      if (this.data.recorded.includes(step)) this.hooks.onpass?.(step);
      this.tell();
    }
  }

  unload() {
    this.player?.destroy();
    this.player = null;
    this.loaded = null;
    this.stage.replaceChildren();
  }

  play(step, data) {
    this.unload();
    const { texts, theme } = this.data, whole = { ...data, texts, theme };
    this.loaded = step;
    this.note.textContent = this.t("lens_pass", { n: step });
    const place = h("div", {});
    this.stage.append(place);
    this.player = mount(place, whole);
  }

  /** Another pass has come from the kernel. */
  add({ pass, data }) {
    this.data.passes[pass] = data;
    if (this.data.steps[this.index] === pass) this.load();
  }

  tell() {
    const { recorded, passes, steps } = this.data, step = steps[this.index];
    const can = this.hooks.onpass ? recorded : recorded.filter((one) => passes[one]);
    const [nearest] = can.toSorted((a, b) => Math.abs(a - step) - Math.abs(b - step));
    const waits = this.hooks.onpass && recorded.includes(step);
    const said = waits ? "lens_waits" : !can.length ? "lens_none" : this.chosen ? "lens_not" : "lens_hint";
    this.note.replaceChildren(this.t(said, { n: step }));
    this.chosen = true;
    if (waits || nearest === undefined) return;
    this.note.append(" ", h("button", { type: "button", class: "nb-link",
      onclick: () => { this.select(steps.indexOf(nearest)); this.load(); } }, this.t("lens_nearest", { n: nearest })));
  }

  destroy() {
    clearTimeout(this.timer);
    this.observer?.disconnect();
    this.unload();
  }
}

/** Build the lens in an element; `hooks.onpass(step)` asks for a pass that the data does not hold. */
export function mountLens(place, data, hooks = {}) {
  return new Lens(place, data, hooks);
}

/** Ask the kernel of a widget; where there is none, nobody answers. */
export function ask(model, wish) {
  try { model.send(wish); } catch { /* no kernel */ }
}

/** The lens as a widget. */
export function renderLens(model, el, texts, data) {
  const onpass = model.send && ((pass) => ask(model, { pass })); // a saved notebook has only some of the passes
  const lens = mountLens(el, { ...data.lens, texts }, { onpass });
  const add = (message) => { if (message?.pass !== undefined) lens.add(message); };
  model.on("msg:custom", add);
  return () => {
    model.off("msg:custom", add);
    lens.destroy();
  };
}
