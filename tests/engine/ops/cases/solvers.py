"""Cases: linear systems, inverses, determinants, functions of matrices."""

from __future__ import annotations

from tests.engine.ops.cases.case import case
from tests.engine.ops.cases.decompositions import joined

CASES = [
    case("linalg.solve", lambda T, a, b: T.linalg.solve(a, b), (3, 3), (3, 2)),
    case("linalg.solve vector", lambda T, a, b: T.linalg.solve(a, b), (3, 3), (3,)),
    case("linalg.solve right broadcast", lambda T, a, b: T.linalg.solve(a, b, left=False), (2, 2), (2, 3, 2)),
    case("linalg.solve_ex", lambda T, a, b: T.linalg.solve_ex(a, b).result, (2, 2, 2), (2, 2)),
    case(
        "linalg.solve_triangular",
        lambda T, a, b: T.linalg.solve_triangular(a, b, upper=True),
        (3, 3),
        (3, 2),
    ),
    case(
        "linalg.solve_triangular right unit",
        lambda T, a, b: T.linalg.solve_triangular(a, b, upper=False, left=False, unitriangular=True),
        (2, 2, 2),
        (1, 2),
    ),
    case("linalg.inv", lambda T, a: T.linalg.inv(a), (3, 3)),
    case("inverse", lambda T, a: a.inverse(), (2, 2, 2)),
    case("linalg.tensorinv", lambda T, a: T.linalg.tensorinv(a, ind=1), (4, 2, 2)),
    case("linalg.tensorsolve", lambda T, a, b: T.linalg.tensorsolve(a, b), (2, 2, 4), (2, 2)),
    case("linalg.det", lambda T, a: T.linalg.det(a), (3, 3)),
    case("det batch", lambda T, a: a.det(), (2, 2, 2), seed=1),  # at 0, one matrix is nearly singular
    case("linalg.slogdet", lambda T, a: T.linalg.slogdet(a).logabsdet, (3, 3)),
    case("logdet", lambda T, a: T.logdet(a @ a), (2, 2)),
    case("linalg.pinv tall", lambda T, a: T.linalg.pinv(a), (3, 2)),
    case("linalg.pinv wide", lambda T, a: T.linalg.pinv(a), (2, 2, 3)),
    case("linalg.pinv hermitian", lambda T, a: T.linalg.pinv(a + a.mT, hermitian=True), (3, 3)),
    case("linalg.lstsq", lambda T, a, b: T.linalg.lstsq(a, b).solution, (4, 2), (4, 3)),
    case(
        "linalg.lstsq wide vector", lambda T, a, b: T.linalg.lstsq(a, b, driver="gels").solution, (2, 3), (2, 1), seed=1
    ),
    case("linalg.lstsq residuals", lambda T, a, b: T.linalg.lstsq(a, b, driver="gels").residuals, (4, 2), (4, 3)),
    case("linalg.matrix_exp", lambda T, a: T.linalg.matrix_exp(a), (3, 3), seed=1),
    case("matrix_exp batch", lambda T, a: a.matrix_exp(), (2, 2, 2), low=-9, high=9),
    case("linalg.matrix_power", lambda T, a: T.linalg.matrix_power(a, 5), (2, 2)),
    case("linalg.matrix_power negative", lambda T, a: T.linalg.matrix_power(a, -2), (2, 2, 2)),
    case("linalg.multi_dot", lambda T, a, b, c: T.linalg.multi_dot([a, b, c]), (3,), (3, 2), (2, 4)),
    case("linalg.cond", lambda T, a: T.linalg.cond(a), (3, 2)),
    case("slogdet both", lambda T, a: joined(T, *T.slogdet(a)), (3, 3)),
]
