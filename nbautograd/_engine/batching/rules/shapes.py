"""Batching rules of views and rearrangements: dimensions of a sample are shifted past the batch dimension."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.arrays import strides
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.batching.mode import BatchedCall, Unsuitable, aligned, rebuilt, rule
from nbautograd._engine.batching.rules.elementwise import with_ones
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import sum_to
from nbautograd._engine.ops.shape.broadcasting import expand
from nbautograd._engine.ops.shape.joining import cat_same, stack_same
from nbautograd._engine.ops.shape.shape import reshape, squeeze_some, unsqueeze, view
from nbautograd._engine.ops.shape.slicing import diagonal
from nbautograd._engine.ops.shape.transpose import transpose

NAMES = ("dim", "dims", "dim0", "dim1", "dim2", "dimension")
"""The names of parameters that hold dimensions."""


def physical_dim(dim: Any, ndim: int) -> Any:
    """Return a dimension of a sample, or several, as dimensions of the batched value; None stays None."""
    if isinstance(dim, (tuple, list)):
        return tuple(physical_dim(d, ndim) for d in dim)
    return None if dim is None else dimension(dim, ndim) + 1


@rule(
    """select slice_ diagonal unbind split_evenly split_at split_apart split_apart_at transpose flip
    rot90 hermitian_twice _fft_c2c _fft_r2c _fft_c2r index_select""",
    "dimensions moved",
)
@rule(
    """gather scatter_src scatter_value zero_along scatter_add scatter_counts scatter_sum scatter_mean scatter_prod
    scatter_amax scatter_amin index_add index_copy index_fill index_prod index_mean index_amax index_amin
    select_scatter slice_scatter diagonal_scatter softmax_over log_softmax_over max_over min_over prod_over sort_over
    argsort topk_over kth_over median_over nanmedian_over mode_over _glu shifted recurrence products_before cumsum_over
    cumprod_over cummax_over cummin_over logcumsumexp_over unsqueeze""",
    "moved",
)
def along(call: BatchedCall) -> Any:
    """Batch an operation by shifting its dimensions; a 0-d sample gets a dimension of length 1 for it."""
    tensors = _with_samples(call)
    ndim = call.ndim(tensors[0]) + (call.op.name == "unsqueeze")  # whose ``dim`` also counts the new dimension
    changes = {name: call.full(name) for name in tensors}
    for name in call.values.keys() & NAMES:
        if call.values[name] is None:
            raise Unsuitable
        changes[name] = physical_dim(call.values[name], ndim)
    if ndim:
        return call.run(**changes)
    if call.op.kind == "view":  # of a 0-d sample, which is the sample itself
        if call.op.name != "transpose":
            raise Unsuitable
        return view(call.values["input"], call.size)
    for name in tensors:
        if not call.ndim(name):
            changes[name] = unsqueeze(changes[name], 1)
    result = call.run(**changes)
    return result if takes_several(call, result) else of_numbers(result, call.size)


def of_numbers(result: Any, size: int) -> Any:
    """Return the results of 0-d samples without their dimension of length 1."""
    if isinstance(result, (tuple, list)):
        return rebuilt(result, [of_numbers(part, size) for part in result])
    return reshape(result, size) if result._a.ndim == 2 else result


def _with_samples(call: BatchedCall) -> list[str]:
    """Return the names of the tensors that are batched, or may be: all but the index of ``index_add`` and the like."""
    tensors = [name for name in call.op.tensors if isinstance(call.values.get(name), Tensor)]
    if call.op.name not in ("index_select", "index_add", "index_copy", "index_fill"):
        return tensors
    if call.batched.get("index") or call.batched.get("value"):
        raise Unsuitable
    return [name for name in tensors if name not in ("index", "value")]


def takes_several(call: BatchedCall, result: Any) -> bool:
    """Return whether an operation takes a vector from each 0-d sample, as ``gather`` does by an index of one."""
    if call.op.name == "index_select":
        return bool(result._a.shape[1] != 1)
    return call.op.name == "gather" and call.ndim("index") == 1


@rule("unfold", "moved")
def unfold(call: BatchedCall) -> Any:
    """Batch ``unfold``; the only window of a 0-d sample is the sample."""
    ndim, dim = call.ndim("input"), call.values["dimension"]
    if ndim:
        return call.run(dimension=physical_dim(dim, ndim))
    physical_dim(dim, 0)
    return call.run(input=unsqueeze(call.values["input"], 1), dimension=1).squeeze(1)


@rule("as_strided_in", "strides of all samples")
def strided(call: BatchedCall) -> Any:
    """Batch ``as_strided``, with equal strides in each sample."""
    x, home = call.values["input"], call.values["home"]
    whole = strides.of(x._a)
    return call.run(
        size=(call.size, *call.values["size"]),
        stride=(whole.strides[0], *call.values["stride"]),
        home=strides.Geometry(whole.shape, whole.strides, home.offset),
    )


@rule("permute", "moved")
def permuted(call: BatchedCall) -> Any:
    """Batch ``permute``; the batch dimension stays in front."""
    return call.run(dims=(0, *physical_dim(_flat(call.values["dims"]), call.ndim("input"))))


@rule("t", "moved")
def t(call: BatchedCall) -> Any:
    """Batch ``t()``: the transpose of a matrix; a vector is unchanged."""
    x = call.values["input"]
    return transpose(x, 1, 2) if call.ndim("input") == 2 else view(x, *x._a.shape)


@rule("view reshape_copy unsafe_view", "shape behind the batch")
def shaped(call: BatchedCall) -> Any:
    """Batch ``view`` and ``reshape``, with the batch size in front of the shape."""
    return call.run(shape=(call.size, *_flat(call.values["shape"])))


def _flat(shape: Any) -> tuple[Any, ...]:
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else tuple(shape)


@rule("squeeze_all", "moved")
def squeeze_all(call: BatchedCall) -> Any:
    """Batch ``squeeze()`` of all dimensions except the batch dimension."""
    x, dims = call.values["input"], tuple(d + 1 for d, n in enumerate(call.shape("input")) if n == 1)
    return squeeze_some(x, dims) if dims else view(x, *x.shape)


@rule("squeeze_one squeeze_some squeezed", "moved")
def squeeze(call: BatchedCall) -> Any:
    """Batch ``squeeze(dim)``; a 0-d sample is unchanged."""
    ndim, name = call.ndim("input"), "dim" if "dim" in call.values else "dims"
    dims = physical_dim(call.values[name], ndim)
    return call.run(**{name: dims}) if ndim else view(call.values["input"], call.size)


@rule("expand", "broadcasting")
def expand_samples(call: BatchedCall) -> Any:
    """Batch ``expand``; new dimensions are inserted behind the batch dimension."""
    size = _flat(call.values["size"])
    return expand(with_ones(call.values["input"], call.size, len(size)), call.size, *size)


@rule("repeat", "broadcasting")
def repeat(call: BatchedCall) -> Any:
    """Batch ``repeat``; new dimensions are inserted behind the batch dimension, which is not repeated."""
    repeats = _flat(call.values["repeats"])
    if len(repeats) < call.ndim("input"):
        raise Unsuitable
    return call.run(input=with_ones(call.values["input"], call.size, len(repeats)), repeats=(1, *repeats))


@rule("roll", "moved")
def roll(call: BatchedCall) -> Any:
    """Batch ``roll`` along dimensions; without ``dims`` the flattened sample is rolled, which runs in the loop."""
    dims = call.values["dims"]
    if dims in (None, (), []) or not call.ndim("input"):
        raise Unsuitable
    return call.run(dims=physical_dim(dims, call.ndim("input")))


@rule("diag_embed", "moved")
def diag_embed(call: BatchedCall) -> Any:
    """Batch ``diag_embed``; ``dim1`` and ``dim2`` are dimensions of the result, which has one more."""
    ndim = call.ndim("input") + 1
    if ndim < 2:
        raise Unsuitable
    return call.run(dim1=physical_dim(call.values["dim1"], ndim), dim2=physical_dim(call.values["dim2"], ndim))


@rule("trace", "moved")
def trace(call: BatchedCall) -> Any:
    """Batch ``trace``: the sum of each sample's diagonal."""
    if call.ndim("input") != 2:
        raise Unsuitable
    return diagonal(call.values["input"], 0, 1, 2).sum(-1)


