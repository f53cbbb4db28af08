"""The data of a declared operation, below the modules that compile it, and all of them by name.

``compiler/forward.py``, ``backward.py`` and ``inplace.py`` write code from an ``OpSchema``; its instances are
``CompiledOp`` objects (``compiler/op.py``), which compile themselves.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from nbautograd._engine.core.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])

PLAIN = "plain"
"""The body gets the arrays unchanged."""
POINTWISE = "pointwise"
"""Inputs are promoted to one dtype and broadcast; numbers are accepted for tensors; ``name_`` and ``out=`` exist."""
VIEW = "view"
"""The result shares the first input's memory."""

UPCAST, NATIVE, UNSUPPORTED = "upcast", "native", "unsupported"
"""The treatment of half precision: compute in float32 and round; use it unchanged; raise."""

TILED = "tiled"
"""The node variant of a large result, and of any on a device: its formulas are computed by kernels, or lazily."""

NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims"}
NUMPY_OPERANDS = {"x": "input", "a": "input", "x1": "input", "x2": "other"}
"""NumPy's names of these parameters; PyTorch accepts both everywhere."""

_RESERVED = """
    alike g needed unrecorded node node_class output outputs part position result result_array retain_graph input_meta
    dtype_of_all rounded_dtype old_errstate temporary"""
RESERVED = frozenset(_RESERVED.split())
"""Names used by generated code, which no option of an operation may have."""
METADATA = ("shape", "dtype", "ndim", "strides")
"""Attributes of a tensor that a formula may need without its values."""
_PARAMETERS = (
    "positional keywords rest tensors lists masks optional numbers keys numpy_names required_dim half_policy draws"
)
PARAMETERS = frozenset(_PARAMETERS.split())
"""Attributes that are derived from the body's signature on first access."""


