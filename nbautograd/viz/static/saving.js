/**
 * Let the notebook be saved without this widget: opened again, JupyterLab would look for one that is gone, say so and
 * not show the picture that stands in the same output. The live output stays as it is. Where a front end has no such
 * model of the notebook, nothing is done.
 */
function saveTheStill(manager, id) {
  const notebook = (manager?.context ?? manager?._context)?.model;
  if (typeof notebook?.toJSON !== "function" || !id) return;
  if (!notebook.nbStills) {
    const ids = notebook.nbStills = new Set(), whole = notebook.toJSON.bind(notebook);
    const view = "application/vnd.jupyter.widget-view+json";
    notebook.toJSON = () => {
      const saved = whole();
      for (const { data } of (saved?.cells || []).flatMap(({ outputs }) => outputs || [])) {
        if (ids.has(data?.[view]?.model_id) && Object.keys(data).length > 1) delete data[view];
      }
      return saved;
    };
  }
  notebook.nbStills.add(id);
}

