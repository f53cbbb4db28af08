"""Cases: gathering and scattering."""

from __future__ import annotations

from tests.ops.cases.case import case

INDEX = [[0, 2, 1], [1, 0, 2]]

CASES = [
    case("gather", lambda T, x: x.gather(1, T.tensor(INDEX)), (2, 3)),
    case("take", lambda T, x: T.take(x, T.tensor([0, 5, 5])), (2, 3)),
    case("take_along_dim", lambda T, x: T.take_along_dim(x, T.tensor([[1], [0]]), 1), (2, 3)),
    case("index_select", lambda T, x: x.index_select(0, T.tensor([1, 1, 0])), (2, 3)),
    case("masked_fill", lambda T, x: x.masked_fill(x > 0, 5.0), (2, 3)),
    case("masked_select", lambda T, x: x.masked_select(x > 0), (2, 3)),
    case("scatter", lambda T, x, y: x.scatter(0, T.tensor([[0, 1, 2], [2, 0, 1]]), y), (3, 3), (2, 3)),
    case("scatter number", lambda T, x: x.scatter(1, T.tensor([[0], [2]]), 9.0), (2, 3)),
    case("scatter_add", lambda T, x, y: x.scatter_add(0, T.tensor([[0, 0, 1], [0, 2, 1]]), y), (3, 3), (2, 3)),
]
