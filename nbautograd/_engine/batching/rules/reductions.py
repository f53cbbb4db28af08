"""Batching rules of reductions over dimensions of the samples, by default over all of them."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.batching.mode import BatchedCall, rebuilt, rule
from nbautograd._engine.batching.rules.shapes import of_numbers, physical_dim
from nbautograd._engine.compiler.schema import OPS
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.shape.shape import reshape, unsqueeze

WHOLE = {f"{name}_all": f"{name}_over" for name in ("sum", "mean", "prod", "median", "nanmedian")}
WHOLE |= {"max_all": "amax", "min_all": "amin"}
"""Reductions of a whole tensor: the operation that reduces one dimension."""


def flat(call: BatchedCall, name: str) -> Any:
    """Return the samples, each flattened to one dimension."""
    x = call.values[name]
    return x if call.ndim(name) == 1 else reshape(x, call.size, math.prod(call.shape(name)))


@rule(" ".join(WHOLE), "reduced")
def whole(call: BatchedCall) -> Any:
    """Batch reductions of a whole tensor: each sample is flattened, and that dimension reduced."""
    result = OPS[WHOLE[call.op.name]].function(flat(call, "input"), 1, False)
    return result[0] if isinstance(result, tuple) else result


@rule(
    """sum_over nansum_over mean_over logsumexp_over amax amin var_over std_over var_and_mean std_and_mean all any
    count_nonzero euclidean_norm absolute_norm zero_norm extreme_norm power_norm ties deviation""",
    "reduced",
)
def over(call: BatchedCall) -> Any:
    """Batch reductions over several dimensions; no ``dim`` means all dimensions of the sample."""
    tensors = [name for name in call.op.tensors if isinstance(call.values.get(name), Tensor)]
    ndim, dim = call.ndim("input"), call.values.get("dim")
    every = dim is None or dim == () or dim == []
    changes = {name: call.full(name) for name in tensors}
    if ndim:
        return call.run(**changes, dim=tuple(range(1, ndim + 1)) if every else physical_dim(dim, ndim))
    if not every:
        physical_dim(dim, 0)  # raises if it is out of range
    return of_numbers(call.run(**{name: unsqueeze(x, 1) for name, x in changes.items()}, dim=1), call.size)


@rule("both_extremes", "reduced")
def both_extremes(call: BatchedCall) -> Any:
    """Batch ``aminmax``, over all elements or along a dimension."""
    ndim, dim = call.ndim("input"), call.values["dim"]
    if dim is not None and ndim:
        return call.run(dim=physical_dim(dim, ndim))
    results = call.run(input=flat(call, "input"), dim=1, keepdim=False)
    if not call.values["keepdim"]:
        return results
    return rebuilt(results, [reshape(part, call.size, *(1,) * ndim) for part in results])


@rule("argmax argmin", "reduced")
def where_extreme(call: BatchedCall) -> Any:
    """Batch ``argmax`` and ``argmin``; without ``dim``, an index into the flattened sample."""
    ndim, dim, keepdim = call.ndim("input"), call.values["dim"], call.values["keepdim"]
    if dim is not None and ndim:
        return call.run(dim=physical_dim(dim, ndim))
    if dim is not None:
        physical_dim(dim, 0)
    result = call.run(input=flat(call, "input"), dim=1, keepdim=False)
    return reshape(result, call.size, *(1,) * ndim) if keepdim else result
