"""Cases of nn.functional: activations and softmax."""

from __future__ import annotations

from tests.ops.cases.case import case

CASES = [
    case("F.relu", lambda T, x: T.nn.functional.relu(x), (2, 3)),
    case("F.elu", lambda T, x: T.nn.functional.elu(x), (2, 3)),
    case("F.selu", lambda T, x: T.nn.functional.selu(x), (2, 3)),
    case("F.celu", lambda T, x: T.nn.functional.celu(x), (2, 3)),
    case("F.gelu", lambda T, x: T.nn.functional.gelu(x), (2, 3)),
    case("F.silu", lambda T, x: T.nn.functional.silu(x), (2, 3)),
    case("F.mish", lambda T, x: T.nn.functional.mish(x), (2, 3)),
    case("F.softplus", lambda T, x: T.nn.functional.softplus(x), (2, 3)),
    case("F.logsigmoid", lambda T, x: T.nn.functional.logsigmoid(x), (2, 3)),
    case("F.softsign", lambda T, x: T.nn.functional.softsign(x), (2, 3)),
    case("F.tanhshrink", lambda T, x: T.nn.functional.tanhshrink(x), (2, 3)),
    case("F.hardswish", lambda T, x: T.nn.functional.hardswish(x), (2, 3), low=-5, high=7),
    case("F.relu6", lambda T, x: T.nn.functional.relu6(x), (2, 3), low=-5, high=7),
    case("F.hardtanh", lambda T, x: T.nn.functional.hardtanh(x), (2, 3), low=-5, high=7),
    case("F.leaky_relu", lambda T, x: T.nn.functional.leaky_relu(x), (2, 3)),
    case("F.hardshrink", lambda T, x: T.nn.functional.hardshrink(x), (2, 3)),
    case("F.softshrink", lambda T, x: T.nn.functional.softshrink(x), (2, 3)),
    case("F.elu alpha", lambda T, x: T.nn.functional.elu(x, 0.5), (2, 3)),
    case("F.celu alpha", lambda T, x: T.nn.functional.celu(x, 0.5), (2, 3)),
    case("F.gelu tanh", lambda T, x: T.nn.functional.gelu(x, approximate="tanh"), (2, 3)),
    case("F.softplus options", lambda T, x: T.nn.functional.softplus(x, beta=2, threshold=1), (2, 3)),
    case("F.threshold", lambda T, x: T.nn.functional.threshold(x, 0.1, 3.0), (2, 3)),
    case("F.prelu", lambda T, x, w: T.nn.functional.prelu(x, w), (2, 3, 2), (3,)),
    case("F.prelu one", lambda T, x, w: T.nn.functional.prelu(x, w), (4,), (1,)),
    case("F.rrelu", lambda T, x: T.nn.functional.rrelu(x), (2, 3)),
    case("F.glu", lambda T, x: T.nn.functional.glu(x, 0), (4, 3)),
    case("F.relu in place", lambda T, x: T.nn.functional.relu(x * 1, inplace=True), (2, 3)),
    case("F.silu in place", lambda T, x: T.nn.functional.silu(x * 1, inplace=True), (2, 3)),
    case("F.mish in place", lambda T, x: T.nn.functional.mish(x * 1, inplace=True), (2, 3)),
    case("F.hardswish in place", lambda T, x: T.nn.functional.hardswish(x * 1, inplace=True), (2, 3), low=-5, high=7),
    case("F.relu6 in place", lambda T, x: T.nn.functional.relu6(x * 1, inplace=True), (2, 3), low=-5, high=7),
    case("F.hardtanh in place", lambda T, x: T.nn.functional.hardtanh(x * 1, inplace=True), (2, 3), low=-5, high=7),
    case("F.softmax", lambda T, x: T.nn.functional.softmax(x, dim=1), (2, 3)),
    case("F.log_softmax", lambda T, x: T.nn.functional.log_softmax(x, dim=0), (2, 3)),
    case("F.softmin", lambda T, x: T.nn.functional.softmin(x, dim=0), (2, 3)),
]
