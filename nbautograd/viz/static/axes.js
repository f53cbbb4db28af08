import { shortNumber } from "./numbers.js";

const LOG_FROM = 30; // ratio of the largest to the smallest number above which an axis is logarithmic
const POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** `10⁻³`; 1 and 10 as they are. */
function powerOf(exponent) {
  if (exponent === 0 || exponent === 1) return String(10 ** exponent);
  const digits = String(Math.abs(exponent)).replace(/\d/g, (digit) => POWERS[digit]);
  return `10${exponent < 0 ? "⁻" : ""}${digits}`;
}

/** Numbers for an axis from `low` to `high`: about `count` round ones. */
export function roundTicks(low, high, count = 4) {
  const raw = (high - low) / count, unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * [1, 2, 5, 10].find((factor) => factor * unit >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(i * step);
  return ticks.map((value) => [value, tidy(value, step)]);
}

/** A tick's number, with as many decimals as its step asks for. */
function tidy(value, step) {
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const size = Math.abs(value);
  if (size >= 1e6 || decimals > 6) return shortNumber(value);
  return (size < step / 2 ? 0 : value).toFixed(decimals).replace("-", "−");
}

/** Powers of ten between two exponents; of few, also 2 and 5 times them; of many, every so many-th. */
export function logTicks(low, high, count = 5) {
  const ticks = [], every = Math.max(1, Math.ceil((high - low) / count));
  const factors = high - low < 1.3 ? [1, 2, 5] : high - low < 2.2 ? [1, 3] : [1];
  for (let power = Math.floor(low); power <= high; power++) {
    if (power % every) continue;
    for (const factor of factors) {
      const at = power + Math.log10(factor);
      if (at < low - 1e-9 || at > high + 1e-9) continue;
      const plain = power >= -2 && power <= 3 && factors.length > 1;
      const text = plain ? tidy(factor * 10 ** power, 10 ** power) : factor === 1 ? powerOf(power)
        : `${factor}·${powerOf(power)}`;
      ticks.push([factor * 10 ** power, text]);
    }
  }
  return ticks;
}

/** A vertical axis: linear, or logarithmic where the numbers ask for it. `y(value)` is null for what is no number. */
export class Axis {
  constructor(numbers, top, bottom, { log = null, least = [] } = {}) {
    const finite = numbers.filter(Number.isFinite), positive = finite.filter((value) => value > 0);
    const smallest = Math.min(...positive), largest = Math.max(...finite);
    this.log = log ?? (positive.length > 0 && finite.every((value) => value >= 0) && largest / smallest > LOG_FROM);
    this.top = top;
    this.bottom = bottom;
    const scaled = [...(this.log ? positive : finite), ...least].map((value) => this.scale(value));
    this.low = scaled.length ? Math.min(...scaled) : 0;
    this.high = scaled.length ? Math.max(...scaled) : 1;
    const room = this.high - this.low;
    const more = room > 1e-9 ? room * 0.04 : this.log ? 0.2 : Math.abs(this.low) * 0.1 || 0.5;
    this.low -= more;
    this.high += more;
    this.ticks = this.log ? logTicks(this.low, this.high) : roundTicks(this.low, this.high);
  }

  scale(value) { return this.log ? Math.log10(value) : value; }

  y(value) {
    if (!Number.isFinite(value)) return null;
    if (this.log && value <= 0) return this.bottom;
    return this.bottom - ((this.scale(value) - this.low) / (this.high - this.low)) * (this.bottom - this.top);
  }
}
