import { coded, h, notFinite, renew } from "./dom.js";
import { formula, math } from "./formula.js";

const LINES = 60; // limit of the listed elements of a cell
const NEIGHBORS = 8; // that a node names
const CULPRIT = 1; // the part of an error's story with the line to change
const WIDE_LINE = 22; // characters of a matrix row above which a product takes more room

export const rowIf = (there, name, content) => (there ? [h("dt", {}, name), h("dd", {}, ...content())] : []);
const alarming = (text) => (notFinite(text) ? " nb-bad-text" : "");
export const pairs = (list, sign) => list.map(([name, value]) => h("div", { class: `nb-pair${alarming(value)}` }, name,
  h("span", { class: "nb-sign" }, ` ${sign} `), h("b", {}, value)));
/** A line of code, of which one part runs. */
const underlined = (text, columns) => (columns
  ? [text.slice(0, columns[0]), h("u", {}, text.slice(...columns)), text.slice(columns[1])] : [text]);
export const heading = (title, subtitle) => h("h4", {}, h("span", { class: "nb-title" }, title), " ",
  h("span", { class: "nb-subtitle" }, subtitle || ""));

/** What stands beside the picture: the step that is shown, the node that is selected, or how to begin. */
export class Panel {
  constructor(player) {
    this.player = player;
    this.element = h("div", { class: "nb-side" });
  }

  show(state) {
    const { player } = this, { selected, stage } = player, node = selected && player.links.nodes[selected];
    const content = node ? this.node(selected, node, state) : state.frame ? this.step(state.frame) : this.idle();
    renew(this.element, content);
    stage.ring(node ? selected : null);
    this.followLine();
  }

  /** Bring the line that runs into view. */
  followLine() {
    cancelAnimationFrame(this.following);
    this.following = requestAnimationFrame(() => { // when the page is laid out anyway
      const line = this.element.querySelector(".nb-code .nb-lit"), list = line?.parentNode;
      if (list) list.scrollTop = line.offsetTop - list.offsetTop - (list.clientHeight - line.offsetHeight) / 2;
    });
  }

  /** Light the equations and lines of code that belong to what is pointed at. */
  light(slots, own, where) {
    for (const equation of this.element.querySelectorAll("[data-slot]")) {
      const near = slots.some(([dst, slot]) => dst === own && String(slot) === equation.dataset.slot);
      equation.classList.toggle("nb-near", near);
    }
    for (const line of this.element.querySelectorAll("[data-where]")) {
      line.classList.toggle("nb-near", line.dataset.where === where);
    }
  }

  idle() {
    const { player } = this, { plays, t } = player;
    return [
      h("h4", {}, plays ? t("before_pass") : player.data.label),
      h("p", { class: "nb-hint" }, t(plays ? "before_hint" : "graph_hint")),
      this.untraced() && h("p", { class: "nb-hint nb-untraced" }, t("untraced")),
      ...this.listing(null),
    ].filter(Boolean);
  }

  /** Whether nothing is known of the code, of a graph of ours that could have told. */
  untraced() {
    const ops = Object.values(this.player.links.nodes).filter(({ kind }) => kind === "op");
    return ops.some(({ formulas }) => formulas) && !ops.some(({ where }) => where);
  }

  // -- a step ---------------------------------------------------------------------------------------------------------
  step(frame) {
    if (frame.kind === "forward") return this.player.forwardPass.panel(frame);
    const { t } = this.player, adds = frame.kind === "accumulate", alarms = new Set(frame.alarms || []);
    const written = this.player.equation.writes(frame); // its numbers are here already
    const listing = frame.where ? this.listing(frame.where, frame.node, frame.changed) : [];
    const { kept, freed } = this.player.links.nodes[frame.node] || {};
    const told = frame.kind === "error" && !frame.story?.length ? frame.alarms || [] : []; // by the equation bar
    const boxed = (equations) => [h("div", { class: "nb-formula" }, ...equations)];
    return [
      heading(frame.title, frame.subtitle),
      ...listing,
      this.player.equation.aside,
      ...(frame.notes || []).filter((note) => !told.includes(note)).map((note) =>
        h("p", { class: `nb-note${alarms.has(note) ? " nb-bad" : ""}` }, ...coded(note))),
      h("dl", {},
        ...rowIf(frame.receives?.length && !written, t("receives"), () => pairs(frame.receives, "=")),
        ...rowIf(frame.products, "vᵀJ", () => boxed(frame.products.map((product) => this.product(product)))),
        ...rowIf(frame.equations, t(adds ? "adds" : "formula"), () => boxed(this.equations(frame, adds, written))),
        ...rowIf(frame.sends?.length && !written, t(adds ? "now" : "sends"), () =>
          pairs(frame.sends, adds ? "=" : "←")),
        ...rowIf(frame.where && !listing.length, t("from_cell"), () => [frame.where]),
        ...rowIf(frame.saved && (kept?.length !== 0 || freed), t("saves"), () => [frame.saved])),
    ];
  }

