"""Name the gradients in formulas of a pass with a seed ``v``: ``vᵀ∂y/∂x``, and ``v`` itself at the root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nbautograd.viz.read import formulas, values
from nbautograd.viz.read.formulas import Mark, bracketed
from nbautograd.viz.read.model import Formula, GraphModel
from nbautograd.viz.read.numbers import number_text

__all__ = ["called", "gradient_name", "sum_of", "with_seed"]

FEW = 16  # limit of the characters of a printed gradient
SHORT = 3  # limit of the letters of a variable in formulas; longer ones are called v there


def called(seed: str) -> str:
    """Return the name of a seed in formulas.

    >>> called("v"), called("gradient"), called("")
    ('v', 'v', '')
    """
    return seed if len(seed) <= SHORT else "v"


def gradient_name(seed: str, root: str, name: str) -> str:
    """Return the name of the gradient of a result.

    >>> gradient_name("", "y", "x"), gradient_name("v", "y", "x"), gradient_name("v", "y", "y")
    ('∂y/∂x', 'vᵀ∂y/∂x', 'v')
    """
    if not seed:
        return f"∂{bracketed(root)}/∂{bracketed(name)}"
    return called(seed) if name == root else f"{called(seed)}ᵀ{gradient_name('', root, name)}"


def sum_of(roots: Sequence[tuple[str, Any]]) -> str:
    """Write the sum that a pass from several results differentiates, from their names and given gradients.

    >>> sum_of([("p", np.float32(1)), ("q", np.float32(2))]), sum_of([("p", np.ones(2)), ("w * 2", np.float32(-1))])
    ('p + 2 q', 'p.sum() − (w * 2)')
    >>> sum_of([("p", np.array([1.0, 3.0])), ("q", np.array([0.5]))])
    '([1., 3.] · p).sum() + 0.5 q'
    """
    written = ""
    for name, gradient in roots:
        part, numbers = formulas.bracketed(name), np.unique(values.host(gradient))
        sign = "+"
        if np.size(values.host(gradient)) == 1 and np.isrealobj(numbers):
            factor = float(numbers[0])
            sign = "−" if factor < 0 else "+"
            part = part if abs(factor) == 1 else f"{number_text(abs(factor))} {part}"
        elif numbers.size == 1 and numbers[0] == 1:
            part = f"{part}.sum()"
        else:
            shown = values.inline(gradient)
            part = f"({shown if len(shown) <= FEW else 'v'} · {part}).sum()"
        written += f" {sign} {part}" if written else f"{'−' * (sign == '−')}{part}"
    return written


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
