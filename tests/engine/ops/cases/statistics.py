"""Cases: covariance."""

from __future__ import annotations

from tests.engine.ops.cases.case import case

CASES = [
    case("cov", lambda T, x: T.cov(x), (3, 4)),
    case("cov of one", lambda T, x: T.cov(x, correction=0), (4,)),
    case(
        "cov weights",
        lambda T, x, w: T.cov(x, fweights=T.tensor([1, 2, 1, 3]), aweights=w),
        (3, 4),
        (4,),
        low=0.1,
    ),
    case("corrcoef", lambda T, x: T.corrcoef(x)[0, 1], (2, 4)),
]
