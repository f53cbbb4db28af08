/** Build the player in an element. `hooks.index` is where it starts; `hooks.onindex(k)` and `hooks.onselect(id)` are told. */
export function mount(place, data, hooks = {}) {
  const history = new History(data.timeline), last = history.frames.length;
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  const texts = data.texts || {}, t = (key, places) => (places ? fill(texts[key] ?? key, places) : texts[key] ?? key);
  const plays = last > 0, passes = history.passes();
  let index = 0, speed = 1, timer = 0, running = 0, selected = null, scene = -1, loops = false, links = new Links();
  let found = [], hit = -1, asked = 0;
  const views = data.views || {}, opened = new Set();
  const other = ["fold", "open"].find((key) => Object.keys(views).some((view) => view.endsWith(`:${key}`))); // what the button does
  /** The key of a scene's view with the groups open that are open now, as far as that scene has them. */
  const keyOf = (number) => {
    const known = new Set(Object.entries(views).filter(([key]) => key.startsWith(`${number}:`)).flatMap(([, drawn]) => history.scenes[drawn].groups.map(([group]) => group)));
    return `${number}:${[...opened].filter((key) => known.has(key) || `${number}:${key}` in views).sort().join(",")}`;
  };
  const drawnFor = (number) => views[keyOf(number)] ?? number;
  const viewOf = (number) => history.scenes[drawnFor(number)];
  const at = (k) => history.at(k, viewOf(history.sceneAt(k)), t);
  let stops = history.stops(viewOf);
  const position = (k) => stops.findIndex((stop) => stop >= k);
  if (data.theme === "light" || data.theme === "dark") place.dataset.nbTheme = data.theme;

  // -- the parts ------------------------------------------------------------------------------------------------------
  const button = (name, label, action) =>
    h("button", { type: "button", class: `nb-button nb-${name}`, "aria-label": label, title: label, onclick: action }, icon(name));
  const toggle = (name, label, action) => {
    const made = button(name, label, () => { const on = action(); made.setAttribute("aria-pressed", String(on)); made.classList.toggle("nb-pressed", on); });
    made.setAttribute("aria-pressed", "false");
    return made;
  };
  const step = (to) => () => { pause(); go(to(), true); };
  const forward = () => stops[position(index) + 1] ?? last, backward = () => stops[position(index) - 1] ?? 0;
  const playButton = button("play", t("play_key"), () => (timer ? pause() : play()));
  const count = h("span", { class: "nb-count" });
  const slider = h("input", { type: "range", class: "nb-slider", min: 0, max: stops.length - 1, step: 1, value: 0,
    "aria-label": t("step_slider"), oninput: (event) => { pause(); go(stops[Number(event.target.value)] ?? last); } });
  const speeds = h("select", { class: "nb-speed", "aria-label": t("speed"), title: t("speed"),
    onchange: (event) => { speed = Number(event.target.value); } },
  ...[0.25, 0.5, 1, 2, 4].map((x) => h("option", { value: x, selected: x === 1 && "" }, `${x}×`)));
  const jump = passes.length > 1 && h("select", { class: "nb-speed nb-jump", "aria-label": t("jump"), title: t("jump"),
    onchange: (event) => { pause(); go(Number(event.target.value)); } },
  ...passes.map(([n, first]) => h("option", { value: first }, t("pass_n", { n }))));
  const loop = toggle("loop", t("loop"), () => (loops = !loops));
  const repeats = other && toggle("repeats", t(`${other}_all`), () => { if (!opened.delete(other)) { opened.clear(); opened.add(other); } redraw(); return opened.has(other); });
  const scale = toggle("scale", t("scale"), () => { stage.scaled = !stage.scaled; legend.hidden = !stage.scaled; stage.paint(at(index)); return stage.scaled; });
  const search = h("input", { type: "search", class: "nb-search", placeholder: t("search_hint"), "aria-label": t("search"), title: t("search"),
    spellcheck: "false", autocomplete: "off", oninput: () => look(search.value) });
  const matches = h("span", { class: "nb-matches", role: "status" });
  const stageElement = h("div", { class: "nb-stage" });
  const chips = h("div", { class: "nb-chips" });
  const legend = h("div", { class: "nb-legend", hidden: "", title: t("legend") }, h("span", {}, t("legend_small")),
    ...["0", "10⁻⁶", "10⁻³", "10²", "10⁵"].map((text, i) => h("i", { "data-size": i, title: `> ${text}` }, i ? text : "")), h("span", {}, t("legend_large")));
  const caption = h("p", { class: "nb-caption", "aria-live": "polite" });
  const side = h("aside", { class: "nb-side", "aria-label": t("this_step") });
  const ledger = h("div", { class: "nb-ledger" });
  const words = h("pre", { class: "nb-words" });
  const root = h("div", { class: "nb-player", role: "group", tabindex: 0, "aria-label": t(plays ? "backward_of" : "graph_of", { label: data.label }),
    lang: texts.lang, "aria-keyshortcuts": "Space ArrowLeft ArrowRight Home End / F M L C", "data-lm-suppress-shortcuts": "true", onkeydown: key },
  h("div", { class: "nb-bar", role: "toolbar", "aria-label": t("playback") },
    h("span", { class: "nb-head-line" }, h("strong", {}, t(plays ? "backward" : "graph")), " ", count),
    h("span", { class: "nb-buttons nb-find" }, search, matches),
    h("span", { class: "nb-buttons", role: "group", "aria-label": t("view") }, plays && scale, repeats,
      button("out", t("out"), () => stage.zoom(0.8)), button("in", t("in"), () => stage.zoom(1.25)),
      button("fit", t("fit"), () => stage.fit(true)), button("save", t("save"), save)),
    plays && h("span", { class: "nb-transport" }, h("span", { class: "nb-buttons" },
      button("first", t("first"), step(() => 0)), button("back", t("back"), step(backward)), playButton,
      button("forward", t("forward"), step(forward)), button("last", t("last"), step(() => last)), loop),
    slider, jump, speeds)),
  h("div", { class: "nb-body" }, h("div", { class: "nb-main" }, chips, stageElement, legend, caption), side),
  plays && ledger,
  h("details", { class: "nb-more" }, h("summary", {}, t("in_words")), words));
  place.replaceChildren(root);
  const stage = new Stage(stageElement, (id) => {
    if (openable(id) && open(id)) return;
    select(id === selected ? null : id);
    if (openable(id)) caption.textContent = t("needs_kernel");
  }, hover);
  stage.texts = texts;
  stageElement.addEventListener("dblclick", (event) => { if (!event.target.closest?.("[data-node]")) stage.fit(true); });

  // -- showing a step -------------------------------------------------------------------------------------------------
  function go(to, move = false) {
    const from = position(index), wanted = Math.min(Math.max(Math.round(to) || 0, 0), last);
    index = stops[position(wanted)] ?? last;
    cancelAnimationFrame(running);
    running = 0;
    const state = at(index);
    const shown = drawnFor(state.scene);
    if (shown !== scene) {
      scene = shown;
      links = new Links(history.scenes[scene]);
      stage.load(data.svgs[scene] || data.svgs[0], links);
      stage.addOpeners(closedGroups().map(([group]) => group));
      tellOpened();
      words.textContent = history.scenes[scene]?.words || "";
      if (search.value) look(search.value, false);
    }
    stage.still();
    choose(null);
    tell(state);
    const animated = move && position(index) === from + 1 && !reduced.matches && state.frame && !["start", "created"].includes(state.frame.kind);
    lookAt(state, move && !reduced.matches);
    if (animated) animate(state);
    else settle(state);
    hooks.onindex?.(index);
  }

  /** Where the graph is larger than the window: show what is active; before the first step, where the pass will begin. */
  function lookAt(state, gently) {
    if (state.active.size) stage.follow(state, gently);
    else if (stage.overflows && !stage.moved) {
      const roots = history.scenes[scene]?.roots || [];
      stage.centre(selected || roots.find((id) => !links.users(id).length) || roots[0]);
    }
  }

  function settle(state) {
    stage.paint(state);
    stage.tell(state.frame);
  }

  /** First the step's beginning, then its numbers on their way, then its end. */
  function animate(state) {
    const before = at(stops[position(state.index) - 1] ?? 0);
    const travelling = new Set((state.frame.active || []).filter((id) => stage.part("flow", id)));
    stage.paint({ ...state, leaves: before.scene === state.scene ? before.leaves : state.leaves }, travelling);
    const begun = performance.now(), duration = STEP / speed;
    const tick = (now) => {
      const progress = Math.min((now - begun) / duration, 1);
      stage.travel(state.frame, progress);
      if (progress < 1) { running = requestAnimationFrame(tick); return; }
      running = 0;
      stage.still();
      settle(state);
    };
    running = requestAnimationFrame(tick);
  }

  function tell(state) {
    const label = history.scenes[scene]?.label || data.label;
    const first = plays ? t("before_caption") : t("graph_caption", { label: data.label }), notes = history.scenes[scene]?.notes || [];
    const text = state.frame ? state.frame.caption || state.frame.title : [first, ...notes].join(" · ");
    const here = position(index), most = stops.length - 1, where = t("step", { index: here, last: most });
    count.textContent = plays ? `${where} · ${label}` : data.label;
    count.title = count.textContent;
    slider.max = most;
    slider.value = here;
    slider.style.setProperty("--nb-part", `${most ? (100 * here) / most : 0}%`);
    slider.setAttribute("aria-valuetext", `${where}: ${text}`);
    if (jump) jump.value = [...passes].reverse().find(([, first]) => first <= Math.max(index, 1))?.[1] ?? 1;
    caption.setAttribute("aria-live", timer ? "off" : "polite");
    caption.textContent = text;
    root.dataset.step = here;
    panel(state);
    if (plays) table(state);
  }

  // -- choosing and pointing ------------------------------------------------------------------------------------------
  function choose(id) {
    if (id === selected) return;
    selected = id;
    hooks.onselect?.(id || "");
  }

  function select(id, centre = false) {
    choose(id);
    panel(at(index));
    if (id && centre) stage.centre(id);
    const node = id && links.nodes[id];
    if (node) caption.textContent = [node.expression || node.name, t(`kind_${node.kind}`), node.value, node.shape].filter(Boolean).join(" · ");
  }

  /** Formula, node, edge and source line light up together. */
  function hover(node, edge, line = null) {
    let nodes = [], edges = [], slots = [], where = line;
    if (edge) {
      const { src, dst } = links.byId.get(edge) || {};
      [nodes, edges] = [[src, dst], [edge]];
      slots = [[dst, links.byId.get(edge)?.slot]];
      where = links.nodes[dst]?.where;
    } else if (node) {
      edges = [...links.makers(node), ...links.users(node)].map(({ id }) => id);
      nodes = [node];
      slots = links.users(node).map(({ dst, slot }) => [dst, slot]);
      where = links.nodes[node]?.where || links.nodes[links.makers(node)[0]?.src]?.where;
    } else if (line) nodes = links.lines.get(line) || [];
    stage.light(nodes.filter(Boolean), edges);
    const own = selected || at(index).frame?.node;
    for (const equation of side.querySelectorAll("[data-slot]")) {
      equation.classList.toggle("nb-near", slots.some(([dst, slot]) => dst === own && String(slot) === equation.dataset.slot));
    }
    for (const other of side.querySelectorAll("[data-where]")) other.classList.toggle("nb-near", other.dataset.where === where);
  }

  function look(text, move = true) {
    found = links.search(text);
    hit = found.length && move ? 0 : -1;
    stage.mark(found, found[hit]);
    matches.textContent = !text.trim() ? "" : found.length ? t("found", { index: Math.max(hit, 0) + 1, count: found.length }) : t("found_none");
    if (hit >= 0) stage.centre(found[0]);
  }

  function nextFound(by) {
    if (!found.length) return;
    hit = (hit + by + found.length) % found.length;
    stage.mark(found, found[hit]);
    matches.textContent = t("found", { index: hit + 1, count: found.length });
    select(found[hit], true);
  }

  /** From node to node along the edges: with the flow, against it, or to the neighbour in the list. */
  function walk(way) {
    const ids = Object.keys(links.nodes).filter((id) => !stage.hidden?.has(id));
    const here = ids.indexOf(selected);
    let to = null;
    if (here < 0) to = history.scenes[scene]?.roots?.[0] || ids[0];
    else if (way === "users") to = links.users(selected)[0]?.dst;
    else if (way === "makers") to = links.makers(selected).find(({ src }) => !stage.hidden?.has(src))?.src;
    else to = ids[(here + way + ids.length) % ids.length];
    if (to) select(to, stage.overflows);
  }

  // -- the panel ------------------------------------------------------------------------------------------------------
  const row = (name, ...content) => [h("dt", {}, name), h("dd", {}, ...content)];
  const pairs = (list, sign) => list.map(([name, value]) => h("div", { class: "nb-pair" }, name, h("span", { class: "nb-sign" }, ` ${sign} `), h("b", {}, value)));
  const heading = (title, subtitle) => h("h4", {}, h("span", { class: "nb-title" }, title), " ", h("span", { class: "nb-subtitle" }, subtitle || ""));

  function panel(state) {
    const node = selected && links.nodes[selected];
    side.replaceChildren(...(node ? about(node, state) : state.frame ? now(state.frame) : idle()));
    for (const element of stageElement.querySelectorAll(".nb-selected")) element.classList.remove("nb-selected");
    if (node) stage.part("node", selected)?.classList.add("nb-selected");
  }

  function idle() {
    return [h("h4", {}, plays ? t("before_pass") : data.label), h("p", { class: "nb-hint" }, t(plays ? "before_hint" : "graph_hint")),
      stage.overflows && h("p", { class: "nb-hint nb-cut-off" }, t("cut_off")), ...listing(null)].filter(Boolean);
  }

  function equation(marks, label, numbers, slot, node) {
    const written = formula(marks);
    if (label) { written.setAttribute("role", "math"); written.setAttribute("aria-label", label); }
    const edge = links.makers(node).find((e) => e.slot === slot && e.kind === "flow");
    const point = (on) => () => stage.light(on && edge ? [edge.src, node] : [], on && edge ? [edge.id] : []);
    return h("div", { class: "nb-equation", "data-slot": slot, onpointerenter: point(true), onpointerleave: point(false) },
      written, numbers && h("div", { class: "nb-numbers" }, numbers));
  }

  /** The lines of the cell, with the one that this is about marked; they point at their nodes. */
  function listing(where) {
    const shown = where ? links.listing(where) : links.listing([...links.lines.keys()].pop() || "");
    if (!shown.some(([, , source]) => source)) return [];
    const { cell } = links.nodes[links.lines.get(shown[0][0])[0]];
    return [h("div", { class: "nb-code" }, h("div", { class: "nb-cell" }, cell), h("ol", {}, ...shown.slice(0, 60).map(([place_, number, source]) =>
      h("li", { value: number, "data-where": place_, class: place_ === where && "nb-lit", onpointerenter: () => hover(null, null, place_), onpointerleave: () => hover(null, null),
        onclick: () => select(links.lines.get(place_)[0], stage.overflows) }, h("code", {}, source || "…")))))];
  }

  function product({ title, v, matrix, result, text }) {
    const written = formula([["m", [v]], ["o", "·"], ["m", matrix]]), wide = [v, ...matrix].some((line) => line.join(" ").length > 22);
    written.setAttribute("role", "math");
    written.setAttribute("aria-label", text);
    return h("div", { class: `nb-equation${wide ? " nb-wide" : ""}` }, h("div", { class: "nb-soft" }, title), written, h("div", { class: "nb-result" }, math([["o", "="], ["m", [result]]])));
  }

  function now(frame) {
    const adds = frame.kind === "accumulate", alarms = new Set(frame.alarms || []);
    const slotOf = (i) => links.nodes[frame.node]?.slots?.[i];
    return [
      heading(frame.title, frame.subtitle),
      ...(frame.notes || []).map((note) => h("p", { class: `nb-note${alarms.has(note) ? " nb-bad" : ""}` }, note)),
      h("dl", {},
        ...(frame.receives ? row(t("receives"), ...pairs(frame.receives, "=")) : []),
        ...(frame.products ? row("vᵀJ", h("div", { class: "nb-formula" }, ...frame.products.map(product))) : []),
        ...(frame.equations ? row(t(adds ? "adds" : "formula"), h("div", { class: "nb-formula" },
          ...frame.equations.map((e, i) => equation(e.marks, e.text, e.numbers, adds ? undefined : slotOf(i), frame.node)))) : []),
        ...(frame.sends ? row(t(adds ? "now" : "sends"), ...pairs(frame.sends, adds ? "=" : "←")) : []),
        ...(frame.where ? row(t("from_cell"), frame.where) : []),
        ...(frame.saved ? row(t("saves"), frame.saved) : [])),
      ...(frame.where ? listing(frame.where) : []),
    ];
  }

  function about(node, state) {
    const id = selected, leaf = state.leaves.get(id), ran = state.ran.get(id), maker = links.makers(id).find((e) => e.kind === "result");
    const flowed = maker && state.labels.get(maker.id);
    const go_ = (to) => h("button", { type: "button", class: "nb-link", onclick: () => select(to, stage.overflows) }, links.nodes[to].kind === "op" ? links.nodes[to].expression || links.nodes[to].name : links.nodes[to].name);
    const near = (list) => list.slice(0, 8).flatMap((to, i) => [i ? ", " : "", go_(to)]);
    const made = [...new Set(links.makers(id).map(({ src }) => src))], used = [...new Set(links.users(id).map(({ dst }) => dst))];
    const inside = links.private(id).size, folded = stage.folded.has(id);
    const stored = node.retains ? [flowed] : [t("not_stored", { value: flowed }), h("div", { class: "nb-soft" }, t("keep_it", { name: node.name }))];
    return [
      heading(node.name, node.expression || t(`kind_${node.kind}`)),
      h("dl", {},
        ...(node.value ? row(t("value"), h("span", { class: "nb-pre" }, node.value)) : []),
        ...(node.shape || node.dtype ? row(t("type"), `${node.dtype || ""} ${node.shape || ""}`) : []),
        ...(node.members ? row(t("members"), t(node.kind === "pile" ? "members_leaves" : "members_count", { count: node.members }), node.times ? ` · ×${node.times}` : "") : []),
        ...(!["op", "group", "pile"].includes(node.kind) ? row(t("device"), node.device || "cpu") : []),
        ...(node.view_of ? row(t("view_of"), node.view_of) : []),
        ...(node.hooks ? row(t("hooks"), node.hooks) : []),
        ...(node.version !== undefined ? row(t("version"), String(node.version)) : []),
        ...(leaf ? row(t("arriving"), `${leaf.arriving}${leaf.count ? ` (${leaf.count})` : ""}`) : []),
        ...(node.kind === "leaf" ? row(".grad", leaf ? leaf.grad : node.grad) : []),
        ...(maker && plays ? row(t("gradient"), ...(flowed ? stored : [t("not_yet")])) : []),
        ...(ran?.receives && node.kind === "op" ? row(t("receives"), ...pairs(ran.receives, "=")) : []),
        ...(node.formulas ? row(t("formula"), h("div", { class: "nb-formula" }, ...node.formulas.map((f, i) => equation(f, "", ran?.equations?.[i]?.numbers, node.slots?.[i], id)))) : []),
        ...(node.kept ? row(t("saves"), ...(node.kept.length ? node.kept.map((k) => h("div", {}, k)) : [node.saved]), node.kept.length > 0 && state.freed.has(id) && h("div", { class: "nb-soft" }, t("freed"))) : []),
        ...(made.length ? row(t("made_from"), ...near(made)) : []),
        ...(used.length ? row(t("used_by"), ...near(used)) : []),
        ...(node.where ? row(t("from_cell"), node.where) : []),
        ...(node.notes ? row(t("note"), ...node.notes) : [])),
      ...(node.where ? listing(node.where) : []),
      h("div", { class: "nb-buttons nb-actions" },
        openable(id) && h("button", { type: "button", class: "nb-button nb-opener", onclick: () => open(id) }, t("open_group", { name: node.symbol || node.name })),
        inside > 0 && h("button", { type: "button", class: "nb-button nb-folder", "aria-expanded": String(!folded), onclick: () => fold(id) }, folded ? t("unfold", { count: inside }) : t("fold")),
        h("button", { type: "button", class: "nb-button nb-close", onclick: () => { select(null); tell(at(index)); } }, plays ? t("back_to_step") : "×")),
    ];
  }

  const closedGroups = () => (history.scenes[scene]?.groups || []).filter(([group, , closed]) => closed && links.nodes[group]);
  const openable = (id) => closedGroups().some(([group]) => group === id);

  /** Open a group, or close it again; false where that cannot be shown. */
  function open(id) {
    const before = [...opened], number = history.sceneAt(index);
    if (!opened.delete(id)) opened.add(id);
    if (!(keyOf(number) in views) && !hooks.onopen) { // a page without a kernel knows views with one group open
      for (const key of [...opened]) if (key !== other && key !== id) opened.delete(key);
    }
    const key = keyOf(number);
    if (key in views) { redraw(id); return true; }
    opened.clear();
    for (const group of before) opened.add(group);
    if (!hooks.onopen) { caption.textContent = t("needs_kernel"); return false; }
    caption.textContent = "…";
    hooks.onopen(key);
    clearTimeout(asked);
    asked = setTimeout(() => { caption.textContent = t("needs_kernel"); }, 6000);
    return true;
  }

  /** What the kernel answers: one more view. */
  function add({ view, svg, scene: drawn }) {
    clearTimeout(asked);
    if (!(view in views)) {
      views[view] = history.scenes.length;
      data.svgs[history.scenes.length] = svg;
      history.scenes.push(drawn);
    }
    const before = new Set(opened), keys = view.slice(view.indexOf(":") + 1).split(",").filter(Boolean);
    opened.clear();
    for (const key of keys) opened.add(key);
    redraw(keys.find((key) => !before.has(key)));
  }

  /** Show the step again, after a group was opened or closed, which is brought into view. */
  function redraw(group = "") {
    pause();
    stops = history.stops(viewOf);
    go(index);
    const inside = history.scenes[scene].groups.find(([id]) => id === group)?.[3] || [];
    const near = [group, ...inside].find((id) => links.nodes[id]);
    if (near && stage.overflows) stage.centre(near);
  }

  /** What a group is called where it is closed. */
  const called = (group) => {
    const { symbol, name } = history.scenes.map(({ nodes }) => nodes[group]).find(Boolean) || {};
    return [symbol || group, name?.includes(": ") && name.split(": ")[0]].filter(Boolean).join(" ");
  };

  /** What is open, to be closed again. */
  function tellOpened() {
    const groups = history.scenes[scene]?.groups || [];
    chips.replaceChildren(...groups.filter(([group, , closed]) => opened.has(group) && !closed).map(([group]) => [group, called(group)]).map(([group, label]) =>
      h("button", { type: "button", class: "nb-button nb-closer", "aria-label": t("close_group", { name: label }), title: t("close_group", { name: label }),
        onclick: () => { open(group); root.focus({ preventScroll: true }); } }, `${label} `, h("span", { "aria-hidden": "true" }, "×"))));
  }

  function fold(id) {
    if (openable(id)) { open(id); return; }
    stage.fold(id);
    panel(at(index));
    if (stage.hidden?.size) caption.textContent = t("hidden", { count: stage.hidden.size });
  }

  // -- the ledger -----------------------------------------------------------------------------------------------------
  function table(state) {
    const grads = history.grads(index), several = passes.length > 1;
    const leaves = history.scenes[scene]?.leaves || [];
    if (!leaves.length || state.frame?.kind === "created") { ledger.replaceChildren(); return; }
    const soft = (text) => h("span", { class: "nb-soft" }, text);
    const body = leaves.slice(0, 200).map(({ id, name }) => {
      const current = state.ledger.get(id), got = current?.terms || [], arrivals = [];
      got.forEach(([value, via], i) => arrivals.push(i ? " + " : "", h("b", {}, value), soft(` ${t("via", { name: via })}`)));
      if (arrivals.length > 14) arrivals.splice(6, arrivals.length - 9, soft(` ${t("terms", { count: got.length })} `));
      if (current && !current.asked && !arrivals.length) arrivals.push(soft(t("not_asked")));
      const waits = got.length && got.length < current.expected && state.leaves.get(id)?.count; // "1 of 2"
      const sum = got.length ? [h("b", {}, current.total), waits && soft(` ${waits}`)].filter(Boolean) : ["–"];
      const lit = state.frame && state.frame.ledger?.[id] && state.frame.kind !== "start";
      return h("tr", { class: lit && "nb-lit", onpointerenter: () => hover(id, null), onpointerleave: () => hover(null, null) },
        h("th", { scope: "row" }, name), h("td", {}, current?.before ?? links.nodes[id]?.grad ?? "None"),
        h("td", {}, ...(arrivals.length ? arrivals : ["–"])), h("td", {}, ...sum),
        h("td", {}, current?.after ? h("b", {}, current.after) : "–"),
        several && h("td", {}, (grads.get(name) || []).slice(-8).join(" → ") || "–"));
    });
    const head = ["leaf", "grad_before", "arriving_pass", "sum", "grad_after", ...(several ? ["after_each"] : [])];
    ledger.replaceChildren(h("table", {}, h("caption", { class: "nb-hidden" }, t("what_leaves_get")),
      h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, t(name))))), h("tbody", {}, ...body)));
  }

  // -- playing --------------------------------------------------------------------------------------------------------
  function face(name, label) {
    playButton.replaceChildren(icon(name));
    playButton.setAttribute("aria-label", label);
    playButton.title = label;
    playButton.classList.toggle("nb-on", name === "pause");
  }
  function next() {
    timer = setTimeout(() => {
      if (!root.isConnected || (index >= last && !loops)) { pause(); return; }
      go(index >= last ? 0 : forward(), true);
      next();
    }, index === 0 ? 350 / speed : (STEP + REST) / speed);
  }
  function play() {
    if (!plays) return;
    if (index >= last) go(0);
    face("pause", t("pause_key"));
    next();
  }
  function pause() {
    clearTimeout(timer);
    timer = 0;
    face("play", t("play_key"));
  }

  function key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const target = event.target, tag = target.tagName;
    event.stopPropagation(); // the notebook's shortcuts are not meant
    if (target === search) {
      if (event.key === "Enter") { if (selected === found[hit] || hit < 0) nextFound(event.shiftKey ? -1 : 1); else select(found[hit], true); }
      else if (event.key === "Escape") { search.value = ""; look(""); root.focus(); } else return;
      event.preventDefault();
      return;
    }
    const moves = plays ? { ArrowRight: step(forward), ArrowLeft: step(backward), Home: step(() => 0), End: step(() => last), " ": () => (timer ? pause() : play()) }
      : { ArrowRight: () => walk("users"), ArrowLeft: () => walk("makers"), ArrowDown: () => walk(1), ArrowUp: () => walk(-1) };
    const actions = { ...moves, Escape: () => { select(null); tell(at(index)); }, "/": () => { search.focus(); search.select(); },
      "+": () => stage.zoom(1.25), "=": () => stage.zoom(1.25), "-": () => stage.zoom(0.8), f: () => stage.fit(true), "[": () => walk(-1), "]": () => walk(1),
      Enter: () => selected && openable(selected) && open(selected), c: () => selected && fold(selected), r: () => repeats && repeats.click(), ...(plays ? { l: () => loop.click(), m: () => scale.click() } : {}) };
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const own = tag === "SELECT" || tag === "SUMMARY" || (tag === "BUTTON" && (event.key === " " || event.key === "Enter"));
    if (own || !Object.hasOwn(actions, name)) return;
    actions[name]();
    event.preventDefault();
  }

  /** The moment that is shown, as a file: what the style sheet says is written into the drawing. */
  function save() {
    const copy = stage.svg.cloneNode(true), [, , w, hgt] = stage.full;
    const properties = ["fill", "stroke", "stroke-width", "visibility", "font-weight", "font-family", "opacity", "stroke-dasharray", "display"];
    const originals = stage.svg.querySelectorAll("*");
    copy.querySelectorAll("*").forEach((element, i) => {
      const style = getComputedStyle(originals[i]);
      if (DRAWABLE.has(element.localName)) for (const name of properties) element.setAttribute(name, style.getPropertyValue(name));
    });
    copy.setAttribute("viewBox", stage.full.join(" "));
    copy.setAttribute("width", w);
    copy.setAttribute("height", hgt);
    const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
    h("a", { href: url, download: plays ? `backward-step-${index}.svg` : "graph.svg" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }

  const observer = new ResizeObserver(() => { if (stage.svg && stageElement.clientWidth !== stage.wide) { stage.wide = stageElement.clientWidth; stage.fit(); lookAt(at(index), false); panel(at(index)); } });
  observer.observe(stageElement);
  if (data.svgs.length) go(hooks.index ?? 0);
  else count.textContent = data.label;
  return { go, play, pause, add, select: (id) => { if (id !== (selected || "")) select(id || null, true); },
    destroy() { pause(); clearTimeout(asked); cancelAnimationFrame(running); observer.disconnect(); } };
}

/** anywidget's entry. */
function render({ model, el }) {
  saveTheStill(model.widget_manager, model.get("own_id"));
  let player, own = false;
  const timers = {};
  const send = (name) => (value) => {
    clearTimeout(timers[name]);
    timers[name] = setTimeout(() => {
      if (value === model.get(name)) return;
      own = true;
      try { model.set(name, value); model.save_changes(); } catch { /* no kernel: the player does not need one */ }
      own = false;
    }, 120);
  };
  const make = () => {
    player?.destroy();
    const data = Object.fromEntries(["svgs", "timeline", "label", "texts", "theme", "views"].map((name) => [name, model.get(name)]));
    player = mount(el, data, { index: model.get("index"), onindex: send("index"), onselect: send("selected"),
      onopen: (view) => { try { model.send({ view }); } catch { /* no kernel: the player says so after a while */ } } });
  };
  const moved = () => { if (!own) player.go(model.get("index")); };
  const chosen = () => { if (!own) player.select(model.get("selected")); };
  make();
  const events = { "change:timeline": make, "change:index": moved, "change:selected": chosen, "msg:custom": (message) => { if (message?.view) player.add(message); } };
  for (const [name, listener] of Object.entries(events)) model.on(name, listener);
  return () => {
    player.destroy();
    for (const timer of Object.values(timers)) clearTimeout(timer);
    for (const [name, listener] of Object.entries(events)) model.off(name, listener);
  };
}

export default { render };
