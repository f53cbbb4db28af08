"""Cases: order and rank."""

from __future__ import annotations

from tests.engine.ops.cases.case import case

CASES = [
    case("sort", lambda T, x: x.sort(0)[0], (4, 2)),
    case("sort descending", lambda T, x: T.sort(x, descending=True).values, (2, 4)),
    case("msort", lambda T, x: T.msort(x), (4, 2)),
    case("topk", lambda T, x: x.topk(2)[0], (2, 4)),
    case("topk smallest", lambda T, x: T.topk(x, 3, dim=0, largest=False).values, (4, 2)),
    case("topk of many", lambda T, x: T.topk(x, 2).values, (20,)),
    case("kthvalue", lambda T, x: x.kthvalue(2)[0], (2, 4)),
    case("median", lambda T, x: x.median(), (2, 4)),
    case("median dim", lambda T, x: x.median(1, keepdim=True).values, (2, 4)),
    case("nanmedian", lambda T, x: x.nanmedian(), (2, 3)),
    case("nanmedian dim", lambda T, x: T.where(x > 1, float("nan"), x).nanmedian(0)[0], (4, 2)),
    case("mode", lambda T, x: x.mode(0)[0], (4, 2)),
    case("quantile", lambda T, x: T.quantile(x, 0.3), (2, 4)),
    case("quantile several", lambda T, x, q: T.quantile(x, q, dim=1, keepdim=True), (2, 4), (3,), low=0.05, high=0.95),
    case("quantile lower", lambda T, x: T.quantile(x, 0.3, 0, interpolation="lower"), (4, 2)),
    case("quantile midpoint", lambda T, x: T.quantile(x, 0.3, interpolation="midpoint"), (4,)),
    case("nanquantile", lambda T, x: T.nanquantile(T.where(x > 1, float("nan"), x), 0.4, 1), (2, 4)),
]
