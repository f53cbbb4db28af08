"""Describe what goes wrong in a backward pass: the cause of an error and its cure, the origin of a NaN."""

from __future__ import annotations

import ast
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nbautograd._engine.base.missing_graph import Cause, cause_of
from nbautograd._engine.base.users_code import SourceCall, running_call, user_frame
from nbautograd.errors import GraphFreedError, InplaceError, NbautogradError, NoGraphError, NonScalarError
from nbautograd.protocol import SourceLocator
from nbautograd.viz import language
from nbautograd.viz.capture.frame_log import MAX_STEPPED_OPS
from nbautograd.viz.capture.sums import LeafAccount, with_rows
from nbautograd.viz.capture.timeline import Frame, Product
from nbautograd.viz.escape import line_of, one_line
from nbautograd.viz.language import say
from nbautograd.viz.read import introspect, values
from nbautograd.viz.read.builder import build
from nbautograd.viz.read.introspect import subscript, trace_of
from nbautograd.viz.read.model import Edge, GraphModel, Node
from nbautograd.viz.read.naming import Resolve
from nbautograd.viz.read.values import is_tensor

__all__ = ["Failure", "first_bad", "of_pass", "operand_names", "refused"]

PYTORCHS: dict[str, type[BaseException]] = {
    "does not require grad": NoGraphError,
    "scalar outputs": NonScalarError,
    "backward through the graph a second time": GraphFreedError,
    "modified by an inplace operation": InplaceError,
}
"""The key words of PyTorch's errors, which have no classes of their own."""
MAX_SYMBOLS = 12  # elements of a Jacobian in symbols


@dataclass(frozen=True, slots=True)
class Failure:
    """The text of an error in a picture."""

    summary: str
    alarms: tuple[str, ...]
    freed: tuple[str, ...] = ()
    """Ids of the operations with freed saved values."""
    story: tuple[tuple[str, str, str], ...] = ()
    """(event, details, line of code), in order of time."""
    changed: tuple[str, int] | tuple[()] = ()
    """Return the cell and the line that wrote to a saved value, if known."""
    products: tuple[Product, ...] = ()
    drawn: GraphModel | None = None
    """Another graph to draw: the one that should have led to a tensor that has none."""

    def shown(self, base: Frame, leaves: Mapping[str, LeafAccount]) -> Frame:
        """Return the last frame of a pass, with the rows of the leaves that have got gradients."""
        caption = say("ended_early", title=base.title, what=self.summary)
        told = [*(say("story_value", what=what, value=details) for what, details, _ in self.story), *self.alarms]
        explained = self.alarms != (self.summary,)
        return base.but(
            kind="error", **with_rows(leaves, base.leaves, base.ledger),
            bad=(*base.bad, *((base.node,) if base.node else ())), freed=self.freed,
            caption=say("sentences", first=caption, more=say("then").join(told)) if explained else caption,
            notes=(*base.notes, *self.alarms), words=say("ended_at", title=base.title), alarms=self.alarms,
            story=self.story, changed=self.changed, products=self.products,
        )  # fmt: skip


def class_of(error: BaseException) -> type[BaseException]:
    """The class of an error; of one of PyTorch's, which are all ``RuntimeError``, ours by PyTorch's key words."""
    if isinstance(error, NbautogradError) or not isinstance(error, RuntimeError):
        return type(error)
    return next((ours for words, ours in PYTORCHS.items() if words in str(error)), type(error))


def of_pass(error: BaseException, node: Node | None, model: GraphModel, root: str, resolve: Resolve | None) -> Failure:
    """An error that ended a pass at ``node``."""
    kind = class_of(error)
    if hasattr(error, "bad"):  # a NaN at which the run was told to stop
        return Failure(type(error).__name__, error.bad.told(language.texts()))
    if issubclass(kind, GraphFreedError):
        return _freed_graph(error, node, model, root)
    if issubclass(kind, InplaceError) and node is not None:
        return _written(error, node, model, resolve)
    return _plain(error)


