"""``torch.masked``: reductions and normalizations that leave out the elements where a mask is False.

This package may import ``autograd`` and the layers below. It consists of ordinary operations, so it has gradients.
"""

from __future__ import annotations

from nbautograd._names import absent, docstrings
from nbautograd._names.docstrings import packages
from nbautograd.masked.masked_tensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor
from nbautograd.masked.normalizations import cumprod, cumsum, log_softmax, logaddexp, normalize, softmax, softmin
from nbautograd.masked.reductions import amax, amin, argmax, argmin, logsumexp, mean, median, norm, prod, std, sum, var

__all__ = [
    "MaskedTensor",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

docstrings.describe_all([globals()[name] for name in __all__], *packages.MASKED)
absent.answer(__name__)
