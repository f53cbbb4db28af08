"""Describe each step: in words, below the picture, and by formulas with its numbers, if they give the sent gradient."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nbautograd.viz.capture.timeline import Equation, LeafState
from nbautograd.viz.language import say
from nbautograd.viz.read import formulas
from nbautograd.viz.read.formulas import Mark
from nbautograd.viz.read.model import GraphModel, Node

__all__ = ["equations", "op_words"]

MAX_INPUTS = 3  # the number of inputs that a printed operation names


def op_words(
    op: str, root: str, sends: Sequence[tuple[str, str]], sums: Mapping[str, LeafState], model: GraphModel
) -> str:
    """Describe the gradients that an operation has sent to its inputs.

    :param sends: (the name of an input, the gradient as text).
    :param sums: the states of the leaves and joints that the step has changed.
    """
    joints = {model.by_id[key].name: state for key, state in sums.items() if state.of > 1 and key in model.by_id}
    told = [_sent(name, value, root, name in joints) for name, value in sends]
    for name, state in joints.items():
        left = state.of - state.got
        if left:
            told.append(say("waits_for", name=name, count=left))
        elif "=" in state.arriving:
            told.append(say("summed_up", name=name, sum=state.arriving))
    shown = list(dict.fromkeys(told))
    return say("op_words", op=op, sends="; ".join(shown[: MAX_INPUTS + 1])) if shown else ""


def _sent(name: str, value: str, root: str, partly: bool) -> str:
    try:
        number = float(value)
    except ValueError:
        return say("moves_gradient", name=name)
    if partly:
        return say("sends_part", name=name, value=value.removesuffix("."))
    if number == 0:
        return say("sends_none", root=root, name=name)
    if number == 1:
        return say("sends_same", root=root, name=name)
    return say("sends_number", root=root, name=name, value=value.removesuffix("."))


def equations(node: Node, slot: int, sent: str, receives: Sequence[tuple[str, str]]) -> list[Equation]:
    """Return the equations by which an operation computed the gradients that it sent to one of its inputs.

    :param sent: the gradient that it sent, as text.
    :param receives: the gradients it had received, by name.
    """
    lines = []
    for formula in node.formulas:
        if formula.slot != slot:
            continue
        numbers = ""
        texts = dict(node.operands)
        if receives:
            texts["g"] = receives[0][1].rpartition("= ")[2].rpartition("→ ")[2]
        amounts = {name: amount for name, text in texts.items() if (amount := _number(text)) is not None}
        number = _number(sent) if "g" in amounts else None
        if number is not None:
            known = {name: [["n", _signed(texts[name])]] for name in amounts}
            put_in = formulas.marks(formula.source, known)
            written = formulas.plain(put_in)
            right = _agree(formulas.value(formula.source, amounts), number)
            if right and not _names_left(put_in) and written != sent:
                numbers = f"{written} = {sent}"
        lines.append(Equation(formula.marks, formula.text, numbers))
    return lines


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


def _signed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _names_left(written: list[Mark]) -> bool:
    return any(
        mark[0] == "i" or (mark[0] in "fs" and (_names_left(mark[1]) or _names_left(mark[2]))) for mark in written
    )
