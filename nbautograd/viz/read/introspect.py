"""Read the objects of any autograd library by their attributes, and the notes on an operation besides its node.

The notes are its place, its arguments and its result (see ``protocol.Trace``). nbautograd's nodes carry them
themselves, from tracing. For PyTorch's nodes, the watcher (``capture/torch_watch.py``) puts them into
``node.metadata``, a dictionary that PyTorch keeps as long as the node lives. Without it, PyTorch itself may have kept
the lines of the call, if ``set_detect_anomaly(True)`` was on.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any
from weakref import WeakKeyDictionary

from nbautograd.protocol import Trace
from nbautograd.viz.escape import one_line
from nbautograd.viz.language import say
from nbautograd.viz.read import formulas, values
from nbautograd.viz.read.model import Saved
from nbautograd.viz.read.values import Digest, is_tensor

__all__ = [
    "KEY", "MAX_NOTED_OPS", "assigned", "attribute", "changed_saved", "declared", "hooks_of", "is_pytorchs_node",
    "line_of", "node_name", "note", "of_each", "operation_of", "passed_over", "remarks", "settle", "state_of",
    "trace_of", "transposes", "watchers", "window_of",
]  # fmt: skip

_HOOKS = {kind: kind for kind in ("tensor", "pre", "post", "accumulated")}


def attribute(thing: Any, name: str, default: Any = None) -> Any:
    """An attribute that may be missing or raise."""
    try:
        return getattr(thing, name, default)
    except Exception:
        return default


def of_each(read: Callable[[Any], Any], things: Iterable[Any]) -> dict[Any, Any]:
    """Return what is read of several nodes."""
    return {thing: read(thing) for thing in things}


def node_name(node: Any) -> str:
    """Return the name of a node of the graph, without any C++ namespace."""
    try:
        name = node.name()
    except Exception:
        name = type(node).__name__
    return _without_namespace(str(name))


@lru_cache(1000)
def _without_namespace(name: str) -> str:
    return one_line(name.rpartition("::")[2], 80)


def transposes(node: Any, name: str) -> bool:
    """Return whether a node of this name swaps the two dimensions of a matrix."""
    if name.startswith("PermuteBackward"):
        dims: Sequence[int] = attribute(node, "_saved_dims") or ()
        return len(dims) == 2 and dims[0] != 0  # else it permutes nothing, or more
    if not name.startswith("TransposeBackward"):
        return name.startswith("TBackward")
    shape = result_shape(node, 0)
    return shape is not None and len(shape) == 2


def declared(node: Any) -> Any:
    """Return the class with symbol, inputs and formulas of a node: its own, or ours of the same name."""
    cls = type(node)
    if hasattr(cls, "formulas"):
        return cls
    from nbautograd.viz.read import pytorch_names  # loaded at the first node of PyTorch's, or of a user's

    return pytorch_names.declaration(node, node_name(node)) or cls


# -- what tensors and nodes tell about themselves ----------------------------------------------------


def metadata(node: Any, index: int) -> tuple[str, str]:
    """Shape and dtype of a freed result, if the node remembers them."""
    known = attribute(node, "_input_metadata") or ()
    if index >= len(known):
        return "", ""
    return values.shape_text(known[index]), values.dtype_text(attribute(known[index], "dtype", ""))


def result_shape(node: Any, index: int) -> tuple[int, ...] | None:
    """Return the shape of a node's result, or of a leaf; None if unknown."""
    variable = attribute(node, "variable")
    try:
        if variable is not None:
            return values.shape(variable)
        trace = trace_of(node)
        if trace is not None and index == 0:
            return tuple(trace.shape)
        known = attribute(node, "_input_metadata") or ()
        return values.shape(known[index]) if index < len(known) else None
    except Exception:
        return None


def module_of(block: Any) -> Any:
    """Return the module whose call a named block is, while it lives; None for other blocks."""
    return block.module() if getattr(block, "module", None) is not None else None


def state_of(tensor: Any) -> tuple[Any, str, int, int]:
    """Return the tensor that a view is of, the device, the version and the bytes of a live tensor."""
    base = attribute(tensor, "_base") if attribute(tensor, "_is_view", bool)() else None
    device, version = attribute(tensor, "device", ""), attribute(tensor, "_version", 0)
    device = "cpu" if getattr(device, "type", "") == "cpu" else str(device or "")
    return base, device, version if isinstance(version, int) else 0, values.nbytes(tensor)


def hooks_of(node: Any, tensor: Any = None) -> tuple[tuple[str, int], ...]:
    """Return the number of hooks of each kind of a node and its tensor."""
    known = attribute(node, "hooks", tensor)  # PyTorch's nodes do not tell
    if known is None:
        return ()
    names = {"tensor": "_backward_hooks", "accumulated": "_post_accumulate_grad_hooks"} if known is tensor else _HOOKS
    return tuple([(kind, len(own)) for kind, name in names.items() if (own := attribute(known, name))])


