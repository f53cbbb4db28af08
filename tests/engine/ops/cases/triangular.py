"""Cases: diagonals and triangles."""

from __future__ import annotations

from tests.engine.ops.cases.case import case

CASES = [
    case("diag of a vector", lambda T, x: T.diag(x, 1), (3,)),
    case("diag of a matrix", lambda T, x: x.diag(-1) * 1, (3, 3)),
    case("diag_embed", lambda T, x: T.diag_embed(x, 1, 0, 2), (2, 3)),
    case("diagflat", lambda T, x: x.diagflat(), (2, 2)),
    case("fill_diagonal_", lambda T, x: (x * 1).fill_diagonal_(2.0) * x, (3, 4)),
    case("fill_diagonal_ wrapped", lambda T, x: (x * 1).fill_diagonal_(2.0, wrap=True) * x, (7, 2)),
    case("trace", lambda T, x: x.trace(), (3, 4)),
    case("tril", lambda T, x: x.tril(-1), (2, 3, 3)),
    case("triu", lambda T, x: T.triu(x, 1), (3, 4)),
    case("tril_", lambda T, x: (x * 1).tril_(), (3, 3)),
    case("diagonal_scatter", lambda T, x, y: T.diagonal_scatter(x, y, 1), (3, 4), (3,)),
]
