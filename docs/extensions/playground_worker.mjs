// Python in the reader's browser, in a worker of its own: it runs a program that the reader has pressed to run.
const KERNEL = "@jupyterlite/pyodide-kernel-extension";

/** Pyodide with this library, as the site's notebooks have it: its settings name the packages. */
async function python(site) {
  const { "jupyter-config-data": config } = await (await fetch(new URL("jupyter-lite.json", site))).json();
  const kernel = config.litePluginSettings[`${KERNEL}:kernel`];
  if (!kernel.pyodideUrl) throw new Error("this site has no Pyodide of its own: nbautograd lite --pyodide FOLDER");
  const home = new URL(kernel.pyodideUrl, site), beside = new URL(`extensions/${KERNEL}/static/`, site);
  const { loadPyodide } = await import(new URL("pyodide.mjs", home));
  const packages = kernel.loadPyodideOptions.packages.map((name) => /\.whl$/.test(name) ? new URL(name, beside).href : name);
  const loaded = await loadPyodide({ indexURL: new URL(".", home).href, packages });
  const source = await (await fetch(new URL("playground_pass.py", import.meta.url))).text();
  loaded.runPython(source);
  return loaded;
}

let ready = null;
onmessage = async ({ data: { code, site, language } }) => {
  try {
    const loaded = await (ready ??= python(site));
    loaded.globals.set("program", code);
    loaded.globals.set("spoken", language);
    postMessage({ pass: loaded.runPython("import json; json.dumps(pass_of(program, spoken))") });
  } catch (error) {
    postMessage({ error: String(error.message ?? error).trim().split("\n").slice(-3).join("\n") });
  }
};
