"""Generation of methods with a trailing underscore: straight-line code for ``x.sub_(y)``, from its declaration.

A method of an elementwise operation computes directly into the tensor's array if nothing records it, all operands are
of one real floating dtype, and there are no observers. Otherwise it computes a new tensor and writes that (in
``core/inplace.py``).
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.compiler.elementwise import indented, write_into
from nbautograd._engine.compiler.expressions import specialized
from nbautograd._engine.compiler.forward import FORMER
from nbautograd._engine.compiler.runtime import INPLACE
from nbautograd._engine.compiler.schema import OpSchema, array_name
from nbautograd._engine.compiler.source import compiled, expression_of
from nbautograd._engine.core.dispatch_mode import exchange_of
from nbautograd._engine.core.inplace import out_rules
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import DtypeError


def make_inplace_method(name: str, function: Callable[..., Tensor], op: OpSchema | None = None) -> Any:
    """Return the method ``name`` that writes the result of ``function`` into its tensor.

    :param op: the declaration of ``function`` if it may compute directly into the tensor.
    """
    code = OUT_OF_PLACE if op is None or "f" not in op.accepts else _first_call.__code__
    scope = {"__name__": function.__module__, "__builtins__": __builtins__}
    method: Any = types.FunctionType(code, scope, name)
    method.__qualname__ = name  # which Python names in errors of its arguments
    scope.update(INPLACE, COMPILE=compile_method, OP=op, METHOD=method, NAME=name, FUNCTION=function)
    method.__doc__ = f"In-place version of ``{name[:-1]}``: writes the result into this tensor and returns it."
    method.__module__ = __name__
    if op is not None:
        method.__wrapped__ = op.body  # for help() and inspect.signature(), before and after the first call
    return method


def scan_in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a scan, for its in-place method, that computes in its tensor's dtype; it raises for another ``dtype=``."""

    def scanned(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        dtype = dtypes.as_dtype(kwargs.pop("dtype", None)) or input.dtype
        if dtype is not input.dtype:
            raise DtypeError(f"Bad in-place call: {input.dtype!r} of the tensor and dtype={dtype!r} should match")
        dtype = out_rules().of_result(function.__name__, dtype, input)
        return function(input, *args, **kwargs, dtype=dtype)

    return scanned


def _out_of_place(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Run methods that always compute a new tensor first; the names in capitals are their own globals."""
    return apply_inplace(input, NAME, FUNCTION, args, kwargs)  # type: ignore[name-defined, no-any-return]  # noqa: F821


OUT_OF_PLACE = _out_of_place.__code__


def _first_call(*args: Any, **kwargs: Any) -> Tensor:
    """Compile the other methods on their first call."""
    return COMPILE(METHOD, OP)(*args, **kwargs)  # type: ignore[name-defined, no-any-return]  # noqa: F821


def compile_method(method: Any, op: OpSchema) -> Any:
    """Replace the stub's code by the compiled code of this operation; return the function that runs it."""
    arrays = {name: array_name(name) for name in op.tensors}
    if op.into is not None:
        computing: list[str] | None = [ast.unparse(specialized(ast.parse(op.into), arrays))]
    else:
        tree = expression_of(op.body)
        computing = None if tree is None else write_into(specialized(tree, arrays), arrays[op.tensors[0]])
    if computing is None:
        return exchange_of(method).renew(OUT_OF_PLACE)
    source = "\n".join(_lines(op, computing))
    method.__globals__.update({**op.body.__globals__, **method.__globals__})
    # A concurrent call from another thread finds the former code, which does not use defaults.
    defaults = (*(op.body.__defaults__ or ()), *(...,) * len(op.former))
    code = compiled(source, f"<nbautograd {method.__name__}>", method.__name__)
    return exchange_of(method).renew(code, defaults or None, op.body.__kwdefaults__)


def _lines(op: OpSchema, computing: list[str]) -> list[str]:
    """Return the whole method, around the lines that compute into the tensor's own array."""
    name, (first, *others) = op.name + "_", op.tensors
    target = array_name(first)
    required = len(op.positional) - len(op.body.__defaults__ or ())
    former = FORMER[: len(op.former)]
    parts = [*op.positional[:required], *(f"{option}=None" for option in (*op.positional[required:], *former))]
    parts += ["*", *(f"{option}=None" for option in op.keywords)] if op.keywords else []
    arguments = "".join(f"{name}, " for name in op.positional[1:])
    keywords = ", ".join(f"{option!r}: {option}" for option in op.keywords)
    otherwise = f"return apply_inplace({first}, NAME, FUNCTION, ({arguments}), {{{keywords}}})"
    body = [
        f"if inferred or 0 in {target}.strides or {first}._view is not None: check_writable({first}, NAME)",
        *computing,
        f"if {first}._view is None and {first}._views is None: record_write({target}); return {first}",
        f"record_unrecorded_write({first}); return {first}",
    ]
    for other in reversed(others):
        array = array_name(other)
        number = f"{array} = number_like({other}, {first}_class, {target}); alike = {array}.__class__ is {first}_class"
        body = [
            f"if isinstance({other}, Tensor):",
            f"    try: {array} = {other}._a",
            f"    except AttributeError: {otherwise}",
            f"    {other}_class = {array}.__class__",
            f"    alike = {other}_class is {first}_class",
            f"    if not alike and {first}_class is ndarray:",
            f"        alike = {other}_class is float32 or {other}_class is float64",
            f"    alike = alike and {array}.dtype is dtype_of_all",
            f"    alike = alike and ({other}._fn is None or not is_grad_enabled())",
            f"    if alike and ({array}.base is not None or {target}.base is not None):",
            f"        check_operand({first}, {other}, NAME)",
            f"    if alike and {array}.shape != {target}.shape:",
            f"        alike = broadcasts_to({array}.shape, {target}.shape)",
            f"else: {number if other in op.numbers else 'alike = False'}",
            "if alike:",
            *indented(body),
        ]
    options = [option for option in (*op.positional, *op.keywords) if option not in op.tensors]
    no_tensors = "".join(f" and {_is_no_tensor(op, option)}" for option in options)
    is_array = f"{first}_class is not float32 and {first}_class is not float64"
    in_former_order = f"return call_former(OP, ({', '.join((*op.positional, *former))}), None, METHOD)"
    lines = [
        *[f"if {FORMER[0]} is not ...: {in_former_order}"] * bool(former),
        f"try: {target} = {first}._a; unrecorded = {first}._fn is None or not is_grad_enabled()",
        "except AttributeError: unrecorded = False  # no tensor, as apply_inplace will say",
        "if unrecorded and not followers:",
        f"    {first}_class = {target}.__class__; dtype_of_all = {target}.dtype",
        f"    if (dtype_of_all is F32 or dtype_of_all is F64) and {is_array}{no_tensors}:",
        *indented(indented(body)),
        otherwise,
    ]
    return [f"def {name}({', '.join(parts)}):", *indented(lines)]


def _is_no_tensor(op: OpSchema, option: str) -> str:
    if op.body.__annotations__.get(option) in ("Number", "float"):
        return f"({option}.__class__ is int or {option}.__class__ is float)"
    return f"not isinstance({option}, Tensor)"
