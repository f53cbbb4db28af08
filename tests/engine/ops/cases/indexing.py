"""Cases: choosing elements by indices and masks."""

from __future__ import annotations

from tests.engine.ops.cases.case import case

INDEX = [[0, 2, 1], [1, 0, 2]]

CASES = [
    case("index none", lambda T, x: x[None, ..., 1], (2, 3)),
    case("index all", lambda T, x: x[...], (2, 3)),
    case("index list", lambda T, x: x[[0, 1, 0]], (2, 3)),
    case("index tensors", lambda T, x: x[T.tensor([0, 1, 1]), T.tensor([2, 0, 0])], (2, 3)),
    case("index mixed", lambda T, x: x[:, T.tensor([0, 2])], (2, 3)),
    case("index apart", lambda T, x: x[T.tensor([0, 1]), :, T.tensor([[1], [0]])], (2, 3, 2)),
    case("index with a number", lambda T, x: x[0, :, [1, 1, 0]], (2, 3, 2)),
    case("index with True", lambda T, x: x[True], (2, 3)),
    case("index 0-d tensor", lambda T, x: x[T.tensor(1)], (2, 3)),
    case("mask", lambda T, x: x[x > 0], (2, 3)),
    case("mask of rows", lambda T, x: x[:, T.tensor([True, False, True])], (2, 3)),
    case("gather", lambda T, x: x.gather(1, T.tensor(INDEX)), (2, 3)),
    case("gather part", lambda T, x: x.gather(0, T.tensor([[1, 1]])), (2, 3)),
    case("take", lambda T, x: T.take(x, T.tensor([0, 5, 5])), (2, 3)),
    case("take_along_dim", lambda T, x: T.take_along_dim(x, T.tensor([[1], [0]]), 1), (2, 3)),
    case("take_along_dim flat", lambda T, x: T.take_along_dim(x, T.tensor([4, 4])), (2, 3)),
    case("index_select", lambda T, x: x.index_select(0, T.tensor([1, 1, 0])), (2, 3)),
    case("masked_fill", lambda T, x: x.masked_fill(x > 0, 5.0), (2, 3)),
    case("masked_fill tensor", lambda T, x, y: x.masked_fill(x > 0, y) * 1, (2, 3), ()),
    case("masked_select", lambda T, x: x.masked_select(x > 0), (2, 3)),
    case("masked_scatter", lambda T, x, y: x.masked_scatter(x > 0, y), (2, 3), (7,)),
    case("put", lambda T, x, y: x.put(T.tensor([1, 4]), y), (2, 3), (2,)),
    case("put accumulate", lambda T, x, y: x.put(T.tensor([1, 1]), y, accumulate=True), (2, 3), (2,)),
    case("index_put", lambda T, x, y: x.index_put((T.tensor([0, 1]),), y), (2, 3), (3,)),
    case("index_put accumulate", lambda T, x, y: x.index_put((T.tensor([0, 0]),), y, accumulate=True), (2, 3), (2, 3)),
]
