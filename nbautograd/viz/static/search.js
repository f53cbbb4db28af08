/** The field that finds nodes by what they say, and walks through what it found. */
class Search {
  constructor(player) {
    this.player = player;
    this.found = [];
    this.hit = -1; // which of them is the current one
    const label = player.t("search");
    this.field = h("input", { type: "search", class: "nb-search", placeholder: player.t("search_hint"),
      "aria-label": label, title: label, spellcheck: "false", autocomplete: "off",
      oninput: () => this.look(this.field.value) });
    this.matches = h("span", { class: "nb-matches", role: "status" });
  }

  look(text, move = true) {
    const { links, stage, t } = this.player;
    this.found = links.search(text);
    const count = this.found.length;
    this.hit = count && move ? 0 : -1;
    stage.mark(this.found, this.found[this.hit]);
    const said = count ? t("found", { index: Math.max(this.hit, 0) + 1, count }) : t("found_none");
    this.matches.textContent = text.trim() ? said : "";
    if (this.hit >= 0) stage.centre(this.found[0]);
  }

  /** In another drawing. */
  again() {
    if (this.field.value) this.look(this.field.value, false);
  }

  next(by) {
    const { stage, t } = this.player, count = this.found.length;
    if (!count) return;
    this.hit = (this.hit + by + count) % count;
    stage.mark(this.found, this.found[this.hit]);
    this.matches.textContent = t("found", { index: this.hit + 1, count });
    this.player.select(this.found[this.hit], true);
  }

  /** A key that was pressed in the field; false where it is the field's own. */
  key(event) {
    const current = this.found[this.hit];
    if (event.key === "Enter") {
      if (this.player.selected === current || this.hit < 0) this.next(event.shiftKey ? -1 : 1);
      else this.player.select(current, true);
    } else if (event.key === "Escape") {
      this.field.value = "";
      this.look("");
      this.player.root.focus();
    } else return false;
    return true;
  }

  focus() {
    this.field.focus();
    this.field.select();
  }
}

