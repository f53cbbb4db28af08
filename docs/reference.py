"""Write ``docs/reference.md``: the coverage of PyTorch's public names, with derivatives, from the registry.

python docs/reference.py           # write it
python docs/reference.py --check   # fail if it is out of date, or if something is absent without a reason
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import sys
import tomllib
from pathlib import Path
from typing import Any

import nbautograd
import nbautograd._engine.batching.transform
from nbautograd._engine.batching.mode import RANDOM, how
from nbautograd._engine.compiler.expressions import in_full
from nbautograd._engine.compiler.op import OPS, CompiledOp
from nbautograd._engine.core.batched import sample_by_sample
from nbautograd._names import refused
from nbautograd._names.lazy import AbsentMethod
from nbautograd.viz.read.formulas import latex, marks

HERE = Path(__file__).parent
PAGE = HERE / "reference.md"
NAMES = tomllib.loads((HERE / "pytorch_names.toml").read_text(encoding="utf-8"))
ABSENT: dict[str, str] = tomllib.loads((HERE / "absent.toml").read_text(encoding="utf-8"))
OPERATIONS = (
    "creation",
    "indexing",
    "sampling",
    "pointwise",
    "reductions",
    "comparison",
    "spectral",
    "operations",
    "BLAS",
)
"""Families whose functions get a row each; of the others the names are enough."""
G = {"g": [["i", "g"]]}


def find(path: str) -> Any:
    """Return the object ``nbautograd.<path>``, or None: also a name that exists only to raise an error."""
    above, _, leaf = path.rpartition(".")
    if refused.refuses(above, leaf):
        return None
    value = _find(path)
    return None if isinstance(value, AbsentMethod) else value


def _find(path: str) -> Any:
    if path in nbautograd.__dict__:
        return nbautograd.__dict__[path] if nbautograd.__dict__[path] is not None else Ellipsis  # newaxis is None
    parent, _, name = path.rpartition(".")
    try:
        found: Any = importlib.import_module(f"nbautograd.{parent}" if parent else "nbautograd")
        value = getattr(found, name)
        return Ellipsis if value is None else value  # a setting with the value None exists
    except (ImportError, AttributeError):
        found = _find(parent) if parent else None
    try:
        return inspect.getattr_static(found, name) if isinstance(found, type) else getattr(found, name, None)
    except AttributeError:
        return None


def page() -> str:
    """The whole page."""
    sections, total, present, refusing = [], 0, 0, 0
    for family in NAMES["family"]:
        names = family["names"].split()
        below = family["below"] + "." if family["below"] else ""
        here = [name for name in names if find(below + name) is not None]
        total, present = total + len(names), present + len(here)
        refusing += sum(refused.refuses(family["below"], name) for name in names)
        detailed = not below and any(word in family["title"] for word in OPERATIONS)
        rows = [f"\n## {family['title']}: {len(here)} of {len(names)}\n"]
        rows += table(here) if detailed else [", ".join(f"`{name}`" for name in here)]
        rows += missing([below + name for name in names if name not in here])
        sections.append("\n".join(rows))
    head = f"""<!-- Written by docs/reference.py from the registry of operations; do not edit. -->

# PyTorch coverage

Of the {total} public names of PyTorch 2.13 listed here, {present} exist ({100 * present / total:.0f} %);
{refusing} more exist only to explain why they do not work, in
[modules for other machines](modules.md). The reason for each missing name is given.

