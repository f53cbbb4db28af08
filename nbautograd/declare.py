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

import ast
import functools
import inspect
import linecache
import textwrap
import types
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from nbautograd import backend, detour, dtypes, inplace, storage, tracing
from nbautograd.errors import DeviceError, ShapeError, UnsupportedDtypeError
from nbautograd.grad_mode import is_grad_enabled
from nbautograd.node import FREED, LEAF, MANY, Node, Port
from nbautograd.size import sizes
from nbautograd.storage import tick
from nbautograd.tensor import Tensor, new, wrap

__all__ = ["KEPT", "OPS", "PLAIN", "POINTWISE", "REFUSED", "VIEW", "WIDENED", "Declaration", "alias", "composite", "op"]

F = TypeVar("F", bound=Callable[..., Any])

PLAIN = "plain"
"""The body gets the arrays as they are."""
POINTWISE = "pointwise"
"""Inputs are promoted to one dtype and broadcast; numbers may stand for tensors; there are ``name_`` and ``out=``."""
VIEW = "view"
"""The result shares the first input's memory."""

WIDENED, KEPT, REFUSED = "widened", "kept", "refused"
"""What an operation does with numbers of half precision."""

MISSING = object()
"""Stands for what has not been made yet, where None means something."""

OPS: dict[str, Declaration] = {}
"""Every declared operation by name."""
COMPOSITES: dict[str, Callable[..., Any]] = {}
"""Every function that is written in terms of operations, by name."""

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


class Declaration:
    """One operation as declared, and what is made of it on its first use."""

    def __init__(self, body: Callable[..., Any], options: dict[str, Any], formulas: dict[str, str]) -> None:
        code = body.__code__
        count = code.co_argcount
        self.name: str = options.get("name") or body.__name__
        self.body = body
        self.kind: str = options["kind"]
        self.node_name: str | None = options["node"]
        self.symbol: str = options["symbol"]
        self.floating: bool = options["floating"]
        self.accepts: str = options["accepts"]
        self.many: bool = options["many"]
        self.formulas = formulas
        self.positional = code.co_varnames[:count]
        self.keywords = code.co_varnames[count : count + code.co_kwonlyargcount]
        self.rest = code.co_varnames[count + len(self.keywords)] if code.co_flags & inspect.CO_VARARGS else None
        hints = {name: str(body.__annotations__.get(name, "")) for name in (*self.positional, *self.keywords)}
        self.lists = [name for name in self.positional if "Sequence[Tensor]" in hints[name]]
        self.tensors = [name for name in hints if "Tensor" in hints[name] or "Mask" in hints[name]]
        self.masks = {name for name in hints if "Mask" in hints[name]}  # broadcast, but not promoted
        self.optional = {name for name in self.tensors if "None" in hints[name]}
        self.numbers = {name for name in self.tensors if "Number" in hints[name]}
        self.has_out: bool = options["out"]
        options_ = {*self.positional, *self.keywords} - set(self.tensors)
        required = count - len(body.__defaults__ or ())
        self.required_dim = required > 0 and self.positional[required - 1] == "dim" and self.rest is None
        takes_both = "dim" in self.positional[required:] or self.required_dim
        self.numpy_names = [name for name in NUMPY_NAMES if name in options_ and takes_both and self.kind != VIEW]
        self.function: Any = None
        self.operator: Any = None
        self.half_is: str = options["half"] if self.kind != VIEW and not self.lists else KEPT
        self.compiled = False
        self._codes: dict[bool, types.CodeType] = {}
        self._halves: dict[bool, Callable[..., Any]] = {}
        self._nodes: dict[str, type[Node]] = {}
        self._into: Any = MISSING

    @property
    def many_edges(self) -> bool:
        """Whether the node keeps its edges in a tuple, not in the two slots for the usual one or two."""
        return bool(self.lists) or len(self.formulas) > 2

    # -- the function ------------------------------------------------------------------------------------------------

    def compile(self) -> None:
        """Put the compiled code into the function and its operator twin."""
        names = self._names()
        for function, refuse in ((self.function, _refuse), (self.operator, _decline)):
            if function is not None:
                function.__globals__.update(names, refuse=refuse)
                self._set_defaults(function)
        self.compiled = True
        self.use_code(tracing.is_on())

    def use_code(self, traced: bool) -> None:
        """Switch between the traced and the plain code, if the operation has been compiled at all."""
        if self.compiled:
            if traced not in self._codes:
                source = "\n".join(_Writer(self, traced).lines())
                self._codes[traced] = _compiled(source, f"<nbautograd {self.name}{' traced' * traced}>", self.name)
            for function in (self.function, self.operator):
                if function is not None:
                    function.__code__ = self._codes[traced]
                    if detour.is_on():
                        _divert(function)

    def half(self) -> Callable[..., Any]:
        """The function for float16 and bfloat16, which computes in float32: compiled when it is first wanted."""
        traced = tracing.is_on()
        if traced not in self._halves:
            source = "\n".join(_Writer(self, traced, half=True).lines())
            code = _compiled(source, f"<nbautograd {self.name} half{' traced' * traced}>", self.name)
            function = types.FunctionType(code, {**self._names(), "refuse": _refuse}, self.name)
            if self.formulas:
                function.__globals__["HalfBackward"] = self.node("half")
            self._set_defaults(function)
            self._halves[traced] = function
        return self._halves[traced]

    def into(self) -> Callable[..., Any] | None:
        """The body, writing its last step into an array ``out_``; None where the last step is no ufunc."""
        if self._into is MISSING:
            expression = _expression(self.body)
            code = None if expression is None else _into_out(expression)
            if code is None:
                self._into = None
            else:
                parts = [*self.positional, "*", *self.keywords, "out_"]
                source = f"def {self.name}({', '.join(parts)}):\n    return {code}"
                made = _compiled(source, f"<nbautograd {self.name} into>", self.name)
                self._into = types.FunctionType(made, {**self.body.__globals__, "np": np}, self.name)
                self._into.__defaults__, self._into.__kwdefaults__ = self.body.__defaults__, self.body.__kwdefaults__
        return self._into

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
        """The node class: ``real``; ``complex``, where formulas conjugate; or ``half``, computed in float32."""
        if flavour not in self._nodes:
            self._nodes[flavour] = _make_node(self, flavour)
        return self._nodes[flavour]

    def saves(self) -> dict[str, set[str]]:
        """What the formula of each input needs, as names like ``other``, ``result`` or ``input.shape``."""
        known = {*self.positional, *self.keywords, "result"} | ({self.rest} if self.rest else set())
        return {name: _uses(text, known) for name, text in self.formulas.items()}


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
    many: bool = False,
    out: bool | None = None,
    name: str | None = None,
    half: str = WIDENED,
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
    :param many: the body returns several arrays and the formulas get a list of gradients.
    :param out: whether there is ``out=``; by default for pointwise operations.
    :param name: the public name where it differs from the body's.
    :param half: what happens to float16 and bfloat16: ``WIDENED`` computes in float32 and rounds; ``KEPT`` is for
        operations that only move or cast values; ``REFUSED`` raises.
    :param formulas: for each differentiable input, its gradient.
    """
    pointwise = kind == POINTWISE
    options = {
        "node": node,
        "symbol": symbol,
        "kind": kind,
        "floating": floating,
        "accepts": accepts,
        "many": many,
        "out": pointwise if out is None else out,
        "name": name,
        "half": half,
    }

    def declare(body: F) -> F:
        declaration = Declaration(body, options, formulas)
        public = declaration.name
        OPS[public] = declaration
        function = declaration.function = _stub(declaration)
        if method:
            setattr(Tensor, public, function)
        if pointwise if inplace_method is None else inplace_method:
            setattr(Tensor, public + "_", _inplace(public + "_", function, declaration if pointwise else None))
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
            setattr(Tensor, name + "_", _inplace(name + "_", public))
        for special in operators.split():
            setattr(Tensor, special, public)
        return public  # type: ignore[return-value]

    return declare


NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims"}
"""What NumPy calls these parameters; PyTorch accepts both everywhere."""


def _with_keywords(function: Callable[..., Any], out: bool) -> Callable[..., Any]:
    """A composite that takes ``out=``, and NumPy's names, where it does not do so itself."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    others = {numpy: name for name, numpy in NUMPY_NAMES.items() if name in names}
    if not out and (not others or code.co_flags & inspect.CO_VARKEYWORDS):
        return function

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            target = kwargs.pop("out", None) if out else None
            for numpy, name in others.items():
                if numpy in kwargs:
                    kwargs[name] = kwargs.pop(numpy)
            if target is not None:
                return inplace.resize_into(target, function(*args, **kwargs), function.__name__)
        return function(*args, **kwargs)

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
    function.__globals__.update(DETOUR=detour.run, PLAIN=plain)
    function.__code__ = _diverted.__code__


