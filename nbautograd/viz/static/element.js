import { dress } from "./dress.js";
import { mount } from "./player.js";
import { followPage } from "./widget.js";

const SCHEMA = "nbautograd.pass", VERSION = 1;

/** A pass as `save("pass.json")` writes it. */
function passOf(data) {
  if (data?.schema !== SCHEMA) {
    throw new Error('no pass of nbautograd: write one by viz.animate(y).save("pass.json")');
  }
  if (data.version > VERSION) {
    const known = `the pass has version ${data.version}, this player reads ${VERSION}`;
    throw new Error(`${known}: write player.mjs again by "nbautograd player"`);
  }
  return data;
}

async function fetched(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status} ${answer.statusText}`);
  return answer.json();
}

/** Show the pass that is at an address, or is given, in an element; what is returned ends that. */
async function embed(element, address, given) {
  const place = document.createElement("div");
  element.replaceChildren(place);
  try {
    const data = passOf(address ? await fetched(address) : await given());
    dress(element, "player", STYLE);
    const player = mount(place, data), forget = data.theme === "auto" ? followPage(place) : () => {};
    return () => { forget(); player.destroy(); place.remove(); };
  } catch (error) {
    place.setAttribute("role", "alert");
    place.textContent = `nb-player: ${error.message}`;
    return () => place.remove();
  }
}

/** `<nb-player src="pass.json"></nb-player>`, or with the pass in a `<script type="application/json">` inside. */
class PlayerElement extends HTMLElement {
  static observedAttributes = ["src"];

  connectedCallback() {
    this.inside ??= this.querySelector('script[type="application/json"]')?.textContent;
    const given = () => JSON.parse(this.inside ?? "null");
    this.shown = embed(this, this.getAttribute("src"), given);
  }

  disconnectedCallback() {
    this.shown?.then((end) => end());
    this.shown = null;
  }

  attributeChangedCallback(name, former, now) {
    if (!this.shown || former === now) return;
    this.disconnectedCallback();
    this.connectedCallback();
  }
}

if (!customElements.get("nb-player")) customElements.define("nb-player", PlayerElement);

/** For hosts of anywidget modules, such as MyST: the model has the address as `src`, or the pass itself as `pass`. */
export default {
  async render({ model, el }) { return embed(el, model.get("src"), () => model.get("pass")); },
};
