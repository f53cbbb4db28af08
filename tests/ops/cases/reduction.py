"""Cases: reductions."""

from __future__ import annotations

from tests.ops.cases.case import case

CASES = [
    case("sum", lambda T, x: x.sum(), (2, 3)),
    case("sum 0-d", lambda T, x: x.sum(), ()),
    case("sum dim", lambda T, x: x.sum(1), (2, 3)),
    case("sum dims", lambda T, x: T.sum(x, (0, 2), keepdim=True), (2, 3, 2)),
    case("sum axis", lambda T, x: x.sum(axis=0, keepdims=True), (2, 3)),
    case("mean", lambda T, x: x.mean(), (2, 3)),
    case("mean dim", lambda T, x: x.mean(-1, keepdim=True), (2, 3)),
    case("prod", lambda T, x: x.prod(), (2, 3)),
    case("prod zero", lambda T, x: (x * (x < 1.5)).prod(), (2, 3)),
    case("prod dim", lambda T, x: x.prod(1), (2, 3)),
    case("var", lambda T, x: x.var(), (2, 3)),
    case("var dim", lambda T, x: x.var(1, unbiased=False), (2, 3)),
    case("std", lambda T, x: x.std(), (2, 3)),
    case("std dim", lambda T, x: x.std(0, keepdim=True), (3, 2)),
    case("norm", lambda T, x: x.norm(), (2, 3)),
    case("norm 1", lambda T, x: x.norm(1), (2, 3)),
    case("norm 3", lambda T, x: T.norm(x, 3, dim=1), (2, 3)),
    case("norm inf", lambda T, x: T.norm(x, float("inf")), (2, 3)),
    case("max", lambda T, x: x.max(), (2, 3)),
    case("min", lambda T, x: x.min(), (2, 3)),
    case("max dim", lambda T, x: x.max(1)[0], (2, 3)),
    case("min dim", lambda T, x: T.min(x, 0, keepdim=True).values, (2, 3)),
    case("amax", lambda T, x: x.amax(1), (2, 3)),
    case("amin", lambda T, x: x.amin((0, 1)), (2, 3)),
    case("logsumexp", lambda T, x: x.logsumexp(1), (2, 3)),
]
