// The JupyterLab extension: for an output with a pass it shows the kernel's widget while that exists, and else plays
// the stored pass. The notebook's file stays as Jupyter writes it.

import { dress } from "./dress.js";
import { inflated, modules, unpack } from "./loader.js";

const PASS = "application/vnd.nbautograd.pass+json", VIEW = "application/vnd.jupyter.widget-view+json";
const TARGET = "jupyter.widget", VERSION = 2, RANK = -20; // before the widget's own renderer, whose rank is -10

/** The widgets of a notebook's kernel: those that it opened since, and those that it names when this page meets it. */
class Widgets {
  constructor(session) {
    this.open = new Set();
    this.listeners = new Set();
    session.iopubMessage.connect((_, { header, content }) => {
      if (header.msg_type === "comm_open") this.open.add(content.comm_id);
      if (header.msg_type === "comm_close") this.open.delete(content.comm_id);
    });
    session.kernelChanged.connect((_, { newValue }) => this.meet(newValue));
    session.statusChanged.connect((_, status) => { if (/restarting$/.test(status)) this.open.clear(); });
    this.meet(session.session?.kernel);
  }

  async meet(kernel) {
    this.open.clear();
    const answer = await kernel?.requestCommInfo({ target_name: TARGET }).catch(() => null); // null: it ended first
    for (const id of Object.keys(answer?.content.comms ?? {})) this.open.add(id);
    for (const listener of this.listeners) listener();
  }
}

/** A model that no kernel knows. */
function lonelyModel() {
  const values = { index: 0, selected: "" };
  return { get: (name) => values[name], set() {}, save_changes() {}, on() {}, off() {} };
}

const bytesOf = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/** The script, style sheet and texts of a language, which the page loads once. */
function scriptOf(language) {
  const address = new URL(`player.${/^[\w-]+$/.test(language) ? language : "en"}.bin`, import.meta.url).href;
  if (!modules.has(address)) {
    modules.set(address, fetch(address).then((answer) => answer.arrayBuffer()).then(unpack));
    modules.get(address).catch(() => modules.delete(address));
  }
  return modules.get(address);
}

const rendererOf = (Panel) => class extends Panel {
  constructor(rendermime, known) {
    super();
    Object.assign(this, { rendermime, known, end() {}, turn: 0, live: null });
    this.look = () => { if (this.live === false && this.isLive()) this.fill(); };
    known.listeners.add(this.look);
  }

  dispose() {
    this.known.listeners.delete(this.look);
    this.turn++;
    this.end();
    super.dispose();
  }

  isLive() { return this.model.trusted && this.known.open.has(this.model.data[VIEW]?.model_id); }

  async renderModel(model) {
    this.model = model;
    await this.fill();
  }

  async fill() {
    const turn = ++this.turn, { data } = this.model, pass = data[PASS];
    this.end();
    this.end = () => {};
    for (const child of [...this.widgets]) child.dispose();
    this.live = this.isLive();
    if (!this.live && pass?.packed && pass.version <= VERSION) {
      try {
        return await this.play(pass, turn);
      } catch (error) {
        console.error("nbautograd: this pass does not play", error);
      }
    }
    if (turn !== this.turn) return;
    const other = this.live ? VIEW : ["text/html", "text/plain"].find((type) => type in data);
    const renderer = this.rendermime.createRenderer(other);
    this.addWidget(renderer);
    await renderer.renderModel(this.model);
  }

  async play(pass, turn) {
    const loaded = scriptOf(pass.language), data = await inflated(bytesOf(pass.packed));
    const { render: show, style, texts } = await loaded;
    if (turn !== this.turn) return;
    const place = document.createElement("div");
    this.node.append(place);
    dress(place, "lab", style);
    if (data.program === true) data.program = []; // there is no kernel to write it
    const end = show(lonelyModel(), place, texts, data);
    this.end = () => { end(); place.remove(); };
  }
};

/** The extension, given the module of Lumino's widgets. */
export function plugin({ Panel }) {
  const Renderer = rendererOf(Panel);
  const createNew = ({ content }, { sessionContext }) => {
    const { rendermime } = content, widgets = new Widgets(sessionContext);
    const createRenderer = () => new Renderer(rendermime, widgets);
    rendermime.addFactory({ safe: true, mimeTypes: [PASS], createRenderer }, RANK);
  };
  const activate = (app) => { app.docRegistry.addWidgetExtension("Notebook", { createNew }); };
  return { id: "nbautograd:player", description: "Plays the passes of a saved notebook", autoStart: true, activate };
}
