import { h } from "./dom.js";

const MATH = "http://www.w3.org/1998/Math/MathML";
const LONG = 14; // a longer formula may be broken anywhere
const BREAKS = new Set(["=", "+=", "+", "−", "·", "/", "@"]); // characters before which a long formula may break

/** A name as it stands in a formula: in brackets where it is an expression with an operator. */
export function atom(name) {
  let depth = 0;
  for (const sign of Number.isNaN(Number(name)) ? name : "") {
    depth += "([{".includes(sign) - ")]}".includes(sign);
    if (!depth && "+-*/@<>=!&|^%~∂ ".includes(sign)) return `(${name})`;
  }
  return name;
}

/** The name `a` of the gradient `∂y/∂a`; of one without a fraction all of it. */
export function lastName(gradient) {
  const last = gradient.match(/\/∂(\(.*\)|[^∂]*)$/)?.[1] ?? gradient, bare = last.slice(1, -1);
  return atom(bare) === last ? bare : last;
}

/** The gradient of the same quantity by another name. */
export const gradientBy = (gradient, name) => (gradient.includes("/∂")
  ? gradient.slice(0, -atom(lastName(gradient)).length) : "") + atom(name);

/** The quantity of which `∂y/∂a` or `vᵀ∂y/∂a` is the derivative: `y`, or `vᵀy`. */
export function rootOf(gradient) {
  const [, before, root] = gradient.match(/^(.*?)∂(\(.*?\)|.*?)\/∂/) || [];
  return root === undefined ? "" : before + root;
}

/** Marks (see formulas.py) as MathML. */
export function math(marks) {
  const m = (tag, ...children) => {
    const element = document.createElementNS(MATH, tag);
    element.append(...children);
    return element;
  };
  const row = (list) => m("mrow", ...list.map(one));
  const matrixRow = (numbers) => m("mtr", ...numbers.map((number) => m("mtd", m("mn", number))));
  const partial = (name) => m("mrow", m("mo", "∂"), m("mi", atom(name)));
  function one([kind, a, b]) {
    if (kind === "d") return m("mfrac", partial(a), partial(b));
    if (kind === "f") return m("mfrac", row(a), row(b));
    if (kind === "s") return m("msup", row(a), row(b));
    if (kind === "b") return m("msub", m("mo", a), m("mtext", b));
    if (kind === "m") return m("mrow", m("mo", "["), m("mtable", ...a.map(matrixRow)), m("mo", "]"));
    return m({ n: "mn", o: "mo" }[kind] || "mi", a);
  }
  return m("math", row(marks));
}

/** About how many letters wide marks are. */
function lengthOf(marks) {
  const wide = ([kind, a, b]) => {
    if (kind === "m") return 8;
    if (kind === "f") return Math.max(lengthOf(a), lengthOf(b));
    return kind === "s" ? lengthOf(a) + 1 : Math.max(String(a).length, String(b ?? "").length);
  };
  return marks.reduce((sum, mark) => sum + wide(mark), 0);
}

/** The marks of a formula in pieces between which a line may end. */
function piecesOf(marks, long) {
  const pieces = [[]];
  let depth = 0, opens = false; // true if a line may begin after the last part
  for (const [i, mark] of marks.entries()) {
    const [kind, text] = mark, operator = kind === "o";
    if (operator && "([".includes(text)) depth += 1;
    if (operator && ")]".includes(text)) depth -= 1;
    const method = kind === "i" && text.startsWith(".") && marks[i + 1]?.[1] === "(";
    if ((operator && BREAKS.has(text) && (long || !depth)) || (long && (opens || method))) pieces.push([]);
    pieces.at(-1).push(mark);
    opens = operator && (text === "," || (text === "(" && lengthOf(pieces.at(-1)) > LONG));
  }
  return pieces.filter((piece) => piece.length);
}

/**
 * A formula that may go on on the next line, where it has no room: before an operator that is in no brackets, and, of a
 * long one, also between the arguments of a function and before a method.
 */
export function formula(marks) {
  const long = lengthOf(marks) > LONG;
  const written = h("span", {}, ...piecesOf(marks, long).map(math));
  const leading = written.querySelectorAll("math > mrow > mo:first-child");
  for (const operator of leading) operator.setAttribute("form", "infix");
  if (long) unstretched(written);
  return written;
}

/** Marks whose fractions stand in one line, for where there is no room for two. */
export function inLine(marks) {
  const whole = (part) => (part.length > 1 ? [["o", "("], ...inLine(part), ["o", ")"]] : inLine(part));
  return marks.flatMap(([kind, a, b]) => {
    if (kind === "f") return [...whole(a), ["o", "/"], ...whole(b)];
    return kind === "d" ? [["o", "∂"], ["i", atom(a)], ["o", "/"], ["o", "∂"], ["i", atom(b)]] : [[kind, a, b]];
  });
}

/** Brackets as high as letters, but for those that enclose the rows of a matrix. */
export function unstretched(written) {
  const encloses = ({ nextSibling, previousSibling }) =>
    [nextSibling, previousSibling].some((beside) => beside?.localName === "mtable");
  for (const operator of written.querySelectorAll("mo")) {
    operator.setAttribute("stretchy", String(encloses(operator)));
  }
  return written;
}
