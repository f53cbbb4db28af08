const MATH = "http://www.w3.org/1998/Math/MathML";
const BREAKS = new Set(["=", "+=", "+", "−", "·", "/"]); // before which a long formula may go on on the next line

/** Marks (see formulas.py) as MathML. */
function math(marks) {
  const m = (tag, ...children) => {
    const element = document.createElementNS(MATH, tag);
    element.append(...children);
    return element;
  };
  const row = (list) => m("mrow", ...list.map(one));
  const matrixRow = (numbers) => m("mtr", ...numbers.map((number) => m("mtd", m("mn", number))));
  const partial = (name) => m("mrow", m("mo", "∂"), m("mi", name));
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

/** A formula that may go on on the next line: before an operator that is in no brackets, where it has no room. */
function formula(marks) {
  const pieces = [[]];
  let depth = 0;
  for (const mark of marks) {
    if (mark[0] === "o" && "([".includes(mark[1])) depth += 1;
    if (mark[0] === "o" && ")]".includes(mark[1])) depth -= 1;
    if (!depth && mark[0] === "o" && BREAKS.has(mark[1])) pieces.push([]);
    pieces.at(-1).push(mark);
  }
  const written = h("span", {}, ...pieces.filter((piece) => piece.length).map(math));
  const leading = written.querySelectorAll("math > mrow > mo:first-child");
  for (const operator of leading) operator.setAttribute("form", "infix");
  return written;
}

