import { h, TELEPHONE } from "./dom.js";

export const LEAST_WORDS = 140; // pixels of the words beside all tiles
export const MOVES = 32; // pixels of the pass's own tensors below the equation
export const BESIDE = 1000; // pixels: in a wider strip the pass's own tensors are beside the equation
export const HEADS = 15, WORDS_HIGH = 18; // pixels of the names above tiles, and of a line of words
const CUT = 1000; // pixels added for a strip that cuts the names above its tiles
const NAMED = 6.8, CHINESE = 12; // pixels of a letter of a name above a tile, and of a Chinese one
const MEASURED = 24; // limit of the measured steps; of more, the longest text of each kind comes first

/** Tell the style sheet the height of the tiles and the least width of the words. */
export function giveRoom({ tall }, { style }) {
  style.setProperty("--nb-tile", `${tall}px`);
  style.setProperty("--nb-words", `${LEAST_WORDS}px`);
}

/** The bar's contents in a step, one for each edge along which the step sends. */
function contentsOf(bar, frame) {
  bar.frame = frame;
  return Array.from({ length: frame.chain?.length || 1 }, (_, chosen) => {
    Object.assign(bar, { chosen, pinned: null });
    return bar.content(frame);
  });
}

/** About how wide a name above a tile is. */
export const lettersWide = (text) => [...text].reduce((sum, letter) => sum + (letter > "\u2e80" ? CHINESE : NAMED), 0);

/** About how much a step says. */
const saidIn = ({ chain = [], caption = "", subtitle = "", title = "" }) => caption.length + subtitle.length
  + title.length + Math.max(0, ...chain.map((step) => JSON.stringify([step.story, step.sent_name]).length));

/** Steps, of each kind the one that says most before all others. */
function mostFirst(steps) {
  const sorted = steps.sort(([one], [other]) => saidIn(other) - saidIn(one)), kinds = new Set();
  const isFirst = ([{ kind, title, chain = [] }]) => {
    const key = `${kind} ${title} ${chain.map((step) => step.kind)}`;
    return !kinds.has(key) && kinds.add(key);
  };
  const first = new Set(sorted.filter(isFirst));
  return [...first, ...sorted.filter((step) => !first.has(step))];
}

/** The steps of all views that are shown, each with the links of its view. */
function stepsOf({ forwardPass, groups, history, stops, t }) {
  const steps = stops.slice(1).map((index) => {
    const scene = history.sceneAt(index), view = groups.viewOf(scene);
    return [history.step(index, view, t), groups.drawnFor(scene)];
  });
  for (let index = forwardPass.first + 1; index < 0; index++) {
    steps.push([forwardPass.state(index).frame, groups.drawnFor(history.sceneAt(0))]);
  }
  return steps.filter(([frame]) => frame);
}

/**
 * The height that the bar needs for the step that says most: nothing is cut, and no step moves what is above it. They
 * are laid out beside each other, out of sight and without their cells.
 */
function heightFor(bar) {
  const { player, element } = bar, { links } = player, { chosen, frame, now, pinned, views, words } = bar;
  const steps = mostFirst(stepsOf(player)).slice(0, MEASURED);
  bar.bare = true;
  const bars = steps.flatMap(([step, scene]) => {
    player.links = player.forwardPass.linksOf(player.history.scenes[scene]);
    return contentsOf(bar, step).map((content) => h("div", { class: element.className }, ...content));
  });
  player.links = links;
  Object.assign(bar, { bare: false, chosen, frame, now, pinned, views, words });
  bars.push(...player.history.scenes.map((scene) => h("p", { class: "nb-caption" }, player.opening(scene))));
  const room = h("div", { class: "nb-bar-room", "aria-hidden": "true" }, ...bars);
  room.style.width = `${element.clientWidth}px`;
  giveRoom(bar, room);
  element.after(room);
  const most = Math.max(0, ...bars.map((one) => one.offsetHeight));
  const isCut = !bar.below && bar.player.strip.clientWidth <= BESIDE
    && [...room.querySelectorAll(".nb-equation-head:not([title])")]
      .some((head) => head.scrollWidth > head.clientWidth + 1);
  room.remove();
  return most + (isCut ? CUT : 0);
}

/** Whether the pass's own tensors are below the equation, and the height of both: the lower of the two ways. */
export function lowest(bar, wide) {
  const needs = (below) => {
    bar.place(below);
    return { below, least: heightFor(bar) + (below ? MOVES : 0) };
  };
  if (wide <= TELEPHONE) return needs(true);
  const beside = needs(false);
  if (wide > BESIDE || beside.least <= bar.tall + HEADS + MOVES) return beside; // no lower below it
  const other = needs(true);
  return other.least < beside.least ? other : beside;
}
