// Moves numbers between the edges of the graph and the equation below it.

import { isIn, middleOf } from "./camera.js";
import { inlineTile } from "./cells.js";
import { h } from "./dom.js";

const FLIGHT = 320; // milliseconds
const GHOST = { wide: 120, high: 48, line: 15 }; // room for a moving tile

/** The edge along which a gradient came; to a value without a box the only one that leads from there. */
export function cameAlong({ player, frame: { node, received = [] } }) {
  const users = player.links.users(node);
  return received[0] ?? (users.length === 1 ? users[0].id : null);
}

/** The middle of a cell on the page; null where the bar, which may scroll, does not show it. */
function middleIn(bar, cell) {
  const [own, whole] = [cell, bar].map((element) => element.getBoundingClientRect());
  const middle = middleOf(own);
  return isIn(middle, whole) ? middle : null;
}

/** A gradient flies between the place of its number on an edge and a cell of the bar, where both can be seen. */
export function fly({ element, player, scale, state }, edge, part, leaves) {
  const { root, stage, tiles, playback } = player, { labels, tiles: numbers } = state;
  const cell = element.querySelector(`.nb-is-${part} .nb-tile`), text = labels.get(edge);
  const tile = tiles.gradientOn(edge, numbers.get(edge));
  const [label, own] = [text && stage.labelOnPage(edge), cell && middleIn(element, cell)];
  if (!label || !own || (!tile && text.includes("\n"))) return;
  const shown = tile ? inlineTile(tile, scale, GHOST).svg : text;
  const ghost = h("span", { class: "nb-flying", "data-edge": edge, "aria-hidden": "true" }, shown);
  const { left, top } = root.getBoundingClientRect();
  const place = ([x, y]) => ({ transform: `translate(${x - left}px, ${y - top}px) translate(-50%, -50%)` });
  root.append(ghost);
  const flight = ghost.animate((leaves ? [label, own] : [own, label]).map(place),
    { duration: FLIGHT / playback.speed, easing: "ease-in-out" });
  flight.onfinish = flight.oncancel = () => ghost.remove();
}
