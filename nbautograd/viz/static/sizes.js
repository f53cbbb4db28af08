import { clamp, h } from "./dom.js";

export const SIZED_FROM = 20; // with fewer operations, gradients have no width by size
const BOUNDS = [-6, -3, 2, 5]; // log10 per element: vanished, small, usual, large, exploding
const BOUND_TEXTS = ["10⁻⁶", "10⁻³", "10²", "10⁵"];
const BETWEEN = [-6.5, -4.5, 0, 3.5, 6]; // a size of each class, for the legend
const ACTIVE = 2; // smallest width of an active line in pixels

export const bin = (size) => BOUNDS.filter((bound) => size > bound).length;

/** How wide the line of a gradient is, in pixels, by log10 of its root mean square. */
const lineWidth = (size) => Math.round(10 * (3.6 + 0.42 * clamp(size, -6, 6))) / 10;

/** How many operations a scene has, with those in groups. */
export const operationsOf = ({ nodes }) => Object.values(nodes).reduce(
  (sum, { kind, members }) => sum + (kind === "op" ? 1 : kind === "group" ? members || 0 : 0), 0);

/** What the widths and colors mean: each number stands between the two classes that it bounds. */
export function sizeLegend(t) {
  const bars = BETWEEN.flatMap((size, i) => {
    const bar = h("i", { "data-size": i });
    bar.style.height = `${Math.max(lineWidth(size), 1.5)}px`;
    return i ? [h("b", {}, BOUND_TEXTS[i - 1]), bar] : [bar];
  });
  const words = ["small", "large"].map((end) => h("span", {}, t(`legend_${end}`)));
  return h("div", { class: "nb-legend", hidden: "", title: t("legend") },
    h("span", { class: "nb-legend-of" }, t("legend")), words[0], ...bars, words[1]);
}

/** The line of a gradient: as wide and of the color that its size asks for, where sizes are shown. */
export function paintSize(element, scaled, size, active) {
  if (!scaled || size === undefined) {
    if (element.dataset.size === undefined) return;
    delete element.dataset.size;
    element.style.strokeWidth = "";
  } else {
    element.dataset.size = bin(size);
    element.style.strokeWidth = `${Math.max(lineWidth(size), active ? ACTIVE : 0)}px`;
  }
}
