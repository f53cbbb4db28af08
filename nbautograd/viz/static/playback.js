const STEP = 900; // milliseconds for the numbers of a step to move, at normal speed
const REST = 900; // milliseconds for which the step then stays
const FIRST_REST = 350; // before the first step

/** Plays the steps one after the other: the timer, the speed, the repetition, and the numbers on their way. */
export class Playback {
  constructor(player) {
    this.player = player;
    this.speed = 1;
    this.waves = false; // true if whole ranks play at once
    this.loops = false;
    this.timer = 0;
    this.running = 0; // the requested animation frame
  }

  get playing() { return this.timer !== 0; }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    const { player } = this;
    if (!player.plays) return;
    if (this.waves && !player.predict.on) {
      player.controls.showPlaying(true);
      player.wave.play();
      return;
    }
    if (player.rests || player.index >= player.last) player.go(0);
    player.controls.showPlaying(true);
    this.next();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.player.controls.showPlaying(false);
  }

  next() {
    const { player } = this;
    this.timer = setTimeout(() => {
      const ended = player.index >= player.last;
      if (!player.root.isConnected || (ended && !this.loops)) { this.pause(); return; }
      player.go(ended ? 0 : player.forward(), true);
      if (this.playing) this.next(); // a step may ask for an answer first
    }, (player.index === 0 ? FIRST_REST : player.index < 0 ? REST : STEP + REST) / this.speed);
  }

  /** Let no number travel any more. */
  halt() {
    cancelAnimationFrame(this.running);
    this.running = 0;
    this.player.equation?.still();
    this.player.wave.stop();
  }

  /** First the step's beginning, then its numbers on their way, then its end. */
  animate(state, before) {
    const { stage } = this.player;
    const travelling = new Set((state.frame.active || []).filter((id) => stage.part("flow", id)));
    const leaves = before.scene === state.scene ? before.leaves : state.leaves;
    stage.paint({ ...state, leaves }, travelling);
    this.run(STEP / this.speed, (part) => {
      stage.travel(state.frame, part);
      this.player.equation.progress(part);
    }, () => {
      stage.still();
      this.player.equation.still();
      stage.settle(state);
    });
  }

  /** Draw each moment of so many milliseconds, told as a part of these, then their end, as long as it `goes` on. */
  run(duration, draw, end, goes = () => true) {
    const begun = performance.now();
    const tick = (now) => {
      if (!goes()) return;
      const part = Math.min((now - begun) / duration, 1);
      draw(part);
      if (part < 1) { this.running = requestAnimationFrame(tick); return; }
      this.running = 0;
      end();
    };
    this.running = requestAnimationFrame(tick);
  }
}
