/** What each key does, by its name. */
function keyActions(player) {
  const { controls, groups, plays, search, stage } = player;
  const moves = plays ? {
    ArrowRight: () => player.step(player.forward()),
    ArrowLeft: () => player.step(player.backward()),
    Home: () => player.step(player.beginning()),
    End: () => player.step(player.last),
    " ": () => player.playback.toggle(),
    l: () => controls.loop.click(),
    m: () => controls.scale.click(),
    "?": () => player.predict.toggle(),
    PageDown: () => player.stacks.move(1),
    PageUp: () => player.stacks.move(-1),
    g: () => player.stacks.toggle(),
  } : {
    ArrowRight: () => player.walk("users"),
    ArrowLeft: () => player.walk("makers"),
    ArrowDown: () => player.walk(1),
    ArrowUp: () => player.walk(-1),
  };
  return {
    ...moves,
    Escape: () => closeLast(player),
    n: () => plays && player.nudge.focus(),
    i: () => player.marks.toggle(),
    o: () => controls.map.click(),
    ">": () => groups.deeper(),
    "<": () => groups.higher(),
    e: () => player.card.next(1),
    E: () => player.card.next(-1),
    "/": () => search.focus(),
    "+": () => stage.zoom(CLOSER),
    "=": () => stage.zoom(CLOSER),
    "-": () => stage.zoom(FURTHER),
    f: () => stage.fit(true),
    "[": () => player.walk(-1),
    "]": () => player.walk(1),
    Enter: () => {
      if (player.selected && groups.openable(player.selected)) groups.open(player.selected);
      else if (player.predict.on && !player.selected) player.step(player.forward());
    },
    c: () => player.selected && player.fold(player.selected),
    r: () => controls.repeats && controls.repeats.click(),
  };
}

/** Close what is open, the last first. */
function closeLast(player) {
  if (player.marks.open) player.marks.toggle();
  else if (player.nudge.active) player.nudge.reset();
  else if (player.card.edge) { player.card.hide(); player.hover(null, null); }
  else player.deselect();
}

/** A key that was pressed in the player. The notebook's own shortcuts are not meant, and do not hear it. */
function pressed(player, event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  event.stopPropagation();
  if (event.target === player.predict.field) {
    if (player.predict.key(event)) event.preventDefault();
    return;
  }
  if (event.target === player.search.field) {
    if (player.search.key(event)) event.preventDefault();
    return;
  }
  if (event.target.matches?.(".nb-nudge-range") && event.key !== "Escape") return;
  const actions = keyActions(player), tag = event.target.tagName;
  const name = event.key.length > 1 || event.key === "E" ? event.key : event.key.toLowerCase();
  const confirms = tag === "BUTTON" && (event.key === " " || event.key === "Enter");
  if (tag === "SELECT" || tag === "SUMMARY" || confirms || !Object.hasOwn(actions, name)) return;
  actions[name]();
  event.preventDefault();
}

