import { h } from "./dom.js";
import { isForPage } from "./keys.js";
import { see } from "./links.js";

const CODE_LETTER = 7.25, BESIDE_CODE = 40; // pixels: of code; its margins left and right

/** The program of the pass, below the player: the lines that run are marked, and a click on one goes to its step. */
export class ProgramLines {
  constructor(player) {
    this.player = player;
    this.rows = [];
    const lines = player.data.program || [];
    this.waits = lines === true; // until its tab is opened, when the kernel is asked to write it
    this.element = (this.waits || lines.length > 0) && h("div", { class: "nb-program nb-program-lines" });
    if (this.element && !this.waits) this.fill(lines);
  }

  /** Show the lines; none where there is no such program. */
  fill(lines) {
    const { player } = this;
    this.rows = (lines || []).map(([text, comment, part, node]) => {
      const row = { part, node, element: h("code", { class: "nb-program-line" }, text,
        comment ? h("i", {}, `  # ${comment}`) : "") };
      if (this.stepOf(row) !== null) {
        const go = () => player.step(this.stepOf(row)); // another one if other groups are open
        Object.assign(row.element, { tabIndex: 0, onclick: go });
        row.element.setAttribute("role", "button");
        row.element.onkeydown = (event) => {
          if (event.key === "Enter" && !isForPage(event)) { event.stopPropagation(); go(); }
        };
      }
      return row;
    });
    this.element.replaceChildren(...this.rows.map(({ element }) => element));
    if (!lines) this.say("no_program");
  }

  say(key) { this.element.replaceChildren(h("code", { class: "nb-program-line" }, this.player.t(key))); }

  /** Ask the kernel for the lines, once. */
  ask() {
    const { player } = this;
    this.waits = false;
    this.say("needs_kernel");
    player.hooks.onprogram?.();
  }

  /** Lines that the kernel has written. */
  came(lines) {
    const { player } = this;
    this.fill(lines);
    player.drawer.element.style.setProperty("--nb-code", this.room);
    player.resize();
    this.show(player.index);
  }

  /** How wide the drawer is where there is room: as its longest line that computes something. */
  get room() {
    const shown = this.rows.filter(({ part }) => part !== "data").map(({ element }) => element.textContent.length);
    return `${Math.ceil(Math.max(0, ...shown) * CODE_LETTER + BESIDE_CODE)}px`;
  }

  /** The step in which a line runs; null for one that no step is of. */
  stepOf({ part, node }) {
    const { player } = this, { forwardPass, history } = player;
    if (part === "forward") {
      const { steps } = forwardPass, place = steps.indexOf(see(player.groups.viewOf(history.sceneAt(0)), node));
      return place < 0 ? null : place - steps.length;
    }
    const kind = part === "grads" ? "accumulate" : "op";
    const place = node ? history.frames.findIndex((frame) => frame.node === node && frame.kind === kind) : -1;
    return place < 0 ? null : place + 1;
  }

  /** Mark what runs in the step that is shown. */
  show(index) {
    if (!this.element) return;
    if (this.waits && this.player.drawer.shows("program")) this.ask();
    const { player } = this, from = index > 0 ? player.stops[player.position(index) - 1] ?? 0 : index - 1;
    let lit = null;
    for (const row of this.rows) {
      const step = this.stepOf(row), runs = step !== null && step > from && step <= index;
      row.element.classList.toggle("nb-runs", runs);
      if (runs) {
        row.element.setAttribute("aria-current", "step");
        lit ??= row.element;
      } else row.element.removeAttribute("aria-current");
    }
    if (lit && player.drawer.shows("program")) {
      const place = lit.parentNode, top = lit.offsetTop;
      if (top < place.scrollTop || top > place.scrollTop + place.clientHeight - 40) place.scrollTop = top - 40;
    }
  }
}
