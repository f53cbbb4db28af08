"""Check that programs under PyTorch and under nbautograd have equal models of their pictures, box for box.

PyTorch's operations are watched, nbautograd's are traced. What differs stands in two tables, and a test says when an
entry of theirs can go.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.read.builder import build
from tests import needs
from tests.pictures.viz.torch_programs import PROGRAMS, Program

torch = needs.package("torch")

STRUCTURE = {
    "shapes": "PyTorch copies before it views what is not contiguous, and shows that as a node: clone",
    "written_slice": "PyTorch's in-place copy of a slice leaves out a conversion that ours shows",
    "masked": "ours keeps an index inside of the call, PyTorch's is an argument that is shown as a box",
    "attention": "of two expansions ours runs both before the views; so t3 and t4 are exchanged",
    "rnn_cell": "ours computes the hidden part before the input's",
}
"""Programs whose boxes differ, with the reason."""
BOXES = {
    ("SelectBackward0", "arguments"): "PyTorch counts dimensions from the front before it records",
    ("SplitBackward0", "arguments"): "PyTorch has the size of a part, ours the sizes of all",
    ("ToCopyBackward0", "arguments"): "ours records the devices, too",
    ("ToCopyBackward0", "symbol"): "ours has one node for both conversions",
    ("MulBackward0", "name"): "PyTorch's own derivatives multiply by a number with another node, MulBackward1",
    ("MaxPool2DWithIndicesBackward0", "arguments"): "ours has the size of the result, too",
    ("ConvolutionBackward0", "arguments"): "ours has the size of the result, too",
    ("NativeLayerNormBackward0", "arguments"): "ours has prepared the shapes",
    ("NativeBatchNormBackward0", "arguments"): "ours has prepared the shapes",
}
"""The fields of a box that differ, by its name; a formula that names arguments differs with them."""
INSIDE = {"operands", "saved"}
"""Fields that may differ, since each library keeps tensors for a backward pass in its own way."""
ROUNDED = re.compile(r"-?\d\.\d+e-0[89]|-0\.")


def model(program: Program, T: Any, fold: bool | None) -> dict[str, Any]:
    with tracing.traced(), viz.watch():
        names = program(T)
    return build(names["y"], names, fold=fold).to_json()


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> set[tuple[str, str]]:
    """(a box's name, the field), for all that is not the same."""
    kinds = [
        [(node["kind"], node["symbol"] if node["kind"] == "group" else "") for node in m["nodes"]]
        for m in (ours, theirs)
    ]
    if kinds[0] != kinds[1] or ours["edges"] != theirs["edges"] or ours["groups"] != theirs["groups"]:
        return {("", "structure")}
    unlike = set()
    for one, other in zip(ours["nodes"], theirs["nodes"], strict=True):
        for field in one.keys() - INSIDE:
            if said(one[field]) != said(other[field]):
                unlike.add((one["name"], field))
    return unlike


def said(value: Any) -> Any:
    """A field without rounding differences."""
    if isinstance(value, str):
        return ROUNDED.sub("0.", value)
    if isinstance(value, dict) and "cells" in value:
        return value | {"cells": tuple(c if isinstance(c, str) else round(c, 4) for c in value["cells"]), "norm": 0}
    return value


@pytest.mark.parametrize("fold", [False, None])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_pictures_are_the_same(program: Program, fold: bool | None) -> None:
    unlike = differences(model(program, nb, fold), model(program, torch, fold))
    if program.__name__ in STRUCTURE:
        assert unlike, "they are the same now: its line in STRUCTURE can go"
        return
    follows = {(name, what) for name, field in BOXES if field == "arguments" for what in ("formulas", "expression")}
    assert unlike <= BOXES.keys() | follows
    met.update(unlike)


met: set[tuple[str, str]] = set()


def test_every_difference_is_there() -> None:
    for program in PROGRAMS:
        if program.__name__ not in STRUCTURE and not met >= BOXES.keys():
            met.update(differences(model(program, nb, False), model(program, torch, False)))
    assert BOXES.keys() <= met, "a line of BOXES can go"


# -- backward passes -------------------------------------------------------------------------------------------------

PASSES = {
    "second_order": "the node that multiplies by a number has another name, see BOXES",
    "doubles": "its conversion has another symbol, see BOXES",
    "batch_norm": "sums that are next to nothing are rounded otherwise",
}
"""Programs whose passes have different texts, with the reason."""
TOLD = ("kind", "node", "title", "active", "labels", "sends", "receives", "where", "source", "words", "hooks", "bad",
        "notes", "freed", "chain", "equations")  # fmt: skip


def played(program: Program, T: Any) -> viz.Animation:
    with tracing.traced(), viz.watch():
        names = program(T)
    y = names["y"]
    return viz.animate(y, None if y.numel() == 1 else T.ones_like(y), namespace=names)


def steps(animation: viz.Animation) -> list[dict[str, Any]]:
    """The steps of a pass, with numbers in the place of the tiles' own numbers."""
    tiles = animation.timeline.tiles
    told = []
    for frame in animation.timeline.frames:
        step = {name: getattr(frame, name) for name in TOLD}
        step["chain"] = [
            (one.edge, one.kind, one.upstream_name, one.sent_name, one.local, one.left, one.summed, one.places,
             *(sum(map(float, tiles[i].cells)) if i >= 0 else None for i in (one.upstream, one.factor, one.sent)))
            for one in frame.chain
        ]  # fmt: skip
        step["equations"] = [(one.text, one.marks, one.numbers) for one in frame.equations]
        told.append(step)
    return told


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.__name__ not in STRUCTURE], ids=lambda p: p.__name__)
def test_the_passes_are_the_same(program: Program) -> None:
    ours, theirs = (steps(played(program, T)) for T in (nb, torch))
    if program.__name__ in PASSES:
        assert [step["node"] for step in ours] == [step["node"] for step in theirs]
        assert ours != theirs, "they are the same now: its line in PASSES can go"
        return
    for one, other in zip(ours, theirs, strict=True):
        for name in TOLD:
            assert rounded(one[name]) == rounded(other[name]), name


def rounded(value: Any) -> Any:
    """Return the model with numbers to two digits, also in its texts, and with tiny ones as zero."""
    if isinstance(value, str):
        return NUMBER.sub(lambda number: rounded(float(number[0])), value)
    if isinstance(value, float):
        return f"{value:.2g}" if abs(value) > 1e-5 else "0"
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, (list, tuple)) else value


NUMBER = re.compile(r"-?[0-9]+\.[0-9]*(e-?[0-9]+)?")
