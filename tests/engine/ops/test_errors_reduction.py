"""Misuse of reductions, scans, ordering and statistics: the same exceptions as in PyTorch, with its key words."""

from __future__ import annotations

import pytest

from tests import oracle

# A call with either library, and words that both messages contain.
CALLS = {
    "sum dim": (lambda T: T.ones(2, 3).sum(2), "Dimension out of range"),
    "sum dim twice": (lambda T: T.ones(2, 3).sum((0, 0)), "appears multiple times"),
    "mean of ints": (lambda T: T.ones(2, dtype=T.int64).mean(), "could not infer output dtype"),
    "nanmean of ints": (lambda T: T.ones(2, dtype=T.int64).nanmean(), "floating point or complex dtype"),
    "std of ints": (lambda T: T.ones(2, dtype=T.int64).std(), "only support floating point and complex"),
    "max of nothing": (lambda T: T.zeros(0).max(), "Expected reduction dim to be specified"),
    "amax of nothing": (lambda T: T.zeros(0, 2).amax(0), "to have non-zero size"),
    "argmin of nothing": (lambda T: T.zeros(0).argmin(), "Expected reduction dim to be specified"),
    "max of complex": (lambda T: T.ones(2, dtype=T.complex64).max(), "not implemented for 'ComplexFloat'"),
    "sort of complex": (lambda T: T.ones(2, dtype=T.complex64).sort(), "does not support complex"),
    "median of bools": (lambda T: T.ones(2, dtype=T.bool).median(), "not implemented for 'Bool'"),
    "norm of ints": (lambda T: T.ones(2, dtype=T.int64).norm(), "floating point or complex"),
    "sum_to_size": (lambda T: T.ones(2, 3).sum_to_size(2, 2), "expandable"),
    "topk": (lambda T: T.ones(3).topk(4), "k out of range"),
    "kthvalue": (lambda T: T.ones(3).kthvalue(0), "k out of range"),
    "quantile q": (lambda T: T.quantile(T.ones(3), 1.5), "q must be in the range [0, 1]"),
    "quantile way": (lambda T: T.quantile(T.ones(3), 0.5, interpolation="cubic"), "interpolation must be one of"),
    "quantile of ints": (lambda T: T.quantile(T.ones(3, dtype=T.int64), 0.5), "either float or double"),
    "diff of 0-d": (lambda T: T.tensor(1.0).diff(), "at least one-dimensional"),
    "gradient": (lambda T: T.gradient(T.ones(2), edge_order=2), "at least edge_order"),
    "trapezoid": (lambda T: T.trapezoid(T.ones(3), T.ones(4)), "one `x` value for each sample point"),
    "searchsorted side": (lambda T: T.searchsorted(T.ones(3), T.ones(2), side="in"), "can only be 'left' or 'right'"),
    "searchsorted rows": (lambda T: T.searchsorted(T.ones(2, 3), T.ones(3, 3)), "boundaries tensor should be 1 dim"),
    "bucketize": (lambda T: T.bucketize(T.ones(3), T.ones(2, 2)), "must be 1 dimension"),
    "nonzero_static": (lambda T: T.ones(3).nonzero_static(size=-1), "non-negative integer"),
    "renorm": (lambda T: T.renorm(T.ones(3), 2, 0, 1), "at least 2 dim"),
    "cdist columns": (lambda T: T.cdist(T.ones(2, 3), T.ones(2, 4)), "same number of columns"),
    "cdist mode": (lambda T: T.cdist(T.ones(2, 3), T.ones(2, 3), compute_mode="x"), "not a valid value"),
    "pdist": (lambda T: T.pdist(T.ones(3)), "only supports 2D tensors"),
    "bincount": (lambda T: T.bincount(T.tensor([1, -1])), "non-negative integral"),
    "bincount weights": (lambda T: T.bincount(T.tensor([1]), T.ones(2)), "same length as input"),
    "histc": (lambda T: T.histc(T.ones(2), 3, min=2, max=1), "max must be larger than min"),
    "histogram": (lambda T: T.histogram(T.ones(2), 0), "bins must be > 0"),
    "histogramdd": (lambda T: T.histogramdd(T.ones(2, 2), [2]), "size of bins must be equal"),
    "cov": (lambda T: T.cov(T.ones(2, 2, 2)), "two or fewer dimensions"),
    "cov weights": (lambda T: T.cov(T.ones(2, 2), fweights=T.ones(2)), "integral dtype"),
    "cummax": (lambda T: T.ones(2).cummax(3), "Dimension out of range"),
    "unique": (lambda T: T.tensor(1.0).unique(dim=0), "tensor has no dimensions"),
    "unique backward": (lambda T: T.ones(2, requires_grad=True).unique().sum().backward(), "' is not implemented"),
}


@pytest.mark.parametrize("name", CALLS)
def test_same_exception(name):
    call, words = CALLS[name]
    message = str(oracle.check_raises(call, says=words))
    if name == "unique backward":  # which is _unique2 in PyTorch
        assert "derivative for 'unique'" in message
