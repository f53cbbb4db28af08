"""Cases of nn.functional: pooling."""

from __future__ import annotations

from tests.engine.ops.cases.case import case

CASES = [
    case("F.avg_pool1d", lambda T, x: T.nn.functional.avg_pool1d(x, 2), (1, 2, 6)),
    case(
        "F.avg_pool1d options",
        lambda T, x: T.nn.functional.avg_pool1d(x, 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
        (1, 2, 6),
    ),
    case("F.max_pool1d", lambda T, x: T.nn.functional.max_pool1d_with_indices(x, 2)[0], (1, 2, 6)),
    case(
        "F.max_pool1d options",
        lambda T, x: T.nn.functional.max_pool1d_with_indices(x, 2, stride=1, padding=1, dilation=2, ceil_mode=True)[0],
        (1, 2, 6),
    ),
    case("F.lp_pool1d", lambda T, x: T.nn.functional.lp_pool1d(x, 3, 2), (1, 2, 6), low=0.5, high=2),
    case("F.adaptive_avg_pool1d", lambda T, x: T.nn.functional.adaptive_avg_pool1d(x, 2), (1, 2, 6)),
    case("F.adaptive_max_pool1d", lambda T, x: T.nn.functional.adaptive_max_pool1d(x, 2), (1, 2, 6)),
    case(
        "F.max_unpool1d",
        lambda T, x: T.nn.functional.max_unpool1d(*T.nn.functional.max_pool1d(x, 2, return_indices=True), 2),
        (1, 2, 6),
    ),
    case("F.avg_pool2d", lambda T, x: T.nn.functional.avg_pool2d(x, 2), (1, 2, 5, 4)),
    case(
        "F.avg_pool2d options",
        lambda T, x: T.nn.functional.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
        (1, 2, 5, 4),
    ),
    case("F.max_pool2d", lambda T, x: T.nn.functional.max_pool2d_with_indices(x, 2)[0], (1, 2, 5, 4)),
    case(
        "F.max_pool2d options",
        lambda T, x: T.nn.functional.max_pool2d_with_indices(x, 2, stride=1, padding=1, dilation=2, ceil_mode=True)[0],
        (1, 2, 5, 4),
    ),
    case("F.lp_pool2d", lambda T, x: T.nn.functional.lp_pool2d(x, 3, 2), (1, 2, 5, 4), low=0.5, high=2),
    case("F.adaptive_avg_pool2d", lambda T, x: T.nn.functional.adaptive_avg_pool2d(x, 2), (1, 2, 5, 4)),
    case("F.adaptive_max_pool2d", lambda T, x: T.nn.functional.adaptive_max_pool2d(x, 2), (1, 2, 5, 4)),
    case(
        "F.max_unpool2d",
        lambda T, x: T.nn.functional.max_unpool2d(*T.nn.functional.max_pool2d(x, 2, return_indices=True), 2),
        (1, 2, 5, 4),
    ),
    case("F.avg_pool3d", lambda T, x: T.nn.functional.avg_pool3d(x, 2), (1, 2, 3, 4, 4)),
    case(
        "F.avg_pool3d options",
        lambda T, x: T.nn.functional.avg_pool3d(x, 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
        (1, 2, 3, 4, 4),
    ),
    case("F.max_pool3d", lambda T, x: T.nn.functional.max_pool3d_with_indices(x, 2)[0], (1, 2, 3, 4, 4)),
    case(
        "F.max_pool3d options",
        lambda T, x: T.nn.functional.max_pool3d_with_indices(x, 2, stride=1, padding=1, dilation=2, ceil_mode=True)[0],
        (1, 2, 3, 4, 4),
    ),
    case("F.lp_pool3d", lambda T, x: T.nn.functional.lp_pool3d(x, 3, 2), (1, 2, 3, 4, 4), low=0.5, high=2),
    case("F.adaptive_avg_pool3d", lambda T, x: T.nn.functional.adaptive_avg_pool3d(x, 2), (1, 2, 3, 4, 4)),
    case("F.adaptive_max_pool3d", lambda T, x: T.nn.functional.adaptive_max_pool3d(x, 2), (1, 2, 3, 4, 4)),
    case(
        "F.max_unpool3d",
        lambda T, x: T.nn.functional.max_unpool3d(*T.nn.functional.max_pool3d(x, 2, return_indices=True), 2),
        (1, 2, 3, 4, 4),
    ),
    case("F.avg_pool2d divisor", lambda T, x: T.nn.functional.avg_pool2d(x, 2, divisor_override=3), (2, 4, 4)),
    case(
        "F.fractional_max_pool2d",
        lambda T, x: T.nn.functional.fractional_max_pool2d(
            x, 2, (2, 2), _random_samples=T.full((1, 1, 2), 0.3).double()
        ),
        (1, 1, 4, 5),
    ),
    case(
        "F.fractional_max_pool3d",
        lambda T, x: T.nn.functional.fractional_max_pool3d(
            x, 2, (1, 2, 2), _random_samples=T.full((1, 1, 3), 0.3).double()
        ),
        (1, 1, 3, 4, 4),
        oracle=False,
    ),
]
