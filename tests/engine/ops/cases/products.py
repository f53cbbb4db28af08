"""Cases: products."""

from __future__ import annotations

from tests.engine.ops.cases.case import case

CASES = [
    case("mm", lambda T, x, y: T.mm(x, y), (2, 3), (3, 4)),
    case("mv", lambda T, x, y: T.mv(x, y), (2, 3), (3,)),
    case("dot", lambda T, x, y: T.dot(x, y), (3,), (3,)),
    case("bmm", lambda T, x, y: T.bmm(x, y), (2, 2, 3), (2, 3, 2)),
    case("outer", lambda T, x, y: T.outer(x, y), (2,), (3,)),
    case("inner", lambda T, x, y: T.inner(x, y), (2, 3), (4, 3)),
    case("matmul 2-2", lambda T, x, y: x @ y, (2, 3), (3, 2)),
    case("matmul 1-2", lambda T, x, y: x @ y, (3,), (3, 2)),
    case("matmul 2-1", lambda T, x, y: x @ y, (2, 3), (3,)),
    case("matmul 3-2", lambda T, x, y: x @ y, (2, 2, 3), (3, 2)),
    case("matmul 3-1", lambda T, x, y: x @ y, (2, 2, 3), (3,)),
    case("matmul 1-3", lambda T, x, y: x @ y, (3,), (2, 3, 2)),
    case("matmul 4-3", lambda T, x, y: x @ y, (2, 1, 2, 3), (3, 3, 2)),
    case("addmm", lambda T, x, y, z: T.addmm(x, y, z, beta=2, alpha=3), (4,), (2, 3), (3, 4)),
    case("addmv", lambda T, x, y, z: T.addmv(x, y, z, beta=2, alpha=3), (2,), (2, 3), (3,)),
    case("addr", lambda T, x, y, z: T.addr(x, y, z, beta=2, alpha=3), (2, 3), (2,), (3,)),
    case("addbmm", lambda T, x, y, z: T.addbmm(x, y, z, beta=2, alpha=3), (3,), (2, 2, 3), (2, 3, 3)),
    case("baddbmm", lambda T, x, y, z: T.baddbmm(x, y, z, beta=2, alpha=3), (2, 1, 2), (2, 2, 3), (2, 3, 2)),
    case("addmm beta 0", lambda T, x, y, z: T.addmm(x, y, z, beta=0), (2, 2), (2, 3), (3, 2)),
    case("addmm_", lambda T, x, y, z: (x * 1).addmm_(y, z, alpha=3), (2, 4), (2, 3), (3, 4)),
    case("vdot", lambda T, x, y: T.vdot(x, y), (3,), (3,)),
    case("linalg.vecdot", lambda T, x, y: T.linalg.vecdot(x, y, dim=0), (3, 2), (3, 1)),
    case("linalg.cross", lambda T, x, y: T.linalg.cross(x, y), (2, 3), (1, 3)),
    case("cross", lambda T, x, y: T.cross(x, y, dim=0), (3, 2), (3, 2)),
    case("linalg.vander", lambda T, x: T.linalg.vander(x, N=4), (3,)),
    case("linalg.diagonal", lambda T, x: T.linalg.diagonal(x, offset=1), (2, 3, 3)),
    case("tensordot of length 1", lambda T, x, y: T.tensordot(x, y, ([1], [0])), (2, 1), (3, 2)),
    case("einsum lists", lambda T, x, y: T.einsum(x, [..., 0, 1], y, [1, 2], [..., 2, 0]), (2, 2, 3), (3, 2)),
    case("tensordot", lambda T, x, y: T.tensordot(x, y, ([1, 2], [0, 1])), (2, 3, 2), (3, 2, 2)),
    case("einsum mm", lambda T, x, y: T.einsum("ij,jk->ik", x, y), (2, 3), (3, 2)),
    case("einsum trace", lambda T, x: T.einsum("ii", x), (3, 3)),
    case("einsum diagonal", lambda T, x: T.einsum("ii->i", x), (3, 3)),
    case("einsum batch", lambda T, x, y: T.einsum("bij,bjk->bik", x, y), (2, 2, 3), (2, 3, 2)),
    case("einsum dots", lambda T, x, y: T.einsum("...ij,...jk", x, y), (2, 2, 3), (3, 2)),
    case("einsum three", lambda T, x, y, z: T.einsum("i,ij,j->", x, y, z), (2,), (2, 3), (3,)),
    case("einsum outer", lambda T, x, y: T.einsum("i,j->ji", x, y), (2,), (3,)),
]
