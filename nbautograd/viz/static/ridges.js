import { logTicks } from "./axes.js";
import { s } from "./dom.js";
import { shortNumber } from "./numbers.js";

const RIDGES = 18; // lines of one picture
const RIDGE = { high: 128, floor: 104, top: 30, rise: 22, margin: 10 }; // a picture, and how high a line may rise

/** How large a leaf's gradients are, element by element: a line per step, from the first at the back to the last. */
export class RidgeView {
  constructor(leaf, { steps, bins, range, ink, t, wide }) {
    Object.assign(this, { leaf, steps, bins, range, t, wide });
    const count = Math.min(RIDGES, steps.length);
    const shown = [...Array(count).keys()].map((i) => Math.round((i * (steps.length - 1)) / Math.max(count - 1, 1)));
    this.lines = s("g", { class: "nb-ridges" }, ...shown.map((i) => this.ridge(i, "nb-ridge")));
    this.now = s("g", {});
    this.bad = s("text", { class: "nb-ridge-bad", x: this.wide - 4, y: 13, "text-anchor": "end" });
    this.svg = s("svg", { class: "nb-ridge-view", width: wide, height: RIDGE.high, role: "img" },
      s("text", { class: "nb-ridge-name", x: 4, y: 13 }, middleCut(leaf.short, Math.floor(wide / 11)),
        s("title", {}, `${leaf.name} ${leaf.shape}`)), this.bad, ...this.axis(), this.lines, this.now);
    this.svg.style.setProperty("--nb-ink", ink);
  }

  x(at) { return RIDGE.margin + ((at - this.range[0]) / (this.range[1] - this.range[0])) * (this.wide - 20); }

  /** Where the line of a step stands. */
  base(i) {
    const last = Math.max(this.steps.length - 1, 1);
    return RIDGE.top + RIDGE.rise + (i / last) * (RIDGE.floor - RIDGE.top - RIDGE.rise);
  }

  shares(i) {
    return [...this.leaf.counts[i]].map((letter) => (letter.codePointAt(0) - this.bins.letter) / 90);
  }

  ridge(i, kind) {
    const base = this.base(i), shares = this.shares(i), [from, to] = this.range;
    let d = `M${this.x(from)} ${base}`;
    for (let at = from; at < to; at++) {
      const y = base - (shares[at] || 0) * RIDGE.rise;
      d += `L${this.x(at + 0.5).toFixed(1)} ${y.toFixed(1)}`;
    }
    return s("path", { class: kind, d: `${d}L${this.x(to)} ${base}` });
  }

  axis() {
    const { bins } = this, [from, to] = this.range, log2 = (at) => bins.lowest + at * bins.each, log = Math.log10(2);
    const ticks = logTicks(log2(from) * log, log2(to) * log, 3).filter(([, text]) => !text.includes("·"));
    const all = ticks.length > 1 ? ticks : logTicks(log2(from) * log, log2(to) * log, 8);
    return all.slice(0, 6).flatMap(([value, text]) => {
      const x = this.x((Math.log2(value) - bins.lowest) / bins.each);
      const anchor = x < 24 ? "start" : x > this.wide - 24 ? "end" : "middle";
      return [s("path", { class: "nb-lens-grid", d: `M${x.toFixed(1)} ${RIDGE.top - 8}V${RIDGE.floor + 3}` }),
        s("text", { class: "nb-lens-tick", x, y: RIDGE.floor + 17, "text-anchor": anchor }, text)];
    });
  }

  /** Light the line of one step, and say what does not show in it. */
  show(i) {
    const { leaf, t } = this, [, nan = 0, inf = 0] = leaf.bad.find(([at]) => at === i) || [], zeros = leaf.zeros[i];
    this.now.replaceChildren(...(leaf.counts[i] ? [this.ridge(i, "nb-ridge nb-ridge-now")] : []));
    const bad = [nan && `${nan} NaN`, inf && `${inf} Inf`].filter(Boolean).join(" ");
    this.bad.textContent = bad || (zeros ? t("zeros", { n: zeros }) : leaf.counts[i] ? "" : t("no_grad_here"));
    this.bad.classList.toggle("nb-is-bad", !!bad);
    const words = `${leaf.name}: ${t("norm_is", { value: numberOf(leaf.norms[i]) })}`;
    this.svg.setAttribute("aria-label", [words, this.bad.textContent].filter(Boolean).join(", "));
  }
}

/** The bins that any step of any leaf uses, with one more on each side. */
export function usedBins(leaves, { count, letter }) {
  let low = count, high = 0;
  for (const { counts } of leaves) {
    for (const line of counts) {
      for (let at = 0; at < line.length; at++) {
        if (line.codePointAt(at) === letter) continue;
        low = Math.min(low, at);
        high = Math.max(high, at + 1);
      }
    }
  }
  return high ? [Math.max(low - 1, 0), Math.min(high + 1, count)] : [12, 21];
}

/** A name of at most `most` letters: of a longer one the beginning and the end, which tells parameters apart. */
export function middleCut(name, most) {
  if (name.length <= most) return name;
  const end = Math.ceil(most * 0.6);
  return `${name.slice(0, most - end - 1)}…${name.slice(-end)}`;
}

/** `0.0123`, `∞`, or a dash where there is no number. */
export function numberOf(value, form = "m") {
  return value === null || value === undefined ? "–" : shortNumber(value, form).replace("inf", "∞");
}

/** What all names begin with, up to a dot. */
export function commonPrefix(names) {
  const [first = "", ...others] = names;
  const parts = first.split(".").slice(0, -1);
  let prefix = "";
  for (const part of parts) {
    const longer = `${prefix}${part}.`;
    if (!others.length || !others.every((name) => name.startsWith(longer))) break;
    prefix = longer;
  }
  return prefix;
}