def refused(
    error: BaseException, tensor: Any, model: GraphModel, namespace: Mapping[str, Any], resolve: Resolve | None
) -> Failure:
    """Describe an error that prevented a pass from starting."""
    kind, name = class_of(error), model.by_id[model.roots[0]].name
    if issubclass(kind, NonScalarError):
        return _vector(error, tensor, model, name, namespace)
    if issubclass(kind, NoGraphError) and not tensor.requires_grad:  # else one of ``inputs`` has no graph
        cause = getattr(error, "cause", None) or cause_of(tensor, namespace)
        if cause.kind == "unknown":
            cause = cause._replace(name=name)
        drawn = _cut_graph(cause, tensor, namespace, resolve)
        return Failure(type(error).__name__, cause.told(language.texts()), drawn=drawn)
    return _plain(error)


def _plain(error: BaseException) -> Failure:
    what = f"{type(error).__name__}: {line_of(error, 500)}"
    return Failure(what, (what,))


def _cut_graph(cause: Cause, tensor: Any, namespace: Mapping[str, Any], resolve: Resolve | None) -> GraphModel | None:
    """The expected graph of a tensor, and the line of the cut in it."""
    source = namespace.get(cause.source)
    if source is tensor or not is_tensor(source):
        return None
    both = build([tensor, source], namespace, resolve=resolve, described=MAX_STEPPED_OPS)
    own = both.handles.leaves[id(tensor)]
    origin = next(root for root in both.roots if root != own)
    nodes = tuple(replace(node, cut=cause.call) if node.id == own else node for node in both.nodes)
    line = Edge(f"e{len(both.edges)}", origin, own, 0, "constant")
    return replace(both, nodes=nodes, edges=(*both.edges, line), roots=(own,))


def _vector(error: BaseException, tensor: Any, model: GraphModel, name: str, namespace: Mapping[str, Any]) -> Failure:
    count, call = math.prod(values.shape(tensor)), _running(name)
    library = namespace.get("torch", sys.modules.get("torch"))
    module = next((key for key, value in namespace.items() if value is library and isinstance(key, str)), "torch")
    free = next(letter for letter in ("v", "gradient", "v_") if letter not in namespace or letter == "v_")
    advice = (
        say("vector_which", root=name, n=count),
        say("vector_fix_sum", sum=call.of_sum(), mean=call.of_sum("mean")),
        say(
            "vector_fix_gradient", shape=values.shape_text(tensor), v=f"{free} = {module}.ones_like({call.expression})",
            call=call.with_argument("gradient", free),
        ),
    )  # fmt: skip
    return Failure(type(error).__name__, advice, products=_symbolic(tensor, name, model, count))


def _running(root: str) -> SourceCall:
    """The call that runs the pass, as the user wrote it."""
    return running_call(user_frame()) or SourceCall(f"{root}.backward()", root, True)


def _freed_graph(error: BaseException, node: Node | None, model: GraphModel, root: str) -> Failure:
    ops = model.handles.ops
    freed = tuple(key for op, key in ops.items() if not hasattr(op, "variable") and introspect.saved_of(op)[1])
    alarms = (
        *([say("graph_is_freed", name=node.name, expression=node.expression)] if node is not None else []),
        say("freed_fix_retain", call=_running(root).with_argument("retain_graph")),
        say("freed_fix_again", root=root),
    )
    return Failure(type(error).__name__, alarms, freed)  # the traceback has the text


def _written(error: BaseException, node: Node, model: GraphModel, resolve: Resolve | None) -> Failure:
    """Saved here, changed here, needed here."""
    told = re.search(r"is at version (\d+); expected version (\d+)", str(error))
    was, now = getattr(error, "versions", (0, 0))
    if (was, now) == (0, 0) and told:
        now, was = int(told[1]), int(told[2])
    saved = getattr(error, "saved", "")
    name = dict(node.arguments).get(saved) or (node.label if saved.startswith("result") else saved) or "…"
    written = getattr(error, "written", None)
    place = line = where = ""
    if written is not None:
        place, line = (resolve or SourceLocator.locate)(*written)
        where = say("line_of", cell=place, n=written[1])
    code = line.partition("  #")[0].strip()  # without its comment
    changed = say("story_changed_by", line=code, n=now) if code else say("story_changed", name=name, n=now)
    before, after = _values(model, node, saved)
    story = (
        (say("saved_here"), _with(say("story_saved", name=name, n=was), before), node.where),
        (say("changed_here"), _with(changed, after), where),
        (say("needed_here"), say("story_needed", node=node.name, n=was), ""),
    )
    old, new, variable = _out_of_place(line.strip() or f"{name} += 1", name)
    advice: tuple[str, ...] = (say("inplace_fix_only", name=variable),)
    if new:
        advice = say("inplace_fix_new", new=new, old=old), say("inplace_fix_clone", name=variable)
    at = (one_line(place, 60), written[1]) if written is not None else ()
    return Failure(type(error).__name__, advice, story=story, changed=at)


