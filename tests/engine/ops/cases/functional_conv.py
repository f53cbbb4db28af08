"""Cases of nn.functional: convolution, linear maps and distances."""

from __future__ import annotations

from tests.engine.ops.cases.case import case

CASES = [
    case(
        "F.conv1d",
        lambda T, x, w, b: T.nn.functional.conv1d(x, w, b, stride=2, padding=1, groups=2),
        (2, 4, 5),
        (2, 2, 3),
        (2,),
    ),
    case("F.conv2d", lambda T, x, w: T.nn.functional.conv2d(x, w), (2, 2, 4, 4), (3, 2, 2, 3)),
    case(
        "F.conv2d options",
        lambda T, x, w, b: T.nn.functional.conv2d(x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
        (1, 4, 5, 5),
        (2, 2, 2, 2),
        (2,),
    ),
    case("F.conv2d same", lambda T, x, w: T.nn.functional.conv2d(x, w, padding="same"), (1, 1, 4, 4), (1, 1, 3, 3)),
    case("F.conv2d unbatched", lambda T, x, w: T.nn.functional.conv2d(x, w, padding="valid"), (2, 4, 3), (3, 2, 1, 1)),
    case("F.conv3d", lambda T, x, w: T.nn.functional.conv3d(x, w, padding=1), (1, 1, 2, 3, 2), (2, 1, 2, 2, 3)),
    case(
        "F.conv_transpose1d",
        lambda T, x, w, b: T.nn.functional.conv_transpose1d(x, w, b, stride=2, output_padding=1),
        (2, 2, 3),
        (2, 1, 2),
        (1,),
    ),
    case("F.conv_transpose2d", lambda T, x, w: T.nn.functional.conv_transpose2d(x, w), (1, 2, 3, 3), (2, 3, 2, 2)),
    case(
        "F.conv_transpose2d options",
        lambda T, x, w, b: T.nn.functional.conv_transpose2d(
            x, w, b, stride=2, padding=1, output_padding=1, groups=2, dilation=2
        ),
        (1, 2, 3, 3),
        (2, 2, 2, 2),
        (4,),
    ),
    case(
        "F.conv_transpose2d wide",
        lambda T, x, w: T.nn.functional.conv_transpose2d(x, w, output_padding=2, dilation=3),
        (1, 1, 2, 2),
        (1, 1, 2, 2),
    ),
    case(
        "F.conv_transpose3d",
        lambda T, x, w: T.nn.functional.conv_transpose3d(x, w, padding=(0, 1, 0)),
        (1, 2, 2, 2, 2),
        (2, 1, 1, 3, 2),
    ),
    case("F.unfold", lambda T, x: T.nn.functional.unfold(x, (2, 3), padding=1, stride=(1, 2)), (1, 2, 3, 4)),
    case("F.unfold 1", lambda T, x: T.nn.functional.unfold(x, 1), (1, 2, 2, 2)),
    case("F.fold", lambda T, x: T.nn.functional.fold(x, (3, 4), (2, 2), dilation=(1, 2)), (1, 8, 4)),
    case("F.linear", lambda T, x, w, b: T.nn.functional.linear(x, w, b), (2, 3), (4, 3), (4,)),
    case("F.linear 3d", lambda T, x, w, b: T.nn.functional.linear(x, w, b), (2, 2, 3), (4, 3), (4,)),
    case("F.linear plain", lambda T, x, w: T.nn.functional.linear(x, w), (2, 3), (4, 3)),
    case("F.bilinear", lambda T, x, y, w, b: T.nn.functional.bilinear(x, y, w, b), (2, 3), (2, 2), (4, 3, 2), (4,)),
    case("F.normalize", lambda T, x: T.nn.functional.normalize(x), (2, 3)),
    case("F.cosine_similarity", lambda T, x, y: T.nn.functional.cosine_similarity(x, y), (2, 3), (2, 3)),
    case("F.pairwise_distance", lambda T, x, y: T.nn.functional.pairwise_distance(x, y), (2, 3), (2, 3)),
]
