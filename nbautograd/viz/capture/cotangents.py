"""What flows is called where a gradient ``v`` was passed: ``vᵀ∂y/∂x``, and ``v`` itself at the root."""

from __future__ import annotations

from dataclasses import replace

from nbautograd.viz.read import formulas
from nbautograd.viz.read.formulas import Mark
from nbautograd.viz.read.model import Formula, GraphModel

__all__ = ["called", "gradient_name", "with_seed"]

SHORT = 3  # letters of a variable that stands in formulas itself; longer ones are called v there


def called(seed: str) -> str:
    """What a seed is called in formulas.

    >>> called("v"), called("gradient"), called("")
    ('v', 'v', '')
    """
    return seed if len(seed) <= SHORT else "v"


def gradient_name(seed: str, root: str, name: str) -> str:
    """What the gradient of a result is called.

    >>> gradient_name("", "y", "x"), gradient_name("v", "y", "x"), gradient_name("v", "y", "y")
    ('∂y/∂x', 'vᵀ∂y/∂x', 'v')
    """
    if not seed:
        return f"∂{root}/∂{name}"
    return called(seed) if name == root else f"{called(seed)}ᵀ∂{root}/∂{name}"


def with_seed(model: GraphModel, seed: str) -> GraphModel:
    """The graph with formulas of the gradients that a pass with this seed computes."""
    if len(model.roots) != 1:
        return model
    root, v = model.by_id[model.roots[0]].name, called(seed)

    def written(formula: Formula) -> Formula:
        marks = _seeded(formula.marks, root, v)
        return replace(formula, marks=marks, text=formulas.plain(marks))

    nodes = tuple(replace(node, formulas=tuple(map(written, node.formulas))) for node in model.nodes)
    whole = None if model.whole is None else with_seed(model.whole, seed)
    return replace(model, nodes=nodes, whole=whole)


def _seeded(marks: list[Mark], root: str, v: str) -> list[Mark]:
    seeded: list[Mark] = []
    for mark in marks:
        if mark[0] in ("f", "s"):
            seeded.append([mark[0], _seeded(mark[1], root, v), _seeded(mark[2], root, v)])
        elif mark[0] == "d" and mark[1] == root:
            seeded += [["i", v]] if mark[2] == root else [["i", f"{v}ᵀ"], mark]
        else:
            seeded.append(mark)
    return seeded
