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
    this.element.style.setProperty("--nb-rows", this.rows ??= this.most());
    if (!leaves.length || state.frame?.kind === "created") { this.element.replaceChildren(); return; }
    const grads = player.history.grads(player.index);
    const body = leaves.slice(0, ROWS).map((leaf) => this.row(leaf, state, grads.get(leaf.name) || []));
    const head = [["leaf", "leaf-name"], ["grad_before", "before"], ["arriving_pass", "terms"], ["sum", "sum"],
      ["grad_after", "after"], ["bucket", "each"]];
    const titles = head.map(([name, kind]) => h("th", { scope: "col", class: `nb-${kind}` }, t(name)));
    this.element.replaceChildren(h("table", {}, h("caption", { class: "nb-hidden" }, t("what_leaves_get")),
      h("thead", {}, h("tr", {}, ...titles)), h("tbody", {}, ...body)));
    this.follow(body.findIndex((row) => row.classList.contains("nb-lit")));
  }

  /** Bring the line that changes into view, where there are more lines than room for them. */
  follow(lit) {
    const narrow = this.player.stage.wide < TELEPHONE, [room, high] = narrow ? [1, 45] : [4, 27];
    if (lit >= 0 && this.rows > room) this.element.scrollTop = high * Math.max(lit - room + 1, 0);
  }

  /** The rows of the scene that has most of them: for so many there is room, whichever is shown. */
  most() { return Math.max(...this.player.history.scenes.map(({ leaves }) => Math.min(leaves.length, ROWS)), 1); }

  /** A leaf's line; `trail` is .grad after each pass. What has no room is said on hover. */
  row({ id, name }, state, trail) {
    const { player } = this, current = state.ledger.get(id);
    const lit = state.frame && state.frame.ledger?.[id] && state.frame.kind !== "start";
    const terms = this.terms(current);
    const cell = (kind, ...content) => {
      const element = h("td", { class: `nb-${kind}` }, ...content);
      element.title = element.textContent;
      return element;
    };
    return h("tr", { class: lit && "nb-lit", onpointerenter: () => player.hover(id, null),
      onpointerleave: () => player.hover(null, null), onclick: () => player.select(id) },
    h("th", { scope: "row", class: "nb-leaf-name", title: name }, name),
    cell("before", current?.before ?? player.links.nodes[id]?.grad ?? "None"),
    cell("terms", ...(terms.length ? terms : ["–"])),
    cell("sum", ...this.sum(current, state.leaves.get(id)), this.delta(name)),
    cell("after", current?.after ? h("b", {}, current.after) : "–"),
    player.stacks.cell(name, trail));
  }

  /** By how much the sum differs from that of the pass that is compared. */
  delta(name) {
    const text = this.player.stacks.differences?.get(name);
    return text ? h("span", { class: "nb-delta" }, ` ${text}`) : "";
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

