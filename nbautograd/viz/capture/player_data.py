"""Write frames, graphs and tiles as JSON for the player."""

from __future__ import annotations

from dataclasses import fields
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

from nbautograd.viz.language import say
from nbautograd.viz.read.jacobians import entry_of
from nbautograd.viz.read.model import GraphModel, Node
from nbautograd.viz.read.tiles import Tile, is_tiled

__all__ = ["OPTIONAL", "bytes_text", "plain", "saved_text", "scene_json", "shorten", "tile_json"]


ATOMS = {str, int, float, bool, type(None), list}
"""The types of values that are plain already: of most of them in a frame."""
INNER = {*ATOMS, tuple}  # inside of tuples and dictionaries


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(part.name for part in fields(kind))


@cache
def _values(kind: type) -> attrgetter[Any]:
    return attrgetter(*_names(kind))


def plain(value: Any) -> Any:
    """Dataclasses as dictionaries, all the way down; lists as they are, which are formulas: ``asdict`` copies them."""
    made: dict[str, Any] = {}
    waiting = [(value, made)]
    for one, told in waiting:
        for name, part in zip(_names(type(one)), _values(type(one))(one), strict=True):
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


def tile_json(tile: Tile) -> dict[str, Any]:
    """A tile as a dictionary, without what is as usual."""
    about: dict[str, Any] = {"shape": tile.shape, "columns": tile.columns, "cells": tile.cells}
    if tile.block != (1, 1):
        about |= {
            "block": tile.block,
            "histogram": tile.histogram,
            "low": tile.low,
            "high": tile.high,
            "norm": tile.norm,
        }
    for name in ("nan", "inf", "form"):
        if known := getattr(tile, name):
            about[name] = known
    return about


def shorten(frames: list[dict[str, Any]]) -> None:
    """Write only the new terms of each row of the ledger, and the number of unchanged ones (``kept``)."""
    former: dict[tuple[int, int, str], tuple[Any, ...]] = {}
    for frame in frames:
        for key, row in frame.get("ledger", {}).items():
            place, terms = (frame["scene"], frame["backward"], key), tuple(row["terms"])
            before, former[place] = former.get(place, ()), terms
            if before and terms[: len(before)] == before:
                row["terms"], row["kept"] = terms[len(before) :], len(before)
                row["tiles"] = row.get("tiles", ())[len(before) :]


OPTIONAL = {
    "tiles",
    "left",
    "summed",
    "element",
    "told",
    "local",
    "story",
    "places",
    "rows",
    "more",
    "got",
    "kept",
    "of",
}  # parts of a frame that are omitted if empty
MAX_LISTED = 300  # group members, or leaves, listed one by one
_TOLD = (
    "kind", "name", "names", "expression", "value", "shape", "dtype", "device", "version", "now", "grad", "where",
    "cell", "line", "source", "notes", "window", "symbol", "label", "view_of", "retains", "freed", "members", "times",
    "parameters", "failed",
)  # fmt: skip


def _node_json(node: Any) -> dict[str, Any]:
    """Return a node for the player."""
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
    values = {edge.id: whole.by_id[edge.src] for edge in whole.edges} if model.stands else {}
    inner = {edge.id: value.label or value.name for edge in model.edges if (value := values.get(edge.id))
             and value.id != edge.src}  # fmt: skip
    groups = [
        [group.id, group.label, group.closed and group.kind != "rail",
         group.members if len(group.members) <= MAX_LISTED else (), group.parent]
        for group in model.groups
    ]  # fmt: skip
    return {
        "label": model.short_label,
        "leaves": leaves,
        "nodes": nodes,
        "edges": edges,
        "roots": list(model.roots),
        "groups": groups,
        "inner": inner,
        "mixed": sorted(model.mixed),
        "notes": list(model.notes),
    }


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