class OpSchema:
    """An operation as declared: its body over arrays, its parameters by kind, its formulas."""

    function: Any
    """The operation over tensors."""
    operator: Any
    """The variant for special methods such as ``__mul__``; None if it has none."""
    fused: Any
    """The body as a kernel, for devices."""
    is_one_step: bool
    """True if the body is one ufunc of its operands for the usual options."""

    def __init__(self, body: Callable[..., Any], options: dict[str, Any], formulas: dict[str, str]) -> None:
        self.name: str = options["name"] or body.__name__
        self.body = body
        self.formulas = formulas
        self.kind: str = options["kind"]
        named = f"{self.name.title().replace('_', '')}Backward0" if formulas else None  # as PyTorch does
        self.node_name: str | None = options["node"] or named
        self.symbol: str = options["symbol"]
        self.floating: bool = options["floating"]
        self.accepts: str = options["accepts"]
        self.accepts_each: str = options["accepts_each"]
        self.takes_floats = "f" in self.accepts and "f" in self.accepts_each
        self.many: bool = options["many"]
        self.has_out: bool = options["out"]
        self.into: str | None = options["into"]
        self.real_only: bool = options["real_only"]
        self.former: tuple[str, ...] = tuple(options["former"].split())
        self.kernels: dict[str, Any] = {}  # kernels for large arrays, by expression
        self._half: str = options["half"]

    # -- parameters, read from the body on first use, so that declaring costs next to nothing --------------------------

    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    rest: str | None
    tensors: list[str]
    lists: list[str]
    masks: set[str]
    optional: set[str]
    numbers: set[str]
    keys: set[str]
    numpy_names: list[str]
    required_dim: bool
    half_policy: str
    draws: bool
    """True if the operation draws random numbers."""

    def __getattr__(self, name: str) -> Any:
        if name not in PARAMETERS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._read_parameters()
        return self.__dict__[name]

    def _read_parameters(self) -> None:
        code, defaults = self.body.__code__, self.body.__defaults__ or ()
        count = code.co_argcount
        self.positional = code.co_varnames[:count]
        self.keywords = code.co_varnames[count : count + code.co_kwonlyargcount]
        self.rest = code.co_varnames[count + len(self.keywords)] if code.co_flags & inspect.CO_VARARGS else None
        hints = {name: str(self.body.__annotations__.get(name, "")) for name in (*self.positional, *self.keywords)}
        self.lists = [name for name in self.positional if "Sequence[Tensor]" in hints[name]]
        self.tensors = [name for name in hints if "Tensor" in hints[name] or "Mask" in hints[name]]
        self.keys = {name for name in hints if hints[name] == "Key"}  # options that hold arrays of indices
        self.masks, self.optional, self.numbers = (  # masks are broadcast, but not promoted
            {name for name in self.tensors if word in hints[name]} for word in ("Mask", "None", "Number")
        )
        options = hints.keys() - {*self.tensors}
        if clash := sorted(options & RESERVED):
            raise ValueError(f"@op {self.name}: generated code uses the names {clash} itself; choose others")
        self.draws = "generator" in hints
        self._read_dims(count - len(defaults), options)
        self.half_policy = self._half if self.kind != VIEW and not self.lists else NATIVE

    def _read_dims(self, required: int, options: set[str]) -> None:
        """Note whether ``dim`` must be given, and which parameters also have NumPy's names."""
        pairs = zip(self.positional[1:], self.positional[2:], strict=False)
        followed = self.kind != VIEW and ("dim", "index") in pairs  # as in gather, where None is not a dim
        self.required_dim = self.rest is None and (followed or self.positional[required - 1 : required] == ("dim",))
        takes_both = "dim" in self.positional[required:] or self.required_dim
        self.numpy_names = [name for name in NUMPY_NAMES if name in options and takes_both]

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the body, cached: forward mode and inference mode bind every call's arguments to it."""
        return inspect.signature(self.body)

    @functools.cached_property
    def defaults(self) -> dict[str, Any]:
        """The defaults of parameters, by name."""
        defaults = zip(self.positional[::-1], (self.body.__defaults__ or ())[::-1], strict=False)
        return {**dict(defaults), **(self.body.__kwdefaults__ or {})}

    def option_defaults(self) -> dict[str, Any] | None:
        """Return the options that follow the operands, with their defaults; None if one has no plain default."""
        options = {
            name: self.defaults.get(name, ...)
            for name in (*self.positional, *self.keywords)
            if name not in self.tensors
        }
        plain = all(value is None or value.__class__ in (int, float, bool, str) for value in options.values())
        return options if plain else None

    def bound(self, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call by position, and those by name; omitted ones are missing in ``values``."""
        positional = [values[name] for name in self.positional if name in values]
        rest = values.get(self.rest, ()) if self.rest else ()
        return (*positional, *rest), {name: values[name] for name in self.keywords if name in values}

    def passed(self, names: Mapping[str, str]) -> str:
        """Return the code of a call's arguments: by parameter those in ``names``, others by the parameter's name."""
        positional = [names.get(name, name) for name in self.positional]
        rest = [f"*{names.get(self.rest, self.rest)}"] if self.rest else []
        return ", ".join([*positional, *rest, *(f"{name}={names.get(name, name)}" for name in self.keywords)])

    @property
    def formula_arrays(self) -> set[str]:
        """The names in formulas that are certainly arrays of one dtype."""
        names = {"g", "result", *self.tensors} - self.numbers - self.optional - self.masks
        return names if self.kind == POINTWISE else set()

    @property
    def takes_operands_only(self) -> bool:
        """True if the operator variant has no options: an elementwise operation whose options have plain defaults."""
        return self.kind == POINTWISE and self.option_defaults() is not None

    # -- derivatives ---------------------------------------------------------------------------------------------------

    @property
    def many_edges(self) -> bool:
        """True if the node keeps its edges in a tuple, not in the two slots for the usual one or two."""
        return bool(self.lists) or len(self.formulas) > 2

    @functools.cached_property
    def inputs(self) -> tuple[str, ...]:
        """The parameters that gradients go to, in the order of the node's edges."""
        return tuple(name for name in self.tensors if name in self.formulas)

    def edges(self, arguments: Mapping[str, Any]) -> list[Any]:
        """Return the arguments that gradients go to, in the order of the node's edges; None for missing ones."""
        edges: list[Any] = []
        for name in self.inputs:
            edges += arguments.get(name) or () if name in self.lists else [arguments.get(name)]
        return edges

    def saves(self) -> dict[str, set[str]]:
        """Return the names required by the formula of each input: ``other``, ``result[1]``, ``input.shape``, ..."""
        names = {*self.positional, *self.keywords, "result"} | ({self.rest} if self.rest else set())
        needs = {name: names_used(text, names, self.many) for name, text in self.formulas.items()}
        if any("result" in used for used in needs.values()):  # then all of them are kept anyway
            needs = {name: {what.partition("[")[0] for what in used} for name, used in needs.items()}
        return needs

    def value_of(self, what: str, names: Mapping[str, str]) -> str:
        """Return the code of a value that formulas require, from the code of arguments and results."""
        name, _, attribute = what.partition(".")
        if attribute and name in self.lists:
            return f"[a.{attribute} for a in {names[name]}]"
        whole, bracket, index = name.partition("[")
        text = names.get(name) or f"{names.get(whole, whole)}{bracket}{index}"
        return f"{text}.{attribute}" if attribute else text

    def node(self, variant: str) -> Any:
        """Return the node class: ``real``, ``complex``, ``half`` or ``tiled``; ``CompiledOp`` creates it."""
        raise NotImplementedError

    @property
    def temporary_view(self) -> Any:
        """A view's function for temporary views, which record no view link; ``CompiledOp`` creates it."""
        raise NotImplementedError


OPS: dict[str, OpSchema] = {}
"""Every declared operation by name."""
HELPERS: dict[Callable[..., Any], Callable[..., Any]] = {}
"""Every function that formulas call over arrays and over tensors, and its versions for both."""
COMPOSITES: dict[str, Callable[..., Any]] = {}
"""Every function written in terms of operations, by name."""


def derivative_helper(function: F) -> F:
    """Make a function that formulas call use the bodies of operations for arrays, and operations for tensors.

    A one-line formula is text in its ``@op``. A formula of several steps is a function, in which the name of an
    operation must mean its body over arrays and the operation itself over tensors, just as in the text.
    """
    compiled: dict[bool, Callable[..., Any]] = {}

    @functools.wraps(function)
    def either(*args: Any) -> Any:
        graph = False
        for a in args:
            if isinstance(a, Tensor):
                graph = True
        if graph not in compiled:
            meanings = {name: op.function if graph else op.body for name, op in OPS.items()}
            scope = {**function.__globals__, **meanings}
            compiled[graph] = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
        return compiled[graph](*args)

    HELPERS[either] = function
    return either  # type: ignore[return-value]


def names_used(formula: str, names: set[str], many: bool = False) -> set[str]:
    """Return the ``names`` a formula needs; a shape is distinct from the tensor, one of ``many`` results from all.

    >>> sorted(names_used("g.reshape(input.shape) * other", {"input", "other"}))
    ['input.shape', 'other']
    >>> names_used("pool_back(g[0], result[1])", {"result"}, many=True)
    {'result[1]'}
    """
    used: set[str] = set()

    class Visitor(ast.NodeVisitor):
        def visit_Attribute(self, node: ast.Attribute) -> None:
            if isinstance(node.value, ast.Name) and node.value.id in names and node.attr in METADATA:
                used.add(f"{node.value.id}.{node.attr}")
            else:
                self.generic_visit(node)

        def visit_Subscript(self, node: ast.Subscript) -> None:
            if many and ast.unparse(node.value) == "result" and isinstance(node.slice, ast.Constant):
                used.add(ast.unparse(node))
            else:
                self.generic_visit(node)

        def visit_Name(self, node: ast.Name) -> None:
            if node.id in names:
                used.add(node.id)

    Visitor().visit(ast.parse(formula, mode="eval"))
    return used


def slot(saved: str) -> str:
    """Return the node's slot for a saved value: ``s_other``, ``s_input_shape``, ``s_result1``."""
    return "s_" + saved.replace(".", "_").replace("[", "").replace("]", "")


def array_name(parameter: str) -> str:
    """Return the name of a tensor's array in generated code: ``input_array``."""
    return f"{parameter}_array"
