"""The names that generated code uses: one table for functions and one for in-place methods."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, version_counter
from nbautograd._engine.arrays.size import by_name, sizes
from nbautograd._engine.arrays.version_counter import next_sequence_nr
from nbautograd._engine.compiler import argument_errors, promotion
from nbautograd._engine.compiler.elementwise import CONSTANTS
from nbautograd._engine.compiler.lowering import compile_kernel
from nbautograd._engine.compiler.schema import POINTWISE, OpSchema, array_name
from nbautograd._engine.core import dispatch_mode, inplace, overlap, tracing, views
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.node import LEAF, OutputEdge
from nbautograd._engine.core.tensor import Tensor, new
from nbautograd._engine.fusion import tiling
from nbautograd.errors import CAUGHT


def _edge_of(t: Any) -> Any:
    """Return the edge to a tensor: itself if it is a leaf, else its node."""
    return t if t._fn is LEAF else t._fn


def _call_former(op: OpSchema, args: tuple[Any, ...], out: Any = None, method: Any = None) -> Any:
    from nbautograd._engine.compiler.argument_kinds import call_former

    return call_former(op, args, out, method)


def _one_of(dim: Any, axis: Any, op: OpSchema, name: str) -> Any:
    if dim is op.defaults.get(name):
        return axis
    raise TypeError(f"{argument_errors.public_name(op)}() got multiple values for argument {name!r}")


def _write_into_out(op: OpSchema, out: Any, *args: Any, **kwargs: Any) -> Any:
    result = inplace.out_rules().computed(op.name, out, op.function, args, kwargs, op.kind == POINTWISE)
    of_complex = op.name == "abs" and args[0].is_complex()  # whose result is cast
    return inplace.resize_into(out, result, "abs_of_complex" if of_complex else op.name)


def _compute_tiled(op: OpSchema, expression: str | None, *arrays: Any) -> Any:
    """Return the result of an elementwise operation over large arrays; ``expression`` uses generated code's names.

    :param expression: None for the whole body, on a device.
    """
    if expression is None:
        return tiling.compute(op.fused, arrays)
    kernel = op.kernels.get(expression)
    if kernel is None:
        names = [array_name(name) for name in op.tensors]
        kernel = op.kernels[expression] = compile_kernel(expression, names, {**op.body.__globals__, "np": np})
    try:
        return tiling.compute(kernel, arrays)
    except MemoryError as error:
        argument_errors.name_operation(op, error)
        raise


_BOTH = {
    "F32": promotion.F32, "F64": promotion.F64, "SILENT": backend.SILENT, "CAUGHT": CAUGHT, "Tensor": Tensor,
    "float32": np.float32, "float64": np.float64, "is_grad_enabled": is_grad_enabled, "ndarray": np.ndarray, "np": np,
    "number_like": promotion.number_like, "quietly": backend.quietly.run, "run_quietly": backend.run_quietly,
    "get_quiet": backend.get_quiet, "set_quiet": backend.set_quiet,
}  # fmt: skip
FORWARD: dict[str, Any] = {
    **_BOTH, "CONSTANTS": CONSTANTS, "HalfPrecision": promotion.HalfPrecision, "INEXACT": dtypes.INEXACT, "LEAF": LEAF,
    "MIN_TILED_SIZE": tiling.MIN_TILED_SIZE, "OnDevice": promotion.OnDevice, "OutputEdge": OutputEdge,
    "ViewOfOutput": views.ViewOfOutput, "call_former": _call_former, "one_of": _one_of,
    "check_devices": promotion.check_devices, "check_option": argument_errors.check_option,
    "compute_tiled": _compute_tiled, "edge_of": _edge_of, "name_operation": argument_errors.name_operation, "new": new,
    "next_sequence_nr": next_sequence_nr, "not_implemented_or_raise": argument_errors.not_implemented_or_raise,
    "operator_add": operator.add, "operator_mul": operator.mul, "operator_sub": operator.sub,
    "operator_truediv": operator.truediv, "promote": promotion.promote, "promote_half": promotion.promote_half,
    "promote_on_device": promotion.promote_on_device, "refuse_dtype": argument_errors.refuse_dtype,
    "refuse_or_offer": argument_errors.refuse_or_offer, "register_view": views.register_view,
    "round_to": promotion.narrow, "by_name": by_name, "sizes": sizes, "trace_call": tracing.note,
    "unbroadcast_spec": promotion.unbroadcast_spec, "widen_all": promotion.widen_all, "write_into_out": _write_into_out,
}  # fmt: skip
"""Names used by an operation's function, besides ``OP``, ``body``, its other variants and the node classes."""
INPLACE: dict[str, Any] = {
    **_BOTH, "apply_inplace": inplace.apply_inplace, "call_former": _call_former,
    "broadcasts_to": promotion.broadcasts_to, "check_operand": overlap.check_operand,
    "check_writable": inplace.check_writable, "followers": dispatch_mode.followers,
    "inferred": version_counter.inferred, "record_unrecorded_write": views.record_unrecorded_write,
    "record_write": version_counter.record_write,
}  # fmt: skip
"""Names used by an in-place method, besides ``OP``, ``METHOD``, ``NAME`` and ``FUNCTION``."""
