"""Describe each step in words: the line below the picture. The numbers stand in the picture itself, on edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbautograd.viz.capture.timeline import LeafState
from nbautograd.viz.language import say
from nbautograd.viz.read import values
from nbautograd.viz.read.model import GraphModel

__all__ = ["edge_label", "op_words"]

NARROW = 12  # characters of a vector on an edge; a longer one is written as a column
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


def edge_label(gradient: Any) -> str:
    """Return the label of a gradient on an edge: its numbers, or its shape and norm."""
    written, whole = values.told(gradient, 4, brief=True)
    if len(written) > NARROW and len(getattr(gradient, "shape", ())) == 1:
        written = written.replace(", ", ",\n ")  # a column: a short edge has room beside it
    return written if whole else f"{values.shape_text(gradient)}\n{written}"
