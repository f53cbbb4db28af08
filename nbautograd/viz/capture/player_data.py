"""Read the values of a pass for the player, each once, and write frames, graphs and tiles as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields
from functools import cache, cached_property, lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from nbautograd.viz.language import say
from nbautograd.viz.read import values
from nbautograd.viz.read.jacobians import Work, entry_of
from nbautograd.viz.read.model import GraphModel, Node
from nbautograd.viz.read.tiles import MAX_READ_ELEMENTS, Tile, is_tiled, tile_of
from nbautograd.viz.read.values import printed

__all__ = [
    "VANISHED", "Reading", "Readings", "bytes_text", "frames_json", "saved_text", "scene_json", "tile_json",
]  # fmt: skip


ATOMS = {str, int, float, bool, type(None), list}
"""The types of values that are plain already: of most of them in a frame."""
INNER = {*ATOMS, tuple}  # inside of tuples and dictionaries


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(part.name for part in fields(kind))


@cache
def _values(kind: type) -> attrgetter[Any]:
    return attrgetter(*_names(kind))


def _plain(value: Any) -> Any:
    """Dataclasses as dictionaries, all the way down; lists as they are, which are formulas: ``asdict`` copies them."""
    made: dict[str, Any] = {}
    waiting = [(value, made)]
    for one, told in waiting:
        kind: Any = type(one)
        for name, part in zip(_names(kind), _values(kind)(one), strict=True):
            own = type(part)
            if own in ATOMS or not part:
                told[name] = part
                continue
            parts: list[Any] = []
            for each in part.values() if own is dict else part if own is tuple else (part,):
                parts.append(each if type(each) in INNER else {})
                if type(each) not in INNER:
                    waiting.append((each, parts[-1]))
            told[name] = dict(zip(part, parts, strict=True)) if own is dict else tuple(parts)
            if own not in (dict, tuple):
                (told[name],) = parts
    return made


def frames_json(frames: Iterable[Any]) -> list[dict[str, Any]]:
    """Return frames as dictionaries, lists, strings and numbers only, without what is empty."""
    made = list(map(_plain, frames))
    for frame in made:
        for key, value in list(frame.items()):
            if value in ("", (), {}):
                del frame[key]
        for part in (*frame.get("leaves", {}).values(), *frame.get("ledger", {}).values(), *frame.get("chain", ())):
            for key, value in list(part.items()):
                if value == -1 or (key in _EXTRA and not value):
                    del part[key]
        if frame["count"] == 1:
            del frame["count"]
    _shorten(made)
    return made


def tile_json(tile: Tile) -> dict[str, Any]:
    """A tile as a dictionary, without what is as usual."""
    about: dict[str, Any] = {"shape": tile.shape, "columns": tile.columns, "cells": tile.cells}
    if tile.block != (1, 1):
        about |= {name: getattr(tile, name) for name in ("block", "histogram", "low", "high", "norm")}
    for name in ("nan", "inf", "form"):
        if known := getattr(tile, name):
            about[name] = known
    return about


def _shorten(frames: list[dict[str, Any]]) -> None:
    """Write only the new terms of each row of the ledger, and the number of unchanged ones (``kept``)."""
    former: dict[tuple[int, int, str], tuple[Any, ...]] = {}
    for frame in frames:
        for key, row in frame.get("ledger", {}).items():
            place, terms = (frame["scene"], frame["backward"], key), tuple(row["terms"])
            before, former[place] = former.get(place, ()), terms
            if before and terms[: len(before)] == before:
                row["terms"], row["kept"] = terms[len(before) :], len(before)
                row["tiles"] = row.get("tiles", ())[len(before) :]


_EXTRA = {"tiles", "left", "summed", "element", "told", "local", "story", "places", "rows", "more", "got", "kept", "of"}
"""Parts of a frame that are omitted if empty."""
MAX_LISTED = 300  # group members, or leaves, listed one by one
_TOLD = (
    "kind", "name", "names", "expression", "value", "shape", "dtype", "device", "version", "now", "grad", "where",
    "cell", "line", "source", "notes", "window", "symbol", "label", "view_of", "retains", "freed", "members", "times",
    "parameters", "failed",
)  # fmt: skip


def _node_json(node: Any) -> dict[str, Any]:
    about: dict[str, Any] = {}
    for key in _TOLD:
        if (value := getattr(node, key)) not in ("", (), False, 0):
            about[key] = value
    if node.tile is not None:
        about["tile"] = tile_json(node.tile)
    if node.grad_tile is not None and is_tiled(node.grad_tile):
        about["grad_tile"] = tile_json(node.grad_tile)
    if node.formulas:
        written = [(entry_of(formula.source), formula.marks, formula.slot) for formula in node.formulas]
        about["kinds"], about["formulas"], about["slots"] = map(list, zip(*written, strict=True))
    if node.saved is not None:
        about["saved"] = saved_text(node)
        about["kept"] = [f"{saved.name} {saved.shape} {bytes_text(saved.nbytes)}" for saved in node.saved]
    if node.hooks:
        about["hooks"] = ", ".join(f"{say(f'hook_kind_{kind}')} ×{count}" for kind, count in node.hooks)
    return about


def scene_json(model: GraphModel) -> dict[str, Any]:
    """Return a graph's nodes and edges for the player."""
    nodes = {node.id: _node_json(node) for node in model.nodes}
    whole = model.entire
    every = whole.leaves  # includes leaves inside a group
    leaves = [{"id": leaf.id, "name": leaf.name} for leaf in (every if len(every) <= MAX_LISTED else model.leaves)]
    edges = [[edge.id, edge.src, edge.dst, edge.kind, edge.slot] for edge in model.edges]
    sources = {edge.id: whole.by_id[edge.src] for edge in whole.edges} if model.stands else {}
    inner = {edge.id: value.label or value.name for edge in model.edges if (value := sources.get(edge.id))
             and value.id != edge.src}  # fmt: skip
    groups = [
        [group.id, group.label, group.closed and group.kind != "rail",
         group.members if len(group.members) <= MAX_LISTED else (), group.parent]
        for group in model.groups
    ]  # fmt: skip
    return {
        "label": model.short_label, "leaves": leaves, "nodes": nodes, "edges": edges, "roots": list(model.roots),
        "groups": groups, "inner": inner, "mixed": sorted(model.mixed), "notes": list(model.notes),
    }  # fmt: skip


