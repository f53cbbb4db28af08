import { shared } from "./camera.js";
import { dimsOf } from "./chain.js";
import { s } from "./dom.js";

const BEAD = 8; // radius of a bead on an edge
const ALONG = [0.5, 0.62, 0.38, 0.74, 0.26]; // fractions of an edge's length for a bead, the best first
const LONG_LINE = 400, AT_START = [28, 40, 18]; // pixels: a longer edge shares all but its start with others
export const SIGN = "h-6l3.4 3.6l-3.4 3.6h6"; // offset of a Σ from its upper right end

/** The beads of the joints: as much of the ring as terms have come; full when all have. */
export function paintBeads(stage, state) {
  stage.beads ??= beadsIn(stage.svg); // searching them at each step takes longer than painting
  for (const { bead, ring } of stage.beads.leaves) {
    const id = bead.dataset.bead, leaf = state.leaves.get(id);
    const of = leaf?.of || Number(ring.getAttribute("pathLength")), got = leaf?.got || 0;
    ring.setAttribute("pathLength", of);
    ring.setAttribute("stroke-dasharray", `${got} ${of}`);
    const full = got >= of, fires = full && !!state.frame?.leaves?.[id] && state.frame.kind === "op";
    bead.classList.toggle("nb-full", full);
    bead.classList.toggle("nb-fires", fires);
  }
  for (const bead of stage.beads.sums) {
    const id = bead.dataset.sum || bead.dataset.joint;
    bead.classList.toggle("nb-full", state.active.has(id) || state.done.has(id));
  }
}

/** The beads of a drawing: those of leaves with their rings, and those on edges and joints. */
const beadsIn = (svg) => ({
  leaves: [...svg.querySelectorAll("[data-bead]")].map((bead) => ({ bead, ring: bead.querySelector(".nb-bead-ring") })),
  sums: [...svg.querySelectorAll("[data-sum], [data-joint]")],
});

/** A bead on each edge on which broadcasting is undone by a sum. */
export function addSumBeads(player) {
  const { history, links, stage, t } = player, scene = history.sceneAt(player.shown);
  for (const { chain } of history.frames.filter((frame) => frame.scene === scene)) {
    for (const step of chain || []) {
      const flow = step.summed && stage.part("flow", step.edge);
      if (!flow || stage.svg.querySelector(`[data-sum="${CSS.escape(step.edge)}"]`)) continue;
      const dims = dimsOf(step), name = links.nodes[links.byId.get(step.edge)?.src]?.name;
      const { x, y } = clearOf(stage, step.edge, flow);
      flow.after(s("g", { class: "nb-bead nb-sum-bead", "data-sum": step.edge },
        s("title", {}, t("undo_broadcast", { dims, name })),
        s("circle", { class: "nb-bead-ground", cx: x, cy: y, r: BEAD }),
        s("path", { class: "nb-bead-sign", d: `M${x + 3} ${y - 3.6}${SIGN}`, fill: "none" })));
    }
  }
  stage.beads = null;
}

/** The place on the line of a gradient that is covered least by texts on edges. */
function clearOf(stage, edge, flow) {
  const length = flow.getTotalLength(), labels = [...stage.find.keys()].filter((key) => key.startsWith("label "));
  const taken = labels.map((key) => stage.labelBox(key.slice(6), "0".repeat(6))).filter(Boolean);
  const cost = ({ x, y }) => {
    const own = { x: x - BEAD, y: y - BEAD, width: 2 * BEAD, height: 2 * BEAD };
    return taken.reduce((sum, box) => sum + shared(own, box), 0);
  };
  const starts = length > LONG_LINE ? AT_START : ALONG.map((part) => length * part);
  const places = starts.map((start) => flow.getPointAtLength(start));
  return places.reduce((best, place) => (cost(place) < cost(best) - 1 ? place : best));
}
