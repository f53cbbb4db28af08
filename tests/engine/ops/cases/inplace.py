"""Cases: in place."""

from __future__ import annotations

from tests.engine.ops.cases.case import case


def _augmented(x, y):
    x += y
    x *= 2
    x -= 1
    x /= 3
    x **= 2
    return x


def _assigned(x, key, value):
    x[key] = value
    return x


def _view_written(x, y):
    x[0].mul_(y)
    return x


def _base_written(x):
    v = x[1]
    x.mul_(3)
    return v * 2 + x[0]


def _view_of_view_written(x):
    v, w = x.t(), x[0]
    v[1:3].add_(5).mul_(2)
    return v.sum(1) * w


CASES = [
    case("add_", lambda T, x, y: (x * 1).add_(y), (2, 3), (3,)),
    case("mul_ twice", lambda T, x, y: (x * 1).mul_(y).mul_(3), (2, 3), (3,)),
    case("+= ", lambda T, x, y: _augmented(x * 1, y), (2, 3), (2, 3)),
    case("exp_", lambda T, x: (x * 1).exp_(), (2, 3)),
    case("zero_", lambda T, x: (x * 1).zero_() + x, (2, 3)),
    case("fill_", lambda T, x, y: (x * 1).fill_(y), (2, 3), ()),
    case("copy_", lambda T, x, y: (x * 1).copy_(y), (2, 3), (3,)),
    case("set row", lambda T, x, y: _assigned(x * 2, 0, y), (2, 3), (3,)),
    case("set slice", lambda T, x: _assigned(x * 2, (slice(None), slice(1, 3)), 7.0), (2, 3)),
    case("set list", lambda T, x, y: _assigned(x * 2, [0, 2], y), (3, 2), (2, 2)),
    case("set mask", lambda T, x: _assigned(x * 2, x > 0, 0.0), (2, 3)),
    case("set into zeros", lambda T, x: _assigned(T.zeros(2, 3, dtype=T.float64), 1, x * 3), (3,)),
    case("write to a view", lambda T, x, y: _view_written(x * 2, y), (2, 3), (3,)),
    case("write to base of a view", lambda T, x: _base_written(x * 2), (2, 3)),
    case("write to a view of a view", lambda T, x: _view_of_view_written(x * 2), (2, 3)),
]
