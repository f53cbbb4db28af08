"""Batching rules of elementwise operations, and of operations whose leading dimensions are batch dimensions."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.batching.mode import BatchedCall, Unsuitable, aligned, rule
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.queries import result_type
from nbautograd._engine.ops.shape.shape import reshape, view


@rule("pointwise equal_to", "broadcasting")
def pointwise(call: BatchedCall) -> Any:
    """Batch elementwise operations: insert dimensions of length 1, so that samples broadcast as without a batch."""
    names = [name for name in call.op.tensors if isinstance(call.values.get(name), Tensor)]
    ndim = max(map(call.ndim, names))
    changes = {name: call.full(name, ndim) if call.batched.get(name) else call.values[name] for name in names}
    if len(names) > 1 and call.op.kind == "pointwise":
        changes |= _cast(call, [name for name in names if name not in call.op.masks], changes)
    return call.run(**changes)


@rule("linalg_cross_same", "broadcasting")
def cross(call: BatchedCall) -> Any:
    """Batch cross products: elementwise, except along ``dim``."""
    dim = call.values["dim"]
    return call.run(input=call.full("input"), other=call.full("other"), dim=dim + 1 if dim >= 0 else dim)


def _cast(call: BatchedCall, names: list[str], values: dict[str, Any]) -> dict[str, Any]:
    """Return the operands in the promoted dtype of single samples, where a 0-d tensor has a lower priority."""
    if len({values[name]._a.dtype for name in names}) < 2 or all(map(call.ndim, names)):
        return {}
    kind = None
    for name in sorted(names, key=lambda name: not call.ndim(name)):
        sample = call.as_sample(name)
        kind = sample if kind is None else _common(kind, sample)
    return {} if kind is None else {name: values[name].to(kind.dtype) for name in names}


def _common(a: Tensor, b: Tensor) -> Any:
    """Return the one of two tensors with more dimensions, cast to their promoted dtype."""
    return (a if a._a.ndim >= b._a.ndim else b).detach().to(result_type(a, b))


@rule(
    """triangle_solve solve_same cholesky_solve_same lu_solve_same ldl_solution linalg_householder_product ormqr
    unpack_triple scale_down frames cholesky_parts cholesky svd_parts _svdvals eigh_parts _eigvalsh eig_parts _eigvals
    lu_triple lu_packed qr_parts inv_same adjugate linalg_det slogdet_parts linalg_matrix_exp geqrf_parts ldl_parts
    cholesky_inverse pinv_same tril triu _alias view_as_real view_as_complex real imag complex_of_pairs finite_or_0
    is_zero zero cast cast_back power_or_zero clamped _frexp move first_columns constant_pad reflect_pad1d reflect_pad2d
    reflect_pad3d replicate_pad1d replicate_pad2d replicate_pad3d circular_pad1d circular_pad2d circular_pad3d pad_more
    pixel_shuffle pixel_unshuffle avg_pool2d avg_pool3d adaptive_avg_pool2d adaptive_avg_pool3d max_pool2d_with_indices
    max_pool3d_with_indices adaptive_max_pool2d adaptive_max_pool3d pool_gather position_slope""",
    "leading",
)
def leading(call: BatchedCall) -> Any:
    """Batch operations whose leading dimensions are batch dimensions; expand arguments that are not batched."""
    names = [name for name in call.op.tensors if isinstance(call.values[name], Tensor)]
    if len(names) == 1 or call.op.name not in BROADCASTING:
        return call.run(**{name: call.full(name) for name in names})
    ndim = max(call.ndim(name) + (name == "pivots") for name in names)
    return call.run(**{name: call.full(name, ndim - (name == "pivots")) for name in names})


BROADCASTING = ("triangle_solve", "solve_same", "cholesky_solve_same", "lu_solve_same", "ldl_solution")
"""Operations whose leading dimensions broadcast, so that the batch dimension must be aligned."""


@rule("eye_of", "leading")
def eye_of(call: BatchedCall) -> Any:
    """Return one identity matrix for all samples."""
    return aligned(call.run(), False, call.size)


@rule("view_dtype", "leading")
def view_dtype(call: BatchedCall) -> Any:
    """Batch ``view(dtype)``, which changes the last dimension; that must not be the batch dimension."""
    if not call.ndim("input"):
        raise Unsuitable
    return leading(call)


@rule("clone", "leading")
def clone(call: BatchedCall) -> Any:
    """Batch ``clone``, except for ``channels_last``, which depends on the number of dimensions."""
    if call.values.get("memory_format") is not None and "channels" in str(call.values["memory_format"]):
        raise Unsuitable
    return leading(call)


@rule("copy", "broadcasting")
def copy(call: BatchedCall) -> Any:
    """Batch ``copy_``: the source broadcasts to the shape of the target."""
    ndim = max(call.ndim("input"), call.ndim("other"))
    source = call.full("other", ndim) if call.batched.get("other") else call.values["other"]
    return call.run(input=call.full("input"), other=source)


@rule("masked_fill", "broadcasting")
def masked_fill(call: BatchedCall) -> Any:
    """Batch ``masked_fill`` with a number, or with one for each sample."""
    if call.batched.get("value"):
        if call.ndim("value"):
            raise Unsuitable
        value = call.as_sample("value").to(call.values["input"].dtype)
        return call.from_sample(where(call.as_sample("mask"), value, call.as_sample("input")))
    ndim = max(call.ndim("input"), call.ndim("mask"))
    return call.run(**{name: call.full(name, ndim) for name in ("input", "mask")})


@rule("fill", "broadcasting")
def fill(call: BatchedCall) -> Any:
    """Batch ``fill_`` with a number, or with one for each sample."""
    if not call.batched.get("value"):
        return call.run()
    target = call.full("input")
    value = call.values["value"].to(target.dtype)
    return reshape(value, call.size, *(1,) * call.ndim("input")).expand(*target._a.shape).clone()


def with_ones(value: Tensor, size: int, ndim: int) -> Any:
    """Insert dimensions of length 1 behind the batch dimension, so that a sample has ``ndim`` dimensions."""
    return view(value, size, *(1,) * (ndim + 1 - value._a.ndim), *value._a.shape[1:])
