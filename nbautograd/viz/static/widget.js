import { ask, renderLens } from "./lens.js";
import { mount } from "./player.js";

const PAUSE = 120; // milliseconds in which further changes are waited for, before the kernel is told

/** In a shadow tree (marimo's), where the style sheet does not see the page around it: light or dark as that page. */
export function followPage(element) {
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

/** The data of a player with whole drawings: as they are sent, those of one shape have it once, and their numbers. */
function withDrawings({ shapes, svgs, ...data }) {
  const whole = ([shape, name, numbers]) => {
    const between = shapes[shape].replaceAll("\x02", name).split("\x01"), given = numbers.split("|");
    return between.map((text, i) => text + (given[i] ?? "")).join("");
  };
  return { ...data, svgs: svgs.map((same) => same.map(whole)) };
}

/** Show what a widget holds in an element; its model has what changes. What is returned ends that. */
export function render(model, el, texts, data) {
  const own = ["light", "dark"].includes(data.theme), forget = own ? () => {} : followPage(el);
  const end = data.lens ? renderLens(model, el, texts, data)
    : renderPlayer(model, el, texts, data.shapes ? withDrawings(data) : data);
  return () => { forget(); end(); };
}

function renderPlayer(model, el, texts, data) {
  let own = false;
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
  const hooks = { index: model.get("index"), onindex: send("index"), onselect: send("selected"),
    onopen: (view) => ask(model, { view }), // without a kernel, the player says so after a while, predicts, or waits
    onnudge: (nudge) => ask(model, { nudge }), onprogram: () => ask(model, { program: true }) };
  const player = mount(el, { ...data, texts, program: model.get("written") ?? data.program }, hooks);
  const events = {
    "change:written": () => player.written(model.get("written")),
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
