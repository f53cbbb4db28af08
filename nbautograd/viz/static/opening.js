import { dress } from "./dress.js";

/** Show a widget in an element, again when the kernel sends other data; what is returned ends that. */
export async function openWidget(model, el, { render: show, style, texts }, inflated) {
  const place = document.createElement("div"); // Chromium keeps an output's element for a while: nothing is left in it
  let end = () => {}, turn = 0;
  const refresh = async () => {
    const now = ++turn, bytes = model.get("data"); // a live view has none
    const data = bytes?.byteLength ? await inflated(bytes) : {};
    if (now !== turn) return;
    end();
    dress(el, model.get("digest"), style);
    el.append(place);
    end = show(model, place, texts, data);
  };
  await refresh();
  model.on("change:data", refresh);
  return () => { turn++; model.off("change:data", refresh); end(); place.remove(); };
}
