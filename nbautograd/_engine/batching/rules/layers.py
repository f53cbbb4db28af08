"""Batching rules of layers and losses: samples are folded into the batch dimension or into groups of channels."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.batching.mode import BatchedCall, Unsuitable, rule
from nbautograd._engine.batching.rules.elementwise import pointwise
from nbautograd._engine.compiler.schema import OPS
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.ranges import arange
from nbautograd._engine.ops.shape.shape import reshape
from nbautograd._engine.ops.shape.transpose import transpose


@rule("pool_scatter max_unpool2d max_unpool3d", "shape behind the batch")
def pool_scatter(call: BatchedCall) -> Any:
    """Batch the vjp of ``pool_gather``, and unpooling."""
    return call.run(input=call.full("input"), index=call.full("index"), shape=(call.size, *call.values["shape"]))


@rule(
    """upsample_bicubic2d upsample_nearest1d upsample_nearest_exact1d upsample_linear1d upsample_nearest2d
    upsample_nearest_exact2d upsample_bilinear2d upsample_nearest3d upsample_nearest_exact3d upsample_trilinear3d
    upsample_bilinear2d_aa upsample_bicubic2d_aa resample resample_back im2col col2im grid_sampler_2d grid_sampler_3d
    grid_spread channel_shuffle euclidean_distances""",
    "folded",
)
def folded(call: BatchedCall) -> Any:
    """Fold the samples into the first dimension, which is the batch dimension of the layer."""
    size = call.size
    tensors = {name: call.full(name) for name in call.op.tensors if isinstance(call.values.get(name), Tensor)}
    changes = {name: fold(t) for name, t in tensors.items()}
    if "shape" in call.values:
        first, *others = call.values["shape"]
        changes["shape"] = (size * first, *others)
    return unfold(call.run(**changes), size)


def fold(t: Tensor) -> Any:
    """Return (samples, n, ...) as (samples * n, ...)."""
    return reshape(t, t._a.shape[0] * t._a.shape[1], *t._a.shape[2:])


def unfold(t: Tensor, size: int) -> Any:
    """Return the inverse of ``fold``."""
    return reshape(t, size, t._a.shape[0] // size, *t._a.shape[1:])


# -- convolutions ----------------------------------------------------------------------------------------------------


def channels(t: Tensor) -> Any:
    """Return (samples, n, c, ...) as (n, samples * c, ...)."""
    return reshape(transpose(t, 0, 1), t._a.shape[1], t._a.shape[0] * t._a.shape[2], *t._a.shape[3:])


def samples(t: Tensor, size: int) -> Any:
    """Return the inverse of ``channels``."""
    n, c = t._a.shape[:2]
    return transpose(reshape(t, n, size, c // size, *t._a.shape[2:]), 0, 1)


@rule("convolution conv_input", "folded, or grouped")
def convolution(call: BatchedCall) -> Any:
    """Batch a convolution: one kernel for all samples makes a larger batch, one for each a grouped convolution."""
    size, shape = call.size, call.values.get("shape")
    if not call.batched.get("weight") and not call.batched.get("bias"):
        changes: dict[str, Any] = {} if shape is None else {"shape": (size * shape[0], *shape[1:])}
        return unfold(call.run(input=fold(call.full("input")), **changes), size)
    changes = {"input": channels(call.full("input")), "weight": fold(call.full("weight"))}
    changes["groups"] = size * call.values["groups"]
    if call.values["bias"] is not None:
        changes["bias"] = reshape(call.full("bias"), -1)
    if shape is not None:
        changes["shape"] = (shape[0], size * shape[1], *shape[2:])
    return samples(call.run(**changes), size)


@rule("conv_weight", "grouped")
def conv_weight(call: BatchedCall) -> Any:
    """Batch the gradient of a kernel, a sum over the images of one sample: a grouped convolution."""
    first, *others = call.values["shape"]
    result = call.run(
        input=channels(call.full("input")),
        output=channels(call.full("output")),
        shape=(call.size * first, *others),
        groups=call.size * call.values["groups"],
    )
    return unfold(result, call.size)


# -- normalization ---------------------------------------------------------------------------------------------------


@rule("native_layer_norm native_group_norm native_batch_norm", "dimensions moved")
def norm(call: BatchedCall) -> Any:
    """Batch normalization: each sample has its own statistics; weight and bias may be batched."""
    rows, axes, wide, own = (tuple(call.values[name]) for name in ("rows", "axes", "wide", "own"))
    changes: dict[str, Any] = {"rows": (call.size, *rows), "axes": tuple(d + 1 for d in axes)}
    factors = [name for name in ("weight", "bias") if call.values[name] is not None]
    if any(call.batched.get(name) for name in factors):
        changes |= {name: call.full(name) for name in factors}
        changes |= {"wide": (call.size, *wide), "own": (call.size, *own)}
    return call.run(input=call.full("input"), **changes)


@rule("_batch_norm_eval", "broadcasting")
def norm_by_statistics(call: BatchedCall) -> Any:
    """Batch batch norm in evaluation mode: elementwise."""
    wide, eps = call.values["wide"], call.values["eps"]
    x, mean, variance = (call.as_sample(name) for name in ("input", "running_mean", "running_var"))
    result = (x - mean.reshape(wide)) * (variance.reshape(wide) + eps).rsqrt()
    if call.values["weight"] is not None:
        result = result * call.as_sample("weight").reshape(wide)
    if call.values["bias"] is not None:
        result = result + call.as_sample("bias").reshape(wide)
    return call.from_sample(result)


# -- losses ----------------------------------------------------------------------------------------------------------


@rule("_mse _smooth_l1 _huber _bce _bce_logits _soft_margin", "broadcasting")
def loss(call: BatchedCall) -> Any:
    """Batch elementwise losses, reduced for each sample."""
    losses = pointwise(BatchedCall(call.op, call.level, {**call.values, "reduction": "none"}, call.batched))
    if call.values["reduction"] == "none":
        return losses
    flat = reshape(losses, losses._a.shape[0], math.prod(losses._a.shape[1:]))
    return flat.mean(1) if call.values["reduction"] == "mean" else flat.sum(1)


@rule("nll_rows nll_images", "folded")
def nll(call: BatchedCall) -> Any:
    """Batch NLL: losses of all rows, then reduced for each sample; a mean is weighted by the class weights."""
    if call.batched.get("weight"):
        raise Unsuitable
    target, scores, size = call.full("target"), call.full("input"), call.size
    alone = call.ndim("input") == 1
    rows, classes = (scores, target) if alone else (fold(scores), fold(target))
    function = OPS["nll_rows" if rows._a.ndim < 3 else "nll_images"].function
    options = (call.values["weight"], "none", call.values["ignored"])
    losses = reshape(function(rows, classes, *options), size, -1)
    if call.values["reduction"] != "mean":
        return losses.sum(1) if call.values["reduction"] == "sum" or alone else reshape(losses, target._a.shape)
    weights = function(rows.detach() * 0 - 1, classes, *options)
    return losses.sum(1) / reshape(weights, size, -1).sum(1)


@rule("_embedding", "leading")
def embedding(call: BatchedCall) -> Any:
    """Batch embeddings: one table for all samples; batched tables are concatenated, and the indices shifted."""
    if not call.batched.get("weight"):
        return call.run()
    if call.values["padding"] >= 0 or call.values["by_frequency"]:
        raise Unsuitable
    table, index, rows = call.full("weight"), call.full("index"), call.shape("weight")[0]
    first = arange(call.size, device=index.device).reshape(call.size, *(1,) * call.ndim("index")) * rows
    return call.run(weight=fold(table), index=index + first)
