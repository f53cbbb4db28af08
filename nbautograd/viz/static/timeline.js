import { clamp, h } from "./dom.js";
import { bin } from "./sizes.js";

const THUMB = 7; // pixels: half of the slider's thumb, which does not go over the ends
const TICKS = 160; // steps from which on only those are drawn in which something happens that one looks for

/** The slider, which is the map of the pass: a dot for each step, in the color of the gradient's size. */
export class Track {
  constructor(player, slider) {
    const { t } = (this.player = player);
    this.slider = slider;
    this.ticks = h("div", { class: "nb-ticks", "aria-hidden": "true" });
    this.tip = h("div", { class: "nb-tip", hidden: "", "aria-hidden": "true" });
    this.forward = h("button", { type: "button", class: "nb-button nb-half-forward", title: t("half_forward_do"),
      onclick: () => player.forwardPass.play() }, t("half_forward"));
    this.element = h("span", { class: "nb-track", onpointermove: (event) => this.point(event),
      onpointerleave: () => this.leave() }, slider, this.ticks, this.tip);
    this.drawn = "";
  }

  /** Where a step is on the slider, from 0 to 1; `here` counts stops. */
  part(here) {
    const { first } = this.player.forwardPass, most = this.player.stops.length - 1;
    return most - first ? (here - first) / (most - first) : 0;
  }

  show(here) {
    const { player, slider } = this, { first } = player.forwardPass, most = player.stops.length - 1;
    slider.min = first;
    slider.max = most;
    slider.value = here;
    this.element.classList.toggle("nb-goes-forward", here < 0);
    this.forward.hidden = first === 0;
    const key = `${first} ${most} ${player.scene} ${player.predict.hides}`;
    if (key !== this.drawn) this.draw(first, most);
    this.drawn = key;
  }

  draw(first, most) {
    const marks = [];
    for (let here = first; here <= most; here++) {
      const flag = here > 0 ? this.flag(here) : "";
      if (!here || (!flag && most - first > TICKS)) continue;
      const mark = h("i", { class: `nb-tick ${flag ? `nb-flag-${flag}` : ""}${here < 0 ? " nb-before" : ""}`,
        "data-size": here > 0 ? this.size(here) : false });
      mark.style.left = `${(this.part(here) * 100).toFixed(3)}%`;
      marks.push(mark);
    }
    this.ticks.replaceChildren(...marks);
  }

  /** The class of the largest gradient that a step sends, where that is known and may be seen. */
  size(here) {
    const { history, predict, stops } = this.player, frames = history.frames.slice(stops[here - 1], stops[here]);
    const sizes = frames.flatMap(({ sizes: own = {} }) => Object.values(own));
    return !predict.hides && sizes.length > 0 && String(bin(Math.max(...sizes)));
  }

  /** What is to be seen at a step. */
  flag(here) {
    const { history, predict, stops } = this.player, frames = history.frames.slice(stops[here - 1], stops[here]);
    const any = (test) => frames.some(test);
    if (!predict.hides && any(({ bad, kind }) => bad?.length || kind === "error")) return "bad";
    if (any(({ hooks }) => hooks?.length)) return "hook";
    return any(({ kind }) => kind === "accumulate") ? "accumulate" : "";
  }

  /** The step at a place of the slider: it is named, and its node and line light up. */
  point(event) {
    const { player, slider } = this, box = slider.getBoundingClientRect();
    const share = (event.clientX - box.left - THUMB) / (box.width - 2 * THUMB), { first } = player.forwardPass;
    if (event.clientY < box.top || !box.width) { this.leave(); return; }
    const here = clamp(Math.round(first + share * (player.stops.length - 1 - first)), first, player.stops.length - 1);
    if (here === this.at) return;
    this.at = here;
    const frame = player.stepAt(here);
    const what = frame ? [frame.title, frame.subtitle].filter(Boolean).join(" · ") : player.t("before_pass");
    this.tip.textContent = `${player.numbered(here)}: ${what}`;
    this.tip.hidden = false;
    const left = event.clientX - box.left, wide = this.tip.offsetWidth / 2;
    this.tip.style.left = `${clamp(left, wide, box.width - wide)}px`;
    player.hover(frame?.node || null, null);
  }

  leave() {
    if (this.tip.hidden) return;
    this.tip.hidden = true;
    this.at = null;
    this.player.hover(null, null);
  }
}
