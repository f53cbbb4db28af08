"""Cases of nn.functional: padding."""

from __future__ import annotations

from tests.engine.ops.cases.case import case

CASES = [
    case("F.pad constant (1, 2, -1, 1)", lambda T, x: T.nn.functional.pad(x, (1, 2, -1, 1), mode="constant"), (2, 3)),
    case("F.pad reflect (2, 1)", lambda T, x: T.nn.functional.pad(x, (2, 1), mode="reflect"), (1, 2, 4)),
    case(
        "F.pad reflect (2, -1, 1, 2)", lambda T, x: T.nn.functional.pad(x, (2, -1, 1, 2), mode="reflect"), (1, 1, 3, 4)
    ),
    case(
        "F.pad reflect (1, 2, 0, 1, 1, 1)",
        lambda T, x: T.nn.functional.pad(x, (1, 2, 0, 1, 1, 1), mode="reflect"),
        (1, 1, 2, 3, 3),
    ),
    case("F.pad replicate (2, 4)", lambda T, x: T.nn.functional.pad(x, (2, 4), mode="replicate"), (2, 3)),
    case(
        "F.pad replicate (1, 0, 2, -1)",
        lambda T, x: T.nn.functional.pad(x, (1, 0, 2, -1), mode="replicate"),
        (1, 1, 2, 3),
    ),
    case(
        "F.pad replicate (1, 1, 1, 0, 0, 2)",
        lambda T, x: T.nn.functional.pad(x, (1, 1, 1, 0, 0, 2), mode="replicate"),
        (1, 1, 2, 2, 2),
    ),
    case("F.pad circular (1, 3)", lambda T, x: T.nn.functional.pad(x, (1, 3), mode="circular"), (1, 2, 3)),
    case(
        "F.pad circular (1, 2, -1, 1)",
        lambda T, x: T.nn.functional.pad(x, (1, 2, -1, 1), mode="circular"),
        (1, 1, 3, 3),
    ),
    case("F.pad value", lambda T, x: T.nn.functional.pad(x, (1, 1), value=2.5), (2, 3)),
    case("pad circular 3d", lambda T, x: T.nn.functional.pad(x, (1, 1, 0, 1, 1, 0), mode="circular"), (1, 1, 2, 2, 3)),
]
