import { h } from "./dom.js";

/**
 * Keys and what they do: the text that says it, where there is such a thing to do ("plays": with a pass, "still":
 * without one, "": always), and for each key the action. The player's help, its `aria-keyshortcuts` and what it does
 * when a key is pressed all come from here.
 */
const KEYS = [
  ["play", "plays", { " ": ({ playback }) => playback.toggle() }],
  ["step", "plays", { ArrowLeft: (player) => player.step(player.backward()),
    ArrowRight: (player) => player.step(player.forward()) }],
  ["ends", "plays", { Home: (player) => player.step(player.beginning()), End: (player) => player.step(player.last) }],
  ["along", "still", { ArrowLeft: (player) => player.walk("makers"), ArrowRight: (player) => player.walk("users") }],
  ["list", "still", { ArrowUp: (player) => player.walk(-1), ArrowDown: (player) => player.walk(1) }],
  ["list", "", { "[": (player) => player.walk(-1), "]": (player) => player.walk(1) }],
  ["edges", "plays", { e: ({ card }) => card.next(1), E: ({ card }) => card.next(-1) }],
  ["nudge", "plays", { n: ({ nudge }) => nudge.focus() }],
  ["ask", "plays", { "?": ({ predict }) => predict.toggle() }],
  ["passes", "plays", { PageUp: ({ stacks }) => stacks.move(-1), PageDown: ({ stacks }) => stacks.move(1) }],
  ["compare", "plays", { g: ({ stacks }) => stacks.toggle() }],
  ["loop", "plays", { l: ({ controls }) => controls.loop.click() }],
  ["scale", "plays", { m: ({ controls }) => controls.scale.click() }],
  ["search", "", { "/": ({ search }) => search.focus() }],
  ["zoom", "", { "+": (player) => player.closer(), "=": (player) => player.closer(),
    "-": (player) => player.further() }],
  ["fit", "", { f: ({ stage }) => stage.fit(true) }],
  ["open", "", { Enter: (player) => enter(player) }],
  ["fold", "", { c: (player) => player.selected && player.fold(player.selected) }],
  ["repeats", "", { r: ({ controls }) => controls.repeats?.click() }],
  ["into", "plays", { ArrowDown: ({ groups }) => groups.deeper(), ArrowUp: ({ groups }) => groups.higher() }],
  ["level", "", { "<": ({ groups }) => groups.higher(), ">": ({ groups }) => groups.deeper() }],
  ["drawer", "", { o: ({ drawer }) => drawer.toggle() }],
  ["help", "", { i: ({ marks }) => marks.toggle() }],
  ["back", "", { Escape: (player) => closeLast(player) }],
];
const SHOWN = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc", "-": "−", E: "⇧E",
  "=": "" };
export const SPOKEN = { " ": "Space", "+": "Plus", E: "Shift+E" }; // key names of ARIA

const keysOf = ({ plays }) => KEYS.filter(([, where]) => !where || (where === "plays") === plays);

/** What each key does, by its name. */
const keyActions = (player) => Object.assign({}, ...keysOf(player).map(([, , actions]) => actions));

export const keyShortcuts = (player) => Object.keys(keyActions(player))
  .map((key) => SPOKEN[key] ?? (key.length > 1 ? key : key.toUpperCase())).join(" ");

/** A list of the keys, each with what it does. */
export function keyList(player) {
  const { t } = player, called = (key) => SHOWN[key] ?? (key === " " ? t("key_space") : key.length > 1 ? key
    : key.toUpperCase());
  return h("dl", { class: "nb-keys" }, ...keysOf(player).map(([name, , actions]) => h("div", {},
    h("dt", {}, ...Object.keys(actions).map(called).filter(Boolean).map((key) => h("kbd", {}, key))),
    h("dd", {}, t(`does_${name}`)))));
}

/** Open the group that is selected; where gradients are predicted, go on. */
function enter(player) {
  const { groups, predict, selected } = player;
  if (selected && groups.openable(selected)) groups.open(selected);
  else if (predict.on && !selected) player.step(player.forward());
}

/** Close what is open, the last first; where nothing is, leave the player. */
function closeLast(player) {
  if (player.marks.open) player.marks.toggle();
  else if (player.nudge.active) player.nudge.reset();
  else if (player.card.edge) { player.card.hide(); player.hover(null, null); }
  else if (player.selected) player.deselect();
  else leave(player.root);
}

/** Give the focus to what is around an element and takes keys: in a notebook, the cell. */
export function leave(element) { element.parentElement.closest("[tabindex]")?.focus({ preventScroll: true }); }

/** Whether a key is meant for the page around: one with Ctrl, Cmd or Alt, and what runs a cell. */
export function isForPage({ altKey, ctrlKey, key, metaKey, shiftKey, target }) {
  return altKey || ctrlKey || metaKey || (shiftKey && key === "Enter" && target.tagName !== "INPUT");
}

/** What `moves` has for a key that is pressed in an element of its own: nothing else hears it. Undefined for others. */
export function moveOf(event, moves) {
  const move = isForPage(event) ? undefined : moves[event.key];
  if (move === undefined) return undefined;
  event.preventDefault();
  event.stopPropagation();
  return move;
}

/** What JupyterLab reads before it takes a key: those without Ctrl, Cmd or Alt are none of its shortcuts. */
const SUPPRESS = "data-lm-suppress-shortcuts";

/** Attributes of an element whose keys `act`; the notebook does not hear them, but for those that are for the page. */
export function keyAttributes(act) {
  const own = (event) => {
    const page = isForPage(event);
    event.currentTarget.toggleAttribute(SUPPRESS, !page);
    return !page;
  };
  return { [SUPPRESS]: "", onkeyup: own, onkeydown: (event) => {
    if (!own(event)) return;
    event.stopPropagation();
    act(event);
  } };
}

/** Whether a key is meant for what has the focus inside of the player. */
function isFor(element, key, player) {
  const tag = element.tagName, confirms = key === " " || key === "Enter";
  const own = element.matches?.(".nb-nudge-range") || player.marks.element.contains(element);
  if (own) return !["Escape", "i"].includes(key);
  return tag === "SELECT" || (["BUTTON", "SUMMARY"].includes(tag) && confirms);
}

/** A key that was pressed in the player. */
export function pressed(player, event) {
  for (const part of [player.predict, player.search]) {
    if (event.target !== part.field) continue;
    if (part.key(event)) event.preventDefault();
    return;
  }
  const actions = keyActions(player), { key } = event;
  const name = key.length > 1 || key === "E" ? key : key.toLowerCase();
  if (isFor(event.target, name, player) || !Object.hasOwn(actions, name)) return;
  actions[name](player);
  event.preventDefault();
}
