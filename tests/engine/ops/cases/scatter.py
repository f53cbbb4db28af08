"""Cases: writing to places given by indices, in a copy."""

from __future__ import annotations

import warnings

from tests.engine.ops.cases.case import case

INDEX = [[0, 0, 1], [0, 2, 1]]


def reducing(kind, include_self):
    return case(
        f"scatter_reduce {kind}{' itself' * include_self}",
        lambda T, x, y: x.scatter_reduce(0, T.tensor(INDEX), y, kind, include_self=include_self),
        (3, 3),
        (2, 3),
    )


def index_reducing(kind, include_self):
    def call(T, x, y):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "index_reduce.. is in beta")
            return x.index_reduce(1, T.tensor([2, 0, 2]), y, kind, include_self=include_self)

    return case(f"index_reduce {kind}{' itself' * include_self}", call, (2, 4), (2, 3))


CASES = [
    case("scatter", lambda T, x, y: x.scatter(0, T.tensor([[0, 1, 2], [2, 0, 1]]), y), (3, 3), (2, 3)),
    case("scatter number", lambda T, x: x.scatter(1, T.tensor([[0], [2]]), 9.0), (2, 3)),
    case("scatter 0-d", lambda T, x, y: x.scatter(0, T.tensor(0), y), (), ()),
    case("scatter_add", lambda T, x, y: x.scatter_add(0, T.tensor(INDEX), y), (3, 3), (2, 3)),
    *(reducing(kind, own) for kind in ("sum", "prod", "mean", "amax", "amin") for own in (True, False)),
    *(index_reducing(kind, own) for kind in ("prod", "mean", "amax", "amin") for own in (True, False)),
    case("index_add", lambda T, x, y: x.index_add(0, T.tensor([1, 1]), y, alpha=2), (3, 2), (2, 2)),
    case("index_copy", lambda T, x, y: x.index_copy(1, T.tensor([2, 0]), y), (2, 3), (2, 2)),
    case("index_fill", lambda T, x: x.index_fill(1, T.tensor([2, 0]), 3.0), (2, 3)),
    case("index_fill tensor", lambda T, x, y: x.index_fill(1, T.tensor([2, 2]), y) * 1, (2, 3), ()),
    case("select_scatter", lambda T, x, y: x.select_scatter(y, 1, -1), (2, 3), (2,)),
    case("slice_scatter", lambda T, x, y: x.slice_scatter(y, 1, 0, 3, 2), (2, 3), (2, 2)),
    case(
        "as_strided_scatter", lambda T, x, y: T.as_strided_scatter(x, y, (2, 2), (1, 2)), (3, 4), (2, 2), oracle=False
    ),
]
