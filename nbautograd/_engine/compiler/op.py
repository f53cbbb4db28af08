"""``@op``: an operation is declared once, as a function over arrays with a derivative formula per input.

    @op(symbol="×", kind=POINTWISE, input="g * conj(other)", other="g * conj(input)")
    def mul(input: Tensor | Number, other: Tensor | Number) -> Tensor:
        return input * other

From this the compiler makes the function ``mul`` over tensors, the method ``Tensor.mul``, the in-place ``mul_``,
``out=``, the node class ``MulBackward0``, the saved values, and derivatives of every order.

- A formula is Python over ``g`` (the gradient of the result), the inputs, the options, ``result``, shapes such as
    ``input.shape``, and any declared operation. **The values that it names are saved**, of several results those named
    by number (``result[1]``); nothing is kept for a gradient that is not requested. ``conj`` is dropped for real
    values.
- It is compiled twice: over arrays, where the name of an operation means its body, and over tensors, where it means the
    operation itself, so that a backward pass can record itself (``create_graph=True``). Pictures show its text, so the
    formula on the screen is the one that ran.
- Broadcasting and type promotion are undone here, once, for all formulas.
- float16 and bfloat16 are computed in float32 and rounded, in both directions, as PyTorch does; neither bodies nor
  formulas see them.

An operation compiles itself on its first call into straight-line code, which makes small tensors fast. Its source is in
``linecache``, so tracebacks and debuggers show it. Declaring costs next to nothing, so importing stays fast.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

from nbautograd import protocol
from nbautograd._engine.arrays import dtypes
from nbautograd._engine.compiler.argument_errors import (
    CALL_ERRORS,
    answer_error,
    check_option,
    check_options,
    options_of,
    refuse_complex,
    with_argument_errors,
)
from nbautograd._engine.compiler.backward import make_node
from nbautograd._engine.compiler.elementwise import is_one_step
from nbautograd._engine.compiler.forward import OPERATOR, TEMPORARY_VIEW, ForwardWriter
from nbautograd._engine.compiler.inplace import make_inplace_method, scan_in_place
from nbautograd._engine.compiler.promotion import broadcast_shapes
from nbautograd._engine.compiler.runtime import FORWARD
from nbautograd._engine.compiler.schema import (
    COMPOSITES,
    NATIVE,
    NUMPY_NAMES,
    NUMPY_OPERANDS,
    OPS,
    PLAIN,
    POINTWISE,
    UNSUPPORTED,
    UPCAST,
    VIEW,
    OpSchema,
    derivative_helper,
)
from nbautograd._engine.compiler.source import compiled, expression_of
from nbautograd._engine.core import inplace, tracing
from nbautograd._engine.core.dispatch_mode import DETOUR, FIRST_CALL, Exchange
from nbautograd._engine.core.node import Node
from nbautograd._engine.core.overrides import UNHANDLED, offer, subclasses
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.fusion.kernel import ElementwiseKernel
from nbautograd._names import docstrings

__all__ = [
    "NATIVE", "OPS", "PLAIN", "POINTWISE", "UNSUPPORTED", "UPCAST", "VIEW", "CompiledOp", "alias", "broadcast_shapes",
    "check_option", "composite", "derivative_helper", "elementwise", "make_inplace_method", "no_method", "op",
    "scan_in_place", "with_argument_errors", "with_numpy_names",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


class CompiledOp(OpSchema, Exchange):
    """An operation as declared, and its compiled parts, made on first use: function variants and node variants."""

    is_operation, detour = True, DETOUR

    def __init__(self, body: Callable[..., Any], options: dict[str, Any], formulas: dict[str, str]) -> None:
        super().__init__(body, options, formulas)
        Exchange.__init__(self)
        self.options = options
        self.function: Any = None
        self.operator: Any = None
        self._temporary_view: Any = None
        self.compiled = False
        self._codes: dict[tuple[bool, str], types.CodeType] = {}
        self._others: dict[tuple[bool, str], Callable[..., Any]] = {}
        self._nodes: dict[str, type[Node]] = {}

    # -- the function ------------------------------------------------------------------------------------------------

    def compile(self) -> None:
        """Put the compiled code into the function and its variants."""
        names = self._names()
        self.functions = {}
        for function, variant in self.variants().items():
            function.__globals__.update(names)
            if variant == TEMPORARY_VIEW and self.formulas:
                function.__globals__["Backward"] = self.node(TEMPORARY_VIEW)
            if variant != OPERATOR or not self.takes_operands_only:
                self._set_defaults(function)
            self.add(function)
        self.own = {}
        self.compiled = True
        self.exchange(called=True)

    @property
    def temporary_view(self) -> Any:
        """A variant for temporary views: used once inside a formula, never returned; no view is recorded."""
        if self._temporary_view is None:
            self._temporary_view = _stub(self)
            if self.compiled:
                self.compile()
        return self._temporary_view

    def variants(self) -> dict[Any, str]:
        """Return the keys of the function and its variants."""
        variants = {self.function: "", self.operator: OPERATOR, self._temporary_view: TEMPORARY_VIEW}
        return {function: variant for function, variant in variants.items() if function is not None}

    def compile_own(self, traced: bool) -> list[tuple[Any, types.CodeType]]:
        """Compile the own code of the function and its variants, once."""
        own = self.own[traced] = [(function, self._code(traced, name)) for function, name in self.variants().items()]
        return own

    def _code(self, traced: bool, variant: str) -> types.CodeType:
        code = self._codes.get((traced, variant))
        if code is None:
            source = "\n".join(ForwardWriter(self, traced, function_variant=variant).lines())
            filename = f"<nbautograd {' '.join([self.name, *[variant] * bool(variant), *['traced'] * traced])}>"
            code = self._codes[traced, variant] = compiled(source, filename, self.name)
        return code

    def _other(self, kind: str) -> Callable[..., Any]:
        """Return a function, compiled on first use: ``half`` for float16 and bfloat16, which computes in float32, or
        ``device`` for arrays on a device with its own kernels.
        """
        traced = tracing.is_on()
        function = self._others.get((traced, kind))
        if function is None:
            writer = ForwardWriter(self, traced, half=kind == "half", device=kind == "device")
            source = "\n".join(writer.lines())
            code = compiled(source, f"<nbautograd {self.name} {kind}{' traced' * traced}>", self.name)
            function = types.FunctionType(code, self._names(), self.name)
            if self.formulas and kind == "half":
                function.__globals__["HalfBackward"] = self.node("half")
            self._set_defaults(function)
            self._others[traced, kind] = function
        return function

    @functools.cached_property
    def fused(self) -> ElementwiseKernel:
        """The body as a kernel, for devices."""
        body, count = self.body, len(self.positional)
        names = [*self.positional, *self.keywords]

        def eager(*values: Any) -> Any:
            return body(*values[:count], **dict(zip(self.keywords, values[count:], strict=True)))

        return ElementwiseKernel(eager, None, 0, names)

    @functools.cached_property
    def is_one_step(self) -> bool:  # type: ignore[override]
        """True if the body is one ufunc of its operands for the usual options."""
        return is_one_step(expression_of(self.body), self.option_defaults())

    def _set_defaults(self, function: Any) -> None:
        defaults = self.body.__defaults__ or ()
        required = len(self.positional) - len(defaults)
        optional = (None,) * (required - self.positional.index("dim")) if self.required_dim else ()
        function.__defaults__ = (*optional, *defaults, *(...,) * len(self.former))
        function.__kwdefaults__ = {
            **(self.body.__kwdefaults__ or {}),
            **({"out": None} if self.has_out else {}),
            **{NUMPY_NAMES[name]: None for name in self.numpy_names},
        }
        if self.rest is not None:
            function.__kwdefaults__[self.rest] = None

    def _names(self) -> dict[str, Any]:
        names: dict[str, Any] = dict(self.body.__globals__)
        variants = {f"{kind}_variant": functools.partial(self._other, kind) for kind in ("half", "device")}
        names.update(FORWARD, OP=self, body=self.body, **variants)
        if self.formulas:
            names.update(Backward=self.node("real"), ComplexBackward=self.node("complex"))
        return names

    # -- the node ----------------------------------------------------------------------------------------------------

    def node(self, variant: str) -> type[Node]:
        """Return the node class of a variant: ``real``, ``complex``, ``half``, ``tiled`` or ``temporary view``."""
        if variant not in self._nodes:
            node = make_node(self, variant)
            if self.real_only and variant == "complex":
                node = type(node.__name__, (node,), {"__slots__": (), "__new__": lambda cls: refuse_complex(self)})
            self._nodes[variant] = node
        return self._nodes[variant]


def op(
    *, node: str | None = None, symbol: str = "", kind: str = PLAIN, operators: str = "", method: bool = True,
    inplace_method: bool | None = None, floating: bool = False, accepts: str = "bifc", accepts_each: str = "bifc",
    many: bool = False, out: bool | None = None, into: str | None = None, name: str | None = None, half: str = UPCAST,
    former: str = "", real_only: bool = False, **formulas: str,
) -> Callable[[F], F]:  # fmt: skip
    """Declare an operation by its body over arrays.

    Parameters annotated ``Tensor`` arrive in the body as arrays; ``Tensor | Number`` also accepts a number, ``Tensor |
    None`` makes it optional, ``Sequence[Tensor]`` takes several, and a ``Mask`` keeps its dtype where others are
    promoted. All other parameters are options; one annotated ``Key``, a tuple of arrays of indices and of slices, is
    saved like tensors.

    :param node: the name of the node class; by default that of the operation, as in PyTorch: ``MulBackward0``.
    :param symbol: the text of the node in pictures.
    :param kind: ``PLAIN``, ``POINTWISE`` or ``VIEW``.
    :param operators: the special methods that it implements, such as ``"__mul__ __rmul__"``.
    :param method: True for a method of Tensor.
    :param inplace_method: True to add ``name_``; by default for pointwise operations.
    :param floating: integer inputs become the default float.
    :param accepts: the accepted categories of dtypes: bool, integer, floating, complex. For pointwise operations after
        promotion, for others of the first operand.
    :param accepts_each: the accepted categories of each operand, before promotion.
    :param many: the body returns several arrays and the formulas get a list of gradients.
    :param out: True to add ``out=``; by default for pointwise operations.
    :param into: how ``name_`` writes into the array of its tensor; by default the body's last step does, if it can.
    :param name: the public name if it differs from the body's.
    :param half: the treatment of float16 and bfloat16: ``UPCAST`` computes in float32 and rounds; ``NATIVE`` is for
        operations that only move or cast values; ``UNSUPPORTED`` raises.
    :param former: the factors allowed between the tensors, as in PyTorch's early signatures.
    :param real_only: a complex result is not recorded: PyTorch has no derivative.
    :param formulas: for each differentiable input, its gradient.
    """
    pointwise = kind == POINTWISE
    options = {
        "node": node, "symbol": symbol, "kind": kind, "floating": floating, "accepts": accepts,
        "accepts_each": accepts_each, "many": many, "out": pointwise if out is None else out, "into": into,
        "name": name, "half": half, "former": former, "real_only": real_only,
    }  # fmt: skip

    def declare(body: F) -> F:
        declaration = CompiledOp(body, options, formulas)
        OPS[public := declaration.name] = declaration
        if (node := declaration.node_name) and formulas:  # PyTorch's node may stand for several operations
            namesake = node.lower().startswith(public.removesuffix("_over").replace("_", ""))
            made = protocol.declared[f"{node}.{public}"] = functools.partial(declaration.node, "real")
            protocol.declared[node] = made if namesake else protocol.declared.get(node, made)
        function = declaration.function = _stub(declaration)
        docstrings.describe_operation(
            function, body, pointwise, declaration.accepts, declaration.floating, declaration.has_out
        )
        if method:
            setattr(Tensor, public, function)
        if pointwise if inplace_method is None else inplace_method:
            straight = declaration if pointwise or into else None
            setattr(Tensor, public + "_", make_inplace_method(public + "_", function, straight))
        if operators:
            declaration.operator = _stub(declaration)
            docstrings.describe_operator(declaration.operator, function)
            for special in operators.split():
                operator = declaration.operator
                if special.startswith("__i") and special != "__invert__":
                    straight = declaration if pointwise or into else None
                    operator = make_inplace_method(public + "_", function, straight)
                    operator.__globals__["apply_inplace"] = inplace.apply_augmented
                setattr(Tensor, special, operator)
        return function  # type: ignore[no-any-return]

    return declare


elementwise = functools.partial(op, kind=POINTWISE)
"""Declares an elementwise operation."""
no_method = functools.partial(op, method=False, inplace_method=False)
"""Declares an operation that formulas and other functions call: no method of Tensor."""


def composite(
    *, operators: str = "", method: bool = True, inplace_method: bool = False, out: bool = False, names: str = "",
    keeps: bool = False,
) -> Callable[[F], F]:  # fmt: skip
    """Declare a function written in terms of other operations; it needs no formulas of its own.

    :param out: give it the keyword ``out=``: a tensor, or several for several results.
    :param names: further names of its parameters, such as ``"input2=L"``.
    :param keeps: ``keepdim`` needs ``dim``.
    """

    def declare(function: F) -> F:
        name = function.__name__
        public = _with_keywords(function, out, names, keeps)
        COMPOSITES[name] = public
        if method:
            setattr(Tensor, name, public)
        if inplace_method:
            setattr(Tensor, name + "_", make_inplace_method(name + "_", public))
        for special in operators.split():
            setattr(Tensor, special, public)
        return public  # type: ignore[return-value]

    return declare


def with_numpy_names(function: F) -> F:
    """Return a function that also accepts NumPy's names of its parameters, such as ``axis`` for ``dim``."""
    return _with_keywords(function, out=False)  # type: ignore[return-value]