A name leads to its entry in [the API](api/index.rst). The line below what a function computes has its derivative: the
gradient of each operand, where $g$ is the gradient of the result. Where operands were broadcast, the gradient is then
summed over the dimensions along which they were; where their dtypes differ, it is cast back.
"""
    return head + "\n".join([*sections, *batching()]) + "\n"


def batching() -> list[str]:
    """List the operations that compute all samples of ``vmap`` at once, and those that run sample by sample."""
    by_word: dict[str, list[str]] = {}
    shown = {name: declared for name, declared in OPS.items() if "Backward" not in name and name not in RANDOM}
    for name, declared in shown.items():
        word = how.get(name, how["pointwise"] if declared.kind == "pointwise" else "sample by sample")
        if known := public(name):
            by_word.setdefault(WORDS.get(word, word), []).append(known)
    alone = by_word.pop("sample by sample")
    looking = sorted({known for name in sample_by_sample if (known := public(name.lstrip("_")))})
    total = len(alone) + sum(map(len, by_word.values()))
    rows = [
        "\n## Operations inside of vmap\n",
        f"Of {total} operations, {total - len(alone)} compute all samples of a batch at once; other "
        "functions are made of these. The argument `randomness` sets the draws of random functions.\n",
        "| how | operations |",
        "| --- | --- |",
        *(f"| {word} | {', '.join(f'`{name}`' for name in sorted(by_word[word]))} |" for word in sorted(by_word)),
        "",
        "The others are run sample by sample: " + ", ".join(f"`{name}`" for name in sorted(alone)) + ".",
        f"So are functions that look at values: {', '.join(f'`{name}`' for name in looking)}.",
    ]
    return rows


def public(name: str) -> str:
    """The name under which an operation is called; nothing for those that only formulas and other functions name."""
    package, _, rest = name.partition("_")
    for path in (name, f"{package}.{rest}", f"nn.functional.{name}"):
        if package and find(path) is not None:
            return path
    return ""


WORDS = {
    "leading": "all leading dimensions are batches anyway",
    "broadcasting": "dimensions of length 1 are put in, and all broadcast",
    "moved": "the same one dimension further on",
    "dimensions moved": "the same one dimension further on",
    "shape behind the batch": "a shape gets the number of samples in front",
    "reduced": "the dimensions of a sample are reduced",
    "one product": "one product of matrices",
    "one index": "one index, with the numbers of the samples",
    "folded": "samples and batch are merged into one dimension, and split again",
    "folded, or grouped": "samples are images of a batch or, with a kernel for each, groups of channels",
    "grouped": "samples are groups of channels",
    "strides of all samples": "the strides of all samples",
    "refused": "raises where a sample's values decide the shape",
}
"""The meaning of the words of the rules."""


def table(names: list[str]) -> list[str]:
    """Return a row per function: its result, its forms, and its derivative."""
    return [
        "| function | what it computes, and its derivative | forms |",
        "| --- | --- | --- |",
        *(row(name) for name in names),
    ]


def row(name: str) -> str:
    function = find(name)
    declared = OPS.get(getattr(function, "__name__", name))
    is_own = declared is not None and declared.function in (function, getattr(nbautograd.Tensor, name, None))
    declared = declared if is_own else None
    text = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ").replace("|", r"\|")
    forms = ["method"] * hasattr(nbautograd.Tensor, name) + ["in place"] * hasattr(nbautograd.Tensor, name + "_")
    if takes_out(function, declared):
        forms.append("`out=`")
    formulas = derivative(declared)
    return f"| `{name}` | {text}{'<br>' * bool(formulas)}{formulas} | {', '.join(forms)} |"


def takes_out(function: Any, declared: CompiledOp | None) -> bool:
    if declared is not None:
        return declared.has_out
    try:
        return "out" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def derivative(declared: CompiledOp | None) -> str:
    """The formulas of an operation that is declared under this very name; composites have those of their parts."""
    if declared is None or not declared.formulas:
        return ""
    parts = []
    for name, formula in zip(declared.formulas, map(in_full, declared.formulas.values()), strict=True):
        words = in_words(formula)
        plain = formula if words else ast.unparse(Plain().visit(ast.parse(formula.strip(), mode="eval")))
        if words:
            parts.append(f"`{name}`: {words}")
        elif len(plain) > 60:
            parts.append(f"`{name}`: `{plain}`".replace("|", r"\|"))
        else:
            parts.append(f"`{name}`: ${latex(marks(plain, G))}$".replace("|", r"\vert "))
    return "<br>".join(parts)


SAME = {"along_threshold", "cast_back", "first_of", "flat", "once", "pad_like", "spread", "sum_to"}
"""Helpers that only bring a gradient into the shape or dtype of its operand."""
NAMES_OF = {"mm_like": "mm", "outer_product": "outer", "slice_": "slice", "added": "sum", "special_i1": "i1"}
IN_WORDS = {
    "sparse_gather_back": "$g$, added into zeros at `index`",
    "gather_back": "$g$, added into zeros at `index`",
    "index_select_back": "$g$, added into zeros at `index`",
    "index_back": "$g$, added into zeros at the indices",
    "masked_back": "$g$ in zeros, where `mask` is true",
    "select_back": "$g$ as that slice of zeros",
    "diagonal_back": "$g$ on the diagonal of zeros",
    "restack": "the gradients of the parts, stacked",
    "complex_of_pairs": "$g$ as complex numbers",
    "not_implemented": "not implemented: a backward pass raises",
    "half_plane": r"$g / \overline{\sqrt{input - 1} \sqrt{input + 1}}$",
    "derivative_of_digamma": r"$g \cdot \psi'(input)$",
    "ties": "$g$ where the extreme is, shared among equal ones",
    "negated": "$g$, rolled back",
    "cholesky_back": r"$\frac{1}{2} L^{-H} \, sym(tril(L^H g)) \, L^{-1}$ (Giles, 2008)",
    "cholesky_inverse_back": "$-A^{-1} (g + g^H) A^{-1} L$",
    "adjugate": r"$g \cdot adj(A)^H$, also of singular matrices",
    "exponential_back": "the upper right block of exp([[Aᴴ, g], [0, Aᴴ]])",
    "product_back": "by the reflections, from the first to the last",
    "ormqr_back": "by the reflections, from the first to the last",
}
"""Formulas that name a helper which readers do not know, by that helper."""


def in_words(formula: str) -> str:
    """Return a formula in words if it cannot be shown; else nothing."""
    return next((words for helper, words in IN_WORDS.items() if f"{helper}(" in formula), "")


class Plain(ast.NodeTransformer):
    """A formula without the helpers that undo broadcasting and casts."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in SAME:
            return node.args[0]
        if name == "zeros_of":
            return ast.Constant(0)
        if name == "ratio":
            return ast.BinOp(node.args[0], ast.Div(), node.args[1])
        if name == "conjugate" and isinstance(node.func, ast.Attribute):
            return ast.Call(ast.Name("conj"), [node.func.value], [])
        if name in NAMES_OF:
            node.func = ast.Name(NAMES_OF[name])
            node.args = node.args[:2] if name == "mm_like" else node.args
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return node.orelse  # the other case is a shorter path to the same result


