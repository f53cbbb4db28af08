import { gridIn } from "./cells.js";
import { h, notFinite, renew, STACKED, TELEPHONE } from "./dom.js";

const ROWS = 200; // limit of the leaves with a line
const MANY = 14; // a longer sum omits its middle parts
const TILE = { wide: 150, high: 32, line: 16 }; // room for a tile
const SHARE = 0.135, SPARE = 16; // of the table: a column's width, and the empty share of it
const LINE_HIGH = 27, TILE_HIGH = 38; // height of a line of text, and of one with tiles, in pixels

const LONG_LEAF = 10, WIDE_NAME = 38, TABLE_NAME = 16; // characters: of a name that needs its own line; that fit there

/** Names that are cut where they are too long: what all begin with goes first, then their middle. */
function cutNames(names, most) {
  const parts = names.map((name) => name.split("."));
  let same = 0;
  while (parts.length > 1 && parts.every((own) => own.length > same + 1 && own[same] === parts[0][same])) same += 1;
  return names.map((name, i) => {
    const own = name.length > most && same ? `…${parts[i].slice(same).join(".")}` : name, head = Math.ceil(most / 2);
    return own.length > most ? `${own.slice(0, head)}…${own.slice(head + 1 - most)}` : own;
  });
}

/** The table below the picture: what each leaf receives in a pass, and what its .grad becomes. */
export class Ledger {
  constructor(player) {
    this.player = player;
    this.element = h("div", { class: "nb-ledger" });
    this.known = new Map(); // cache of the drawn tiles
  }

  /** The room for a tile, which a narrow column cuts. */
  get room() {
    const whole = this.player.whole || Infinity;
    if (whole < TELEPHONE) return { ...TILE, wide: 104 };
    return { ...TILE, wide: Math.min(TILE.wide, whole * SHARE - SPARE) };
  }

  /** How high a line is: it holds tiles as soon as one of the leaves is more than a vector of a few numbers. */
  high() {
    const { history: { frames }, tiles } = this.player;
    const high = (number) => {
      const tile = tiles.tiled(tiles.gradient(number));
      return tile && (gridIn(tile, TILE)[3] * tile.cells.length) / tile.columns > TILE.line + 3;
    };
    const isHigh = ({ total_tile: sum, before_tile: before }) => high(sum) || high(before);
    return frames.some(({ ledger = {} }) => Object.values(ledger).some(isHigh)) ? TILE_HIGH : LINE_HIGH;
  }

  show(state) {
    const { player } = this, { t } = player, leaves = player.drawn?.leaves || [];
    this.element.style.setProperty("--nb-rows", this.rows ??= this.most());
    this.element.style.setProperty("--nb-row", `${this.line ??= this.high()}px`);
    player.tiles.elsewhere.clear();
    if (!leaves.length || state.frame?.kind === "created") { this.element.replaceChildren(); return; }
    const rows = leaves.slice(0, ROWS), names = rows.map(({ name }) => name);
    const cut = cutNames(names, this.table ? TABLE_NAME : WIDE_NAME);
    this.element.classList.toggle("nb-long-names", names.some((name) => name.length > LONG_LEAF));
    const body = rows.map((leaf, i) => this.row({ ...leaf, cut: cut[i] }, state));
    const head = [["leaf", "leaf-name"], ["grad_before", "before"], ["arriving_pass", "terms"], ["sum", "sum"],
      ["grad_after", "after"], ["bucket", "each"]];
    const titles = head.map(([name, kind]) => h("th", { scope: "col", class: `nb-${kind}` }, t(name)));
    renew(this.element, [h("table", {}, h("caption", { class: "nb-hidden" }, t("what_leaves_get")),
      h("thead", {}, h("tr", {}, ...titles)), h("tbody", {}, ...body))]);
    this.follow();
  }

  /** True if each leaf has one line of the table: the drawer is as wide as the player. */
  get table() { return this.player.whole > TELEPHONE && this.player.whole <= STACKED; }