def saved_text(node: Node) -> str:
    """Return the text of the tensors that a node keeps for the backward pass."""
    if node.saved is None:
        return ""
    if not node.saved:
        return say("freed_before" if node.freed else "nothing")
    total = sum([saved.nbytes for saved in node.saved])
    names = ", ".join([f"{saved.name} {saved.shape}".rstrip() for saved in node.saved])
    return f"{names} · {bytes_text(total)}"


@lru_cache(1000)
def bytes_text(count: int) -> str:
    """``8 B``, ``1.5 kB``.

    >>> bytes_text(8), bytes_text(1500), bytes_text(2_000_000)
    ('8 B', '1.5 kB', '2.0 MB')
    """
    size, unit = float(count), "B"
    for bigger in ("kB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, bigger
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


# -- values, each read once ---------------------------------------------------------------------


MAX_CELLS = 400_000  # of the tiles of a recording
MAX_COMPARED_ELEMENTS = 4096  # to recognize a tensor
MAX_SHARED_ELEMENTS = 64  # of a value that is read once for several steps
MAX_LABEL_NUMBERS = 4  # on an edge
MAX_ROW_CHARACTERS = 12  # of a vector on an edge; a longer one is written as a column
VANISHED = -99.0


class Reading:
    """The facts that steps show of a value, such as an array, each found out when it is first asked for."""

    def __init__(self, value: Any, tiles: Readings) -> None:
        self.value, self.tiles = value, tiles
        if type(value) is np.ndarray and value.dtype.kind == "f" and value.shape in ((), (1,)):
            number = value.item()
            self.text = self.line = self.label = printed(number)
            self.is_finite, self.size = math.isfinite(number), _log10(abs(number))

    @cached_property
    def text(self) -> str:
        """As in a box, perhaps on several lines."""
        return values.told(self.value)[0]

    @cached_property
    def line(self) -> str:
        """The value on one line."""
        return values.inline(self.value)

    @cached_property
    def label(self) -> str:
        """As on an edge: its numbers, or its shape and norm."""
        written, whole = values.told(self.value, MAX_LABEL_NUMBERS, brief=True)
        written = _as_label(written, getattr(self.value, "shape", ()))
        return written if whole else f"{values.shape_text(self.value)}\n{written}"

    @cached_property
    def is_finite(self) -> bool:
        """True if it has no NaN and no infinity."""
        return values.is_finite(self.value)

    @cached_property
    def size(self) -> float | None:
        """log10 of the root mean square, ``VANISHED`` for zeros; None if it is not finite or cannot be read."""
        try:
            array = values.host(self.value, values.MAX_SUMMARY_ELEMENTS)
            return _log10(abs(complex(array.item()))) if array.size == 1 else _size(array)
        except Exception:
            return None

    @cached_property
    def tile(self) -> int:
        """The number of its tile; -1 for no tile, or no room for more."""
        return self.tiles.add(self.value)


@lru_cache(maxsize=1024)
def _facts_of(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the facts of a few numbers, which are the same in each recording; none where a text is a summary."""
    array = np.frombuffer(data, dtype).reshape(shape)
    text, whole = values.told(array)
    if not whole:
        return {}
    label, line = _as_label(text, shape), values.inline(array)
    return {
        "text": text, "line": line, "label": label, "is_finite": bool(np.isfinite(array).all()), "size": _size(array),
    }  # fmt: skip


def _as_label(text: str, shape: tuple[int, ...]) -> str:
    """Write a long vector as a column: a short edge has room beside it."""
    return text.replace(", ", ",\n ") if len(text) > MAX_ROW_CHARACTERS and len(shape) == 1 else text


def _size(array: np.ndarray[Any, Any]) -> float | None:
    sizes = np.abs(array.astype(np.complex128))
    return _log10(float(np.sqrt((sizes**2).mean())) if sizes.size else 0.0)


def _log10(mean: float) -> float | None:
    if not math.isfinite(mean):
        return None
    return round(math.log10(mean), 2) if mean else VANISHED


class Readings:
    """The values of a recording, and their tiles without repeats: one sent by a step is received by the next one."""

    def __init__(self) -> None:
        self.tiles: list[Tile] = []
        self._numbers: dict[Any, int] = {}
        self._cells = 0
        self._read: dict[Any, Reading] = {}
        self.work = Work()
        """The budget that is left for computing local derivatives."""

    def begin(self) -> None:
        """Forget what was read in the last pass, but for the tiles."""
        self._read.clear()

    def read(self, value: Any) -> Reading:
        """The reading of a value; equal small ones share one, which keeps a copy: memory may be written to."""
        array = value if isinstance(value, values.PLAIN) else values.memory(value)
        if not isinstance(array, values.PLAIN) or array.size > MAX_SHARED_ELEMENTS:
            return Reading(value, self)
        array = np.array(array, order="K")
        key = array.shape, array.dtype.str, array.tobytes()
        known = self._read.get(key)
        if known is None:
            known = self._read[key] = Reading(array, self)
            if 1 < array.size <= MAX_LABEL_NUMBERS and array.dtype.kind == "f":
                known.__dict__.update(_facts_of(key[2], array.dtype, array.shape))
        return known

    def read_all(self, *several: Any) -> list[Reading]:
        """Return the readings of several values."""
        return list(map(self.read, several))

    def add(self, value: Any) -> int:
        """The number of the value's tile; -1 for no tile, or no room for more."""
        if value is None:
            return -1
        is_read = type(value) is np.ndarray and value.size <= MAX_READ_ELEMENTS
        array = value if is_read else values.near(value, MAX_READ_ELEMENTS)
        if array is None:
            return -1
        key = array.shape, array.dtype.str, array.tobytes() if array.size <= MAX_COMPARED_ELEMENTS else id(value)
        number = self._numbers.get(key)
        if number is None or array.size > MAX_COMPARED_ELEMENTS:  # a large one may have been written to
            made = tile_of(array) if self._cells < MAX_CELLS else None
            if made is None:
                return -1
            number = self._numbers[key] = len(self.tiles)
            self.tiles.append(made)
            self._cells += len(made.cells)
        return number

    def put(self, known: Tile | None, number: int = -1) -> int:
        """The number of a tile that exists already, in the place of another one or at the end."""
        if known is None:
            return -1
        if number < 0:
            number = len(self.tiles)
            self.tiles.append(known)
        self.tiles[number] = known
        return number
