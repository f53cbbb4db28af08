"""The kernels of an operation on a CUDA device, as CUDA C++ for readers; it requires neither CuPy nor a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.compiler.backward import formula_kernels
from nbautograd._engine.compiler.schema import POINTWISE, OpSchema
from nbautograd._engine.fusion.cuda_source import NUMBER, CudaProgram, lower_to_cuda
from nbautograd._engine.fusion.kernel import ElementwiseKernel
from nbautograd._engine.fusion.symbolic import NeedsValue, NotFusable

EXAMPLE_OPTION = 2.0
"""The value of an option without a default, if the code depends on it."""


def cuda_listing(op: OpSchema) -> str | None:
    """Return the kernels of an operation and of its formulas, for float32 (int64 if it takes only integers).

    None if the operation is not elementwise: CuPy's functions compute it.

    >>> import nbautograd
    >>> from nbautograd._engine.compiler.schema import OPS
    >>> print(cuda_listing(OPS["tanh_slope"]).partition("__device__ ")[2].partition("}")[0])
    void tanh_slope(const float slope_in, const float value_in, float &result_out) {
      const float t0 = value_in * value_in;
      const float t1 = 1.0f - t0;
      const float t2 = slope_in * t1;
      result_out = t2;
    <BLANKLINE>
    """
    if op.kind != POINTWISE:
        return None
    dtype = np.dtype(np.float32 if "f" in op.accepts else np.int64)
    parts = [_part(op, "the result", op.name, op.fused, dtype)]
    for what, kernel in formula_kernels(op).items():
        name, _, formula = what.partition(": ")
        if kernel is None:
            parts.append(f"// the gradient of {name}, {formula}: as it is")
        else:
            parts.append(_part(op, f"the gradient of {name}, {formula}", f"{op.name}_{name}_backward", kernel, dtype))
    return "\n\n".join(parts)


def _part(op: OpSchema, what: str, name: str, kernel: ElementwiseKernel, dtype: np.dtype[Any]) -> str:
    """Return one kernel, below a comment that describes it."""
    try:
        program, note = _program(op, kernel, dtype)
    except NotFusable as error:
        return f"// {what}: computed step by step by CuPy's functions ({error})"
    if program.steps < 2:
        note += "; as a single step it is left to CuPy's own kernel"
    return f"// {what}{note}\n{program.listing(name).rstrip()}"


def _program(op: OpSchema, kernel: ElementwiseKernel, dtype: np.dtype[Any]) -> tuple[CudaProgram, str]:
    """Return the program, and the values that its code depends on."""
    defaults = op.option_defaults() or {}
    options = {*op.positional, *op.keywords} - {*op.tensors}
    kinds: dict[str, Any] = {name: np.dtype(np.bool_) if name in op.masks else dtype for name in kernel.names}
    kinds |= {name: defaults.get(name, EXAMPLE_OPTION) for name in kernel.names if name in options}
    numbers = {name: value for name, value in kinds.items() if value.__class__ is float}
    try:
        return lower_to_cuda(kernel.eager, kernel.names, [*(kinds | dict.fromkeys(numbers, NUMBER)).values()]), ""
    except NeedsValue:
        note = ", ".join(f"{name} = {value}" for name, value in numbers.items())
        return lower_to_cuda(kernel.eager, kernel.names, [*kinds.values()]), f", for {note}"