def saved_of(node: Any) -> tuple[tuple[Saved, ...] | None, bool, dict[str, Any]]:
    """(what a node keeps for a backward pass, or None if unknown; True if that has been freed; its values by name)."""
    read = attribute(node, "saved_values")
    try:
        kept = dict(read()) if callable(read) else {own: getattr(node, name) for own, name in saved_names(node).items()}
    except Exception:
        return (), True, {}
    if callable(read):
        names = {name: one_line(name, 40).removeprefix("s_") for name in sorted(kept)}
    else:
        kept = {name: value for name, value in kept.items() if is_tensor(value)}
        names = {name: name for name in kept}
    saved = [Saved(names[key], values.nbytes(kept[key]), values.shape_text(kept[key]),
                   values.dtype_text(attribute(kept[key], "dtype", "")))
             for key in sorted(names, key=names.__getitem__)]  # fmt: skip
    return tuple(saved), False, kept


def changed_saved(node: Any) -> str:
    """For a node of PyTorch, return the saved value that has been written to since, if any."""
    for own, name in saved_names(node).items():
        try:
            getattr(node, name)
        except Exception as error:
            if "inplace" in str(error):
                return own
    return ""


_saved_names: WeakKeyDictionary[type, dict[str, str]] = WeakKeyDictionary()


def saved_names(node: Any) -> dict[str, str]:
    """The attributes in which one of PyTorch's nodes keeps values, by the names that formulas have for them."""
    known = _saved_names.get(type(node))
    if known is None:
        names = {one_line(name, 48).removeprefix("_saved_"): name for name in sorted(dir(node))
                 if name.startswith("_saved_")}  # fmt: skip
        known = _saved_names[type(node)] = {"input" if own == "self" else own: name for own, name in names.items()}
    return known


def operands_of(node: Any, saved: Mapping[str, Any] | None = None, trace: Any = None) -> dict[str, Any]:
    """Return the values in formulas: the saved ones, perhaps read by ``saved_of``, and exact ones from the trace."""
    operands = saved_values(node) if saved is None else dict(saved)
    for own, name in saved_names(node).items():
        if own not in operands:
            operands[own] = attribute(node, name)
    trace = trace_of(node) if trace is None else trace
    if trace is not None:
        noted = [*[(operand.name, operand.value) for operand in trace.operands], ("result", trace.value)]
        for name, value in noted:
            if not isinstance(value, Digest) and (value is not None or name not in operands):
                operands[name] = value
    return operands


def saved_values(node: Any) -> dict[str, Any]:
    """Return the saved tensors of one of the library's own nodes, by name; empty for other nodes, or if freed."""
    try:
        return dict(node.saved_values())
    except Exception:
        return {}


# -- names -----------------------------------------------------------------------


def window_of(known: Mapping[str, Any]) -> tuple[tuple[int, ...], ...]:
    """Return stride, padding, dilation and the number of groups of a convolution with these operands, if known."""
    try:
        if known.get("transposed"):
            return ()
        sides = tuple(tuple(map(int, known[key])) for key in ("stride", "padding", "dilation"))
        return (*sides, (int(known["groups"]),))
    except (KeyError, TypeError, ValueError):
        return ()


_OPERATORS = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "Pow": "pow", "MatMult": "mm", "USub": "neg",
    "Mod": "remainder",
}  # fmt: skip


@lru_cache(1000)
def assigned(source: str) -> tuple[str, str] | None:
    """(the variable, the operation) of a line that assigns the result of one operation.

    None if the line is of another form, or if the operation is ambiguous because it occurs twice.

    >>> assigned("h = torch.tanh(x @ w + b)"), assigned("s = a * b + c"), assigned("s = a + b + c")
    (('h', 'tanh'), ('s', 'add'), None)
    """
    try:
        body = ast.parse(source.strip()[:500]).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if len(body) != 1 or not isinstance(body[0], ast.Assign) or len(body[0].targets) != 1:
        return None
    (target,), call = body[0].targets, body[0].value
    if not isinstance(target, ast.Name):
        return None
    operation = operation_of(call)
    same = [part for part in ast.walk(call) if operation_of(part) == operation]
    return (target.id, operation) if operation and len(same) == 1 else None


def operation_of(tree: ast.AST) -> str:
    """Return the operation that an expression is, as code calls it; nothing for any other expression.

    >>> [operation_of(ast.parse(code, mode="eval").body) for code in ("x.tanh()", "Mine.apply(x)", "a + b")]
    ['tanh', 'Mine', 'add']
    """
    if isinstance(tree, (ast.BinOp, ast.UnaryOp)):
        return _OPERATORS.get(type(tree.op).__name__, "")
    function = tree.func if isinstance(tree, ast.Call) else None
    if isinstance(function, ast.Attribute) and function.attr == "apply":  # of a Function: the name of its class
        function = function.value
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


