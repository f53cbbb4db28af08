"""Cases: functions of networks."""

from __future__ import annotations

from tests.ops.cases.case import case

CASES = [
    case("conv2d", lambda T, x, w: T.nn.functional.conv2d(x, w), (2, 2, 4, 4), (3, 2, 2, 3)),
    case(
        "conv2d options",
        lambda T, x, w, b: T.nn.functional.conv2d(x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
        (1, 4, 5, 5),
        (2, 2, 2, 2),
        (2,),
    ),
    case("conv2d same", lambda T, x, w: T.nn.functional.conv2d(x, w, padding="same"), (1, 1, 4, 4), (1, 1, 3, 3)),
    case("conv_transpose2d", lambda T, x, w: T.nn.functional.conv_transpose2d(x, w), (1, 2, 3, 3), (2, 3, 2, 2)),
    case(
        "conv_transpose2d options",
        lambda T, x, w, b: T.nn.functional.conv_transpose2d(
            x, w, b, stride=2, padding=1, output_padding=1, groups=2, dilation=2
        ),
        (1, 2, 3, 3),
        (2, 2, 2, 2),
        (4,),
    ),
    case("mse_loss", lambda T, x, y: T.nn.functional.mse_loss(x, y), (2, 3), (2, 3)),
    case("mse_loss sum", lambda T, x, y: T.nn.functional.mse_loss(x, y, reduction="sum"), (2, 3), (2, 3)),
    case("l1_loss", lambda T, x, y: T.nn.functional.l1_loss(x, y), (2, 3), (2, 3)),
    case("linear", lambda T, x, w, b: T.nn.functional.linear(x, w, b), (2, 3), (4, 3), (4,)),
    case("softmax", lambda T, x: T.nn.functional.softmax(x, dim=1), (2, 3)),
    case("log_softmax", lambda T, x: T.nn.functional.log_softmax(x, dim=0), (2, 3)),
]
