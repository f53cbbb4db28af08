"""Cases of nn.functional: normalization."""

from __future__ import annotations

from tests.engine.ops.cases.case import case

CASES = [
    case(
        "F.batch_norm",
        lambda T, x, w, b: T.nn.functional.batch_norm(x, None, None, w, b, training=True),
        (2, 3, 2),
        (3,),
        (3,),
    ),
    case("F.batch_norm plain", lambda T, x: T.nn.functional.batch_norm(x, None, None, training=True), (3, 2)),
    case("F.layer_norm", lambda T, x, w, b: T.nn.functional.layer_norm(x, (2, 3), w, b), (2, 2, 3), (2, 3), (2, 3)),
    case("F.layer_norm plain", lambda T, x: T.nn.functional.layer_norm(x, (3,)), (2, 3)),
    case("F.group_norm", lambda T, x, w, b: T.nn.functional.group_norm(x, 2, w, b), (2, 4, 2), (4,), (4,)),
    case(
        "F.instance_norm", lambda T, x, w, b: T.nn.functional.instance_norm(x, weight=w, bias=b), (2, 2, 3), (2,), (2,)
    ),
    case("F.rms_norm", lambda T, x, w: T.nn.functional.rms_norm(x, (3,), w), (2, 3), (3,)),
    case("F.local_response_norm", lambda T, x: T.nn.functional.local_response_norm(x, 2, alpha=0.3), (1, 4, 3)),
    case("F.local_response_norm 4d", lambda T, x: T.nn.functional.local_response_norm(x, 3), (1, 3, 2, 2)),
    case(
        "F.batch_norm eval",
        lambda T, x, w, b: T.nn.functional.batch_norm(
            x, T.tensor([0.1, -0.2]).double(), T.tensor([0.8, 1.3]).double(), w, b, training=False
        ),
        (3, 2, 2),
        (2,),
        (2,),
    ),
]
