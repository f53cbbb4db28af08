import { attribute, extent } from "./camera.js";
import { s } from "./dom.js";
import { moveOf } from "./keys.js";
import { shortNumber } from "./numbers.js";

const PIXELS = 2; // pixels of dragging per step
const BY_KEY = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }; // steps
const LEAST_HANDLE = 26; // pixels
const STOPS = 8; // limit of the numbers reached by the Tab key

/** The numbers in the boxes of leaves: each can be dragged, or moved with the arrow keys, to see what would change. */
export class Handles {
  constructor(player) {
    this.player = player;
    this.known = new Map(); // by leaf
  }

  /** Put one on each leaf of a drawing of which it is known what a change would do. */
  load() {
    const { links, nudge, stage, t } = this.player, hint = t("nudge_hint");
    this.known.clear();
    for (const [id, { kind, name }] of Object.entries(links.nodes)) {
      const group = kind === "leaf" && stage.part("node", id);
      const area = group && nudge.grabs(id) && this.area(id, group);
      if (!area) continue;
      for (const part of group.children) part.setAttribute("aria-hidden", "true");
      const [one] = nudge.tile(id).cells, { tiled, line, ...box } = area;
      const handle = s("rect", { class: "nb-handle", role: "slider", tabindex: this.known.size < STOPS ? 0 : -1,
        "aria-label": t("nudge", { name }), "aria-valuenow": one, "aria-valuetext": shortNumber(one),
        ...box, rx: 3, onkeydown: (event) => this.key(event, id), onfocus: () => this.hint(id),
        onblur: () => this.hint(null) }, s("title", {}, hint));
      group.classList.add(tiled ? "nb-grabs-cells" : "nb-grabs");
      const d = `M${box.x + 2} ${line}h${box.width - 4}`;
      group.append(s("path", { class: "nb-handle-line", d, fill: "none" }), handle);
      this.known.set(id, handle);
    }
    if (!this.known.size) return; // the whole picture is one image
    stage.svg.setAttribute("role", "group");
    for (const part of stage.svg.children) {
      if (!part.querySelector(".nb-handle")) part.setAttribute("aria-hidden", "true");
    }
  }

  /** Where a leaf's value is written in its box, large enough for a finger; and where the line below it is. */
  area(id, group) {
    const cells = this.player.tiles.drawn.get(`${id}:value`), text = group.querySelector(":scope > .nb-value");
    if (!cells?.tile && !text) return null;
    const [wide, high] = cells?.tile ? cells.size : Object.values(extent(text.textContent));
    const [x, y] = cells?.tile ? [cells.x, cells.y] : [attribute(text, "x"), attribute(text, "y") - 11];
    const width = Math.max(wide + 6, LEAST_HANDLE), height = Math.max(high + 6, LEAST_HANDLE);
    return { x: x + wide / 2 - width / 2, y: y + high / 2 - height / 2, width, height, line: y + high + 2,
      tiled: !!cells?.tile };
  }

  /** Say once in the line below what the number under the pointer is for. */
  hint(id) {
    const { caption, links, nudge, strip, t } = this.player;
    if (this.said) { caption.textContent = this.said; this.said = ""; }
    if (!id || this.used || nudge.active || !strip.classList.contains("nb-has-caption")) return;
    this.said = caption.textContent;
    caption.textContent = t("nudge_grab", { name: links.nodes[id].name });
  }

  key(event, id) {
    const by = moveOf(event, BY_KEY);
    if (by) this.move(id, null, (nudge) => nudge.value + by * nudge.step);
  }

  /** Give a leaf, or an element of it, another value. */
  move(id, place, value) {
    const { nudge } = this.player;
    this.said = ""; // selecting the leaf has another meaning
    if (!nudge.grab(id, place)) return;
    this.used = true;
    nudge.set(value(nudge));
  }

  /** Tell what a number has become, and what the result is then. */
  show(id, value, told) {
    const handle = this.known.get(id);
    handle?.setAttribute("aria-valuenow", value);
    handle?.setAttribute("aria-valuetext", [shortNumber(value), told].filter(Boolean).join("; "));
  }

  /** The number under the pointer: its leaf, and which element. */
  at(event) {
    const { target } = event, id = target.closest?.("[data-node]")?.dataset.node, { tiles } = this.player;
    if (!this.known.has(id)) return null;
    if (target.matches(".nb-handle")) return { id, place: null };
    const group = event.pointerType !== "touch" && target.closest("[data-cells]"); // a finger reads the cells
    const place = group && group.dataset.cells === `${id}:value` ? tiles.cellsIn(group)?.at(event) ?? null : null;
    return place === null ? null : { id, place };
  }

  watch(canvas) {
    let from = null;
    canvas.addEventListener("pointerdown", (event) => {
      const at = event.button === 0 && this.at(event);
      if (!at) return;
      event.stopPropagation();
      from = { ...at, x: event.clientX, target: event.target, moved: false };
      canvas.setPointerCapture(event.pointerId);
    }, true);
    canvas.addEventListener("pointermove", (event) => {
      if (!from) { this.over(event); return; }
      event.stopPropagation();
      const steps = Math.round((event.clientX - from.x) / PIXELS);
      if (!from.moved && Math.abs(steps) < 2) return;
      if (!from.moved) this.player.tiles.leave(); // its card would cover the changing part
      from.moved = true;
      this.move(from.id, from.place, ({ base, step }) => base + steps * step);
    }, true);
    const up = (event) => {
      if (!from) return;
      event.stopPropagation();
      const { target, moved } = from;
      from = null;
      if (!moved && event.type === "pointerup") this.player.stage.click(event, target);
    };
    canvas.addEventListener("pointerup", up, true);
    canvas.addEventListener("pointercancel", up, true);
    canvas.addEventListener("pointerleave", () => this.over({}));
  }

  /** The pointer is over a number, or not any more. */
  over(event) {
    const id = (event.target && this.at(event)?.id) || null;
    if (id === this.here) return;
    this.here = id;
    this.hint(id);
  }
}
