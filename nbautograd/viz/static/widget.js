const TRAITS = ["svgs", "timeline", "label", "theme", "views", "start", "ask", "head", "program"];
const PAUSE = 120; // milliseconds in which further changes are waited for, before the kernel is told

/** In a shadow tree (marimo's), where the style sheet does not see the page around it: light or dark as that page. */
function followPage(element) {
  if (!(element.getRootNode() instanceof ShadowRoot)) return () => {};
  const pages = [document.body, document.documentElement];
  const follow = () => {
    const said = pages.map((page) => page.dataset.theme).find((theme) => ["light", "dark"].includes(theme));
    if (said) element.dataset.nbTheme = said;
    else delete element.dataset.nbTheme;
  };
  const watch = new MutationObserver(follow);
  for (const page of pages) watch.observe(page, { attributes: true, attributeFilter: ["data-theme"] });
  follow();
  return () => watch.disconnect();
}

/** Show a widget's model in an element; what is returned ends that. */
export function render(model, el, texts) {
  const own = ["light", "dark"].includes(model.get("theme")), forget = own ? () => {} : followPage(el);
  const end = (model.get("lens") ? renderLens : renderPlayer)(model, el, texts);
  return () => { forget(); end(); };
}

function renderPlayer(model, el, texts) {
  let player, own = false;
  const timers = {};
  const send = (name) => (value) => {
    clearTimeout(timers[name]);
    timers[name] = setTimeout(() => {
      if (value === model.get(name)) return;
      own = true;
      try { model.set(name, value); model.save_changes(); } catch { /* no kernel: the player does not need one */ }
      own = false;
    }, PAUSE);
  };
  const ask = (view) => {
    try { model.send({ view }); } catch { /* no kernel: the player says so after a while */ }
  };
  const nudge = (wish) => {
    try { model.send({ nudge: wish }); } catch { /* no kernel: the player predicts */ }
  };
  const program = () => {
    try { model.send({ program: true }); } catch { /* no kernel: its tab says so */ }
  };
  const make = () => {
    player?.destroy();
    const data = { texts, ...Object.fromEntries(TRAITS.map((name) => [name, model.get(name)])) };
    const hooks = { index: model.get("index"), onindex: send("index"), onselect: send("selected"), onopen: ask,
      onnudge: nudge, onprogram: program };
    player = mount(el, data, hooks);
  };
  make();
  const events = {
    "change:timeline": make,
    "change:program": () => player.written(model.get("program")),
    "change:index": () => { if (!own) player.go(model.get("index")); },
    "change:selected": () => { if (!own) player.select(model.get("selected")); },
    "msg:custom": (message) => { 
      if (message?.view) player.add(message);
      if (message?.nudged) player.nudged(message.nudged);
    },
  };
  for (const [name, listener] of Object.entries(events)) model.on(name, listener);
  return () => {
    player.destroy();
    for (const timer of Object.values(timers)) clearTimeout(timer);
    for (const [name, listener] of Object.entries(events)) model.off(name, listener);
  };
}
