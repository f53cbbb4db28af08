const WITHIN = 0.02; // relative error of an accepted answer
const PRINTED = 0.0001; // from this size on, labels are rounded to four places
const NOISE = 1e-6; // relative to the upstream: smaller values are rounding, and 0 is right
const FUNCTIONS = Object.fromEntries(
  ["sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "abs"].map((name) => [name, Math[name]]),
);
const CONSTANTS = { pi: Math.PI, e: Math.E, inf: Infinity, infinity: Infinity, nan: NaN };
const TOKEN = /\s*((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[a-z]+|\*\*|[-+*/^()])\s*/gy;

/** As typed on any keyboard: full-width digits, `×`, `−`, `²`, `π`, a decimal comma. */
const normalized = (text) =>
  text.replaceAll("²", "^2").replaceAll("³", "^3").normalize("NFKC").toLowerCase().replace(/[−–]/g, "-")
    .replace(/[×·⋅]/g, "*").replace(/[÷⁄]/g, "/").replaceAll("π", "pi").replaceAll("∞", "inf").replaceAll("√", "sqrt")
    .replace(/(\d),(?=\d)/g, "$1.");

/** Arithmetic that was typed, such as `1/3`, `2*3` or `3 cos(3)`: reads and computes it, and runs no code. */
export class Arithmetic {
  constructor(text) {
    const source = normalized(text).trim();
    this.tokens = [...source.matchAll(TOKEN)].map(([, token]) => token);
    this.whole = this.tokens.length > 0 && this.tokens.join("") === source.replace(/\s/g, "");
    this.at = 0;
  }

  get next() { return this.tokens[this.at]; }

  take(...tokens) { return tokens.includes(this.next) ? this.tokens[this.at++] : null; }

  /** The number; null where this is no arithmetic. */
  value() {
    try {
      const value = this.whole ? this.sum() : null;
      return this.at === this.tokens.length ? value : null;
    } catch (error) {
      if (error instanceof SyntaxError) return null;
      throw error;
    }
  }

  sum() {
    let value = this.product(), sign;
    while ((sign = this.take("+", "-"))) value += (sign === "-" ? -1 : 1) * this.product();
    return value;
  }

  product() {
    let value = this.signed();
    for (;;) {
      if (this.take("/")) value /= this.signed();
      else if (this.take("*") || /^[a-z(]/.test(this.next ?? "")) value *= this.signed();
      else return value;
    }
  }

  signed() {
    if (this.take("-")) return -this.signed();
    return this.take("+") ? this.signed() : this.power();
  }

  power() {
    const base = this.atom();
    return this.take("^", "**") ? base ** this.signed() : base;
  }

  atom() {
    const token = this.tokens[this.at++] ?? "";
    if (/^[\d.]/.test(token)) return Number(token);
    if (Object.hasOwn(CONSTANTS, token)) return CONSTANTS[token];
    if (token !== "(" && !(Object.hasOwn(FUNCTIONS, token) && this.take("("))) throw new SyntaxError(token);
    const inner = this.sum();
    if (!this.take(")")) throw new SyntaxError(")");
    return token === "(" ? inner : FUNCTIONS[token](inner);
  }
}

/** Whether a number is the recorded one, as well as rounded numbers can tell. `scale`: the size of what came. */
export function isRight(number, recorded, scale = 1) {
  const value = Number(String(recorded).replace("inf", "Infinity"));
  if (!Number.isFinite(value)) return Object.is(number, value);
  const rounding = Math.abs(value) >= PRINTED * 10 ? PRINTED / 2 : 0;
  return Math.abs(number - value) <= Math.max(WITHIN * Math.abs(value), NOISE * scale, rounding);
}
