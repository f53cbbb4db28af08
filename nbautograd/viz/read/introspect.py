"""Read the objects of any autograd library by their attributes, and the names of their variables."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from nbautograd import protocol
from nbautograd.viz.escape import line_of, one_line
from nbautograd.viz.read import formulas, values
from nbautograd.viz.read.contents import inside, is_module
from nbautograd.viz.read.model import Saved
from nbautograd.viz.read.notes import Digest, trace_of
from nbautograd.viz.read.values import is_tensor

__all__ = [
    "Names",
    "assigned",
    "attribute",
    "changed_saved",
    "declared",
    "hooks_of",
    "node_name",
    "operation_of",
    "transposes",
    "view_base",
    "window_of",
]

_HOOKS = {kind: kind for kind in ("tensor", "pre", "post", "accumulated")}


def parameters_of(value: Any) -> Iterable[Any] | None:
    """Return the parameters of a module or an optimizer, or the leaves in an object; None if it has none."""
    if is_module(value):
        return value.parameters()  # type: ignore[no-any-return]
    groups = attribute(value, "param_groups")
    if isinstance(groups, list):
        return [leaf for group in groups for leaf in group["params"]]
    return [
        part for _, part in inside("", value) if attribute(part, "requires_grad") and attribute(part, "is_leaf")
    ] or None


def attribute(thing: Any, name: str, default: Any = None) -> Any:
    """An attribute that may be missing or raise."""
    try:
        return getattr(thing, name, default)
    except Exception:
        return default


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
    from nbautograd.viz.read import pytorch_names

    own = pytorch_names.declared_as(node, node_name(node))
    declaration = protocol.declaration(own) or pytorch_names.declaration(own)
    return cls if declaration is None else declaration()


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


def is_brought_back(node: Any, slot: int) -> bool:
    """Return whether one of the library's own nodes sums the gradient of an input over dimensions that were
    broadcast.
    """
    specs = attribute(node, "input_meta") or ()
    return slot < len(specs) and specs[slot] is not None


def device_of(tensor: Any) -> str:
    """The device, unless it is the CPU."""
    device = line_of(attribute(tensor, "device", "") or "", 20)
    return "" if device == "cpu" else device


def view_base(tensor: Any) -> Any:
    """Return the tensor whose memory a view shares; None for other tensors."""
    return attribute(tensor, "_base") if attribute(tensor, "_is_view", bool)() else None


def retains(tensor: Any) -> bool:
    """Return whether a computed tensor retains its gradient."""
    return attribute(tensor, "retains_grad", False) is True


def version_of(tensor: Any) -> int:
    """The version counter of a tensor."""
    version = attribute(tensor, "_version", 0)
    return version if isinstance(version, int) else 0


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
    if callable(read):
        try:
            kept = dict(read())
        except Exception:
            return (), True, {}
        names = {name: one_line(name, 40).removeprefix("s_") for name in sorted(kept)}
    else:
        try:
            kept = {own: getattr(node, name) for own, name in saved_names(node).items()}
        except Exception:
            return (), True, {}
        kept = {name: value for name, value in kept.items() if is_tensor(value)}
        names = {name: name for name in kept}
    saved = [
        Saved(
            names[n],
            values.nbytes(kept[n]),
            values.shape_text(kept[n]),
            values.dtype_text(attribute(kept[n], "dtype", "")),
        )
        for n in sorted(names, key=names.__getitem__)
    ]
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


def window_of(name: str, known: Mapping[str, Any]) -> tuple[tuple[int, ...], ...]:
    """For a convolution, return stride, padding, dilation and the number of groups; otherwise nothing.

    :param known: its operands.
    """
    if name != "ConvolutionBackward0":
        return ()
    try:
        if known.get("transposed"):
            return ()
        sides = tuple(tuple(map(int, known[key])) for key in ("stride", "padding", "dilation"))
        return (*sides, (int(known["groups"]),))
    except (KeyError, TypeError, ValueError):
        return ()


class Names:
    """Which variable names a tensor has: leaves by identity, results also by the node and output that made them."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self.by_tensor: dict[int, list[str]] = {}
        self.by_name: dict[str, Any] = {}
        self.by_output: dict[tuple[Any, int], list[str]] = {}
        self.tensors: dict[tuple[Any, int], Any] = {}
        self.sequences: list[tuple[str, Any]] = []  # variables without a gradient, such as a loop's inputs
        for name, value in self._pairs(namespace):
            self.by_tensor.setdefault(id(value), []).append(name)
            self.by_name[name] = value
            node = attribute(value, "grad_fn")
            if node is not None:
                output = (node, attribute(value, "output_nr", 0) or 0)
                self.by_output.setdefault(output, []).append(name)
                self.tensors.setdefault(output, value)
            elif not attribute(value, "requires_grad", False) and not name.startswith("_"):
                self.sequences.append((name, value))

    @staticmethod
    def _pairs(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield tensors by name: those of variables first, then what is inside of other variables."""
        others: list[tuple[str, Any]] = []
        for name, value in list(namespace.items()):
            if not isinstance(name, str):
                continue
            if hasattr(type(value), "grad_fn") and is_tensor(value):
                yield name, value
            elif not name.startswith("_"):
                others.append((name, value))
        for name, value in others:
            yield from inside(name, value)

    def detached_from(self, tensor: Any) -> str:
        """The name of the leaf or result from which a constant was detached, so that they share memory; or nothing."""
        place = attribute(tensor, "data_ptr")
        if not callable(place) or attribute(tensor, "requires_grad", False):
            return ""
        try:
            start = place()
            known = self._at.get(start, ()) if start else ()
            return next((name for other, name in known if other is not tensor), "")
        except Exception:
            return ""

    @cached_property
    def _at(self) -> dict[int, list[tuple[Any, str]]]:
        """By its place in memory: each result and leaf that is known by a name, with that name; results first."""
        named = [(tensor, self.output(*output)) for output, tensor in self.tensors.items()]
        named += [(tensor, one_line(name, 40)) for name, tensor in self.by_name.items()
                  if attribute(tensor, "requires_grad", False) and is_tensor(tensor)]  # fmt: skip
        places: dict[int, list[tuple[Any, str]]] = {}
        for tensor, name in named:
            with suppress(Exception):  # what has no memory of its own
                places.setdefault(tensor.data_ptr(), []).append((tensor, name))
        return places

    @staticmethod
    @lru_cache(2000)
    def _public(names: tuple[str, ...]) -> list[str]:
        public = [name for name in names if not name.startswith("_")] or names[:1]
        shown = [name for name in public if name.isidentifier()]
        # A tensor without a variable of its own has all names that one module or object gives it.
        shown = shown or [name for name in public if name.partition(".")[0] == public[0].partition(".")[0]]
        return [one_line(name, 80 if "." in name else 40) for name in shown]

    def all_of(self, tensor: Any, node: Any = None, index: int = 0) -> str:
        """The names of a tensor, or of a result, that has several: ``y = h``; nothing for one.

        Return names without their module's name, which is the same: ``emb.weight = out.weight``.
        """
        names = self._public(tuple(self.by_output.get((node, index)) or self.by_tensor.get(id(tensor), [])))[:3]
        return " = ".join(name.partition(".")[2] or name for name in names) if len(names) > 1 else ""

    def whole(self, tensor: Any) -> str:
        """One name of a tensor; that of an element of a sequence for such, or nothing."""
        return self.tensor(tensor) or self.element(tensor)

    def tensor(self, tensor: Any) -> str:
        """Return the name of a tensor, or nothing."""
        names = self.by_tensor.get(id(tensor)) if tensor is not None else None
        return self._public(tuple(names))[0] if names else ""

    def element(self, array: Any) -> str:
        """Return ``xs[3]`` for an array that is one element of a variable's tensor along its first dimension, or
        nothing.
        """
        try:
            place, shape = array.__array_interface__["data"][0], tuple(array.shape)
        except Exception:
            return ""
        for name, tensor in self.sequences:
            try:
                step = tensor.stride()[0] * tensor.element_size()
                index, rest = divmod(place - tensor.data_ptr(), step)
                inner = tuple(stride * tensor.element_size() for stride in tensor.stride()[1:])
                if (shape, array.strides) == (tuple(tensor.shape[1:]), inner) and not rest and 0 <= index < len(tensor):
                    return f"{one_line(name, 36)}[{index}]"
            except Exception:
                continue
        return ""

    def reshaped(self, array: Any) -> str:
        """Return the variable without a gradient that has the elements of an array, in their order; or nothing."""
        try:
            place, size = array.__array_interface__["data"][0], array.size if array.flags.c_contiguous else 0
            for name, tensor in self.sequences:
                if size and tensor.data_ptr() == place and tensor.numel() == size and tensor.is_contiguous():
                    return one_line(name, 40)
        except Exception:
            pass
        return ""

    def output(self, node: Any, index: int) -> str:
        """Return the name of a result of a node, or nothing."""
        names = self.by_output.get((node, index))
        return self._public(tuple(names))[0] if names else ""


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


def same_operation(name: str, operation: str) -> bool:
    """Return whether a node's name is the operation's name in code."""
    own = formulas.base(name).lower()
    return own == operation.replace("_", "").lower() or (operation, own) in (("mm", "bmm"), ("mm", "mv"), ("mm", "dot"))


_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def subscript(number: int) -> str:
    """A number in subscript digits."""
    return str(number).translate(_SUBSCRIPTS)