  /** Bring the line that changes into view, where it is not. */
  follow() {
    cancelAnimationFrame(this.following);
    if (!this.player.drawer?.shows("leaves")) return;
    this.following = requestAnimationFrame(() => { // when the page is laid out anyway
      const row = this.element.querySelector(".nb-lit"), list = this.element.parentNode;
      if (!row) return;
      const [own, room] = [row, list].map((element) => element.getBoundingClientRect());
      const head = this.element.querySelector("thead").offsetHeight;
      if (own.top < room.top + head) list.scrollTop -= room.top + head - own.top;
      else if (own.bottom > room.bottom) list.scrollTop += own.bottom - room.bottom;
    });
  }

  /** The rows of the scene that has most of them: for so many there is room, whichever is shown. */
  most() { return Math.max(...this.player.history.scenes.map(({ leaves }) => Math.min(leaves.length, ROWS)), 1); }

  /** A leaf's line. What has no room is said on hover. */
  row({ id, name, cut }, state) {
    const { player } = this, current = state.ledger.get(id);
    const lit = state.frame && state.frame.ledger?.[id] && state.frame.kind !== "start";
    const terms = this.terms(current, id);
    const cell = (kind, ...content) => {
      const element = h("td", { class: `nb-${kind}` }, ...content);
      if (element.textContent) element.title = element.textContent;
      element.classList.toggle("nb-bad-text", notFinite(element.textContent));
      return element;
    };
    return h("tr", { class: lit && "nb-lit", onpointerenter: () => player.hover(id, null),
      onpointerleave: () => player.hover(null, null), onclick: () => player.select(id) },
    h("th", { scope: "row", class: "nb-leaf-name", title: name }, h("bdi", {}, cut)),
    cell("before", this.number(id, "before", current?.before_tile,
      current?.before ?? player.links.nodes[id]?.grad ?? "None")),
    cell("terms", ...(terms.length ? terms : ["–"])),
    cell("sum", ...this.sum(current, state.leaves.get(id), id), this.delta(name)),
    cell("after", current?.after ? this.number(id, "grad", current.after_tile, h("b", {}, current.after)) : "–"),
    player.stacks.cell(name));
  }

  /** By how much the sum differs from that of the pass that is compared. */
  delta(name) {
    const text = this.player.stacks.differences?.get(name);
    return text ? h("span", { class: "nb-delta" }, ` ${text}`) : "";
  }

  soft(text) { return h("span", { class: "nb-soft" }, text); }

  /** A gradient as a tile; where it is one number, or too large to be kept, as the text. */
  number(id, what, number, text, nth = 0) {
    const { tiles } = this.player, { room } = this, name = `${id} ${what} ${nth} ${number} ${room.wide}`;
    const shown = `${id}:${what === "grad" ? "grad" : "arriving"}`;
    if (!this.known.has(name)) this.known.set(name, tiles.inline(shown, number, room));
    const tile = this.known.get(name);
    if (!tile) return text;
    tiles.elsewhere.set(shown, [...(tiles.elsewhere.get(shown) || []), tile.cells]);
    return tile.svg;
  }

  /** `3. via b + 2. via a`. */
  terms(current, id) {
    const { t } = this.player, got = current?.terms || [], parts = [];
    for (const [i, [value, via]] of got.entries()) {
      const shown = this.number(id, "term", current.tiles?.[i], h("b", {}, value), i);
      parts.push(i ? " + " : "", shown, this.soft(` ${t("via", { name: via })}`));
    }
    if (parts.length > MANY) parts.splice(6, parts.length - 9, this.soft(` ${t("terms", { count: got.length })} `));
    if (current && !current.asked && !parts.length) parts.push(this.soft(t("not_asked")));
    return parts;
  }

  /** What has come so far, with `1 of 2` where more is to come. */
  sum(current, leaf, id) {
    const got = current?.terms || [];
    if (!got.length) return ["–"];
    const waits = got.length < current.expected && leaf?.count;
    const sum = this.number(id, "sum", current.total_tile, h("b", {}, current.total));
    return [sum, waits && this.soft(` ${waits}`)].filter(Boolean);
  }
}
