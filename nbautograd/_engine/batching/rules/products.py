"""Batching rules of matrix and vector products: one product with a batch dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.batching.mode import BatchedCall, Unsuitable, rule
from nbautograd._engine.ops.elementwise.complex import conj
from nbautograd._engine.ops.linalg.matmul import matmul
from nbautograd._engine.ops.shape.shape import unsqueeze
from nbautograd._engine.ops.shape.transpose import transpose


def check_dtypes(call: BatchedCall, first: str, second: str) -> None:
    """Check that two operands have the same dtype: otherwise the operation raises its own error in the loop."""
    if call.values[first]._a.dtype != call.values[second]._a.dtype:
        raise Unsuitable


@rule("mm mm_like bmm", "one product")
def matrices(call: BatchedCall) -> Any:
    """Batch matrix products: the batch dimension is a leading dimension of ``matmul``."""
    check_dtypes(call, "input", "mat2")
    a, b, first, second = call.values["input"], call.values["mat2"], call.shape("input"), call.shape("mat2")
    expected = 3 if call.op.name == "bmm" else 2
    if (len(first), len(second)) != (expected, expected) or first[-1] != second[-2] or first[:-2] != second[:-2]:
        raise Unsuitable
    if not call.batched.get("input") and expected == 2:
        # One matrix times many: transposed, all of them are the rows of a single product.
        return transpose(matmul(transpose(b, -1, -2), transpose(a, -1, -2)), -1, -2)
    return matmul(a, b)


@rule("mv", "one product")
def matrix_vector(call: BatchedCall) -> Any:
    """Batch matrix-vector products: batched vectors are the columns of a matrix."""
    check_dtypes(call, "input", "vec")
    a, v = call.values["input"], call.values["vec"]
    if call.ndim("input") != 2 or call.ndim("vec") != 1 or call.shape("input")[1] != call.shape("vec")[0]:
        raise Unsuitable
    if not call.batched.get("input"):
        return matmul(v, transpose(a, 0, 1))
    return matmul(a, unsqueeze(v, 2)).squeeze(2) if call.batched.get("vec") else matmul(a, v)


@rule("dot vdot", "one product")
def vectors(call: BatchedCall) -> Any:
    """Batch dot products: row vectors times column vectors."""
    first, second = call.op.tensors
    check_dtypes(call, first, second)
    if call.ndim(first) != 1 or call.shape(first) != call.shape(second):
        raise Unsuitable
    a, b = call.values[first], call.values[second]
    if call.op.name == "vdot":
        a = conj(a)
    if not call.batched.get(second):
        return matmul(a, b)
    if not call.batched.get(first):
        return matmul(b, a)
    return matmul(unsqueeze(a, 1), unsqueeze(b, 2)).squeeze(2).squeeze(1)


@rule("outer_product", "one product")
def outer(call: BatchedCall) -> Any:
    """Batch outer products: elementwise, with a new dimension in each operand."""
    return unsqueeze(call.full("input"), 2) * unsqueeze(call.full("vec2"), 1)


@rule("addmm addmv addbmm baddbmm addr_same", "one product")
def added(call: BatchedCall) -> Any:
    """Batch ``beta * input + alpha * product``; with ``beta=0`` the input is ignored, even if it is not finite."""
    _, first, second = call.op.tensors
    a, b = (call.as_sample(name) for name in (first, second))
    addend, beta, alpha = call.as_sample("input"), call.values["beta"], call.values["alpha"]
    if {a._a.dtype, b._a.dtype, addend._a.dtype} != {a._a.dtype} or a._a.dtype.kind not in "fc":
        raise Unsuitable
    result = unsqueeze(a, 1) * unsqueeze(b, 0) if call.op.name == "addr_same" else matmul(a, b)
    if call.op.name == "addbmm":
        result = result.sum(0)
    result = result if alpha == 1 else result * alpha
    if beta == 0:
        result = result.expand(*np.broadcast_shapes(result._a.shape, addend._a.shape))
    else:
        result = result + (addend if beta == 1 else addend * beta)
    return call.from_sample(result)
