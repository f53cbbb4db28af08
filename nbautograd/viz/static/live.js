/** Show a model's latest picture in an element; what is returned ends that. */
export function render(model, el) {
  const image = document.createElement("img");
  image.setAttribute("style", "max-width:100%; STILL");
  const show = () => {
    const svg = model.get("svg");
    image.hidden = !svg;
    image.alt = model.get("label");
    if (svg) image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
  };
  show();
  el.append(image);
  model.on("change:svg", show);
  return () => model.off("change:svg", show);
}