@lru_cache(1000)
def same_operation(name: str, operation: str) -> bool:
    """Return whether a node's name is the operation's name in code."""
    own = formulas.base(name).lower()
    return own == operation.replace("_", "").lower() or (operation, own) in (("mm", "bmm"), ("mm", "mv"), ("mm", "dot"))


_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def subscript(number: int) -> str:
    """A number in subscript digits."""
    return str(number).translate(_SUBSCRIPTS)


# -- notes on an operation ---------------------------------------------------------------------


KEY, LINES = "nbautograd", "traceback_"
"""The notes of ``node.metadata``: ours, and the lines that PyTorch keeps with anomaly detection."""
MAX_NOTED_OPS = 2000
"""Operations of PyTorch's that are noted in a cell, or in a block."""
OTHERS = ("torch", "nbautograd")
"""Packages whose lines are skipped."""
watchers: list[Any] = []
"""The watcher of PyTorch's operations, while one watches."""
passed_over: deque[tuple[int, int]] = deque(maxlen=100)
"""The sequence numbers, from and to, of operations that were too many in their cell."""


def trace_of(node: Any) -> Any:
    """The ``protocol.Trace`` of an operation; None if none was noted."""
    try:
        kind = type(node)
        if hasattr(kind, "trace") or not hasattr(kind, "metadata"):  # not of PyTorch's
            return getattr(node, "trace", None)
        known = node.metadata
        trace = known.get(KEY)
        if trace is None and LINES in known:
            trace = known[KEY] = _with_line(node, known[LINES])
        elif callable(trace):  # noted without formatting
            trace = known[KEY] = trace(node)
        return trace
    except Exception:  # any object gets a picture
        return None


def _with_line(node: Any, lines: Iterable[str]) -> Trace | None:
    """The innermost line outside of PyTorch, of those of ``traceback.format_stack``, as a trace without values."""
    packages = tuple(str(PurePath(sys.modules[name].__file__ or "?").parent) for name in OTHERS if name in sys.modules)
    for text in reversed(list(lines)):
        found = re.match(r'\s*File "(.+)", line (\d+)', text)
        if found and not found[1].startswith(packages) and not found[1].endswith("contextlib.py"):
            about = next(iter(getattr(node, "_input_metadata", None) or ()), None)
            shape = tuple(about.shape) if about is not None else ()
            dtype = str(about.dtype).rpartition(".")[2] if about is not None else ""
            return Trace(found[1], int(found[2]), _nothing, None, shape, dtype, ())
    return None


def _nothing() -> None:
    """The result of an operation that was not watched: it is not known."""


def line_of(node: Any) -> tuple[str, int] | None:
    """Return the file and the line of code of an operation; None if unknown."""
    trace = trace_of(node)
    return None if trace is None or not trace.lineno else (trace.filename, trace.lineno)


def settle(namespace: Mapping[str, Any] | None = None) -> None:
    """Attach notes to the results of the watched block before they are read."""
    for watcher in watchers:
        watcher.settle(namespace)


def is_pytorchs_node(node: Any) -> bool:
    """Return whether a node is PyTorch's, which has a place for notes; False for None."""
    return hasattr(type(node), "metadata") and not hasattr(type(node), "trace")


def note(node: Any, trace: Any) -> None:
    """Note a trace with a node of PyTorch's, or a function of the node that formats one when it is first read."""
    node.metadata[KEY] = trace


def remarks(nodes: Iterable[Any]) -> tuple[str, ...]:
    """Return the remarks on PyTorch's operations: that not all were noted, or that their inside is hidden."""
    theirs = {node: trace_of(node) for node in filter(is_pytorchs_node, nodes)}
    if not theirs:
        return ()
    without = [node for node, trace in theirs.items() if trace is None]
    kinds = {type(node).__name__ for node in theirs}
    said = [say(text) for kind, text in _OPAQUE.items() if kind in kinds]
    if any(getattr(trace, "output", None) is _nothing for trace in theirs.values()):
        said.append(say("torch_lines"))
    if 0 < len(without) == len(theirs):
        said.append(say("torch_unwatched"))
    elif any(map(_was_passed_over, without)):
        watched = len(theirs) - len(without)
        said.append(say("torch_partly", watched=watched, count=len(theirs), budget=MAX_NOTED_OPS))
    return tuple(said)


def _was_passed_over(node: Any) -> bool:
    return any(first <= node._sequence_nr() < last for first, last in passed_over)


_OPAQUE = {"CompiledFunctionBackward": "torch_compiled", "CheckpointFunctionBackward": "torch_checkpoint"}
