"""``@op``: an operation is declared once, as a function over arrays with a derivative formula per input.

    @op(node="MulBackward0", symbol="×", kind=POINTWISE, input="g * conj(other)", other="g * conj(input)")
    def mul(input: Tensor | Number, other: Tensor | Number) -> Tensor:
        return input * other

From that come the function ``mul`` over tensors, the method ``Tensor.mul``, the in-place ``mul_``, ``out=``, the node
class ``MulBackward0``, what is saved for backward, and derivatives of every order.

- A formula is Python over ``g`` (the gradient of the result), the inputs, the options, ``result``, shapes such as
  ``input.shape``, and any declared operation. **What it names is what is saved**; nothing is kept for a gradient that
  nobody wants. ``conj`` is dropped where nothing is complex.
- It is compiled twice: over arrays, where the name of an operation means its body, and over tensors, where it means
  the operation itself, so that a backward pass can record itself (``create_graph=True``). Its text is what the
  pictures show, so the formula on the screen is the one that ran.
- Undoing broadcasting and type promotion is done here, once, for all formulas.
- float16 and bfloat16 are computed in float32 and rounded, in both directions, as PyTorch does; neither bodies nor
  formulas see them.

An operation compiles itself when it is first called: its function starts as a stub whose code object is then replaced
by straight-line code written for this very operation, which is what makes small tensors fast. The generated source is
in ``linecache``, so tracebacks and debuggers show it. Declaring costs next to nothing, so importing stays fast.
"""

from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from nbautograd import protocol
from nbautograd.arrays import backend, dtypes
from nbautograd.arrays.size import sizes
from nbautograd.arrays.version_counter import tick
from nbautograd.compiler.argument_errors import check_arguments, with_argument_errors
from nbautograd.compiler.backward import make_node, uses
from nbautograd.compiler.forward import ALONE, OPERATOR, TEMPORARY_VIEW, Writer, has_operands_alone
from nbautograd.compiler.inplace import writing_method
from nbautograd.compiler.promotion import (
    F32,
    F64,
    HalfPrecision,
    check_devices,
    narrow,
    number,
    promote,
    promote_half,
    unbroadcast_spec,
    widen_all,
)
from nbautograd.compiler.registry import (
    COMPOSITES,
    NATIVE,
    NUMPY_NAMES,
    OPS,
    PLAIN,
    POINTWISE,
    UNSUPPORTED,
    UPCAST,
    VIEW,
)
from nbautograd.compiler.rewrite import CONSTANTS
from nbautograd.compiler.source import compiled
from nbautograd.core import dispatch_mode, inplace, tracing
from nbautograd.core.grad_mode import is_grad_enabled
from nbautograd.core.node import LEAF, Node, Port
from nbautograd.core.tensor import Tensor, new
from nbautograd.errors import is_pytorchs, kind_of
from nbautograd.fusion import tiling
from nbautograd.fusion.kernel import ElementwiseKernel

__all__ = [
    "NATIVE",
    "OPS",
    "PLAIN",
    "POINTWISE",
    "UNSUPPORTED",
    "UPCAST",
    "VIEW",
    "CompiledOp",
    "alias",
    "composite",
    "op",
]

F = TypeVar("F", bound=Callable[..., Any])

RESERVED = frozenset([*"cdginqrtD", "c1", "fit", "fits", "free", "keep", "outputs", "part", "result", "Node"])
"""Names of generated code's own, which no option of an operation may have."""


