import { clamp } from "./dom.js";

export const DOUBLE = 500; // milliseconds within which a second click belongs to the first
const LEAST = 240, MOST = 660; // pixels of the picture's window, from top to bottom
const LARGEST = 1.7; // no drawing is shown larger by itself, and none smaller than its full size, which can be read
const LONG_TOUCH = 500; // milliseconds, after which a touch is no click
const SLACK = 5; // pixels that a pointer may move in a click
export const smooth = (t) => t * t * (3 - 2 * t);

/** The viewBox of a drawing that is still text. */
export const sizeOf = (svg) => svg.match(/viewBox="([^"]*)"/)?.[1].split(" ").map(Number) || [0, 0, 1, 1];

/** Scroll to a player that is used by keyboard; what a pointer is on stays where it is. */
export function showFocused(element) {
  const isFocused = element.matches(":focus-visible") || element.querySelector(":focus-visible");
  if (isFocused) element.scrollIntoView({ block: "nearest" });
}

/** How high the window is in which a player is seen: the notebook's, or the page's around a frame. */
export function roomAround(element) {
  const notebook = element.closest(".jp-WindowedPanel-outer, .jp-Notebook")?.clientHeight;
  if (notebook) return notebook;
  try {
    if (window.frameElement) return window.parent.innerHeight;
  } catch { /* the page around belongs to another site */ }
  // a frame of another site may be as high as its content, so its height is not the visible room
  return window === window.top ? innerHeight : Math.max(innerHeight, Math.min(screen.availHeight, 900) - 180);
}

/** A drawing in its window: zoom, pan, and the glide to what is active. */
export class Viewport {
  constructor(element) {
    this.element = element;
    this.tall = LEAST;
    this.measure();
    this.listen();
  }

  /** How wide the window is. It is asked for where that may have changed only: asking lays the page out. */
  measure() { this.wide = this.element.clientWidth || 800; }

  /** The size at which a drawing is shown: as large as fits, but not so small that it cannot be read. */
  scaleOf([, , w, high], everything = false) {
    const whole = Math.min(this.wide / w, this.tall / high, LARGEST);
    return everything ? whole : Math.max(whole, 1);
  }

  /** How much of a room the window takes. */
  within(room) { return clamp(room, LEAST, MOST); }

  /** Let the window be as high as the highest of several drawings needs, within `room` pixels. */
  reserve(drawings, room) {
    const needed = drawings.map((full) => full[3] * Math.max(Math.min(this.wide / full[2], this.scaleOf(full)), 1));
    this.tall = Math.ceil(Math.min(Math.max(...needed, LEAST), room));
    this.element.style.height = `${this.tall}px`;
  }

  /** The whole drawing where it can be read, else at its full size: then the window follows the active node. */
  fit(everything = false) {
    const [, , w, high] = this.full;
    cancelAnimationFrame(this.gliding);
    this.scale = this.scaleOf(this.full, everything);
    this.center = [w / 2, high / 2];
    this.overflows = !everything && (w * this.scale > this.wide + 1 || high * this.scale > this.tall + 1);
    this.moved = everything;
    this.show();
  }

  /** The visible part of the drawing around a place: its corner, width and height, in the drawing's units. */
  around([x, y]) {
    const width = this.wide / this.scale, height = this.tall / this.scale;
    return { x: x - width / 2, y: y - height / 2, width, height };
  }

  get seen() { return this.around(this.center); }

  /** The centre nearest to a place around which the window is full. */
  clamped([cx, cy]) {
    const { width, height } = this.seen, [, , fw, fh] = this.full;
    const near = (c, size, total) => (size >= total ? total / 2 : clamp(c, size / 2, total - size / 2));
    return [near(cx, width, fw), near(cy, height, fh)];
  }

  /** Show what is around the centre; `settled`: it stays there. */
  show(settled = true) {
    const [, , fw, fh] = this.full;
    this.center = this.clamped(this.center);
    if (settled) this.goal = this.center;
    const { x, y, width, height } = this.seen, beyond = 14; // a margin holds nothing
    this.svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    const cut = { top: y > beyond, left: x > beyond, bottom: y + height < fh - beyond, right: x + width < fw - beyond };
    for (const [side, rim] of Object.entries(this.rims)) rim.hidden = !cut[side];
  }

