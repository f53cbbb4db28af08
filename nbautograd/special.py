"""``torch.special``: special functions."""

# ruff: noqa: F401 - `fill` lists what is imported

from __future__ import annotations

from nbautograd._engine.ops.elementwise.bessel import i0
from nbautograd._engine.ops.elementwise.exp_log import exp2, expm1, log1p, sigmoid as expit
from nbautograd._engine.ops.elementwise.rounding import round
from nbautograd._engine.ops.elementwise.special import (
    digamma,
    digamma as psi,
    erf,
    erfc,
    erfinv,
    igamma as gammainc,
    igammac as gammaincc,
    lgamma as gammaln,
    logit,
    polygamma,
    xlogy,
)
from nbautograd._engine.ops.elementwise.trigonometric import sinc
from nbautograd._engine.ops.reduction.reduction import logsumexp
from nbautograd._engine.ops.reduction.softmax import log_softmax, softmax
from nbautograd._names import namespaces

__all__ = namespaces.fill(__name__, "special_", "elementwise.bessel elementwise.polynomials elementwise.special")
