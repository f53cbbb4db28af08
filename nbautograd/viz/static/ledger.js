const ROWS = 200; // leaves that get a line
const MANY = 14; // parts of a sum, from which on its middle is left out

/** The table below the picture: what each leaf receives in a pass, and what its .grad becomes. */
class Ledger {
  constructor(player) {
    this.player = player;
    this.element = h("div", { class: "nb-ledger" });
  }

  show(state) {
    const { player } = this, { t } = player, leaves = player.drawn?.leaves || [];
    if (!leaves.length || state.frame?.kind === "created") { this.element.replaceChildren(); return; }
    const several = player.passes.length > 1, grads = player.history.grads(player.index);
    const body = leaves.slice(0, ROWS).map((leaf) => this.row(leaf, state, several && (grads.get(leaf.name) || [])));
    const head = ["leaf", "grad_before", "arriving_pass", "sum", "grad_after", ...(several ? ["after_each"] : [])];
    this.element.replaceChildren(h("table", {}, h("caption", { class: "nb-hidden" }, t("what_leaves_get")),
      h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, t(name))))), h("tbody", {}, ...body)));
  }

  /** A leaf's line; `former` is .grad after each pass, where there are several. */
  row({ id, name }, state, former) {
    const { player } = this, current = state.ledger.get(id);
    const lit = state.frame && state.frame.ledger?.[id] && state.frame.kind !== "start";
    const terms = this.terms(current);
    return h("tr", { class: lit && "nb-lit", onpointerenter: () => player.hover(id, null),
      onpointerleave: () => player.hover(null, null) },
    h("th", { scope: "row" }, name),
    h("td", {}, current?.before ?? player.links.nodes[id]?.grad ?? "None"),
    h("td", {}, ...(terms.length ? terms : ["–"])),
    h("td", {}, ...this.sum(current, state.leaves.get(id))),
    h("td", {}, current?.after ? h("b", {}, current.after) : "–"),
    former && h("td", {}, former.slice(-8).join(" → ") || "–"));
  }

  soft(text) { return h("span", { class: "nb-soft" }, text); }

  /** `3. via b + 2. via a`. */
  terms(current) {
    const { t } = this.player, got = current?.terms || [], parts = [];
    for (const [i, [value, via]] of got.entries()) {
      parts.push(i ? " + " : "", h("b", {}, value), this.soft(` ${t("via", { name: via })}`));
    }
    if (parts.length > MANY) parts.splice(6, parts.length - 9, this.soft(` ${t("terms", { count: got.length })} `));
    if (current && !current.asked && !parts.length) parts.push(this.soft(t("not_asked")));
    return parts;
  }

  /** What has come so far, with `1 of 2` where more is to come. */
  sum(current, leaf) {
    const got = current?.terms || [];
    if (!got.length) return ["–"];
    const waits = got.length < current.expected && leaf?.count;
    return [h("b", {}, current.total), waits && this.soft(` ${waits}`)].filter(Boolean);
  }
}

