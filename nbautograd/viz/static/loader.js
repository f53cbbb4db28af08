// What a widget runs first. A page keeps every module that it ever loaded, so the widget's own, which may be large, is
// loaded once for all widgets of the page that have it.
const modules = (globalThis[Symbol.for("nbautograd.modules")] ??= new Map());
const LARGE = ["script", "_css", "svgs", "timeline", "views", "program", "texts", "lens", "svg"];

function load(script) {
  if (!modules.has(script)) {
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    modules.set(script, import(url).finally(() => URL.revokeObjectURL(url)));
  }
  return modules.get(script);
}

/** JupyterLab keeps the model of a widget that the kernel has closed, so nothing large is left in it. */
function initialize({ model }) {
  model.on("destroy", () => { for (const name of LARGE) model.set(name, null, { silent: true }); });
}

/** Chromium keeps the element of an output that is gone for a while, so nothing is left in it. */
async function render({ model, el }) {
  const { render: show } = await load(model.get("script")), place = document.createElement("div");
  el.append(place);
  const end = show(model, place);
  return () => { end(); place.remove(); };
}

export default { initialize, render };
