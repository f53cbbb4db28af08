"""Cases: norms of vectors and matrices."""

from __future__ import annotations

import math

from tests.engine.ops.cases.case import case

CASES = [
    case("linalg.vector_norm", lambda T, x: T.linalg.vector_norm(x), (2, 3)),
    case("linalg.vector_norm 1", lambda T, x: T.linalg.vector_norm(x, 1, dim=1), (2, 3)),
    case("linalg.vector_norm 3", lambda T, x: T.linalg.vector_norm(x, 3, dim=(0, 1), keepdim=True), (2, 3)),
    case("linalg.vector_norm 1.5", lambda T, x: T.linalg.vector_norm(x, 1.5), (2, 3)),
    case("linalg.vector_norm inf", lambda T, x: T.linalg.vector_norm(x, math.inf, dim=0), (2, 3), second=False),
    case("linalg.vector_norm -inf", lambda T, x: T.linalg.vector_norm(x, -math.inf, dim=0), (2, 3), second=False),
    case("linalg.matrix_norm", lambda T, x: T.linalg.matrix_norm(x), (2, 2, 3)),
    case("linalg.matrix_norm nuc", lambda T, x: T.linalg.matrix_norm(x, "nuc", dim=(0, 2)), (2, 2, 3)),
    case("linalg.matrix_norm 2", lambda T, x: T.linalg.matrix_norm(x, 2), (3, 2)),
    case("linalg.matrix_norm -2", lambda T, x: T.linalg.matrix_norm(x, -2), (3, 2)),
    case("linalg.matrix_norm 1", lambda T, x: T.linalg.matrix_norm(x, 1), (3, 2), second=False),
    case("linalg.matrix_norm -1", lambda T, x: T.linalg.matrix_norm(x, -1), (3, 2), second=False),
    case("linalg.matrix_norm inf", lambda T, x: T.linalg.matrix_norm(x, math.inf), (3, 2), second=False),
    case("linalg.matrix_norm -inf", lambda T, x: T.linalg.matrix_norm(x, -math.inf), (3, 2), second=False),
    case("linalg.norm", lambda T, x: T.linalg.norm(x), (2, 3)),
    case("linalg.norm vectors", lambda T, x: T.linalg.norm(x, 4, dim=1), (2, 3)),
    case("linalg.norm matrices", lambda T, x: T.linalg.norm(x, "nuc", dim=(1, 2)), (2, 2, 3)),
    case("vector_norm 0", lambda T, x: T.linalg.vector_norm(x, 0) * x.sum(), (2, 3)),
]
