"""The forward pass of a recorded graph: its operations in the order in which they ran, and the code beside them.

For each operation, tracing notes only the calling code object and instruction; this module looks up the part of the
line, for the shown operations only. The code is the part of the cell or file near operations of the graph.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from nbautograd.viz.escape import clean
from nbautograd.viz.read.model import GraphModel
from nbautograd.viz.read.naming import lines_of
from nbautograd.viz.read.source_text import place_of

__all__ = ["Columns", "ForwardPass", "forward_pass"]

Columns = tuple[int, int]
"""The first character of a line that runs, and the one after the last."""
NEAR_LINES = 12  # listed above and below an operation of a long file
MAX_WHOLE_LINES = 60  # of a file that is listed whole
MAX_LINE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ForwardPass:
    """The operations of one graph, as they ran."""

    steps: tuple[tuple[str, Columns | None], ...] = ()
    """(the operation's id, which part of its line called it, where that is known)"""
    cells: Mapping[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    """By name of the cell or file: its lines with their numbers."""

    def to_json(self) -> dict[str, Any]:
        """Return lists and dictionaries."""
        return {"steps": [[key, *(columns or ())] for key, columns in self.steps],
                "cells": {name: [list(line) for line in lines] for name, lines in self.cells.items()}}  # fmt: skip


def forward_pass(model: GraphModel, *, by_group: bool = False) -> ForwardPass:
    """The forward pass of a graph whose nodes are alive.

    :param by_group: merge consecutive operations of a closed group into one step, for very large graphs.
    """
    whole = model.entire
    if by_group:
        drawn = filter(None, (model.stands.get(key, key) for key in whole.order))
        return ForwardPass(tuple((key, None) for key, _ in groupby(drawn)))
    read = {whole.handles.ops[node]: trace for node, trace in whole.handles.traces.items()}
    traces = {key: read.get(key) for key in whole.order}
    steps = tuple([(key, columns(traces[key])) for key in whole.order])
    files: dict[str, tuple[str, set[int]]] = {}
    for key, trace in traces.items():
        node = whole.by_id[key]
        if trace is not None and node.cell:
            files.setdefault(node.cell, (trace.filename, set()))[1].add(node.line)
    return ForwardPass(steps, {cell: lines for cell, about in files.items() if (lines := listing(*about))})


def columns(trace: Any) -> Columns | None:
    """Return the part of the line that called an operation, or None if unknown.

    For an expression on several lines, return the part on its first line.
    """
    line, last, start, stop = place_of(trace) or (None, None, None, None)
    if line is None or line != trace.lineno:
        return None
    text = linecache.getline(trace.filename, line).rstrip("\n").encode()
    parts = text[:start], text[:stop] if last == line else text
    first, end = [len(clean(part.decode(errors="ignore"), MAX_LINE_CHARACTERS)) for part in parts]
    return (first, end) if first < end else None


def listing(filename: str, used: Iterable[int]) -> tuple[tuple[int, str], ...]:
    """The lines of a cell, or of a long file those near the lines that are used; without empty ones at the ends."""
    lines = lines_of(filename)
    near = {n for line in used for n in range(line - NEAR_LINES, line + NEAR_LINES + 1)}
    chosen = [
        (n, line.strip() and clean(line.rstrip(), MAX_LINE_CHARACTERS))
        for n, line in enumerate(lines, 1)
        if len(lines) <= MAX_WHOLE_LINES or n in near
    ]
    while chosen and not chosen[0][1]:
        del chosen[0]
    while chosen and not chosen[-1][1]:
        del chosen[-1]
    return tuple(chosen)