def _with_keywords(
    function: Callable[..., Any], out: bool, further: str = "", keeps: bool = False
) -> Callable[..., Any]:
    """Return a composite that accepts ``out=``, NumPy's names and further ones, unless it does so itself."""
    docstrings.describe(function, further=("out",) if out else ())
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    takes_dtype = "dtype" in names
    others = {numpy: name for name, numpy in NUMPY_NAMES.items() if name in names}
    others |= dict(pair.split("=") for pair in further.split())
    others |= {numpy: name for numpy, name in NUMPY_OPERANDS.items() if name in names and numpy not in names}
    if not out and (not others or code.co_flags & inspect.CO_VARKEYWORDS):
        return with_argument_errors(function)

    options = options_of(function)
    first_option = min((position for _, position, *_ in options), default=sys.maxsize)

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        if subclasses and (answer := offer(public, args, kwargs)) is not UNHANDLED:
            return answer
        try:
            if kwargs:
                if not others.keys().isdisjoint(kwargs):
                    _rename(kwargs, others)
                if keeps and "keepdim" in kwargs and len(args) < 2:
                    _need_dim(function, kwargs)
                if options:
                    args = check_options(function, options, args, kwargs)
                if takes_dtype and "dtype" in kwargs:
                    kwargs["dtype"] = dtypes.as_dtype(kwargs["dtype"])
                if out and (target := kwargs.pop("out", None)) is not None:
                    rules, name = inplace.out_rules(), function.__name__
                    if takes_dtype:
                        rules.check_out(name, target, ())
                        kwargs["dtype"] = rules.of_result(name, kwargs.get("dtype"), target)
                    return inplace.resize_into(target, rules.computed(name, target, public, args, kwargs, False), name)
            elif len(args) > first_option:
                args = check_options(function, options, args, kwargs)
            return function(*args, **kwargs)
        except CALL_ERRORS as error:
            if (answer := answer_error(error, public, function, args, kwargs)) is not UNHANDLED:
                return answer
            raise

    return public