class CompiledOp:
    """One operation as declared, and what is made of it on its first use."""

    # What is read off the body's parameters when it is first wanted, so that declaring costs next to nothing.
    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    rest: str | None
    tensors: list[str]
    lists: list[str]
    masks: set[str]
    optional: set[str]
    numbers: set[str]
    numpy_names: list[str]
    required_dim: bool
    half_policy: str

    def __init__(self, body: Callable[..., Any], options: dict[str, Any], formulas: dict[str, str]) -> None:
        self.name: str = options["name"] or body.__name__
        self.body = body
        self.formulas = formulas
        self.kind: str = options["kind"]
        self.node_name: str | None = options["node"]
        self.symbol: str = options["symbol"]
        self.floating: bool = options["floating"]
        self.accepts: str = options["accepts"]
        self.accepts_each: str = options["accepts_each"]
        self.many: bool = options["many"]
        self.has_out: bool = options["out"]
        self.into: str | None = options["into"]
        self.recorded: str | None = options["recorded"]
        self.function: Any = None
        self.operator: Any = None
        self._temporary_view: Any = None
        self.compiled = False
        self._half: str = options["half"]
        self._codes: dict[tuple[bool, str], types.CodeType] = {}
        self._halves: dict[bool, Callable[..., Any]] = {}
        self._nodes: dict[str, type[Node]] = {}
        self.kernels: dict[str, ElementwiseKernel] = {}  # what large arrays are computed by, by the expression

    def __getattr__(self, name: str) -> Any:
        if name not in CompiledOp.__annotations__:
            raise AttributeError(f"'Declaration' object has no attribute {name!r}")
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
        self.masks = {name for name in hints if "Mask" in hints[name]}  # broadcast, but not promoted
        self.optional = {name for name in self.tensors if "None" in hints[name]}
        self.numbers = {name for name in self.tensors if "Number" in hints[name]}
        options = {*self.positional, *self.keywords} - set(self.tensors)
        if clash := sorted(options & RESERVED):
            raise ValueError(f"@op {self.name}: generated code uses the names {clash} itself; choose others")
        required = count - len(defaults)
        self.required_dim = required > 0 and self.positional[required - 1] == "dim" and self.rest is None
        takes_both = "dim" in self.positional[required:] or self.required_dim
        self.numpy_names = [name for name in NUMPY_NAMES if name in options and takes_both and self.kind != VIEW]
        self.half_policy = self._half if self.kind != VIEW and not self.lists else NATIVE

    @property
    def many_edges(self) -> bool:
        """Whether the node keeps its edges in a tuple, not in the two slots for the usual one or two."""
        return bool(self.lists) or len(self.formulas) > 2

    # -- the function ------------------------------------------------------------------------------------------------

    def compile(self) -> None:
        """Put the compiled code into the function and its operator twin."""
        names = self._names()
        for twin, function in self._twins().items():
            function.__globals__.update(
                names, refuse=not_implemented_or_raise if twin == OPERATOR else raise_bad_argument
            )
            if twin == TEMPORARY_VIEW and self.formulas:
                function.__globals__["Backward"] = self.node(TEMPORARY_VIEW)
            if twin == OPERATOR and len(self.formulas) == 2 and has_operands_alone(self):
                function.__globals__["Alone"] = self.node(ALONE)
        self.compiled = True
        self.use_code(tracing.is_on())

    @property
    def temporary_view(self) -> Any:
        """A view's function for whoever uses the view at once and once, and shows it to nobody: nobody writes to it."""
        if self._temporary_view is None:
            self._temporary_view = _stub(self)
            if self.compiled:
                self.compile()
        return self._temporary_view

    def _twins(self) -> dict[str, Any]:
        """The function and its variants, by what is particular about them."""
        twins = {"": self.function, OPERATOR: self.operator, TEMPORARY_VIEW: self._temporary_view}
        return {twin: function for twin, function in twins.items() if function is not None}

    def use_code(self, traced: bool) -> None:
        """Switch between the traced and the plain code, if the operation has been compiled at all."""
        if self.compiled:
            for twin, function in self._twins().items():
                function.__code__ = self._code(traced, twin)
                if twin != OPERATOR or not has_operands_alone(self):
                    self._set_defaults(function)
                if dispatch_mode.is_on():
                    _divert(function)

    def _code(self, traced: bool, twin: str) -> types.CodeType:
        code = self._codes.get((traced, twin))
        if code is None:
            source = "\n".join(Writer(self, traced, twin=twin).lines())
            filename = f"<nbautograd {' '.join([self.name, *[twin] * bool(twin), *['traced'] * traced])}>"
            code = self._codes[traced, twin] = compiled(source, filename, self.name)
        return code

    def half(self) -> Callable[..., Any]:
        """The function for float16 and bfloat16, which computes in float32: compiled when it is first wanted."""
        traced = tracing.is_on()
        if traced not in self._halves:
            source = "\n".join(Writer(self, traced, half=True).lines())
            code = compiled(source, f"<nbautograd {self.name} half{' traced' * traced}>", self.name)
            function = types.FunctionType(code, {**self._names(), "refuse": raise_bad_argument}, self.name)
            if self.formulas:
                function.__globals__["HalfBackward"] = self.node("half")
            self._set_defaults(function)
            self._halves[traced] = function
        return self._halves[traced]

    def _set_defaults(self, function: Any) -> None:
        defaults = self.body.__defaults__ or ()
        function.__defaults__ = (None, *defaults) if self.required_dim else defaults
        function.__kwdefaults__ = {
            **(self.body.__kwdefaults__ or {}),
            **({"out": None} if self.has_out else {}),
            **{NUMPY_NAMES[name]: None for name in self.numpy_names},
        }
        if self.rest is not None:
            function.__kwdefaults__[self.rest] = None

    def _names(self) -> dict[str, Any]:
        names: dict[str, Any] = dict(self.body.__globals__)
        names.update(_RUNTIME, OP=self, body=self.body, half=self.half)
        if self.formulas:
            names.update(Backward=self.node("real"), ComplexBackward=self.node("complex"))
        return names

    # -- the node ----------------------------------------------------------------------------------------------------

    def node(self, flavour: str) -> type[Node]:
        """The node class: ``real``; ``complex``, with conjugates; ``half``, in float32; ``large``; ``fleeting``."""
        if flavour not in self._nodes:
            self._nodes[flavour] = make_node(self, flavour)
        return self._nodes[flavour]

    def saves(self) -> dict[str, set[str]]:
        """What the formula of each input needs, as names like ``other``, ``result`` or ``input.shape``."""
        known = {*self.positional, *self.keywords, "result"} | ({self.rest} if self.rest else set())
        return {name: uses(text, known) for name, text in self.formulas.items()}


