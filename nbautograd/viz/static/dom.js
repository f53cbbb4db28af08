// Shows a graph and plays a recorded backward pass. One module for the Jupyter widget (render) and for saved pages
// (mount), which viz/notebook/scripts.py joins from the modules of this folder. Text only becomes text nodes; the
// drawing, created by Python, is parsed as XML and filtered. No network, no eval.

const SVG = "http://www.w3.org/2000/svg";
export const DRAWABLE = new Set(["svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text",
  "tspan", "title", "desc", "defs", "marker"]);
export const TELEPHONE = 560; // pixels: in a narrower window, scrolling sideways is worse
export const ROOMY = 1000; // pixels: width of a player with room for wide tables
export const STACKED = 780; // pixels: a narrower player has its drawer below
const ICONS = {
  first: "M5 4h3v16H5zM20 4v16L9 12z", back: "M17 4v16L6 12z", play: "M7 4v16l13-8z",
  pause: "M6 4h4v16H6zM14 4h4v16h-4z",
  forward: "M7 4v16l11-8z", last: "M4 4v16l11-8zM16 4h3v16h-3z", out: "M4 11h16v2.4H4z",
  in: "M10.8 4h2.4v6.8H20v2.4h-6.8V20h-2.4v-6.8H4v-2.4h6.8z",
  fit: "M4 4h6v2.4H6.4V10H4zM14 4h6v6h-2.4V6.4H14zM4 14h2.4v3.6H10V20H4zM17.6 14H20v6h-6v-2.4h3.6z",
  loop: "M7 7h9V4l5 4.5-5 4.5v-3H9.5v3H7zM17 17H8v3l-5-4.5L8 11v3h6.5v-3H17z",
  repeats: "M5 4h10v3H8v10H5zM10 9h10v11H10z",
  scale: "M4 15h3.4v5H4zM10.3 9.5h3.4V20h-3.4zM16.6 4H20v16h-3.4z",
  more: "M3 10h4v4H3zM10 10h4v4h-4zM17 10h4v4h-4z",
  marks: "M12 2.5a9.5 9.5 0 1 0 0 19a9.5 9.5 0 0 0 0-19zm0 2a7.5 7.5 0 1 1 0 15a7.5 7.5 0 0 1 0-15z"
    + "M10.8 10.4h2.4v6.4h-2.4zM10.8 6.9h2.4v2.2h-2.4z",
  save: "M10.8 3h2.4v9l3.3-3.2 1.6 1.7L12 16.4l-6.1-5.9 1.6-1.7 3.3 3.2zM4 18.4h16V21H4z",
};

export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** Whether a text tells of a number that is not finite. */
export const notFinite = (text) => /(^|[^\p{L}])(nan|inf)(?![\p{L}_])/iu.test(text);

/** A text as children of an element: what stands between backticks is code. */
export const coded = (text) => text.split("\x60").map((part, i) => (i % 2 ? h("code", {}, part) : part));

/** Set attributes of an element, and listeners (onclick: f); false and null are left out. */
export function attach(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
}

function filled(element, attributes, children) {
  attach(element, attributes);
  element.append(...children.filter((child) => child !== false && child != null));
  return element;
}

/** An element with attributes, listeners and children; false and null children are left out. */
export const h = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);

/** The same in SVG. */
export const s = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

/** A button with an icon or a sign, and a label that it also shows on hover. */
export const button = (kind, label, onclick, ...content) => h("button", { type: "button",
  class: `nb-button nb-${kind}`, "aria-label": label, title: label, onclick }, ...content);

/** Show whether a button is pressed, or with "aria-expanded" whether what it opens is open. */
export function press(element, on, what = "aria-pressed") {
  element.setAttribute(what, String(on));
  element.classList.toggle("nb-pressed", on);
}

/** A list to choose a number from: [value, text, whether it is chosen]. */
export const choice = (kind, label, options, action) => h("select", { class: `nb-speed${kind}`, "aria-label": label,
  title: label, onchange: ({ target }) => action(Number(target.value)) },
...options.map(([value, text, chosen]) => h("option", { value, selected: chosen && "" }, text)));

/** The text of a key with numbers and names put into its places; for `n: 1`, the text of `key_1` if it exists. */
export function fill(texts, key, places = {}) {
  const text = (places.n === 1 && texts[`${key}_1`]) || (texts[key] ?? key);
  return String(text).replace(/\{(\w+)\}/g, (whole, name) => (name in places ? String(places[name]) : whole));
}

/** New content; what had the focus in the old one gives it to its `heir` there, else to the player. */
export function renew(element, children, heir = null) {
  const { activeElement } = element.getRootNode();
  const inside = element !== activeElement && element.contains(activeElement);
  element.replaceChildren(...children);
  if (!inside || element.contains(activeElement)) return;
  const next = (heir && element.querySelector(heir)) || element.closest(".nb-player");
  next?.focus({ preventScroll: true });
}

export function icon(name) {
  return s("svg", { viewBox: "0 0 24 24", width: 15, height: 15, "aria-hidden": "true", fill: "currentColor" },
    s("path", { d: ICONS[name] }));
}

/** The drawing as elements of this page, with ids that no other drawing on the page has. */
export function drawing(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  const root = document.importNode(parsed.documentElement, true);
  if (root.localName !== "svg") throw new Error("the picture cannot be read");
  const own = "nb" + Math.random().toString(36).slice(2, 10);
  const ids = [...root.querySelectorAll("[id]")].map((e) => e.id);
  const prefix = ids.length ? ids[0].replace(/-[a-z]+$/, "") : "nb";
  for (const element of [root, ...root.querySelectorAll("*")]) {
    if (!DRAWABLE.has(element.localName)) { element.remove(); continue; }
    for (const { name, value } of [...element.attributes]) {
      if (/^on|href$/i.test(name)) element.removeAttribute(name);
      else if (name === "id" || name === "marker-end" || name === "aria-labelledby") {
        element.setAttribute(name, value.replaceAll(prefix, own));
      }
    }
  }
  const [title, description] = (root.getAttribute("aria-labelledby") || "").split(" ");
  if (description) { // the whole graph is too long for a name
    root.setAttribute("aria-labelledby", title);
    root.setAttribute("aria-describedby", description);
  }
  return [root, own];
}
