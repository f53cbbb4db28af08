import { h } from "./dom.js";
import { lastName } from "./formula.js";

/** Sentences about a step for the drawer: of several ways, that this is one; of which sums an element is the result. */
export function besides({ now: { step }, player: { links, t } }, name, terms) {
  const ways = links.users(links.byId.get(step.edge)?.src).length, dims = step.summed?.map(([dim]) => dim).join(", ");
  const way = ways > 1 && t("one_way", { name, via: links.resultOf(step.edge), count: ways });
  const sum = dims !== undefined ? t("summed_dims", { dims, name }) // where no sentence says so
    : terms > 1 && !step.story && t("n_products", { count: terms });
  return [way, sum].filter(Boolean).map((text) => h("div", {}, text));
}

/** A button for each edge along which the node sends. */
export function edgeTabs(bar, frame) {
  if (frame.chain.length < 2) return null;
  const names = frame.chain.map((step) => lastName(step.sent_name));
  const named = (name, i) => {
    const same = names.flatMap((other, k) => (other === name ? [k] : []));
    return same.length > 1 ? `${name} (${same.indexOf(i) + 1})` : name; // an input twice
  };
  const tab = (name, i) => h("button", { type: "button",
    class: `nb-button nb-edge-tab${i === bar.chosen ? " nb-pressed" : ""}`, "aria-pressed": String(i === bar.chosen),
    onclick: () => bar.choose(i) }, bar.player.t("equation_for", { name: named(name, i) }));
  return h("div", { class: "nb-edge-tabs" }, ...names.map(tab));
}
