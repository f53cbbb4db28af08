"""Writes the methods with a trailing underscore: straight-line code for ``x.sub_(y)``, from what is declared of it.

A method of an elementwise operation computes straight into the tensor's array where nothing records it, all operands
are of one real floating dtype, and nobody watches. Everything else goes through ``inplace.update``, which computes a
new tensor and writes that. As with the plain functions (see ``compiler/op.py``), the code is written at the first call.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from nbautograd.arrays import backend, version_counter
from nbautograd.compiler.promotion import F32, F64, broadcast_shapes, number
from nbautograd.compiler.rewrite import UFUNCS, elementwise
from nbautograd.compiler.source import compiled, expression_of
from nbautograd.core import inplace
from nbautograd.core.grad_mode import is_grad_enabled
from nbautograd.core.tensor import Tensor

if TYPE_CHECKING:
    from nbautograd.compiler.op import CompiledOp

__all__ = ["writing_method"]

_KEYWORD = ("np.maximum", "np.minimum")
"""Ufuncs that want ``out`` by its name; others are faster without."""
_SILENT = ("times",)
"""Functions that keep NumPy from warning themselves."""


def writing_method(name: str, function: Callable[..., Tensor], op: CompiledOp | None = None) -> Any:
    """The method ``name`` that writes the result of ``function`` into its tensor.

    :param op: the declaration of ``function`` if it may compute straight into the tensor.
    """
    code = _through_update.__code__ if op is None or "f" not in op.accepts else _first_call.__code__
    scope = {"__name__": function.__module__, "__builtins__": __builtins__}
    method: Any = types.FunctionType(code, scope, name)
    scope.update(_RUNTIME, OP=op, METHOD=method, NAME=name, FUNCTION=function)
    method.__doc__ = f"In-place version of ``{name[:-1]}``: writes the result into this tensor and returns it."
    method.__module__ = __name__
    if op is not None:
        method.__wrapped__ = op.body  # for help() and inspect.signature(), before the first call and after it
    return method


def _through_update(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The code of methods that always compute a new tensor first; the names in capitals are globals of their own."""
    return update(self, NAME, FUNCTION, args, kwargs)  # type: ignore[name-defined, no-any-return]  # noqa: F821


def _first_call(*args: Any, **kwargs: Any) -> Tensor:
    """The code of the others, until they are first called."""
    WRITE(METHOD, OP)  # type: ignore[name-defined]  # noqa: F821
    return METHOD(*args, **kwargs)  # type: ignore[name-defined, no-any-return]  # noqa: F821


def _write(method: Any, op: CompiledOp) -> None:
    """Exchange the code of ``method`` for the code of this very operation."""
    arrays = _Arrays(op.tensors)
    if op.into is not None:
        computing: list[str] | None = [ast.unparse(arrays.visit(ast.parse(op.into)))]
    else:
        tree = expression_of(op.body)
        computing = None if tree is None else _computing(arrays.visit(tree))
    if computing is None:
        method.__code__ = _through_update.__code__
        return
    source = "\n".join(_lines(op, computing))
    method.__globals__.update({**op.body.__globals__, **method.__globals__})
    # A call from another thread in between finds the former code, which has no use for defaults.
    method.__defaults__, method.__kwdefaults__ = op.body.__defaults__, op.body.__kwdefaults__
    method.__code__ = compiled(source, f"<nbautograd {method.__name__}>", method.__name__)


