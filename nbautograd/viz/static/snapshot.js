import { DRAWABLE, h } from "./dom.js";

const SAVED_STYLES = ["fill", "stroke", "stroke-width", "visibility", "font-weight", "font-family", "opacity",
  "stroke-dasharray", "display"];

/** The moment that is shown, as a file: what the style sheet says is written into the drawing. */
export function saveDrawing(stage, name) {
  const copy = stage.svg.cloneNode(true), [, , wide, high] = stage.full;
  const originals = stage.svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((element, i) => {
    if (!DRAWABLE.has(element.localName)) return;
    const style = getComputedStyle(originals[i]);
    for (const property of SAVED_STYLES) element.setAttribute(property, style.getPropertyValue(property));
  });
  copy.setAttribute("viewBox", stage.full.join(" "));
  copy.setAttribute("width", wide);
  copy.setAttribute("height", high);
  const text = new XMLSerializer().serializeToString(copy);
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

