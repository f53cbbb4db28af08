const TALLEST = 600; // pixels of the picture's window
const smooth = (t) => t * t * (3 - 2 * t);

/** A drawing in its window: zoom, pan, and the glide to what is active. */
class Viewport {
  constructor(element) {
    this.element = element;
    this.listen();
  }

  /** As large as fits, but not so small that nothing can be read: then the window follows the active node. */
  fit(everything = false) {
    const [, , w, high] = this.full, wide = this.element.clientWidth || 800;
    const whole = Math.min(wide / w, TALLEST / high, 1.25);
    const readable = Math.min(0.95, Math.max(0.72, wide / w));
    this.scale = everything || whole > 0.62 ? whole : Math.max(whole, readable);
    this.element.style.height = `${Math.ceil(Math.min(Math.max(high * this.scale, 200), TALLEST))}px`;
    this.center = [w / 2, high / 2];
    this.overflows = !everything && (w * this.scale > wide + 1 || high * this.scale > TALLEST + 1);
    this.moved = everything;
    this.show();
  }

  show() {
    const wide = this.element.clientWidth || 800, high = this.element.clientHeight || 300;
    const w = wide / this.scale, hgt = high / this.scale, [, , fw, fh] = this.full;
    const clamp = (c, size, total) => size >= total ? total / 2 : Math.min(Math.max(c, size / 2), total - size / 2);
    this.center = [clamp(this.center[0], w, fw), clamp(this.center[1], hgt, fh)];
    const [x, y] = [this.center[0] - w / 2, this.center[1] - hgt / 2], beyond = 18; // a margin holds nothing
    this.svg.setAttribute("viewBox", `${x} ${y} ${w} ${hgt}`);
    const cut = { top: y > beyond, left: x > beyond, bottom: y + hgt < fh - beyond, right: x + w < fw - beyond };
    for (const [side, rim] of Object.entries(this.rims)) rim.hidden = !cut[side];
  }

  zoom(factor, at = null) {
    const old = this.scale;
    this.scale = Math.min(Math.max(old * factor, 0.02), 4);
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
    const move = (now) => {
      const t = gently ? smooth(Math.min((now - begun) / 300, 1)) : 1;
      this.center = [from[0] + (goal[0] - from[0]) * t, from[1] + (goal[1] - from[1]) * t];
      this.show();
      if (t < 1) this.gliding = requestAnimationFrame(move);
    };
    move(begun);
  }

  listen() {
    const element = this.element;
    let down = null;
    element.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 300), event);
    }, { passive: false });
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      down = { x: event.clientX, y: event.clientY, center: [...this.center], id: event.pointerId };
    });
    element.addEventListener("pointermove", (event) => {
      if (!down) return;
      const dx = event.clientX - down.x, dy = event.clientY - down.y;
      if (!this.dragging && Math.hypot(dx, dy) < 5) return;
      if (!this.dragging) element.setPointerCapture(down.id);
      this.dragging = this.moved = true;
      this.center = [down.center[0] - dx / this.scale, down.center[1] - dy / this.scale];
      this.show();
    });
    const up = (event) => {
      if (down && !this.dragging && event.type === "pointerup") this.clicked(event.target);
      down = null;
      this.dragging = false;
    };
    element.addEventListener("pointerup", up);
    element.addEventListener("pointercancel", up);
  }
}