def _lines(op: CompiledOp, computing: list[str]) -> list[str]:
    """The whole method; ``a0`` is the array that is written to, ``a1`` and so on are the others."""
    name, (first, *others) = op.name + "_", op.tensors
    optional = len(op.body.__defaults__ or ())
    required = len(op.positional) - optional
    parts = [*op.positional[:required], *(f"{option}=None" for option in op.positional[required:])]
    parts += ["*", *(f"{option}=None" for option in op.keywords)] if op.keywords else []
    options = [option for option in (*op.positional, *op.keywords) if option not in op.tensors]
    given = "".join(f"{name}, " for name in op.positional[1:])
    keywords = ", ".join(f"{option!r}: {option}" for option in op.keywords)
    no = "fits = False"
    body = [
        f"if inferred or 0 in a0.strides or {first}._view is not None: check_writable({first}, NAME)",
        *computing,
        f"record_write(a0); return {first}",
    ]
    for i, other in reversed(list(enumerate(others, 1))):
        body = [
            f"if isinstance({other}, Tensor):",
            f"    a{i} = {other}._a; c{i} = a{i}.__class__",
            f"    fits = (c{i} is c or c is ndarray and (c{i} is float32 or c{i} is float64)) and a{i}.dtype is d",
            f"    fits = fits and ({other}._fn is None or not is_grad_enabled())",
            f"    fits = fits and (a{i}.shape == a0.shape or broadcast_shapes(a0.shape, a{i}.shape) == a0.shape)",
            f"else: {f'a{i} = number({other}, c, a0); fits = a{i}.__class__ is c' if other in op.numbers else no}",
            "if fits:",
            *(f"    {line}" for line in body),
        ]
    plain = "".join(f" and not isinstance({option}, Tensor)" for option in options)
    return [
        f"def {name}({', '.join(parts)}):",
        f"    try: a0 = {first}._a; free = {first}._fn is None or not is_grad_enabled()",
        "    except AttributeError: free = False  # no tensor, as update will say",
        "    if free and not followers and not preparers:",
        "        c = a0.__class__; d = a0.dtype",
        f"        if (d is F32 or d is F64) and c is not float32 and c is not float64{plain}:",
        *(f"            {line}" for line in body),
        f"    return update({first}, NAME, FUNCTION, ({given}), {{{keywords}}})",
    ]


class _Arrays(ast.NodeTransformer):
    """The operands' names exchanged for those of their arrays."""

    def __init__(self, tensors: list[str]) -> None:
        self.names = {name: f"a{i}" for i, name in enumerate(tensors)}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


def _computing(tree: ast.expr) -> list[str] | None:
    """Lines that compute an expression whose last step is a ufunc, into ``a0``; None for any other."""
    if isinstance(tree, ast.IfExp):
        body, orelse = _computing(tree.body), _computing(tree.orelse)
        if body is None or orelse is None:
            return None
        indented = [[f"    {line}" for line in lines] for lines in (body, orelse)]
        return [f"if {ast.unparse(tree.test)}:", *indented[0], "else:", *indented[1]]
    given: list[ast.expr]
    if isinstance(tree, ast.BinOp) and type(tree.op) in UFUNCS:
        ufunc, given = f"np.{UFUNCS[type(tree.op)]}", [tree.left, tree.right]
    elif isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        ufunc, given = "np.negative", [tree.operand]
    elif isinstance(tree, ast.Call) and not tree.keywords and elementwise(tree.func) is not None:
        ufunc, given = ast.unparse(tree.func), tree.args
        made = elementwise(tree.func)
        if made.nin != len(given) or made.nout != 1:
            return None
    else:
        return None
    operands = ", ".join([*map(ast.unparse, given), "out=a0" if ufunc in _KEYWORD else "a0"])
    if ufunc.startswith("np.") and all(map(_is_quiet, given)):
        return [f"try: quietly({ufunc}, {operands})", f"except RuntimeError: run_quietly({ufunc}, {operands})"]
    return ["q = set_quiet(SILENT)", f"try: {ufunc}({operands})", "finally: unset_quiet(q)"]


def _is_quiet(part: ast.expr) -> bool:
    """Whether computing an operand cannot make NumPy warn."""
    return isinstance(part, (ast.Name, ast.Constant)) or (
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in _SILENT
    )


_RUNTIME = {
    "F32": F32,
    "F64": F64,
    "SILENT": backend.SILENT,
    "Tensor": Tensor,
    "WRITE": _write,
    "broadcast_shapes": broadcast_shapes,
    "check_writable": inplace.check_writable,
    "float32": np.float32,
    "float64": np.float64,
    "followers": inplace.followers,
    "inferred": version_counter.inferred,
    "is_grad_enabled": is_grad_enabled,
    "ndarray": np.ndarray,
    "np": np,
    "number": number,
    "preparers": inplace.preparers,
    "quietly": backend.quietly.run,
    "record_write": version_counter.record_write,
    "run_quietly": backend.run_quietly,
    "set_quiet": backend.set_quiet,
    "unset_quiet": backend.unset_quiet,
    "update": inplace.update,
}