def _stub(declaration: Declaration) -> Any:
    body = declaration.body
    scope = {"OP": declaration, "__name__": body.__module__, "__builtins__": __builtins__}
    stub: Any = types.FunctionType(_first_call.__code__, scope, declaration.name)
    scope["STUB"] = stub
    stub.__qualname__, stub.__doc__, stub.__module__ = declaration.name, body.__doc__, body.__module__
    stub.__wrapped__ = body  # for help() and inspect.signature()
    return stub


def _inplace(
    name: str, function: Callable[..., Tensor], declaration: Declaration | None = None
) -> Callable[..., Tensor]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if declaration is not None and isinstance(self, Tensor) and self._a.size >= LARGE:
            inplace.check_writable(self, name)
            if _written(declaration, self, args, kwargs):
                return self
        return inplace.update(self, name, function, args, kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place version of ``{name[:-1]}``: writes the result into this tensor and returns it."
    return method


LARGE = 4096
"""From so many elements on, an in-place operation that nothing records is computed straight into the tensor."""


def _written(op: Declaration, t: Tensor, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Compute into ``t`` without a result of its own; False where that cannot be done and nothing has happened."""
    a = t._a
    others = [x for x in args if isinstance(x, Tensor)]
    recorded = is_grad_enabled() and any(x._fn is not None for x in (t, *others))
    if recorded or len(args) != len(op.tensors) - 1 or (a.dtype is not _F32 and a.dtype is not _F64):
        return False
    if any(isinstance(value, Tensor) for value in options.values()):
        return False
    arrays = [a, *(x._a if isinstance(x, Tensor) else _number(x, a.__class__, a) for x in args)]
    like = all(x is not None and x.__class__ is a.__class__ and x.dtype is a.dtype for x in arrays)
    if not like or _broadcast_shapes(a.shape, np.broadcast_shapes(*(x.shape for x in arrays[1:]))) != a.shape:
        return False
    into = op.into()
    if into is None:
        return False
    target = t.shared_array()
    with backend.quiet():
        into(*arrays, **options, out_=target)
    storage.record_write(target)
    return True


# -- the generated function ------------------------------------------------------------------------------------------


class _Writer:
    """Writes the source of one operation's function, line by line."""

    def __init__(self, declaration: Declaration, traced: bool, half: bool = False) -> None:
        self.op = declaration
        self.traced = traced
        self.half = half
        self.arrays = {name: f"a{i}" for i, name in enumerate(declaration.tensors)}
        # What is saved of them; with half precision that is not what is computed with.
        self.saved = {name: f"h{i}" for i, name in enumerate(declaration.tensors)} if half else self.arrays
        differentiable = [name for name in declaration.tensors if name in declaration.formulas]
        self.edges = {name: f"f{i}" for i, name in enumerate(differentiable)}

    def lines(self) -> list[str]:
        op = self.op
        yields = [f"def {op.name}({self.signature()}):"]
        inner = [f"if {NUMPY_NAMES[name]} is not None: {name} = {NUMPY_NAMES[name]}" for name in op.numpy_names]
        if "dim" in op.numpy_names and op.required_dim:
            inner.append(f"if dim is None: raise TypeError(\"{op.name}() missing 1 required argument: 'dim'\")")
        if op.rest:
            inner.append(f"{op.rest} = sizes(_rest if {op.rest} is None else ({op.rest},), {op.rest!r})")
        if op.has_out:
            inner.append(f"if out is not None: return into(OP, out, {self.call()})")
        if self.half:
            inner += self.load_half()
        else:
            inner += self.load_pointwise() if op.kind == POINTWISE else self.load_plain()
        inner += self.forward()
        inner += self.record()
        return [*yields, *(f"    {line}" for line in inner)]

    def signature(self) -> str:
        op = self.op
        defaults = len(op.body.__defaults__ or ())
        first_default = len(op.positional) - defaults
        parts = [name + ("=None" if i >= first_default else "") for i, name in enumerate(op.positional)]
        if op.numpy_names and op.required_dim:
            parts[op.positional.index("dim")] = "dim=None"
        keywords = [f"{name}=None" for name in op.keywords] + ["out=None"] * op.has_out
        keywords += [f"{NUMPY_NAMES[name]}=None" for name in op.numpy_names]
        if op.rest:
            parts += ["*_rest", f"{op.rest}=None"]
        elif keywords:
            parts.append("*")
        return ", ".join(parts + keywords)

    def call(self) -> str:
        """The arguments as they came, to call the function again."""
        op = self.op
        rest = [f"*{op.rest}"] if op.rest else []
        return ", ".join([*op.positional, *rest, *(f"{name}={name}" for name in op.keywords)])

    def options(self) -> str:
        """A tuple of the arguments after the first, for looking at a view again (views have no keyword-only ones)."""
        op = self.op
        rest = [f"*{op.rest}"] if op.rest else []
        return "(" + "".join(f"{name}, " for name in [*op.positional[1:], *rest]) + ")"

    # Loading the inputs: the array and the edge of each.

    def load(self, name: str) -> list[str]:
        """Lines that take the array of the tensor ``name``, and its edge if it is differentiable."""
        array, edge = self.arrays[name], self.edges.get(name)
        if edge is None:
            return [f"{array} = {name}._a"]
        return [f"{array} = {name}._a; {edge} = {name}._fn", f"if {edge} is LEAF: {edge} = {name}"]

    def load_or(self, name: str, otherwise: str) -> list[str]:
        """The same for a parameter that need not be a tensor."""
        edge = self.edges.get(name)
        none = f"{edge} = None; " if edge else ""
        return [
            f"if isinstance({name}, Tensor):",
            *(f"    {line}" for line in self.load(name)),
            f"else: {none}{self.arrays[name]} = {otherwise}",
        ]

    def load_plain(self) -> list[str]:
        op = self.op
        lines = ["try:"]
        for name in op.tensors:
            if name in op.lists:
                edge = f"; {self.edges[name]} = [edge(t) for t in {name}]" if name in self.edges else ""
                lines.append(f"    {self.arrays[name]} = [t._a for t in {name}]{edge}")
            elif name in op.numbers:
                lines += [f"    {line}" for line in self.load_or(name, name)]
            elif name in op.optional:
                edge = f"{self.edges[name]} = " if name in self.edges else ""
                lines.append(f"    if {name} is None: {edge}{self.arrays[name]} = None")
                lines += ["    else:", *(f"        {line}" for line in self.load(name))]
            else:
                lines += [f"    {line}" for line in self.load(name)]
        lines.append(f"except (AttributeError, TypeError): return refuse(OP, ({', '.join(op.tensors)},))")
        single = [self.arrays[name] for name in op.tensors if name not in op.lists]
        if len(single) > 1:
            classes = " is not ".join(f"{a}.__class__" for a in single[:2])
            lines.append(f"if {classes}: check_devices(OP, ({', '.join(single)},))")
        first = op.tensors[0] if op.tensors else ""
        if op.half_is == WIDENED and not self.half and first and first not in (*op.numbers, *op.optional):
            lines.append(f"if a0.itemsize == 2 and a0.dtype.kind in 'fV': return half()({self.call()})")
        if op.kind == VIEW:
            array = self.arrays[first]
            lines.append(f"if {array}.__class__ is not ndarray: {array} = {first}.shared_array()")
        return lines

    def load_pointwise(self) -> list[str]:
        """Fast where all inputs are of one and the same real floating dtype; ``promote`` sees to the rest."""
        op = self.op
        names = op.tensors
        arrays = [self.arrays[name] for name in names]
        slow = f"{', '.join(arrays)}, fit, Node = promote(OP, ({', '.join(names)},))"
        if len(names) > 2 or "f" not in op.accepts:
            lines = [line for name in names for line in self.load_or(name, name)]
            strict = [name for name in names if name not in op.numbers]
            return [
                *lines,
                *(f"if not isinstance({name}, (Tensor, ndarray)): return refuse(OP, ({', '.join(names)},))" for name in strict),
                "try: " + slow,
                f"except TypeError: return refuse(OP, ({', '.join(names)},))",
                f"except Halved: return half()({self.call()})",
            ]
        first = names[0]
        lines = ["fit = None; Node = Backward" if op.formulas else "fit = None", "try:"]
        lines += [f"    {line}" for line in self.load(first)]
        lines += ["    c = a0.__class__"]
        if len(names) == 2:
            second = names[1]
            lines += [
                f"    if isinstance({second}, Tensor):",
                *(f"        {line}" for line in self.load(second)),
                "        c1 = a1.__class__",
                "        if c is ndarray:",
                "            d = a0.dtype",
                "            like = c1 is ndarray or c1 is float32 or c1 is float64",
                "            if like and a1.dtype is d and (d is F32 or d is F64):",
                "                if a0.shape != a1.shape: fit = broadcast(a0, a1)",
                f"            else: {slow}",
                "        elif c is float32 or c is float64:",
                "            if c1 is not c:",
                "                if c1 is ndarray and a1.dtype is a0.dtype: fit = broadcast(a0, a1)",
                f"                else: {slow}",
                f"        else: {slow}",
                "    else:",
                f"        {self.edges[second]} = None" if second in self.edges else "        pass",
                *([] if second in op.numbers else [f"        if {second}.__class__ is not ndarray: raise TypeError"]),
                f"        a1 = number({second}, c, a0)",
                f"        if a1 is None: {slow}",
            ]
        else:
            lines += [
                "    if c is ndarray:",
                "        d = a0.dtype",
                f"        if d is not F32 and d is not F64: {slow}",
                f"    elif c is not float32 and c is not float64: {slow}",
            ]
        lines.append("except (AttributeError, TypeError):")
        if len(names) == 2 and first in op.numbers:
            # A number first and a tensor second, as in torch.mul(2, x).
            lines += [f"    if isinstance({first}, Tensor): return refuse(OP, ({', '.join(names)},))"]
            edges = "; ".join(
                f"{edge} = None" if name == first else f"{edge} = edge({name})" for name, edge in self.edges.items()
            )
            lines += ["    try:"] + ([f"        {edges}"] if edges else []) + [f"        {slow}"]
            lines += [f"    except (AttributeError, TypeError): return refuse(OP, ({', '.join(names)},))"]
            lines += [f"    except Halved: return half()({self.call()})"]
        else:
            lines.append(f"    return refuse(OP, ({', '.join(names)},))")
        lines.append(f"except Halved: return half()({self.call()})")
        return lines

    def load_half(self) -> list[str]:
        """``a0`` and so on, to compute with, in float32; ``h0`` and so on, to save, as they came; D to round to."""
        op = self.op
        computed = ", ".join(self.arrays.values())
        kept = ", ".join(self.saved.values())
        if op.kind == POINTWISE:
            lines = [line for name in op.tensors for line in self.load_or(name, name)]
            return [*lines, f"{computed}, {kept}, fit, D = promote_half(OP, ({', '.join(op.tensors)},))"]
        return [*self.load_plain(), f"{kept}, = {computed},", f"{computed}, fit, D = widen_all(({computed},))"]

    # Computing the result.

    def forward(self) -> list[str]:
        op = self.op
        expression = _inlined(op.body, self.arrays)
        if expression is None:
            values = [self.arrays.get(name, name) for name in op.positional]
            rest = [f"*{op.rest}"] if op.rest else []
            keywords = [f"{name}={self.arrays.get(name, name)}" for name in op.keywords]
            expression = f"body({', '.join([*values, *rest, *keywords])})"
        if op.kind == VIEW:
            return [f"r = {expression}"]
        if self.half:
            expression = f"[narrow(part, D) for part in {expression}]" if op.many else f"narrow({expression}, D)"
        return ["q = set_quiet(SILENT)", f"try: r = {expression}", "finally: unset_quiet(q)"]

    # Recording it.

    def record(self) -> list[str]:
        op = self.op
        if op.many:
            return self.record_many()
        lines = ["t = new(Tensor); t._a = r"]
        if op.kind == VIEW:
            lines.append(f"link(t, {op.tensors[0]}, body, OP.function, {self.options()})")
        if not op.formulas:
            return [*lines, "t._fn = None; return t"]
        lines.append(f"if {self.unrecorded()}: t._fn = None; return t")
        lines += ["n = t._fn = new(" + self.node_class() + ")", *self.save()]
        if self.traced:
            lines.append(self.trace("t"))
        return [*lines, "return t"]

    def record_many(self) -> list[str]:
        op = self.op
        lines = ["outputs = []", "for part in r:", "    t = new(Tensor); t._a = part; t._fn = None; outputs.append(t)"]
        if op.kind == VIEW:
            lines.append("    i = len(outputs) - 1")
            lines.append(f"    link(t, {op.tensors[0]}, pick(body, i), pick(OP.function, i), {self.options()})")
        if op.formulas:
            lines += [
                f"if not ({self.unrecorded()}):",
                f"    n = new({self.node_class()})",
                *(f"    {line}" for line in self.save()),
                "    n.count = len(outputs)",
                "    for index, t in enumerate(outputs):",
                "        if t._a.dtype.kind in INEXACT: t._fn = Port(n, index)",
            ]
            if self.traced:
                lines.append(f"    {self.trace('outputs[0]')}")
        return [*lines, "return tuple(outputs)"]

    def unrecorded(self) -> str:
        op = self.op
        wanted = [
            f"{edge} is None" if name not in op.lists else f"all(f is None for f in {edge})"
            for name, edge in self.edges.items()
        ]
        return f"{' and '.join(wanted)} or not is_grad_enabled()"

    def node_class(self) -> str:
        if self.half:
            return "HalfBackward"
        if self.op.kind == POINTWISE:
            return "Node"
        if any("conj" in text for text in self.op.formulas.values()):
            result = "r[0]" if self.op.many else "r"
            return f"(ComplexBackward if {result}.dtype.kind == 'c' else Backward)"
        return "Backward"

    def save(self) -> list[str]:
        op = self.op
        if op.many_edges:
            parts = [f"*{edge}" if name in op.lists else edge for name, edge in self.edges.items()]
            lines = [f"n.all_edges = ({', '.join(parts)},); n.f0 = n.f1 = None"]
        else:
            both = [*self.edges.values(), "None"][:2]
            lines = [f"n.f0 = {both[0]}; n.f1 = {both[1]}"]
        needs = op.saves()
        for what in sorted(set().union(*needs.values())):
            value = self.value_of(what)
            # Kept only if some gradient that is wanted needs it.
            wanted = [self.edges[name] for name, uses in needs.items() if what in uses]
            if not op.lists and len(self.edges) > 1 and len(wanted) < len(self.edges) and "." not in what:
                value += f" if {' or '.join(f'{edge} is not None' for edge in wanted)} else None"
            lines.append(f"n.{_slot(what)} = {value}")
        lines.append(f"n.fit = {'fit' if op.kind == POINTWISE or self.half else 'None'}; n.seq = tick()")
        return lines

    def value_of(self, what: str) -> str:
        name, _, attribute = what.partition(".")
        if name == "result":
            base = "r"
        elif name in self.op.lists and attribute:
            return f"[a.{attribute} for a in {self.arrays[name]}]"
        else:
            base = self.saved.get(name, name)
        return f"{base}.{attribute}" if attribute else base

    def trace(self, output: str) -> str:
        op = self.op
        named = [(name, name) for name in (*op.positional, *op.keywords)] + ([(op.rest, op.rest)] if op.rest else [])
        pairs = ", ".join(f"({label!r}, {value})" for label, value in named)
        return f"n.trace = note(n, {output}, ({pairs},))"


def _inlined(body: Callable[..., Any], arrays: dict[str, str]) -> str | None:
    """The body's expression if it is nothing but ``return expression``, with the arrays' names put in."""
    expression = _expression(body)
    return None if expression is None else ast.unparse(_Rename(arrays).visit(expression))


def _expression(body: Callable[..., Any]) -> ast.expr | None:
    """The expression that the body is, if it is nothing but ``return expression``."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(body))).body[0]
    except (OSError, SyntaxError):
        return None  # no source at hand: the body is called instead
    assert isinstance(tree, ast.FunctionDef)
    statements = [s for s in tree.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(statements) != 1 or not isinstance(statements[0], ast.Return):
        return None
    return statements[0].value


_UFUNCS = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "true_divide"}


def _into_out(tree: ast.expr) -> str | None:
    """An expression whose last step is a ufunc, with ``out_`` as that step's output; None for any other."""
    if isinstance(tree, ast.IfExp):
        body, orelse = _into_out(tree.body), _into_out(tree.orelse)
        return None if body is None or orelse is None else f"({body} if {ast.unparse(tree.test)} else {orelse})"
    if isinstance(tree, ast.BinOp) and type(tree.op) in _UFUNCS:
        return f"np.{_UFUNCS[type(tree.op)]}({ast.unparse(tree.left)}, {ast.unparse(tree.right)}, out=out_)"
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return f"np.negative({ast.unparse(tree.operand)}, out=out_)"
    if isinstance(tree, ast.Call) and not tree.keywords:
        name = ast.unparse(tree.func)
        if name.startswith("np.") and isinstance(getattr(np, name[3:], None), np.ufunc):
            return f"{name}({', '.join(map(ast.unparse, tree.args))}, out=out_)"
    return None


class _Rename(ast.NodeTransformer):
    """Names exchanged for others."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


def _compiled(source: str, filename: str, name: str) -> types.CodeType:
    """The code of the one function that ``source`` defines, known to debuggers and tracebacks by ``filename``."""
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    made: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), {}, made)
    code: types.CodeType = made[name].__code__
    return code


# -- the generated node ----------------------------------------------------------------------------------------------


def _slot(what: str) -> str:
    """The node's slot for something saved: ``s_other``, ``s_input_shape``."""
    return "s_" + what.replace(".", "_")


def _uses(formula: str, known: set[str]) -> set[str]:
    """Which of the ``known`` names a formula needs, a shape or dtype alone being told from the whole."""
    found: set[str] = set()

    class Visitor(ast.NodeVisitor):
        def visit_Attribute(self, node: ast.Attribute) -> None:
            if isinstance(node.value, ast.Name) and node.value.id in known and node.attr in ("shape", "dtype", "ndim"):
                found.add(f"{node.value.id}.{node.attr}")
            else:
                self.generic_visit(node)

        def visit_Name(self, node: ast.Name) -> None:
            if node.id in known:
                found.add(node.id)

    Visitor().visit(ast.parse(formula, mode="eval"))
    return found


class _Formula(ast.NodeTransformer):
    """A formula as code: ``input.shape`` read from its slot, and ``conj(x)`` as ``x`` where nothing is complex."""

    def __init__(self, known: set[str], is_complex: bool) -> None:
        self.known, self.is_complex = known, is_complex

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and f"{node.value.id}.{node.attr}" in self.known:
            return ast.Name(_slot(f"{node.value.id}.{node.attr}"), ast.Load())
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "conj" and not self.is_complex:
            return node.args[0]
        return node


def _make_node(op: Declaration, flavour: str) -> type[Node]:
    needs = op.saves()
    saved = sorted(set().union(*needs.values())) if needs else []
    tensors = [what for what in saved if what in op.tensors or what == "result"]
    slots = [_slot(what) for what in saved] + ["all_edges"] * op.many_edges + ["count"] * op.many
    members: dict[str, Any] = {
        "__slots__": tuple(slots),
        "__module__": "builtins",  # as PyTorch's print: <AddBackward0 object at 0x...>
        "__doc__": op.body.__doc__,
        "arity": len(op.formulas),
        "inputs": tuple(name for name in op.tensors if name in op.formulas),
        "formulas": {name: op.formulas[name] for name in op.tensors if name in op.formulas},
        "symbol": op.symbol or op.name,
        "saved": tuple(_slot(what) for what in tensors),
    }
    if op.many_edges:
        members["edges"] = lambda self: self.all_edges
    if op.many:
        members["outputs"] = lambda self: self.count
    if flavour == "complex" and not any("conj" in text for text in op.formulas.values()):
        return op.node("real")
    made: type[Node] = type(op.node_name or f"{op.name.title()}Backward0", (Node,), members)
    for graph in (False, True):
        name = "vjp_graph" if graph else "vjp"
        source = "\n".join(_vjp_lines(op, saved, tensors, graph, flavour))
        scope = _vocabulary(op, graph)
        filename = f"<nbautograd {op.name} {name} {flavour}>"
        code = _compiled(source, filename, name)
        setattr(made, name, types.FunctionType(code, scope, name))
    return made


def _vjp_lines(op: Declaration, saved: list[str], tensors: list[str], graph: bool, flavour: str) -> list[str]:
    """The source of ``vjp``: load what was saved, let it go unless it is to be kept, then a line per formula."""
    names = [name for name in op.tensors if name in op.formulas]
    edge = {name: f"n.all_edges[{i}]" if op.many_edges else f"n.f{i}" for i, name in enumerate(names)}
    local = {what: what if "." not in what else _slot(what) for what in saved}
    lines = [f"def {'vjp_graph' if graph else 'vjp'}(n, g, keep):"]
    lines += [f"    {local[what]} = n.{_slot(what)}" for what in saved]
    if tensors:
        lines.append(f"    if {' or '.join(f'{what} is FREED' for what in tensors)}: n.raise_freed()")
    if op.many:
        lines.append("    g = g.take(n.count)")
    if flavour == "half":
        lines.append(f"    g = {'[up(part) for part in g]' if op.many else 'up(g)'}")
    if graph:
        for what in tensors:
            if what in op.lists:
                lines.append(f"    {what} = [wrap_saved(a, f) for a, f in zip({what}, n.all_edges)]")
            elif what == "result" and op.many:
                lines.append("    result = [wrap_output(n, i, a) for i, a in enumerate(result)]")
            else:
                source = "n" if what == "result" else edge.get(what, "None")
                part = f", n.fit and n.fit[{op.tensors.index(what)}]" if op.kind == POINTWISE and what in op.tensors else ""
                lines.append(f"    if {what} is not None: {what} = wrap_saved({what}, {source}{part})")
    if flavour == "half":
        for what in tensors:
            many = what in op.lists or (what == "result" and op.many)
            lines.append(f"    {what} = {f'[up(part) for part in {what}]' if many else f'up({what})'}")
    transform = _Formula(set(saved), flavour == "complex")
    for i, name in enumerate(names):
        text = ast.unparse(transform.visit(ast.parse(op.formulas[name], mode="eval")))
        guard = f"None if {edge[name]} is None else " if len(names) > 1 and not op.lists else ""
        lines.append(f"    d{i} = {guard}{text}")
    if op.kind == POINTWISE or flavour == "half":
        lines.append("    if n.fit is not None:")
        for i, name in enumerate(names):
            part = f"n.fit[{op.tensors.index(name)}]"
            lines.append(f"        if d{i} is not None and {part} is not None: d{i} = fit(d{i}, *{part})")
    if tensors:  # at the end, so that a formula that raises leaves everything for another try
        lines.append(f"    if not keep: {' = '.join(f'n.{_slot(what)}' for what in tensors)} = FREED")
    if op.lists:
        lists = [f"*d{i}" if name in op.lists else f"d{i}" for i, name in enumerate(names)]
        lines.append(f"    return MANY, [{', '.join(lists)}]")
    elif op.many_edges:
        lines.append(f"    return MANY, [{', '.join(f'd{i}' for i in range(len(names)))}]")
    else:
        lines.append(f"    return {', '.join([*(f'd{i}' for i in range(len(names))), 'None'][:2])}")
    return lines


def _vocabulary(op: Declaration, graph: bool) -> dict[str, Any]:
    """What names mean in a formula: an operation's body over arrays, the operation itself over tensors."""
    scope: dict[str, Any] = dict(op.body.__globals__)
    for name, other in OPS.items():
        scope[name] = other.function if graph else other.body
    scope.update(wrap=wrap, wrap_saved=_wrap_saved, wrap_output=_wrap_output, fit=_fit, FREED=FREED, MANY=MANY)
    scope["up"] = _up_graph if graph else _up
    return scope


def _wrap_saved(saved: Any, edge: Any, fit: Any = None) -> Any:
    """A saved value as the tensor that it was, in its own dtype; a number in the place of a tensor stays a number."""
    if isinstance(saved, (int, float, complex)) and not isinstance(saved, np.generic):
        return saved
    if fit is not None and saved.dtype != fit[1]:  # it was saved promoted; its gradient is wanted as it was
        saved = (saved.real if saved.dtype.kind == "c" and fit[1].kind != "c" else saved).astype(fit[1])
    t = wrap(saved, edge)
    if detour.restore is not None:
        detour.restore(t)
    return t


def _wrap_output(node: Node, index: int, saved: Any) -> Tensor:
    """One of several results as the tensor that it was."""
    t: Tensor = _wrap_saved(saved, Port(node, index) if saved.dtype.kind in dtypes.INEXACT else None)
    return t


# -- what generated code calls ---------------------------------------------------------------------------------------

_constants: dict[Any, Any] = {}


def _number(value: Any, cls: type, array: Any) -> Any:
    """A Python number as a cached 0-d array, or scalar, of the other operand's dtype; None if that needs promotion."""
    if value.__class__ is not float and value.__class__ is not int:
        return None
    key = (value, array.dtype.char if cls is np.ndarray else cls)
    found = _constants.get(key)
    if found is None:
        dtype = array.dtype
        if (dtype is not _F32 and dtype is not _F64) or (cls is not np.ndarray and not isinstance(array, np.generic)):
            return None
        with backend.quiet():
            found = np.asarray(value, dtype) if cls is np.ndarray else dtype.type(value)
        if value and value == value:  # not 0.0, which equals -0.0, nor nan, which equals nothing
            if len(_constants) > 1000:
                _constants.clear()
            _constants[key] = found
    return found


def _broadcast(*arrays: Any) -> tuple[Any, ...] | None:
    """For arrays of unlike shapes, the (shape, dtype, device) to which each one's gradient is brought back, or None.

    A device of None is the gradient's own.
    """
    shape: tuple[int, ...] = arrays[0].shape
    for i, other in enumerate(arrays[1:], 1):
        shape = _broadcast_shapes(shape, other.shape, i)
    fits = tuple((a.shape, a.dtype, None) if a.shape != shape else None for a in arrays)
    return fits if any(fits) else None


def _broadcast_shapes(a: tuple[int, ...], b: tuple[int, ...], position: int = 1) -> tuple[int, ...]:
    """The shape that both broadcast to.

    :raises ShapeError: they do not broadcast.
    """
    n = max(len(a), len(b))
    left, right = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    shape = []
    for d, (m, k) in enumerate(zip(left, right, strict=True)):
        if m != k and m != 1 and k != 1:
            raise ShapeError(
                f"The size of tensor a ({m}) must match the size of tensor b ({k}) at non-singleton dimension {d} "
                f"(their shapes are {list(a)} and {list(b)})"
            )
        shape.append(k if m == 1 else m)
    return tuple(shape)


def _promote(op: Declaration, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arrays of ``values`` in one dtype on one device; how to undo that for gradients; and the node's class."""
    arrays: list[Any] = []
    kinds: list[tuple[dtypes.dtype, int]] = []
    place = None
    for name, value in zip(op.tensors, values, strict=True):
        if isinstance(value, np.ndarray):
            value = wrap(value)
        if isinstance(value, Tensor):
            a = value._a
            if name not in op.masks:
                kinds.append((dtypes.of(a.dtype), 2 if a.ndim else 1))
            if place is None or a.ndim and not place[1]:
                place = (backend.device_of(a), bool(a.ndim))
        else:
            a = value
            kinds.append((dtypes.of_number(value), 0))
        arrays.append(a)
    if place is None:
        raise TypeError("at least one argument must be a Tensor")
    result = dtypes.result_dtype(kinds)
    if "bifc"[result.rank] not in op.accepts:
        raise UnsupportedDtypeError(op.name, result, op.accepts)
    if op.floating and result.rank < 2:
        result = dtypes.get_default_dtype()
    if result in dtypes.HALVES and op.half_is != KEPT:
        if op.half_is == REFUSED:
            raise UnsupportedDtypeError(op.name, result, op.accepts)
        raise Halved
    cast = [
        _cast(op, a, isinstance(v, (Tensor, np.ndarray)), a.dtype if name in op.masks else result.numpy, place[0])
        for name, a, v in zip(op.tensors, arrays, values, strict=True)
    ]
    fit: list[Any] = list(_broadcast(*cast) or [None] * len(cast))
    for i, a in enumerate(arrays):
        if isinstance(values[i], Tensor):
            home = backend.device_of(a)
            if a.dtype != result.numpy or fit[i] is not None or home != place[0]:
                fit[i] = (a.shape, a.dtype, None if home == place[0] else home)
    node = None
    if op.formulas:
        node = op.node("complex" if result.is_complex else "real")
    return (*cast, tuple(fit) if any(fit) else None, node)


class Halved(Exception):  # noqa: N818 - no error, but the way out of the fast path
    """The inputs are of half precision."""


def _promote_half(op: Declaration, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arrays in float32, then as they are to be saved; how to undo that for gradients; and the result's dtype."""
    operands = [value for name, value in zip(op.tensors, values, strict=True) if name not in op.masks]
    result = dtypes.result_dtype(
        [(v.dtype, 2 if v._a.ndim else 1) if isinstance(v, Tensor) else (dtypes.of_number(v), 0) for v in operands]
    )
    wide = tuple(wrap(_up(value._a)) if isinstance(value, Tensor) else value for value in values)
    *cast, _, _ = _promote(op, wide)
    kept = [
        value._a if isinstance(value, Tensor) and value._a.dtype == result.numpy else a
        for value, a in zip(values, cast, strict=True)
    ]
    fit = tuple((value._a.shape, value._a.dtype, None) if isinstance(value, Tensor) else None for value in values)
    return (*cast, *kept, fit, result.numpy)


def _widen_all(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arrays in float32 where they are of half precision; how to undo that for gradients; what to round to."""
    kinds = {a.dtype for a in arrays if hasattr(a, "dtype") and a.dtype.kind in dtypes.INEXACT}
    fit = tuple((a.shape, a.dtype, None) if hasattr(a, "dtype") else None for a in arrays)
    return (*map(_up, arrays), fit, kinds.pop() if len(kinds) == 1 else _F32)


def _up(a: Any) -> Any:
    """An array in float32 if it is of half precision."""
    half = hasattr(a, "dtype") and a.dtype.itemsize == 2 and a.dtype.kind in "fV"
    return a.astype(_F32) if half else a


def _up_graph(t: Any) -> Any:
    """The same for a tensor, recorded."""
    return OPS["cast"].function(t, _F32) if isinstance(t, Tensor) and t.dtype in dtypes.HALVES else t


def _narrow(a: Any, dtype: np.dtype[Any]) -> Any:
    """A float32 result rounded to half precision."""
    return a.astype(dtype) if a.dtype == _F32 else a


def _cast(op: Declaration, a: Any, is_tensor: bool, dtype: np.dtype[Any], place: Any) -> Any:
    if not is_tensor:
        return backend.module(place).asarray(np.array(a).astype(dtype))
    if backend.device_of(a) != place:
        if a.ndim:
            raise DeviceError(
                f"{op.name}(): Expected all tensors to be on the same device, but found at least two devices, "
                f"{place} and {backend.device_of(a)}!"
            )
        a = backend.module(place).asarray(backend.fetch(a))
    return a if a.dtype == dtype else a.astype(dtype)


def _check_devices(op: Declaration, arrays: tuple[Any, ...]) -> None:
    """Make sure that arrays of unlike classes are not of unlike devices (a scalar is no array, but on the CPU too)."""
    places = {backend.device_of(a) for a in arrays if a is not None and hasattr(a, "dtype")}
    if len(places) > 1:
        raise DeviceError(
            f"{op.name}(): Expected all tensors to be on the same device, but found at least two devices, "
            f"{' and '.join(sorted(map(str, places)))}!"
        )


def _fit(g: Any, shape: tuple[int, ...], dtype: np.dtype[Any], home: Any) -> Any:
    """A gradient brought back to the shape, dtype and device of its input."""
    graph = isinstance(g, Tensor)
    if g.shape != shape:
        g = OPS["sum_to"].function(g, shape) if graph else OPS["sum_to"].body(g, shape)
    have = g._a.dtype if graph else g.dtype
    if have != dtype:
        if have.kind == "c" and dtype.kind != "c":
            g = OPS["real"].function(g) if graph else g.real
        g = OPS["cast"].function(g, dtype) if graph else g.astype(dtype)
    if home is not None:
        move, away = OPS["move"], backend.device_of(g._a if graph else g)
        g = move.function(g, dtype, home, away) if graph else move.body(g, dtype, home, away)
    return g


def _edge(t: Any) -> Any:
    """The edge to a tensor."""
    return t if t._fn is LEAF else t._fn


def _into(op: Declaration, out: Any, *args: Any, **kwargs: Any) -> Any:
    return inplace.resize_into(out, op.function(*args, **kwargs), op.name)


def _refuse(op: Declaration, values: tuple[Any, ...]) -> NoReturn:
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
                    f"not {type(item).__name__}"
                ) from None
    if not any(isinstance(value, Tensor) for value in values) and op.kind == POINTWISE:
        raise TypeError(
            f"{op.name}(): argument '{op.tensors[0]}' (position 1) must be Tensor, not {type(values[0]).__name__}"
        ) from None
    raise


def _decline(op: Declaration, values: tuple[Any, ...]) -> Any:
    """For operators: let Python try the other operand's method, and say so itself if there is none."""
    if all(isinstance(value, (Tensor, int, float, complex, np.ndarray)) for value in values):
        raise
    return NotImplemented


_RUNTIME = {
    "F32": _F32,
    "F64": _F64,
    "Halved": Halved,
    "INEXACT": dtypes.INEXACT,
    "LEAF": LEAF,
    "Port": Port,
    "SILENT": backend.SILENT,
    "Tensor": Tensor,
    "broadcast": _broadcast,
    "check_devices": _check_devices,
    "edge": _edge,
    "float32": np.float32,
    "float64": np.float64,
    "into": _into,
    "is_grad_enabled": is_grad_enabled,
    "link": inplace.link,
    "narrow": _narrow,
    "ndarray": np.ndarray,
    "new": new,
    "note": tracing.note,
    "number": _number,
    "pick": inplace.Part,
    "promote": _promote,
    "promote_half": _promote_half,
    "set_quiet": backend.set_quiet,
    "sizes": sizes,
    "tick": tick,
    "unset_quiet": backend.unset_quiet,
    "widen_all": _widen_all,
}


def _switch_tracing(on: bool) -> None:
    for declaration in OPS.values():
        declaration.use_code(on)


tracing.on_switch(_switch_tracing)
detour.on_switch(lambda: _switch_tracing(tracing.is_on()))
