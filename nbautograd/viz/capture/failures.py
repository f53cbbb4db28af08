"""How an error of a backward pass came about, and what can be done about it, in words for a picture."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from nbautograd.protocol import SourceLocator
from nbautograd.viz.capture import diagnostics
from nbautograd.viz.capture.timeline import Product
from nbautograd.viz.escape import one_line
from nbautograd.viz.language import say
from nbautograd.viz.read import introspect, values
from nbautograd.viz.read.introspect import subscript
from nbautograd.viz.read.model import GraphModel, Node
from nbautograd.viz.read.naming import Resolve
from nbautograd.viz.read.notes import trace_of

__all__ = ["Failure", "of_pass", "refused"]

ENTRIES = 12  # of a Jacobian that is written out in symbols


@dataclass(frozen=True, slots=True)
class Failure:
    """What a picture says of an error."""

    summary: str
    alarms: tuple[str, ...]
    freed: tuple[str, ...] = ()
    """Ids of the operations whose saved values are gone."""
    story: tuple[tuple[str, str, str], ...] = ()
    """(what happened, the details, the line of code where), in the order of time."""
    changed: tuple[str, int] | tuple[()] = ()
    """The cell and the line that wrote to a saved value, where that is known."""
    products: tuple[Product, ...] = ()


def of_pass(error: BaseException, node: Node | None, model: GraphModel, root: str, resolve: Resolve | None) -> Failure:
    """An error that ended a pass at ``node``."""
    what = f"{type(error).__name__}: {one_line(error, 500)}"
    if "second time" in what or "already been freed" in what:
        return _freed(error, node, model, root)
    if "modified by an inplace operation" in what and node is not None:
        return _written(error, node, model, resolve)
    return Failure(what, (what,))


def refused(error: BaseException, tensor: Any, model: GraphModel) -> Failure:
    """An error for which a pass did not even begin."""
    what, name = f"{type(error).__name__}: {one_line(error, 500)}", model.by_id[model.roots[0]].name
    if "scalar outputs" in what:
        count = math.prod(values.shape(tensor))
        advice = (
            say("vector_which", root=name, n=count),
            say("vector_fix_sum", root=name),
            say("vector_fix_gradient", root=name, shape=values.shape_text(tensor)),
        )
        return Failure(type(error).__name__, advice, products=_symbolic(tensor, name, model, count))
    if "does not require grad" in what:
        advice = (say("no_grad_why", root=name), say("no_grad_fix"), say("no_grad_other"))
        return Failure(type(error).__name__, advice)
    return Failure(what, (what,))


def _freed(error: BaseException, node: Node | None, model: GraphModel, root: str) -> Failure:
    ops = model.handles.ops
    freed = tuple(key for op, key in ops.items() if not hasattr(op, "variable") and diagnostics.is_freed(op))
    alarms = (
        *([say("graph_is_freed", name=node.name, expression=node.expression)] if node is not None else []),
        say("freed_fix_retain", first=f"{root}.backward"),
        say("freed_fix_again", root=root),
    )
    return Failure(type(error).__name__, alarms, freed)  # the traceback has the words


def _written(error: BaseException, node: Node, model: GraphModel, resolve: Resolve | None) -> Failure:
    """Saved here, changed here, needed here."""
    told = re.search(r"is at version (\d+); expected version (\d+)", str(error))
    was, now = getattr(error, "versions", (0, 0)) if hasattr(error, "versions") else (0, 0)
    if (was, now) == (0, 0) and told:
        now, was = int(told[1]), int(told[2])
    saved = getattr(error, "saved", "")
    name = dict(node.arguments).get(saved) or (node.label if saved.startswith("result") else saved) or "…"
    written = getattr(error, "written", None)
    place, line = (resolve or SourceLocator.locate)(*written) if written is not None else ("", "")
    where = say("line_of", cell=place, n=written[1]) if written is not None else ""
    code = line.partition("  #")[0].strip()  # without its comment
    changed = say("story_changed_by", line=code, n=now) if code else say("story_changed", name=name, n=now)
    before, after = _values(model, node, saved)
    story = (
        (say("saved_here"), _with(say("story_saved", node=node.name, name=name, n=was), before), node.where),
        (say("changed_here"), _with(changed, after), where),
        (say("needed_here"), say("story_needed", node=node.name, name=name, n=was), ""),
    )
    advice = (say("inplace_fix_new", name=name), say("inplace_fix_clone", name=name))
    at = (one_line(place, 60), written[1]) if written is not None else ()
    return Failure(type(error).__name__, advice, story=story, changed=at)


def _values(model: GraphModel, node: Node, saved: str) -> tuple[Any, Any]:
    """What an operation saved, as it was noted and as it is now; None where that is not known."""
    live = next((live for live, key in model.handles.ops.items() if key == node.id), None)
    trace = trace_of(live)
    if trace is None:
        return None, None
    if saved.startswith("result"):
        return trace.value, trace.output()
    operand = next((operand for operand in trace.operands if operand.name == saved), None)
    tensor = operand.tensor() if operand is not None and operand.tensor is not None else None
    now = introspect.saved_values(live).get(saved) if tensor is None else tensor
    return (operand.value if operand is not None else None), now


def _with(what: str, value: Any) -> str:
    return what if value is None else say("story_value", what=what, value=values.inline(value))


def _symbolic(tensor: Any, root: str, model: GraphModel, count: int) -> tuple[Product, ...]:
    """vᵀJ without numbers, for the first leaf if it is small: which combination of the rows is meant?"""
    leaf = next(iter(model.leaves), None)
    live = {model.handles.leaves[id(t)]: t for t in model.handles.kept if id(t) in model.handles.leaves}
    size = math.prod(values.shape(live[leaf.id])) if leaf is not None and leaf.id in live else 0
    if leaf is None or not size or size * count > ENTRIES:
        return ()

    def entry(name: str, i: int, n: int) -> str:
        return name if n == 1 else name + subscript(i)

    v = tuple(f"v{subscript(i)}?" for i in range(count))
    rows = tuple(
        tuple(f"∂{entry(root, i, count)}/∂{entry(leaf.name, j, size)}" for j in range(size)) for i in range(count)
    )
    result = tuple("?" for _ in range(size))
    title = say("vjp_title", name=leaf.name, root=root)
    return (Product(title, v, rows, result, title),)