def _values(model: GraphModel, node: Node, saved: str) -> tuple[Any, Any]:
    """Return a saved tensor of an operation, as it was noted and as it is now; None if unknown."""
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


def _out_of_place(line: str, name: str) -> tuple[str, str, str]:
    """Return a write in place, an equivalent assignment of a new tensor, if one exists, and the variable.

    >>> _out_of_place("h.add_(1)", "h"), _out_of_place("h *= 2  # twice", "t1"), _out_of_place("h[0] = 1", "h")
    (('h.add_(1)', 'h = h.add(1)', 'h'), ('h *= 2', 'h = h * 2', 'h'), ('h[0] = 1', '', 'h'))
    """
    try:
        (tree,) = ast.parse(line).body
    except (SyntaxError, ValueError):
        return line, "", name
    old = line.encode()[: tree.end_col_offset].decode()
    if isinstance(tree, ast.AugAssign) and isinstance(tree.target, ast.Name):
        new = ast.Assign([tree.target], ast.BinOp(tree.target, tree.op, tree.value), lineno=1)
        return old, ast.unparse(new), tree.target.id
    method = re.fullmatch(r"(\w+)\.(\w+)_(\(.*\))", old)
    return (old, f"{method[1]} = {method[1]}.{method[2]}{method[3]}", method[1]) if method else (old, "", name)


def _symbolic(tensor: Any, root: str, model: GraphModel, count: int) -> tuple[Product, ...]:
    """vᵀJ without numbers, for the first leaf if it is small: which combination of the rows is meant?"""
    leaf = next(iter(model.leaves), None)
    live = model.handles.tensors()
    size = math.prod(values.shape(live[leaf.id])) if leaf is not None and leaf.id in live else 0
    if leaf is None or not size or size * count > MAX_SYMBOLS:
        return ()

    def at(name: str, i: int, n: int) -> str:
        return name if n == 1 else name + subscript(i)

    v = tuple(f"v{subscript(i)}?" for i in range(count))
    rows = tuple(tuple(f"∂{at(root, i, count)}/∂{at(leaf.name, j, size)}" for j in range(size)) for i in range(count))
    result = tuple("?" for _ in range(size))
    title = say("vjp_title", name=leaf.name, root=root)
    return (Product(title, v, rows, result, title),)


# -- the origin of a NaN ---------------------------------------------------------------------


def operand_names(model: GraphModel, key: str) -> dict[str, str]:
    """Return the user's names of the first and the second operand of an operation, by their names in formulas."""
    slots = {edge.slot: model.by_id[edge.src] for edge in model.edges if edge.dst == key}
    asked = (("input", 0), ("self", 0), ("other", 1))
    return {name: slots[slot].name for name, slot in asked if slot in slots and slots[slot].named}


def first_bad(node: Any, incoming: Any, sent: Any, names: Mapping[str, str]) -> str:
    """Find the first element that is not finite, and its inputs by the user's names; return nothing if unknown."""
    try:
        array = values.host(sent)
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        named = [] if incoming is None else [("g", incoming)]
        trace = trace_of(node)
        named += [(o.name, o.value) for o in (trace.operands if trace is not None else ()) if o.value is not None]
        parts = []
        for operand, value in named:
            told, name = _told_at(value, index, array.shape), names.get(operand, operand)
            if told:
                parts.append(say("bad_gradient" if operand == "g" else "bad_operand", name=name, value=told))
        if not parts:
            return ""
        about = {"numbers": say("bad_and").join(parts), "result": values.inline(array[index])}
        key = "bad_because_at" if array.size > 1 else "bad_because"
        return say(key, index=f"[{', '.join(map(str, index))}]", **about)
    except Exception:
        return ""


def _told_at(value: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Return a number, or the element of an array of this shape, as text; nothing for other arrays."""
    own = tuple(getattr(value, "shape", ()))
    if own == shape:
        return values.inline(values.host(value)[index])
    return "" if math.prod(own) > 1 else values.inline(value)
