// The first script of a widget. The script, the style sheet and the texts are in a model of their own, which a kernel
// creates once for all its widgets; a page unpacks each once. If widgets cannot see other models, each holds them
// itself.
export const modules = (globalThis[Symbol.for("nbautograd.modules")] ??= new Map());
const LARGE = ["packed", "data", "written", "svg"];

export function inflated(bytes) {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

export async function unpack(bytes) {
  const { script, ...others } = await inflated(bytes);
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  return { ...(await import(url).finally(() => URL.revokeObjectURL(url))), ...others };
}

async function load(model) {
  const digest = model.get("digest"), shared = model.get("shared").replace("IPY_MODEL_", "");
  if (!modules.has(digest)) {
    const home = shared ? model.widget_manager.get_model(shared) : model;
    modules.set(digest, Promise.resolve(home).then((found) => unpack(found.get("packed"))));
    modules.get(digest).catch(() => modules.delete(digest)); // the next widget tries again
  }
  return modules.get(digest);
}

/** JupyterLab keeps the model of a widget that the kernel has closed, so nothing large is left in it. */
function initialize({ model }) {
  model.on("destroy", () => { for (const name of LARGE) model.set(name, null, { silent: true }); });
}

async function render({ model, el }) {
  const { openWidget, ...parts } = await load(model);
  return openWidget(model, el, parts, inflated);
}

export default { initialize, render };