def _rename(kwargs: dict[str, Any], others: dict[str, str]) -> None:
    for numpy, name in others.items():
        if numpy in kwargs and name not in kwargs:
            kwargs[name] = kwargs.pop(numpy)


def _need_dim(function: Callable[..., Any], kwargs: dict[str, Any]) -> None:
    if "dim" not in kwargs:
        raise TypeError(f"{function.__name__}() missing 1 required argument: 'dim'")


def alias(**names: Callable[..., Any]) -> None:
    """Give functions further names as methods, also in place if supported."""
    for name, function in names.items():
        setattr(Tensor, name, function)
        written = getattr(Tensor, function.__name__ + "_", None)
        if written is not None:
            setattr(Tensor, name + "_", written)


# -- stubs -----------------------------------------------------------------------------------------------------------


def _stub(declaration: CompiledOp) -> Any:
    body = declaration.body
    scope = {"OP": declaration, "__name__": body.__module__, "__builtins__": __builtins__}
    stub: Any = types.FunctionType(FIRST_CALL, scope, declaration.name)
    scope["STUB"] = stub
    stub.__qualname__, stub.__doc__, stub.__module__ = declaration.name, body.__doc__, body.__module__
    stub.__wrapped__ = body  # for help() and inspect.signature()
    return stub