  /** How an error came about, in the order of time, and the line that cures it. */
  story(parts, [cure]) {
    const part = ([what, details, where], i) => h("li", { class: `nb-frame${i === CULPRIT ? " nb-bad" : ""}` },
      h("b", {}, what), where && h("span", { class: "nb-soft" }, ` · ${where}`), h("div", {}, details));
    const said = cure ? this.cured(cure) : [], last = cure && h("li", { class: "nb-frame nb-cure" },
      h("b", {}, this.player.t("cure")), h("div", {}, ...said.length > 1 ? said.slice(1) : said)); // its line says it
    return [h("ol", { class: "nb-story" }, ...parts.map(part), last)];
  }

  /** The cure, with a button that copies its line. */
  cured(text) {
    const { t } = this.player, [before, line, ...after] = coded(text);
    if (!line) return [before];
    const copy = h("button", { type: "button", class: "nb-button nb-copy", "aria-label": t("copy_line"),
      title: t("copy_line"), onclick: () => navigator.clipboard.writeText(line.textContent).then(() => {
        copy.textContent = "✓";
      }, () => { getSelection().selectAllChildren(line); }) }, t("copy_short"));
    return [before, line, copy, ...after];
  }

  equations({ node, equations }, adds, written) {
    const slots = this.player.links.nodes[node]?.slots;
    return equations.map(({ marks, text, numbers }, i) =>
      this.equation(marks, text, adds && written ? "" : numbers, adds ? undefined : slots?.[i], node));
  }

  /** A formula with its numbers, which lights the edge that it is about. */
  equation(marks, label, numbers, slot, node) {
    const { links, stage } = this.player, written = formula(marks);
    if (label) {
      written.setAttribute("role", "math");
      written.setAttribute("aria-label", label);
    }
    const edge = links.makers(node).find((e) => e.slot === slot && e.kind === "flow");
    const point = (on) => () => stage.light(on && edge ? [edge.src, node] : [], on && edge ? [edge.id] : []);
    return h("div", {
      class: "nb-equation", title: label, "data-slot": slot, onpointerenter: point(true), onpointerleave: point(false),
    }, written, numbers && h("div", { class: "nb-numbers" }, numbers));
  }

  /** A vector-Jacobian product, written out. */
  product({ title, v, matrix, result, text }) {
    const written = formula([["m", [v]], ["o", "·"], ["m", matrix]]);
    const wide = [v, ...matrix].some((line) => line.join(" ").length > WIDE_LINE);
    written.setAttribute("role", "math");
    written.setAttribute("aria-label", text);
    return h("div", { class: `nb-equation${wide ? " nb-wide" : ""}` }, h("div", { class: "nb-soft" }, title), written,
      h("div", { class: "nb-result" }, math([["o", "="], ["m", [result]]])));
  }

  /** The lines of the cell, with the one that this is about marked, and what of it runs; they point at their nodes. */
  listing(where, id, [changed, line] = []) {
    const { player } = this, { links } = player, { forwardPass, history } = player;
    const shown = links.listing(where || [...links.lines.keys()][0] || "", forwardPass.cells);
    const columns = where && forwardPass.columns(history.sceneAt(player.shown), id);
    if (!shown.some(([, , source]) => source)) return [];
    const { cell } = links.nodes[links.lines.get(shown.find(([own]) => own)[0])[0]];
    const lines = shown.slice(0, LINES).map(([own, number, source]) => h("li", {
      value: number, "data-where": own,
      class: cell === changed && number === line ? "nb-changed" : own === where && "nb-lit",
      onpointerenter: () => player.hover(null, null, own), onpointerleave: () => player.hover(null, null),
      onclick: () => own && player.select(links.lines.get(own)[0], player.stage.overflows),
    }, h("code", {}, ...underlined(source || (own ? "…" : " "), own && own === where && columns))));
    return [h("div", { class: "nb-code" }, h("div", { class: "nb-cell" }, cell), h("ol", {}, ...lines))];
  }

  // -- a node ---------------------------------------------------------------------------------------------------------
  node(id, node, state) {
    const { player } = this, { t } = player, listing = node.where ? this.listing(node.where, id) : [];
    return [
      heading(node.names || node.name, node.expression || t(`kind_${node.kind}`)),
      node.failed && h("p", { class: "nb-note nb-bad" }, node.failed),
      h("dl", {}, ...this.facts(id, node), ...this.gradients(id, node, state),
        ...this.neighbors(id, node, listing.length > 0)),
      ...listing,
      this.actions(id, node),
    ].filter(Boolean);
  }

