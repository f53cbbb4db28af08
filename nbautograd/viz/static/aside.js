/** Sentences about a step for the drawer: of several ways, that this is one; of which sums an element is the result. */
function besides({ now: { step }, player: { links, t } }, name, terms) {
  const ways = links.users(links.byId.get(step.edge)?.src).length, dims = step.summed?.map(([dim]) => dim).join(", ");
  const way = ways > 1 && t("one_way", { name, via: links.resultOf(step.edge), count: ways });
  const sum = dims !== undefined ? t("summed_dims", { dims, name }) // where no sentence says so
    : terms > 1 && !step.story && t("n_products", { count: terms });
  return [way, sum].filter(Boolean).map((text) => h("div", {}, text));
}
