import { isForPage } from "./keys.js";

/** In a frame that a page holds as `srcdoc`: as high as what is shown, and light or dark as the page around it. */
export function joinPage() {
  const frame = window.frameElement; // null without a frame, or if it belongs to another site
  if (!frame) return;
  const own = document.documentElement, page = frame.ownerDocument;
  own.dataset.nbFramed = "";
  const fit = () => { frame.style.height = `${Math.ceil(document.body.getBoundingClientRect().height)}px`; };
  new ResizeObserver(fit).observe(document.body);
  const names = ["theme", "data-theme", "data-jp-theme-light", "class"];
  const follow = () => {
    for (const [from, to] of [[page.documentElement, own], [page.body, document.body]]) {
      for (const name of names) {
        const value = from.getAttribute(name);
        if (value === null) to.removeAttribute(name);
        else to.setAttribute(name, value);
      }
    }
    own.style.colorScheme = getComputedStyle(frame).colorScheme; // if they differ, browsers make a frame opaque
  };
  follow();
  addEventListener("keydown", (event) => { // a notebook's shortcuts, which do not reach the notebook from here
    const heard = new page.defaultView.KeyboardEvent("keydown", event);
    if (isForPage(event) && !frame.dispatchEvent(heard)) event.preventDefault();
  });
  const watch = new page.defaultView.MutationObserver(follow);
  for (const element of [page.documentElement, page.body]) {
    watch.observe(element, { attributes: true, attributeFilter: names });
  }
}

/** What was compressed when the page was made. */
export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