  facts(id, node) {
    const { t, tiles } = this.player, result = !["op", "group", "pile"].includes(node.kind);
    const members = () => [t(node.kind === "pile" ? "members_leaves" : "members_count", { n: node.members }),
      node.times ? ` · ×${node.times}` : ""];
    return [
      ...rowIf(node.value, t(node.failed ? "shapes_given" : "value"), () => tiles.largeValue(id)
        || [h("span", { class: `nb-pre${alarming(node.value)}` }, node.value)]),
      ...rowIf(node.shape || node.dtype, t("type"), () => [`${node.dtype || ""} ${node.shape || ""}`]),
      ...rowIf(node.members, t("members"), members),
      ...rowIf(result, t("device"), () => [node.device || "cpu"]),
      ...rowIf(node.view_of, t("view_of"), () => [node.view_of]),
      ...rowIf(node.hooks, t("hooks"), () => [node.hooks]),
      ...rowIf(node.version || node.now, t("version"), () => [node.now
        ? t("version_since", { version: node.version || 0, now: node.now }) : String(node.version)]),
    ];
  }

  /** What the pass has brought so far, and what the node computes with. */
  gradients(id, node, state) {
    const { player } = this, { links, t, tiles } = player;
    const leaf = state.leaves.get(id), ran = state.ran.get(id);
    const maker = links.makers(id).find((edge) => edge.kind === "result");
    const flowed = maker && state.labels.get(maker.id);
    const bare = node.kind === "op" && !links.users(id).some(({ kind }) => kind === "result"); // its value has no box
    const formulas = () => node.formulas.map((marks, i) =>
      this.equation(marks, "", ran?.equations?.[i]?.numbers, node.slots?.[i], id));
    return [
      ...rowIf(leaf && (leaf.of || node.kind === "leaf"), t("arriving"), () =>
        tiles.largeGradient(`${id}:arriving`, leaf.arriving_tile ?? -1,
          `${leaf.arriving}${leaf.count ? ` (${leaf.count})` : ""}`)),
      ...rowIf(node.kind === "leaf" || node.retains, ".grad", () =>
        tiles.largeGradient(`${id}:grad`, leaf ? leaf.grad_tile ?? -1 : undefined, leaf ? leaf.grad : node.grad)),
      ...rowIf(maker && player.plays, t("gradient"), () => [flowed || t("not_yet"),
        node.retains ? "" : this.soft(t("passes_by"))]),
      ...rowIf(ran?.receives && node.kind === "op", t("receives"), () => pairs(ran.receives, "=")),
      ...rowIf(bare && player.plays, ".grad", () => [this.soft(t("passes_by"))]),
      ...rowIf(node.formulas, t("formula"), () => [h("div", { class: "nb-formula" }, ...formulas())]),
      ...rowIf(node.kept, t("saves"), () => [
        ...(node.kept.length ? node.kept.map((tensor) => h("div", {}, tensor)) : [node.saved]),
        node.kept.length > 0 && state.freed.has(id) && h("div", { class: "nb-soft" }, t("freed")),
      ]),
    ];
  }

  soft(text) { return h("div", { class: "nb-soft" }, text); }

  neighbors(id, node, listed) {
    const { links, t } = this.player;
    const made = [...new Set(links.makers(id).map(({ src }) => src))];
    const used = [...new Set(links.users(id).map(({ dst }) => dst))];
    const near = (list) => list.slice(0, NEIGHBORS).flatMap((to, i) => [i ? ", " : "", this.link(to)]);
    return [
      ...rowIf(made.length, t("made_from"), () => near(made)),
      ...rowIf(used.length, t("used_by"), () => near(used)),
      ...rowIf(node.where && !listed, t("from_cell"), () => [node.where]),
      ...rowIf(node.notes, t("note"), () => node.notes),
    ];
  }

  link(to) {
    const { player } = this, { kind, expression, name } = player.links.nodes[to];
    return h("button", { type: "button", class: "nb-link", onclick: () => player.select(to, player.stage.overflows) },
      kind === "op" ? expression || name : name);
  }

  actions(id, node) {
    const { player } = this, { t } = player;
    const inside = player.links.private(id).size, folded = player.stage.folded.has(id);
    const action = (name, onclick, label, more = {}) =>
      h("button", { type: "button", class: `nb-button nb-${name}`, ...more, onclick }, label);
    return h("div", { class: "nb-buttons nb-actions" },
      player.groups.openable(id) && action("opener", () => player.groups.open(id),
        t("open_group", { name: node.symbol || node.name })),
      inside > 0 && action("folder", () => player.fold(id), folded ? t("unfold", { count: inside }) : t("fold"),
        { "aria-expanded": String(!folded) }),
      action("close", () => player.deselect(), player.plays ? t("back_to_step") : "×"));
  }
}
