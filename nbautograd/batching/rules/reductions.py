"""Reductions: over dimensions of the samples, all of them where none is named."""

from __future__ import annotations

import math
from typing import Any

from nbautograd.batching.mode import Call, rebuilt, rule
from nbautograd.batching.rules.elementwise import only_tensors
from nbautograd.batching.rules.shapes import behind
from nbautograd.compiler.registry import OPS
from nbautograd.core.tensor import Tensor
from nbautograd.ops.shape.shape import reshape, unsqueeze

WHOLE = {
    "sum_all": ("sum_over", (False,)),
    "mean_all": ("mean_over", (False,)),
    "max_all": ("amax", (False,)),
    "min_all": ("amin", (False,)),
    "prod_all": ("prod_over", (False,)),
    "median_all": ("median_over", (False,)),
    "nanmedian_all": ("nanmedian_over", (False,)),
}
"""Reductions of a whole tensor: what does the same along one dimension, and its further options."""


def flat(call: Call, name: str) -> Any:
    """The elements of each sample in one dimension."""
    x = call.values[name]
    return x if call.ndim(name) == 1 else reshape(x, call.size, math.prod(call.shape(name)))


@rule(" ".join(WHOLE), "reduced")
def whole(call: Call) -> Any:
    """The samples' elements in one dimension, which is reduced."""
    name, options = WHOLE[call.op.name]
    result = OPS[name].function(flat(call, "input"), 1, *options)
    return result[0] if isinstance(result, tuple) else result


@rule(
    """sum_over nansum_over mean_over logsumexp_over amax amin var_over std_over var_and_mean std_and_mean all any
    count_nonzero euclidean_norm absolute_norm zero_norm extreme_norm power_norm ties deviation""",
    "reduced",
)
def over(call: Call) -> Any:
    """Several dimensions may be named; none stands for all of the sample."""
    only_tensors(call)
    tensors = [name for name in call.op.tensors if isinstance(call.values.get(name), Tensor)]
    ndim, dim = call.ndim("input"), call.values.get("dim")
    every = dim is None or dim == () or dim == []
    changes = {name: call.full(name) for name in tensors}
    if ndim:
        return call.run(**changes, dim=tuple(range(1, ndim + 1)) if every else behind(dim, ndim))
    if not every:
        behind(dim, 0)  # which says so if it is out of range
    results = call.run(**{name: unsqueeze(x, 1) for name, x in changes.items()}, dim=1)
    return _flat(results, call.size)


def _flat(result: Any, size: int) -> Any:
    if isinstance(result, (tuple, list)):
        return rebuilt(result, [reshape(part, size) for part in result])
    return reshape(result, size)


@rule("both_extremes", "reduced")
def both_extremes(call: Call) -> Any:
    """The smallest and the largest, of all elements or along a dimension."""
    only_tensors(call)
    ndim, dim = call.ndim("input"), call.values["dim"]
    if dim is not None and ndim:
        return call.run(dim=behind(dim, ndim))
    results = call.run(input=flat(call, "input"), dim=1, keepdim=False)
    if not call.values["keepdim"]:
        return results
    return rebuilt(results, [reshape(part, call.size, *(1,) * ndim) for part in results])


@rule("argmax argmin", "reduced")
def where_extreme(call: Call) -> Any:
    """Without a dimension, an index into the sample's elements one after the other."""
    only_tensors(call)
    ndim, dim, keepdim = call.ndim("input"), call.values["dim"], call.values["keepdim"]
    if dim is not None and ndim:
        return call.run(dim=behind(dim, ndim))
    if dim is not None:
        behind(dim, 0)
    result = call.run(input=flat(call, "input"), dim=1, keepdim=False)
    return reshape(result, call.size, *(1,) * ndim) if keepdim else result
