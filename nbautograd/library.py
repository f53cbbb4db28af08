"""Custom operations, and the code generated for any operation: the public home of ``@op`` and ``@composite``.

``@op`` declares an operation by a body over arrays and a formula per input; ``@composite`` a function composed of
operations; ``@derivative_helper`` a function that formulas call. ``docs/add_an_operation.md`` is the guide, and
``source`` shows the code made from a declaration. ``custom_op``, ``Library`` and its registrations are PyTorch's.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable
from types import CodeType
from typing import Any

from nbautograd._compat.custom_ops import (
    CustomOpDef,
    Library,
    custom_op,
    define,
    fallthrough_kernel,
    impl,
    impl_abstract,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)
from nbautograd._compat.op_schema import infer_schema
from nbautograd._engine.compiler.cuda_listing import cuda_listing
from nbautograd._engine.compiler.forward import OPERATOR
from nbautograd._engine.compiler.inplace import OUT_OF_PLACE, compile_method
from nbautograd._engine.compiler.op import CompiledOp, alias, composite, derivative_helper, op
from nbautograd._engine.compiler.schema import (
    COMPOSITES,
    NATIVE,
    OPS,
    PLAIN,
    POINTWISE,
    TILED,
    UNSUPPORTED,
    UPCAST,
    VIEW,
)
from nbautograd._engine.core.tensor import Tensor

__all__ = [
    "KINDS", "NATIVE", "PLAIN", "POINTWISE", "UNSUPPORTED", "UPCAST", "VIEW", "CustomOpDef", "Library", "alias",
    "composite", "custom_op", "define", "derivative_helper", "fallthrough_kernel", "impl", "impl_abstract",
    "infer_schema", "op", "register_autograd", "register_fake", "register_kernel", "register_vmap", "source",
]  # fmt: skip

KINDS = {
    "forward": "the function over tensors",
    "operator": "its variant for special methods, such as x * y",
    "inplace": "the method that writes in place, such as x.mul_(y)",
    "half": "its variant for float16 and bfloat16",
    "traced": "its variant while operations are traced for pictures",
    "backward": "the gradients over arrays",
    "double_backward": "the gradients over tensors, recorded: create_graph=True",
    "tiled": "the gradients of large arrays, tile by tile",
    "cuda": "the kernels of a CUDA device, in CUDA C++, for float32",
}
"""The kinds of code that ``source`` shows."""


def source(function: Callable[..., Any] | str, kind: str = "forward") -> str:
    """Return the source code that was generated for an operation, as shown by debuggers and tracebacks.

    :param function: an operation such as ``torch.mul`` or ``torch.Tensor.mul``, or its name; for a composite function,
        the source is that in its file.
    :param kind: one of ``KINDS``.
    :raises ValueError: the operation does not exist, or has no code of that kind.

    >>> import nbautograd as torch
    >>> source(torch.neg, "backward").splitlines()[0]
    'def vjp(node, g, retain_graph, needed):'
    """
    if kind not in KINDS:
        raise ValueError(f"source(): kind must be one of {', '.join(KINDS)}, got {kind!r}")
    declared = _declaration(function)
    if declared is None:
        composed = COMPOSITES.get(function) if isinstance(function, str) else function
        if not callable(composed):
            raise ValueError(f"source(): the operation {function!r} does not exist")
        if kind == "forward":
            return inspect.getsource(inspect.unwrap(composed))
        name = getattr(composed, "__name__", composed)
        raise ValueError(f"source(): {name} is composed of other operations and has no {kind} code")
    listing = cuda_listing(declared) if kind == "cuda" else None
    code = None if kind == "cuda" else _generated(declared, kind)
    if listing is None and code is None:
        raise ValueError(f"source(): {declared.name} has no {kind} code: {KINDS[kind]}")
    return "".join(linecache.getlines(code.co_filename)) if code is not None else f"{listing}\n"


def _generated(declared: CompiledOp, kind: str) -> CodeType | None:
    """Return the code of a kind; None if the operation has none."""
    if kind in ("forward", "traced"):
        return declared._code(kind == "traced", "")
    if kind == "operator":
        return None if declared.operator is None else declared._code(False, OPERATOR)
    if kind == "half":
        code: CodeType = declared._other("half").__code__
        return None if declared.half_policy != UPCAST else code
    if kind == "inplace":
        method = getattr(Tensor, declared.name + "_", None)
        if getattr(method, "__globals__", {}).get("OP") is not declared:
            return None
        code = compile_method(method, declared).__code__
        return None if code is OUT_OF_PLACE else code
    if not declared.formulas or kind == "tiled" and declared.kind != POINTWISE:
        return None
    variants = {"backward": ("real", "vjp"), "double_backward": ("real", "vjp_graph"), "tiled": (TILED, "vjp")}
    variant, name = variants[kind]
    vjp = getattr(declared.node(variant), name)
    code = getattr(vjp, "compile", lambda: vjp)().__code__
    return code


def _declaration(function: Any) -> CompiledOp | None:
    """Return the declaration of a function."""
    declared = OPS.get(function) if isinstance(function, str) else getattr(function, "__globals__", {}).get("OP")
    return declared if isinstance(declared, CompiledOp) else None