@rule("cat_same stack_same", "moved", options=True)
def joined(call: BatchedCall) -> Any:
    """Batch ``cat`` and ``stack``; tensors that are not batched are expanded."""
    pairs = zip(call.values["tensors"], call.batched["tensors"], strict=True)
    whole = [aligned(part, flag, call.size) for part, flag in pairs]
    stacks = call.op.name == "stack_same"
    if not stacks:  # cat ignores empty 1-d tensors, as PyTorch's does
        ndim = max(t._a.ndim for t in whole)
        whole = [t for t in whole if t._a.ndim == ndim or t._a.shape[1:] != (0,)]
    dim = physical_dim(call.values["dim"], whole[0]._a.ndim - 1 + stacks)
    return (stack_same if stacks else cat_same)(whole, dim)


@rule("sum_to", "broadcasting")
def sum_to_shape(call: BatchedCall) -> Any:
    """Batch unbroadcasting: the sum over the dimensions along which ``shape`` was broadcast."""
    shape = tuple(call.values["shape"])
    missing = call.ndim("input") - len(shape)
    if not missing:
        return call.run(shape=(call.size, *shape))
    return reshape(sum_to(call.values["input"], (call.size, *(1,) * missing, *shape)), call.size, *shape)


@rule("spread", "broadcasting")
def spread(call: BatchedCall) -> Any:
    """Batch the vjp of a sum; if it was over all dimensions, these are listed without the batch dimension."""
    shape, dim, keepdim = (call.values[name] for name in ("shape", "dim", "keepdim"))
    if not shape:
        return view(call.values["input"], call.size)
    if dim is None or dim == () or dim == []:
        dim, keepdim = tuple(range(len(shape))), keepdim and call.ndim("input") > 0
    return call.run(shape=(call.size, *shape), dim=physical_dim(dim, len(shape)), keepdim=keepdim)


@rule("select_back slice_back diagonal_back unfold_back", "moved")
@rule("pad_back avg_pool_back adaptive_avg_back pad_like crop_like", "shape behind the batch")
def back(call: BatchedCall) -> Any:
    """Batch the vjps of views and windows, whose options are the shape and dimensions of a sample."""
    shape, dims = tuple(call.values["shape"]), [d for d in ("dim", "dim1", "dim2") if d in call.values]
    changes = {name: physical_dim(call.values[name], len(shape)) for name in dims}
    return call.run(shape=(call.size, *shape), **changes)


@rule("gather_back index_select_back", "moved")
def back_of_index(call: BatchedCall) -> Any:
    """Batch the vjps of ``gather`` and ``index_select``; the index of the latter cannot be batched."""
    shape = tuple(call.values["shape"])
    if not shape or call.op.name == "index_select_back" and call.batched.get("index"):
        raise Unsuitable
    index = call.full("index") if call.op.name == "gather_back" else call.values["index"]
    dim = physical_dim(call.values["dim"], len(shape))
    return call.run(input=call.full("input"), index=index, shape=(call.size, *shape), dim=dim)
