"""Show the program of a graph: names and lines of the notebook, and the boxes of each line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from nbautograd.errors import is_pytorchs
from nbautograd.protocol import SourceLocator
from nbautograd.viz.read.contents import scopes_of
from nbautograd.viz.read.model import GraphModel
from nbautograd.viz.read.naming import ResultNames, SourceLines
from nbautograd.viz.read.segments import plan
from nbautograd.viz.read.walk import GraphWalk

if TYPE_CHECKING:
    from nbautograd.viz.program import Program

__all__ = ["player_lines", "program_of"]

MAX_OPS = 20_000
"""Operations of a graph of which a program is written."""
MAX_FLAT_OPS = 32
"""Limit of the operations of a graph with a straight-line program, unless requested otherwise."""
MAX_PLAYED_OPS = 120
"""Limit of the operations of a graph with a program in the player: one straight line, so that each step is one line."""
MAX_PLAYED_ELEMENTS = 20_000
"""Elements of a leaf of such a graph, because the program is computed once more."""
ORDER = ("data", "forward", "backward", "grads")
PlayedLine = tuple[str, str, str, str]
"""Of a line its text, its comment, its part and the box that it is of."""


def program_of(
    tensor: Any,
    gradient: Any,
    namespace: Mapping[str, Any],
    library: str,
    *,
    helpers: bool = True,
    flat: bool | None = None,
) -> Program:
    """The program of a tensor's graph, with the names of the notebook.

    :param helpers: take over the functions that its lines call.
    :param flat: write one straight line, however long, and no functions and loops; None: if it is short.
    """
    from nbautograd.viz.program import write

    walk = GraphWalk(tensor, MAX_OPS)
    names = ResultNames(walk, namespace, SourceLines(SourceLocator.locate), identifiers=True)
    name_of, tensor_name = _names(names)
    tree = None
    if not (len(walk.ops) <= MAX_FLAT_OPS if flat is None else flat):
        tree = plan([walk.signature(node) for node in walk.order], scopes_of(walk, namespace), walk.inputs())
    return write(
        tensor,
        gradient,
        name_of=name_of,
        tensor_name=tensor_name,
        library=library,
        helpers=helpers,
        tree=tree,
        tape=None if walk.cut else walk.next,
    )


def _names(names: ResultNames) -> tuple[Callable[[Any, int], str], Callable[[Any], str]]:
    """Return the functions that name results, and leaves and constants."""

    def tensor_name(leaf: Any) -> str:
        return names.variables.whole(leaf) or names.leaves.get(id(leaf), "")

    def name_of(node: Any, index: int) -> str:
        return names.results.get((node, index)) or f"unused{index}"

    return name_of, tensor_name


def player_lines(
    tensor: Any, gradient: Any, model: GraphModel, namespace: Mapping[str, Any]
) -> Callable[[], list[PlayedLine]] | None:
    """Return a function that writes the program of a pass; None where there is no program.

    What the pass frees and what a user may change is copied now: the program is the same whenever it is written.
    """
    whole = model.entire
    if not 0 < len(whole.order) <= MAX_PLAYED_OPS or is_pytorchs(tensor):
        return None
    if any(getattr(leaf, "numel", int)() > MAX_PLAYED_ELEMENTS for leaf in whole.handles.kept):
        return None
    from nbautograd.viz.program import write_later

    try:
        names = whole.handles.names.identifiers()  # the tape has been read once, for the picture
        written, nodes = write_later(tensor, gradient, *_names(names), names.walk.next)
    except Exception:  # what cannot be written is played without
        return None
    leaves = {leaf.name: leaf.id for leaf in whole.leaves}
    boxes = {copy: whole.handles.ops.get(node, "") for copy, node in nodes.items()}

    @cache
    def lines() -> list[PlayedLine]:
        try:
            program = written()
        except Exception:
            return []
        shown = []
        for line in program:
            leaf = leaves.get(line.comment.removesuffix(".grad"), "") if line.part == "grads" else ""
            box = leaf or (boxes.get(line.node, ""))
            text = line.text if len(line.text) <= 160 else f"{line.text[:159]}…"
            shown.append((text, line.comment, line.part, box))
        return [row for part in ORDER for row in shown if row[2] == part]

    return lines
