/** The program of the pass, below the player: the lines that run are marked, and a click on one goes to its step. */
class ProgramLines {
  constructor(player) {
    this.player = player;
    const { t } = player, lines = player.data.program || [];
    this.rows = lines.map(([text, comment, part, node]) => {
      const row = { part, node, element: h("code", { class: "nb-program-line" }, text,
        comment ? h("i", {}, `  # ${comment}`) : "") };
      const step = this.stepOf(row);
      if (step !== null) {
        Object.assign(row.element, { tabIndex: 0, onclick: () => player.step(step) });
        row.element.setAttribute("role", "button");
        row.element.onkeydown = (event) => {
          if (event.key === "Enter" && !isForPage(event)) { event.stopPropagation(); player.step(step); }
        };
      }
      return row;
    });
    this.element = this.rows.length > 0 && h("details", { class: "nb-more nb-program", "aria-label": t("program") },
      h("summary", {}, t("program")),
      h("div", { class: "nb-program-lines" }, ...this.rows.map(({ element }) => element)));
  }

  /** The step in which a line runs; null for one that no step is of. */
  stepOf({ part, node }) {
    const { forwardPass, history } = this.player;
    if (part === "forward") {
      const place = forwardPass.pass.steps.findIndex(([id]) => id === node);
      return place < 0 ? null : place - forwardPass.pass.steps.length;
    }
    const kind = part === "grads" ? "accumulate" : "op";
    const place = node ? history.frames.findIndex((frame) => frame.node === node && frame.kind === kind) : -1;
    return place < 0 ? null : place + 1;
  }

  /** Mark what runs in the step that is shown. */
  show(index) {
    if (!this.element) return;
    const { player } = this, from = index > 0 ? player.stops[player.position(index) - 1] ?? 0 : index - 1;
    let lit = null;
    for (const row of this.rows) {
      const step = this.stepOf(row), runs = step !== null && step > from && step <= index;
      row.element.classList.toggle("nb-runs", runs);
      if (runs) {
        row.element.setAttribute("aria-current", "step");
        lit ??= row.element;
      } else row.element.removeAttribute("aria-current");
    }
    if (lit && this.element.open) {
      const place = lit.parentNode, top = lit.offsetTop;
      if (top < place.scrollTop || top > place.scrollTop + place.clientHeight - 40) place.scrollTop = top - 40;
    }
  }
}
