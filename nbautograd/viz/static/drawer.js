import { h, press } from "./dom.js";
import { moveOf } from "./keys.js";

const DRAWER = "nbautograd-drawer"; // the browser's storage key of the open tab

/** Tabs beside the picture, closed at first: the step, the leaves, the program, the graph in words, and the tools. */
export class Drawer {
  /** `parts`: [name, element] of each tab. */
  constructor(player, parts) {
    this.player = player;
    const { t } = player;
    this.parts = new Map(parts);
    this.tabs = new Map(parts.map(([name]) => [name, h("button", { type: "button", role: "tab", class: "nb-drawer-tab",
      "data-tab": name, onclick: () => this.pick(name) }, t(`tab_${name}`))]));
    this.list = h("div", { class: "nb-drawer-tabs", role: "tablist", "aria-label": t("drawer"),
      onkeydown: (event) => this.key(event) }, ...this.tabs.values());
    for (const [name, element] of parts) {
      element.setAttribute("role", "tabpanel");
      element.setAttribute("aria-label", t(`tab_${name}`));
    }
    this.element = h("div", { class: "nb-drawer", hidden: "" }, this.list,
      h("div", { class: "nb-drawer-parts" }, ...this.parts.values()));
    this.button = player.controls.button("more", t("drawer"), () => this.toggle());
    this.choose([...this.parts.keys()][0]);
    this.button.setAttribute("aria-expanded", "false");
  }

  get open() { return !this.element.hidden; }

  /** Whether a tab is seen. */
  shows(name) { return this.open && this.chosen === name; }

  choose(name) {
    this.chosen = name;
    for (const [each, tab] of this.tabs) {
      tab.setAttribute("aria-selected", String(each === name));
      tab.tabIndex = each === name ? 0 : -1;
      this.parts.get(each).hidden = each !== name;
    }
    if (!this.open) return;
    this.player.resize(); // the program is wider
    this.player.program.show(this.player.index);
  }

  /** Choose a tab by hand: the next page opens with it. */
  pick(name) {
    this.choose(name);
    this.peeks = false;
    this.remember();
  }

  key(event) {
    const names = [...this.tabs.keys()], here = names.indexOf(this.chosen);
    const to = names[here + moveOf(event, { ArrowLeft: -1, ArrowRight: 1, Home: -here, End: names.length - 1 - here })];
    if (!to) return;
    this.pick(to);
    this.tabs.get(to).focus();
  }

  toggle() {
    this.set(!this.open);
    this.remember();
  }

  /** Open it at a tab. */
  show(name) {
    this.choose(name);
    if (!this.open) this.set(true);
  }

  /** Open it for as long as a node is selected. */
  peek() {
    this.peeks ||= !this.open;
    this.show("step");
  }

  unpeek() { if (this.peeks) this.set(false); }

  set(open) {
    const { player } = this;
    this.peeks = open && this.peeks;
    this.element.hidden = !open;
    press(this.button, open, "aria-expanded");
    player.root.classList.toggle("nb-drawn", open);
    player.resize();
    player.program.show(player.index);
  }

  remember() {
    try { localStorage.setItem(DRAWER, this.open ? this.chosen : ""); } catch { /* a page may remember nothing */ }
  }

  /** As it was left, on this page or on another one. */
  restore() {
    let tab = "";
    try { tab = localStorage.getItem(DRAWER) || ""; } catch { /* likewise */ }
    if (this.parts.has(tab)) this.show(tab);
  }
}