def op(
    *,
    node: str | None = None,
    symbol: str = "",
    kind: str = PLAIN,
    operators: str = "",
    method: bool = True,
    inplace_method: bool | None = None,
    floating: bool = False,
    accepts: str = "bifc",
    accepts_each: str = "bifc",
    many: bool = False,
    out: bool | None = None,
    into: str | None = None,
    name: str | None = None,
    half: str = UPCAST,
    recorded: str | None = None,
    **formulas: str,
) -> Callable[[F], F]:
    """Declare an operation by its body over arrays.

    Parameters annotated ``Tensor`` arrive in the body as arrays; ``Tensor | Number`` lets a number stand there,
    ``Tensor | None`` makes it optional, ``Sequence[Tensor]`` takes several, and a ``Mask`` keeps its dtype where others
    are promoted. All other parameters are options.

    :param node: the name of the node class; None where nothing is differentiable.
    :param symbol: what a picture writes into the node.
    :param kind: ``PLAIN``, ``POINTWISE`` or ``VIEW``.
    :param operators: the special methods that it implements, such as ``"__mul__ __rmul__"``.
    :param method: whether it is a method of Tensor.
    :param inplace_method: whether there is ``name_``; by default for pointwise operations.
    :param floating: integer inputs become the default float.
    :param accepts: for pointwise operations, the categories of dtypes that they take, after promotion: bool,
        integer, floating, complex.
    :param accepts_each: the same of each operand, before promotion.
    :param many: the body returns several arrays and the formulas get a list of gradients.
    :param out: whether there is ``out=``; by default for pointwise operations.
    :param into: how ``name_`` writes into the array of its tensor; by default the body's last step does, if it can.
    :param name: the public name where it differs from the body's.
    :param half: what happens to float16 and bfloat16: ``WIDENED`` computes in float32 and rounds; ``KEPT`` is for
        operations that only move or cast values; ``REFUSED`` raises.
    :param recorded: the operation of ``(g, result)`` that does what the formula of the only input says, for real
        numbers: a recorded pass then takes one step instead of several.
    :param formulas: for each differentiable input, its gradient.
    """
    pointwise = kind == POINTWISE
    options = {
        "node": node,
        "symbol": symbol,
        "kind": kind,
        "floating": floating,
        "accepts": accepts,
        "accepts_each": accepts_each,
        "many": many,
        "out": pointwise if out is None else out,
        "into": into,
        "name": name,
        "half": half,
        "recorded": recorded,
    }

    def declare(body: F) -> F:
        declaration = CompiledOp(body, options, formulas)
        public = declaration.name
        OPS[public] = declaration
        namesake = (node or "").lower().startswith(public.replace("_", "") + "backward")  # others may share its name
        if node and formulas and (namesake or node not in protocol.declared):
            protocol.declared[node] = functools.partial(declaration.node, "real")
        function = declaration.function = _stub(declaration)
        if method:
            setattr(Tensor, public, function)
        if pointwise if inplace_method is None else inplace_method:
            straight = declaration if pointwise or into else None
            setattr(Tensor, public + "_", writing_method(public + "_", function, straight))
        if operators:
            twin = declaration.operator = _stub(declaration)
            for special in operators.split():
                target = (
                    getattr(Tensor, public + "_") if special.startswith("__i") and special != "__invert__" else twin
                )
                setattr(Tensor, special, target)
        return function  # type: ignore[no-any-return]

    return declare


