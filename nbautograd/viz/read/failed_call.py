"""The call of an operation that raised an error, as a node of the graph so far: its operands, their shapes, the line.

A traceback is enough: among the functions below the user's code with tensor arguments, the failure is the innermost one
that the library declares as an operation, or a function of ``nn.functional``. A backward pass has its own frames and
its own picture (see ``capture.failures``).
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap
from traceback import walk_tb
from typing import Any

from nbautograd._engine.base.users_code import place_of
from nbautograd.protocol import SourceLocator
from nbautograd.viz.escape import line_of, one_line
from nbautograd.viz.language import say, texts
from nbautograd.viz.read import values
from nbautograd.viz.read.builder import build
from nbautograd.viz.read.formulas import symbol_of
from nbautograd.viz.read.introspect import attribute
from nbautograd.viz.read.model import Edge, GraphModel, Node
from nbautograd.viz.read.values import is_tensor

__all__ = ["FailedCall", "failed_call", "graph_so_far"]

_LIBRARY = str(Path(__file__).parents[2])
_NOT_CALLS = tuple(str(Path(_LIBRARY, part)) for part in ("autograd", "viz", "cli"))
_NAMED = re.compile(r"(\w+)\(\): ")
MAX_OPERANDS = 8  # that are drawn
MAX_CHARACTERS = 110  # of a line below the picture


@dataclass(frozen=True, slots=True)
class FailedCall:
    """An operation that could not be computed."""

    name: str
    operands: tuple[Any, ...]
    message: str
    filename: str
    line: int
    source: str
    """The part of the line that was being computed, if Python knows it."""
    notes: tuple[str, ...] = ()
    """Lines below the picture."""
    node: Any = None
    """For a backward pass, the node whose formula failed."""


def failed_call(error: BaseException) -> FailedCall | None:
    """The call that raised an error, if an operation on tensors did."""
    if hasattr(error, "bad"):
        return _of_bad_number(error)
    frames = list(walk_tb(error.__traceback__))
    files = [frame.f_code.co_filename for frame, _ in frames]
    users = [i for i, filename in enumerate(files) if not filename.startswith((_LIBRARY, "<nbautograd"))]
    below = users[-1] + 1 if users else len(frames)
    if any(filename.startswith(_NOT_CALLS) for filename in files[below:]):
        return None
    given = [(frame, tensors) for frame, _ in frames[below:] if (tensors := _tensors(frame))]
    if not given:
        return None
    frame, operands = next((one for one in reversed(given) if _is_operation(one[0].f_code)), given[-1])
    message = line_of(error, 500)
    named = _NAMED.match(message)
    (user, line), filename = frames[users[-1]], files[users[-1]]
    name = named[1] if named else frame.f_code.co_name.lstrip("_")
    part = _part(error.__traceback__, user, line)
    return FailedCall(name, operands[:MAX_OPERANDS], message, filename, line, part)


def _of_bad_number(error: Any) -> FailedCall:
    """Return the operation that made a NaN or an infinity."""
    bad = error.bad
    filename, line = bad.place or ("", 0)
    lines = bad.told(texts())
    notes = tuple(part for each in lines for part in wrap(each, MAX_CHARACTERS))
    return FailedCall(bad.operation, error.operands[:MAX_OPERANDS], lines[0], filename, line, "", notes, error.node)


def _is_operation(code: types.CodeType) -> bool:
    """Return whether a function is a declared operation or a function of ``nn.functional``, but not a helper."""
    if code.co_filename.startswith("<nbautograd"):
        return True
    path = Path(code.co_filename)
    own = "ops" in path.parts or path.parts[-3:-1] == ("nn", "functional")
    return own and not code.co_name.startswith(("_", "check")) and not path.name.startswith("_")


def _tensors(frame: types.FrameType) -> tuple[Any, ...]:
    """The tensors that a function was given, each once."""
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    held: dict[int, Any] = {}
    for name in code.co_varnames[:count]:
        value = frame.f_locals.get(name)
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if is_tensor(item) and hasattr(item, "shape"):
                held.setdefault(id(item), item)
    return tuple(held.values())


def _part(traceback: types.TracebackType | None, frame: types.FrameType, line: int) -> str:
    """The expression that a frame was computing: nothing where it spans lines, or Python keeps no columns."""
    import linecache

    while traceback is not None and traceback.tb_frame is not frame:
        traceback = traceback.tb_next
    place = None if traceback is None else place_of(frame.f_code, traceback.tb_lasti)
    if place is None or place[:2] != (line, line):
        return ""
    _, _, start, end = place
    text = linecache.getline(frame.f_code.co_filename, line).encode("utf-8")
    return one_line(text[start:end].decode("utf-8", "replace"), 80)


def graph_so_far(call: FailedCall, namespace: Mapping[str, Any] | None) -> GraphModel:
    """The graph that made the operands, and the operation that failed at its end."""
    if call.node is not None or not call.operands:
        return _graph_of_node(call, namespace)
    model = build(list(call.operands), namespace)
    boxes = {key: model.stands.get(key, key) for key in (_box(model.entire, operand) for operand in call.operands)}
    nodes = [replace(n, kind="tensor") if n.kind == "output" else n for n in model.nodes]
    key = f"n{_next_number(nodes)}"
    free = _next_number(model.edges)
    drawn = [(i, box, model.by_id[box].kind) for i, box in enumerate(boxes.values()) if box in model.by_id]
    edges = [Edge(f"e{free + i}", box, key, i, "constant" if kind == "constant" else "flow") for i, box, kind in drawn]
    return GraphModel(
        (*nodes, _failed(key, call)), (*model.edges, *edges), (key,),
        notes=(*call.notes, *model.notes), leaf_order=model.leaf_order, counts=model.counts,
    )  # fmt: skip


def _failed(key: str, call: FailedCall) -> Node:
    """Return the pill of the operation that failed, with the shapes of its operands."""
    cell, source = SourceLocator.locate(call.filename, call.line)
    return Node(
        key, "op", call.name, symbol=symbol_of(call.name), expression=call.source or source.strip(),
        value=", ".join(values.shape_text(operand) for operand in call.operands),
        where=say("line_of", cell=cell, n=call.line), source=source, line=call.line, cell=cell, failed=call.message,
    )  # fmt: skip


def _next_number(parts: Iterable[Node | Edge]) -> int:
    """Return a number that follows those of all ids."""
    return max((int(part.id[1:]) for part in parts if part.id[1:].isdigit()), default=0) + 1


def _graph_of_node(call: FailedCall, namespace: Mapping[str, Any] | None) -> GraphModel:
    model = build([(call.node, 0)], namespace)
    key = model.entire.handles.of(call.node)
    nodes = tuple(replace(n, failed=call.message) if n.id == key else n for n in model.nodes)
    return replace(model, nodes=nodes, notes=(*call.notes, *model.notes))


def _box(model: GraphModel, tensor: Any) -> str:
    """Return the name of the tensor's box in the picture."""
    known = model.handles.leaves.get(id(tensor))
    if known is not None:
        return known
    op = model.handles.of(attribute(tensor, "grad_fn")) or ""
    result = model.results.get((op, attribute(tensor, "output_nr", 0) or 0))
    return result.dst if result is not None else op
