"""Cases: decompositions. Losses of eigenvectors and singular vectors do not depend on their signs."""

from __future__ import annotations

from typing import Any

from tests.engine.ops.cases.case import case


def spd(T: Any, x: Any) -> Any:
    """A symmetric positive-definite matrix."""
    n = x.shape[-1]
    return x @ x.transpose(-2, -1) + 2 * T.eye(n, dtype=x.dtype, device=x.device)


def sym(x: Any) -> Any:
    """A symmetric matrix."""
    return x + x.transpose(-2, -1)


def joined(T: Any, *parts: Any) -> Any:
    """All outputs as one vector."""
    return T.cat([p.reshape(-1) for p in parts])


def projectors(v: Any) -> Any:
    """Return the projectors on the span of vectors, for any signs: weighted squares."""
    return v * v


def _weighted(T, values):
    # a symmetric function of the eigenvalues, which differs for the transpose's cotangent
    return T.stack([(values**k).sum().real for k in (1, 2, 3)])


CASES = [
    case("linalg.cholesky", lambda T, x: T.linalg.cholesky(spd(T, x)), (3, 3)),
    case("linalg.cholesky upper batch", lambda T, x: T.linalg.cholesky(spd(T, x), upper=True), (2, 2, 2)),
    case("linalg.cholesky_ex", lambda T, x: T.linalg.cholesky_ex(spd(T, x)).L, (3, 3)),
    case("cholesky_inverse", lambda T, x: T.cholesky_inverse(T.linalg.cholesky(spd(T, x))), (3, 3)),
    case("cholesky_inverse upper", lambda T, x: T.cholesky_inverse(T.linalg.cholesky(spd(T, x)).mT, True), (2, 2)),
    case(
        "cholesky_solve",
        lambda T, b, x: T.cholesky_solve(b, T.linalg.cholesky(spd(T, x))),
        (3, 2),
        (3, 3),
    ),
    case(
        "cholesky_solve upper broadcast",
        lambda T, b, x: T.cholesky_solve(b, T.linalg.cholesky(spd(T, x), upper=True), upper=True),
        (2, 2, 1),
        (2, 2),
    ),
    case("linalg.qr tall", lambda T, x: joined(T, *T.linalg.qr(x)), (4, 3)),
    case("linalg.qr wide", lambda T, x: joined(T, *T.linalg.qr(x)), (2, 3)),
    case("linalg.qr R alone", lambda T, x: T.linalg.qr(x).R, (2, 3)),
    case("linalg.qr Q alone", lambda T, x: T.linalg.qr(x).Q, (3, 2)),
    case("linalg.qr complete square", lambda T, x: T.linalg.qr(x, mode="complete")[1], (2, 3, 3)),
    case("linalg.eigh", lambda T, x: joined(T, *map(projectors, T.linalg.eigh(sym(x)))), (3, 3)),
    case("linalg.eigh values", lambda T, x: T.linalg.eigh(sym(x), UPLO="U")[0], (2, 2, 2)),
    case("linalg.eigvalsh", lambda T, x: T.linalg.eigvalsh(sym(x)), (3, 3)),
    case("linalg.eig", lambda T, x: projectors(T.linalg.eig(sym(x))[1]).abs(), (3, 3), seed=1),
    case("linalg.eigvals", lambda T, x: (T.linalg.eigvals(sym(x)) ** 2).sum().abs(), (3, 3)),
    case("linalg.svd", lambda T, x: joined(T, *map(projectors, T.linalg.svd(x, full_matrices=False))), (3, 2)),
    case("linalg.svd wide", lambda T, x: joined(T, *map(projectors, T.linalg.svd(x, full_matrices=False))), (2, 3)),
    case("linalg.svd U", lambda T, x: projectors(T.linalg.svd(x, full_matrices=False).U), (2, 3, 2)),
    case("linalg.svd full", lambda T, x: T.linalg.svd(x).S, (2, 3)),
    case("linalg.svdvals", lambda T, x: T.linalg.svdvals(x), (2, 3, 2)),
    case("svd", lambda T, x: joined(T, *map(projectors, T.svd(x))), (2, 3)),
    case("linalg.lu", lambda T, x: joined(T, *T.linalg.lu(x)[1:]), (3, 3)),
    case("linalg.lu tall", lambda T, x: joined(T, *T.linalg.lu(x)[1:]), (2, 4, 2)),
    case("linalg.lu wide", lambda T, x: joined(T, *T.linalg.lu(x)[1:]), (2, 4)),
    case("linalg.lu_factor", lambda T, x: T.linalg.lu_factor(x).LU, (2, 3, 3)),
    case("lu_unpack", lambda T, x: joined(T, *T.lu_unpack(*T.linalg.lu_factor(x))[1:]), (3, 2)),
    case("linalg.lu_solve", lambda T, x, b: T.linalg.lu_solve(*T.linalg.lu_factor(x), b), (3, 3), (3, 2)),
    case(
        "linalg.lu_solve right adjoint",
        lambda T, x, b: T.linalg.lu_solve(*T.linalg.lu_factor(x), b, left=False, adjoint=True),
        (2, 2, 2),
        (2, 1, 2),
    ),
    case(
        "linalg.householder_product",
        lambda T, x, t: T.linalg.householder_product(x, t),
        (3, 2),
        (2,),
    ),
    case("ormqr", lambda T, x, t, c: T.ormqr(x, t, c), (3, 2), (2,), (3, 2)),
    case("ormqr right transposed", lambda T, x, t, c: T.ormqr(x, t, c, False, True), (2, 2), (2,), (3, 2)),
    case("torch.cholesky", lambda T, x: T.cholesky(x @ x.mT + 3 * T.eye(3, dtype=x.dtype)), (3, 3), oracle=False),
    case("linalg.eig complex", lambda T, x: _weighted(T, T.linalg.eigvals(x)), (3, 3)),
]