def composite(
    *, operators: str = "", method: bool = True, inplace_method: bool = False, out: bool = False
) -> Callable[[F], F]:
    """Declare a function that is written in terms of other operations; it needs no formulas of its own.

    :param out: give it the keyword ``out=``: a tensor, or several for several results.
    """

    def declare(function: F) -> F:
        name = function.__name__
        public = _with_keywords(function, out)
        COMPOSITES[name] = public
        if method:
            setattr(Tensor, name, public)
        if inplace_method:
            setattr(Tensor, name + "_", writing_method(name + "_", public))
        for special in operators.split():
            setattr(Tensor, special, public)
        return public  # type: ignore[return-value]

    return declare


def _with_keywords(function: Callable[..., Any], out: bool) -> Callable[..., Any]:
    """A composite that takes ``out=``, and NumPy's names, where it does not do so itself."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    others = {numpy: name for name, numpy in NUMPY_NAMES.items() if name in names}
    if not out and (not others or code.co_flags & inspect.CO_VARKEYWORDS):
        return with_argument_errors(function)

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        target = None
        if kwargs:
            target = kwargs.pop("out", None) if out else None
            for numpy, name in others.items():
                if numpy in kwargs:
                    kwargs[name] = kwargs.pop(numpy)
        try:
            result = function(*args, **kwargs)
        except AttributeError:
            check_arguments(function, args, kwargs)
            raise
        return result if target is None else inplace.resize_into(target, result, function.__name__)

    return public


def alias(**names: Callable[..., Any]) -> None:
    """Give functions further names as methods, in place too where they have that."""
    for name, function in names.items():
        setattr(Tensor, name, function)
        written = getattr(Tensor, function.__name__ + "_", None)
        if written is not None:
            setattr(Tensor, name + "_", written)


# -- stubs -----------------------------------------------------------------------------------------------------------


def _first_call(*args: Any, **kwargs: Any) -> Any:
    """The code of every stub: OP and STUB are globals of the stub's own."""
    OP.compile()  # type: ignore[name-defined]  # noqa: F821
    return STUB(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821 - which is a stub no more


def _diverted(*args: Any, **kwargs: Any) -> Any:
    """The code of every operation during a detour."""
    return DETOUR(OP, PLAIN, args, kwargs)  # type: ignore[name-defined]  # noqa: F821


def _divert(function: Any) -> None:
    plain = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    plain.__kwdefaults__ = function.__kwdefaults__
    function.__globals__.update(DETOUR=dispatch_mode.run, PLAIN=plain)
    function.__code__ = _diverted.__code__


def _stub(declaration: CompiledOp) -> Any:
    body = declaration.body
    scope = {"OP": declaration, "__name__": body.__module__, "__builtins__": __builtins__}
    stub: Any = types.FunctionType(_first_call.__code__, scope, declaration.name)
    scope["STUB"] = stub
    stub.__qualname__, stub.__doc__, stub.__module__ = declaration.name, body.__doc__, body.__module__
    stub.__wrapped__ = body  # for help() and inspect.signature()
    return stub


# -- what generated code calls ---------------------------------------------------------------------------------------


def edge(t: Any) -> Any:
    """The edge to a tensor."""
    return t if t._fn is LEAF else t._fn


def _into(op: CompiledOp, out: Any, *args: Any, **kwargs: Any) -> Any:
    return inplace.resize_into(out, op.function(*args, **kwargs), op.name)


def large(op: CompiledOp, expression: str, *arrays: Any) -> Any:
    """The result of an elementwise operation on large arrays, which the expression names ``a0`` and ``a1``."""
    kernel = op.kernels.get(expression)
    if kernel is None:
        names = [f"a{i}" for i in range(len(arrays))]
        kernel = op.kernels[expression] = ElementwiseKernel.of(expression, names, {**op.body.__globals__, "np": np})
    return tiling.compute(kernel, arrays)


def raise_bad_argument(op: CompiledOp, values: tuple[Any, ...]) -> NoReturn:
    """Say which argument is no tensor; if all are, let the error that brought us here go on."""
    for name, value in zip(op.tensors, values, strict=True):
        items = value if name in op.lists and isinstance(value, (tuple, list)) else [value]
        accepted: tuple[type, ...] = (Tensor, np.ndarray) if op.kind == POINTWISE else (Tensor,)
        if name in op.numbers:
            accepted = (Tensor, int, float, complex, np.ndarray)
        if value is None and name in op.optional:
            continue
        for item in items:
            if not isinstance(item, accepted):
                expected = "tuple of Tensors" if name in op.lists else "Tensor"
                raise TypeError(
                    f"{op.name}(): argument '{name}' (position {op.tensors.index(name) + 1}) must be {expected}, "
                    f"not {kind_of(item)}"
                ) from None
    if not any(isinstance(value, Tensor) for value in values) and op.kind == POINTWISE:
        raise TypeError(
            f"{op.name}(): argument '{op.tensors[0]}' (position 1) must be Tensor, not {kind_of(values[0])}"
        ) from None
    raise


def not_implemented_or_raise(op: CompiledOp, values: tuple[Any, ...]) -> Any:
    """For operators: let Python try the other operand's method, and say so itself if there is none.

    A tensor of PyTorch has none for ours, and is called Tensor, too; comparisons would be False without an error.
    """
    if any(is_pytorchs(value) for value in values):
        raise_bad_argument(op, values)
    if all(isinstance(value, (Tensor, int, float, complex, np.ndarray)) for value in values):
        raise
    return NotImplemented


_RUNTIME = {
    "CONSTANTS": CONSTANTS,
    "F32": F32,
    "F64": F64,
    "HalfPrecision": HalfPrecision,
    "INEXACT": dtypes.INEXACT,
    "MIN_TILED_SIZE": tiling.MIN_TILED_SIZE,
    "LEAF": LEAF,
    "Port": Port,
    "by": operator.mul,
    "SILENT": backend.SILENT,
    "Tensor": Tensor,
    "unbroadcast_spec": unbroadcast_spec,
    "check_devices": check_devices,
    "edge": edge,
    "float32": np.float32,
    "float64": np.float64,
    "into": _into,
    "is_grad_enabled": is_grad_enabled,
    "large": large,
    "link": inplace.link,
    "minus": operator.sub,
    "narrow": narrow,
    "ndarray": np.ndarray,
    "new": new,
    "note": tracing.note,
    "np": np,
    "number": number,
    "over": operator.truediv,
    "pick": inplace.Part,
    "plus": operator.add,
    "promote": promote,
    "promote_half": promote_half,
    "quietly": backend.quietly.run,
    "set_quiet": backend.set_quiet,
    "sizes": sizes,
    "tick": tick,
    "run_quietly": backend.run_quietly,
    "unset_quiet": backend.unset_quiet,
    "widen_all": widen_all,
}


def _switch_tracing(on: bool) -> None:
    for declaration in OPS.values():
        declaration.use_code(on)


tracing.on_switch(_switch_tracing)
dispatch_mode.on_switch(lambda: _switch_tracing(tracing.is_on()))