  zoom(factor, at = null) {
    const old = this.scale;
    this.scale = clamp(old * factor, 0.02, 4);
    if (at) {
      const box = this.element.getBoundingClientRect();
      const dx = at.clientX - box.left - box.width / 2, dy = at.clientY - box.top - box.height / 2;
      this.center[0] += dx / old - dx / this.scale;
      this.center[1] += dy / old - dy / this.scale;
    }
    this.overflows = this.moved = true;
    this.show();
  }

  /** Bring a place in the drawing into the middle of the window. */
  glide(goal, gently) {
    cancelAnimationFrame(this.gliding);
    const from = [...this.center], begun = performance.now();
    this.goal = this.clamped(goal);
    const move = (now) => {
      const t = gently ? smooth(Math.min((now - begun) / 300, 1)) : 1;
      this.center = [from[0] + (goal[0] - from[0]) * t, from[1] + (goal[1] - from[1]) * t];
      this.show(t === 1);
      if (t < 1) this.gliding = requestAnimationFrame(move);
    };
    move(begun);
  }

  /** Two fingers have moved: what was between them stays between them. */
  pinch(before, now) {
    this.center[0] -= (now.clientX - before.clientX) / this.scale;
    this.center[1] -= (now.clientY - before.clientY) / this.scale;
    this.zoom(now.width / before.width, now);
  }

  /** Whether a click is the second one at a place; it is meant for what was there at the first. */
  twice({ clientX, clientY, timeStamp }) {
    const { last } = this;
    if (!last || timeStamp - last.at > DOUBLE || Math.hypot(clientX - last.x, clientY - last.y) > SLACK) return false;
    this.last = null;
    this.clicked(last.target, true);
    return true;
  }

  /** A click on a target, or the second one of two at its place. */
  click(event, target) {
    const { clientX: x, clientY: y, timeStamp: at } = event;
    if (this.twice(event)) return;
    this.last = { x, y, at, target }; // what is there may have moved by a second click
    this.clicked(target, false);
  }

  listen() {
    const element = this.element, fingers = new Map();
    let down = null, apart = null; // how far apart two fingers are, and what is between them
    element.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 300), event);
    }, { passive: false });
    // with two fingers the drawing moves in any direction, and the page does not
    element.addEventListener("touchmove", (event) => { if (event.touches.length > 1) event.preventDefault(); },
      { passive: false });
    const span = () => {
      const [a, b] = [...fingers.values()];
      return { clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2,
        width: Math.max(Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), 1) };
    };
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      if (event.pointerType === "touch") fingers.set(event.pointerId, event);
      if (fingers.size > 1) { down = null; apart = span(); return; }
      const { clientX: x, clientY: y, pointerId: id, timeStamp: at } = event;
      down = { x, y, center: [...this.center], id, at };
    });
    element.addEventListener("pointermove", (event) => {
      if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event);
      if (apart && fingers.size === 2) { this.pinch(apart, (apart = span())); return; }
      if (!down) return;
      const dx = event.clientX - down.x, dy = event.clientY - down.y;
      if (!this.dragging && Math.hypot(dx, dy) < SLACK) return;
      if (!this.dragging) element.setPointerCapture(down.id);
      this.dragging = this.moved = true;
      this.center = [down.center[0] - dx / this.scale, down.center[1] - dy / this.scale];
      this.show(false);
    });
    const up = (event) => {
      const rests = event.pointerType === "touch" && event.timeStamp - down?.at > LONG_TOUCH; // to read a card
      if (down && !this.dragging && !rests && event.type === "pointerup") {
        this.click(event, event.target);
      }
      fingers.delete(event.pointerId);
      if (fingers.size < 2) apart = null;
      if (this.dragging) this.show();
      down = null;
      this.dragging = false;
    };
    element.addEventListener("pointerup", up);
    element.addEventListener("pointercancel", up);
  }
}
