"""Describe each step: in words, below the picture, and by formulas with its numbers, if they give the sent gradient.

Name the gradients in formulas of a pass with a seed ``v``: ``vᵀ∂y/∂x``, and ``v`` itself at the root.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from nbautograd.viz.capture.timeline import Equation, LeafState
from nbautograd.viz.language import say
from nbautograd.viz.read import formulas, values
from nbautograd.viz.read.formulas import Mark, bracketed
from nbautograd.viz.read.model import Formula, GraphModel
from nbautograd.viz.read.numbers import number_text

__all__ = ["called", "equation", "gradient_name", "op_words", "sum_of", "with_seed"]

MAX_INPUTS = 3  # that a printed operation names
MAX_GRADIENT_CHARACTERS = 16  # of a printed one
MAX_VARIABLE_LETTERS = 3  # in formulas; longer ones are called v there


def op_words(
    op: str, root: str, sends: Sequence[tuple[str, str]], sums: Mapping[str, LeafState], model: GraphModel
) -> str:
    """Describe the gradients that an operation has sent to its inputs.

    :param sends: (the name of an input, the gradient as text).
    :param sums: the states of the leaves and joints that the step has changed.
    """
    joints = {model.by_id[key].name: state for key, state in sums.items() if state.of > 1 and key in model.by_id}
    told = [_sent_text(name, value, root, name in joints) for name, value in sends]
    for name, state in joints.items():
        left = state.of - state.got
        if left:
            told.append(say("waits_for", name=name, count=left))
        elif "=" in state.arriving:
            told.append(say("summed_up", name=name, sum=state.arriving))
    shown = list(dict.fromkeys(told))
    return say("op_words", op=op, sends="; ".join(shown[: MAX_INPUTS + 1])) if shown else ""


def _sent_text(name: str, value: str, root: str, partly: bool) -> str:
    number = _number(value)
    if number is None:
        return say("moves_gradient", name=name)
    if partly:
        return say("sends_part", name=name, value=value.removesuffix("."))
    if number == 0:
        return say("sends_none", root=root, name=name)
    if number == 1:
        return say("sends_same", root=root, name=name)
    return say("sends_number", root=root, name=name, value=value.removesuffix("."))


def equation(formula: Formula, operands: Sequence[tuple[str, str]], sent: str, receives: Sequence[Any]) -> Equation:
    """Return the equation by which an operation computed a gradient that it sent, with its numbers if they give it.

    :param operands: the values of the names in the formula, where they are single numbers.
    :param sent: the gradient that it sent, as text.
    :param receives: the gradients it had received, by name.
    """
    numbers, number = "", _number(sent) if receives else None
    if number is not None:
        texts = {**dict(operands), "g": receives[0][1].rpartition("= ")[2].rpartition("→ ")[2]}
        amounts = {name: amount for name, text in texts.items() if (amount := _number(text)) is not None}
        known = {name: [["n", f"({texts[name]})" if texts[name].startswith("-") else texts[name]]] for name in amounts}
        put_in = formulas.marks(formula.source, known)
        written = formulas.plain(put_in)
        right = "g" in amounts and _agree(formulas.value(formula.source, amounts), number)
        if right and not _names_left(put_in) and written != sent:
            numbers = f"{written} = {sent}"
    return Equation(formula.marks, formula.text, numbers)


def _agree(result: float | None, sent: float) -> bool:
    """Return whether a formula evaluates to the sent gradient; values that are not finite may differ."""
    if not math.isfinite(sent):
        return result is None or not math.isfinite(result)
    return result is not None and math.isclose(result, sent, rel_tol=2e-3, abs_tol=1e-4)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _names_left(written: list[Mark]) -> bool:
    return any(
        mark[0] == "i" or (mark[0] in "fs" and (_names_left(mark[1]) or _names_left(mark[2]))) for mark in written
    )


# -- gradients by their names ----------------------------------------------------------------------------------------


def called(seed: str) -> str:
    """Return the name of a seed in formulas.

    >>> called("v"), called("gradient"), called("")
    ('v', 'v', '')
    """
    return seed if len(seed) <= MAX_VARIABLE_LETTERS else "v"


@lru_cache(2000)  # a step sends what the next one receives
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
            part = f"({shown if len(shown) <= MAX_GRADIENT_CHARACTERS else 'v'} · {part}).sum()"
        written += f" {sign} {part}" if written else f"{'−' * (sign == '−')}{part}"
    return written


def with_seed(model: GraphModel, seed: str) -> GraphModel:
    """The graph with formulas of the gradients that a pass with this seed computes."""
    if len(model.roots) != 1:
        return model
    root, v = model.by_id[model.roots[0]].name, called(seed)

    def written(formula: Formula) -> Formula:
        marks = _with_vector(formula.marks, root, v)
        return replace(formula, marks=marks, text=formulas.plain(marks))

    nodes = tuple(replace(node, formulas=tuple(map(written, node.formulas))) for node in model.nodes)
    whole = None if model.whole is None else with_seed(model.whole, seed)
    return replace(model, nodes=nodes, whole=whole)


def _with_vector(marks: list[Mark], root: str, v: str) -> list[Mark]:
    seeded: list[Mark] = []
    for mark in marks:
        if mark[0] in ("f", "s"):
            seeded.append([mark[0], _with_vector(mark[1], root, v), _with_vector(mark[2], root, v)])
        elif mark[0] == "d" and mark[1] == root:
            seeded += [["i", v]] if mark[2] == root else [["i", f"{v}ᵀ"], mark]
        else:
            seeded.append(mark)
    return seeded
