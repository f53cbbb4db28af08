"""Cases: special functions."""

from __future__ import annotations

from tests.engine.ops.cases.case import Case, case, unary


def special(name: str, low: float = -2.0, high: float = 2.0) -> Case:
    return case(f"special.{name}", lambda T, x: getattr(T.special, name)(x), (2, 3), low=low, high=high)


CASES = [
    unary("digamma", 0.5, 3),
    case("digamma negative", lambda T, x: T.digamma(x), (5,), low=-3, high=-0.1),
    unary("lgamma", 0.5, 3),
    case("polygamma 0", lambda T, x: T.polygamma(0, x), (2, 3), low=0.5, high=3),
    case("polygamma 1", lambda T, x: T.polygamma(1, x), (2, 3), low=0.5, high=3),
    case("polygamma 3", lambda T, x: x.polygamma(3), (2, 3), low=0.5, high=3),
    case("mvlgamma 1", lambda T, x: T.mvlgamma(x, 1), (2, 3), low=0.5, high=3),
    case("mvlgamma 4", lambda T, x: x.mvlgamma(p=4), (2, 3), low=2, high=5),
    case("special.multigammaln", lambda T, x: T.special.multigammaln(x, 2), (2, 3), low=2, high=5),
    case("igamma", lambda T, x: T.igamma(T.tensor([0.5, 1.5, 3.0], dtype=T.float64), x), (2, 3), low=0.3, high=4),
    case("igammac", lambda T, x: T.igammac(T.tensor([0.5, 1.5, 3.0], dtype=T.float64), x), (2, 3), low=0.3, high=4),
    case("special.zeta", lambda T, x: T.special.zeta(2.5, x).sum(0), (2, 3), low=0.5, high=3),
    case(
        "special.zeta tensor",
        lambda T, x: T.special.zeta(T.tensor([[2.0], [3.0]], dtype=T.float64), x),
        (2, 3),
        low=0.5,
        high=3,
    ),
    unary("erf"),
    unary("erfc"),
    unary("erfinv", -0.9, 0.9),
    special("erfcx"),
    case("special.ndtr", lambda T, x: T.special.ndtr(x).sum(0), (2, 3)),
    special("ndtri", 0.1, 0.9),
    special("log_ndtr"),
    special("expit"),
    special("entr", 0.2, 2),
    unary("logit", 0.1, 0.9),
    case("logit eps", lambda T, x: T.logit(x, 0.2), (2, 5), low=-0.5, high=1.5),
    case("xlogy", lambda T, x, y: T.xlogy(x, y), (2, 3), (3,), low=0.3),
    case("xlogy number", lambda T, x: T.xlogy(2.5, x) * T.xlogy(x, 0.5), (2, 3), low=0.3),
    case("xlogy 0", lambda T, x: T.xlogy(x * 0, x), (2, 3), low=0.3),
    case("special.xlog1py", lambda T, x, y: T.special.xlog1py(x, y), (2, 3), (3,), low=-0.7),
    case("special.xlog1py number", lambda T, x: T.special.xlog1py(2.5, x).sum(0), (2, 3), low=-0.7),
    unary("i0"),
    special("i0e"),
    special("i1"),
    special("i1e"),
    case("i1 at 0", lambda T, x: T.special.i1(x * 0) + T.special.i1e(x * 0), (3,)),
]
