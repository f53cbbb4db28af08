import { h } from "./dom.js";

/** The field that finds nodes by what they say, and walks through what it found. */
export class Search {
  constructor(player) {
    this.player = player;
    this.hits = []; // { id, at }: the match, and its drawn node
    this.hit = -1; // index of the current match
    const label = player.t("search");
    this.field = h("input", { type: "search", class: "nb-search", placeholder: player.t("search_hint"),
      "aria-label": label, title: label, spellcheck: "false", autocomplete: "off",
      oninput: () => this.look(this.field.value) });
    this.matches = h("span", { class: "nb-matches", role: "status" });
  }

  look(text, current = "") {
    const drawn = this.player.links.search(text).map((id) => ({ id, at: id }));
    this.hits = [...drawn, ...this.inside(text)];
    this.hit = this.hits.length ? Math.max(this.hits.findIndex(({ id }) => id === current), 0) : -1;
    this.show(text);
    this.centre();
  }

  centre() {
    if (this.hit >= 0) this.player.stage.centre(this.hits[this.hit].at);
  }

  /** The operations in which a text occurs and that a closed group stands for. */
  inside(text) {
    const { data, groups, history, shown: index, links } = this.player, wanted = text.trim().toLowerCase();
    const known = data.timeline.operations?.[history.sceneAt(index)];
    if (!wanted || !known) return [];
    const closed = groups.closed.map(([id]) => [id].concat((id.match(/\d+/g) || []).map(Number)));
    const hits = [];
    for (const [k, [id, name, label, source]] of known.all.entries()) {
      const said = `${known.names[name]}\n${label}\n${known.sources[source]}`.toLowerCase();
      const [at] = (said.includes(wanted) && !links.nodes[id] && closed.find((g) => g[1] <= k && k < g[2])) || [];
      if (at) hits.push({ id, at });
    }
    return hits;
  }

  show(text = this.field.value) {
    const { stage, t } = this.player, count = this.hits.length;
    stage.mark(this.hits.map(({ at }) => at), this.hits[this.hit]?.at);
    const said = count ? t("found", { index: this.hit + 1, count }) : t("found_none");
    this.matches.textContent = text.trim() ? said : "";
  }

  /** In another drawing: the same one is the current one, wherever it is now. */
  again() {
    if (this.field.value) this.look(this.field.value, this.hits[this.hit]?.id);
  }

  next(by) {
    if (!this.hits.length) return;
    this.hit = (this.hit + by + this.hits.length) % this.hits.length;
    this.show();
    this.go();
  }

  /** Select what was found; open the group that it is in. */
  go() {
    const { groups, stage } = this.player, { id, at } = this.hits[this.hit];
    if (id === at) { this.player.select(id, true); return; }
    stage.centre(at);
    if (groups.openable(at) && groups.open(at) && this.hits[this.hit]?.at === id) this.player.select(id, true);
  }

  /** A key that was pressed in the field; false where it is the field's own. */
  key(event) {
    if (event.key === "Enter") {
      if (this.hit >= 0 && this.player.selected !== this.hits[this.hit].id) this.go();
      else this.next(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      this.field.value = "";
      this.look("");
      this.player.root.focus();
    } else return false;
    return true;
  }

  focus() {
    this.player.drawer.show("tools");
    this.field.focus();
    this.field.select();
  }
}