def missing(paths: list[str]) -> list[str]:
    """The names that are absent, with the reason of each."""
    if not paths:
        return []
    whys: dict[str, list[str]] = {}
    for path in paths:
        why = refused.why(path.rpartition(".")[0])
        whys.setdefault(f"they raise: {why}" if why else f"{path}: {ABSENT.get(path, '')}", []).append(path)
    rows = [(", ".join(f"`{path}`" for path in of), why.removeprefix(f"{of[0]}: ")) for why, of in whys.items()]
    return ["", "| absent | why |", "| --- | --- |", *(f"| {names} | {why} |" for names, why in rows)]


def unexplained() -> list[str]:
    """Names that are absent without a reason, and reasons for names that exist."""
    listed = {(f["below"] + "." if f["below"] else "") + name for f in NAMES["family"] for name in f["names"].split()}
    absent = {path for path in listed if find(path) is None and not refused.why(path.rpartition(".")[0])}
    return sorted(absent ^ set(ABSENT))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if something is out of date")
    check = parser.parse_args().check
    if trouble := unexplained():
        print("docs/absent.toml does not fit what is absent:", *trouble, sep="\n  ")
    text = page()
    if not check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
    if not current:
        print("docs/reference.md is out of date: run python docs/reference.py")
    return 0 if current and not trouble else 1


if __name__ == "__main__":
    sys.exit(main())
