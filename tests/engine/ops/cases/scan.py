"""Cases: running sums, products and extremes; differences and integrals."""

from __future__ import annotations

from tests.engine.ops.cases.case import case

CASES = [
    case("cumsum", lambda T, x: x.cumsum(1), (2, 3)),
    case("cumsum_", lambda T, x: (x * 1).cumsum_(0), (2, 3)),
    case("cumprod", lambda T, x: x.cumprod(0), (4, 2)),
    case("cumprod one zero", lambda T, x: (x * (x < 1.3)).cumprod(1), (2, 4)),
    case("cumprod two zeros", lambda T, x: (x * (x.abs() > 0.7)).cumprod(0), (5,)),
    case("cummax", lambda T, x: x.cummax(1).values, (2, 4)),
    case("cummin", lambda T, x: x.cummin(0)[0], (4, 2)),
    case("logcumsumexp", lambda T, x: x.logcumsumexp(1), (2, 4)),
    case("diff", lambda T, x: T.diff(x), (2, 4)),
    case("diff 2", lambda T, x: T.diff(x, 2, 0), (4, 2)),
    case("diff prepend", lambda T, x, y: T.diff(x, dim=1, prepend=y, append=y), (2, 3), (2, 1)),
    case("gradient", lambda T, x: T.gradient(x)[0], (4,)),
    case("gradient spacing", lambda T, x: T.gradient(x, spacing=2.0, dim=1)[0], (2, 4)),
    case("gradient order 2", lambda T, x: T.gradient(x, spacing=0.5, edge_order=2)[0], (5,)),
    case(
        "gradient places",
        lambda T, x: T.gradient(x, spacing=[T.tensor([0.0, 1, 3, 7], dtype=T.float64)], edge_order=2)[0],
        (4,),
    ),
    case(
        "gradient places order 1",
        lambda T, x: T.gradient(x, spacing=(T.tensor([0.0, 1, 3, 7], dtype=T.float64),), dim=(1,))[0],
        (2, 4),
    ),
    case("trapezoid", lambda T, y: T.trapezoid(y, dx=0.5), (2, 4)),
    case("trapezoid places", lambda T, y, x: T.trapezoid(y, x, dim=0), (4, 2), (4,)),
    case("trapz", lambda T, y: T.trapz(y, dim=0), (4, 2)),
    case("cumulative_trapezoid", lambda T, y: T.cumulative_trapezoid(y), (2, 4)),
    case("cumulative_trapezoid places", lambda T, y, x: T.cumulative_trapezoid(y, x), (2, 4), (2, 4)),
]
