"""The formulas of a step with its numbers, if their value is the sent gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nbautograd.viz.capture.timeline import Equation
from nbautograd.viz.read import formulas
from nbautograd.viz.read.formulas import Mark
from nbautograd.viz.read.model import Node

__all__ = ["equations"]


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
        if all(_is_number(text) for text in (sent, texts.get("g", ""))):
            known = {name: [["n", _signed(text)]] for name, text in texts.items() if _is_number(text)}
            put_in = formulas.marks(formula.source, known)
            written = formulas.plain(put_in)
            amounts = {name: float(text) for name, text in texts.items() if _is_number(text)}
            right = _agree(formulas.value(formula.source, amounts), float(sent))
            if right and not _names_left(put_in) and written != sent:
                numbers = f"{written} = {sent}"
        lines.append(Equation(formula.marks, formula.text, numbers))
    return lines


def _agree(result: float | None, sent: float) -> bool:
    """Return whether a formula evaluates to the sent gradient; values that are not finite may differ."""
    if not math.isfinite(sent):
        return result is None or not math.isfinite(result)
    return result is not None and math.isclose(result, sent, rel_tol=2e-3, abs_tol=1e-4)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _signed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _names_left(written: list[Mark]) -> bool:
    return any(
        mark[0] == "i" or (mark[0] in "fs" and (_names_left(mark[1]) or _names_left(mark[2]))) for mark in written
    )
