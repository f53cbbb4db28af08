"""Cases of nn.functional: images in other sizes."""

from __future__ import annotations

from tests.engine.ops.cases.case import case

CASES = [
    case(
        "F.interpolate nearest 3d",
        lambda T, x: T.nn.functional.interpolate(x, scale_factor=1.7, mode="nearest"),
        (1, 2, 3),
    ),
    case(
        "F.interpolate nearest 4d",
        lambda T, x: T.nn.functional.interpolate(x, scale_factor=1.7, mode="nearest"),
        (1, 1, 3, 2),
    ),
    case(
        "F.interpolate nearest 5d",
        lambda T, x: T.nn.functional.interpolate(x, scale_factor=1.7, mode="nearest"),
        (1, 1, 2, 2, 2),
    ),
    case(
        "F.interpolate nearest-exact 1d by a factor",
        lambda T, x: T.nn.functional.interpolate(x, scale_factor=1.7, mode="nearest-exact"),
        (1, 1, 3),
    ),
    case(
        "F.interpolate linear 3d",
        lambda T, x: T.nn.functional.interpolate(x, scale_factor=1.7, mode="linear"),
        (1, 2, 4),
    ),
    case(
        "F.interpolate bilinear 4d",
        lambda T, x: T.nn.functional.interpolate(x, scale_factor=1.7, mode="bilinear"),
        (1, 1, 3, 4),
    ),
    case(
        "F.interpolate bicubic 4d",
        lambda T, x: T.nn.functional.interpolate(x, scale_factor=1.7, mode="bicubic"),
        (1, 1, 4, 4),
    ),
    case(
        "F.interpolate trilinear 5d",
        lambda T, x: T.nn.functional.interpolate(x, scale_factor=1.7, mode="trilinear"),
        (1, 1, 2, 3, 2),
    ),
    case(
        "F.interpolate area 4d",
        lambda T, x: T.nn.functional.interpolate(x, scale_factor=1.7, mode="area"),
        (1, 1, 4, 5),
    ),
    case(
        "F.interpolate linear aligned",
        lambda T, x: T.nn.functional.interpolate(x, size=5, mode="linear", align_corners=True),
        (1, 2, 4),
    ),
    case(
        "F.interpolate bilinear aligned",
        lambda T, x: T.nn.functional.interpolate(x, size=5, mode="bilinear", align_corners=True),
        (1, 1, 3, 4),
    ),
    case(
        "F.interpolate bicubic aligned",
        lambda T, x: T.nn.functional.interpolate(x, size=5, mode="bicubic", align_corners=True),
        (1, 1, 4, 3),
    ),
    case(
        "F.interpolate bilinear antialias",
        lambda T, x: T.nn.functional.interpolate(x, size=(3, 2), mode="bilinear", antialias=True),
        (1, 1, 5, 6),
    ),
    case(
        "F.interpolate bicubic antialias",
        lambda T, x: T.nn.functional.interpolate(x, size=(3, 2), mode="bicubic", antialias=True),
        (1, 1, 5, 6),
    ),
    case(
        "F.grid_sample bilinear zeros",
        lambda T, x, y: T.nn.functional.grid_sample(x, y, mode="bilinear", padding_mode="zeros", align_corners=False),
        (1, 2, 3, 4),
        (1, 2, 3, 2),
        low=-1.4,
        high=1.4,
        seed=1,
    ),
    case(
        "F.grid_sample bilinear border",
        lambda T, x, y: T.nn.functional.grid_sample(x, y, mode="bilinear", padding_mode="border", align_corners=False),
        (1, 2, 3, 4),
        (1, 2, 3, 2),
        low=-1.4,
        high=1.4,
        seed=1,
    ),
    case(
        "F.grid_sample bilinear reflection",
        lambda T, x, y: T.nn.functional.grid_sample(
            x, y, mode="bilinear", padding_mode="reflection", align_corners=False
        ),
        (1, 2, 3, 4),
        (1, 2, 3, 2),
        low=-1.4,
        high=1.4,
        seed=1,
    ),
    case(
        "F.grid_sample nearest zeros",
        lambda T, x, y: T.nn.functional.grid_sample(x, y, mode="nearest", padding_mode="zeros", align_corners=False),
        (1, 2, 3, 4),
        (1, 2, 3, 2),
        low=-1.4,
        high=1.4,
        seed=1,
    ),
    case(
        "F.grid_sample nearest border",
        lambda T, x, y: T.nn.functional.grid_sample(x, y, mode="nearest", padding_mode="border", align_corners=False),
        (1, 2, 3, 4),
        (1, 2, 3, 2),
        low=-1.4,
        high=1.4,
        seed=1,
    ),
    case(
        "F.grid_sample nearest reflection",
        lambda T, x, y: T.nn.functional.grid_sample(
            x, y, mode="nearest", padding_mode="reflection", align_corners=False
        ),
        (1, 2, 3, 4),
        (1, 2, 3, 2),
        low=-1.4,
        high=1.4,
        seed=1,
    ),
    case(
        "F.grid_sample bicubic zeros",
        lambda T, x, y: T.nn.functional.grid_sample(x, y, mode="bicubic", padding_mode="zeros", align_corners=False),
        (1, 2, 3, 4),
        (1, 2, 3, 2),
        low=-1.4,
        high=1.4,
        seed=1,
    ),
    case(
        "F.grid_sample bicubic border",
        lambda T, x, y: T.nn.functional.grid_sample(x, y, mode="bicubic", padding_mode="border", align_corners=False),
        (1, 2, 3, 4),
        (1, 2, 3, 2),
        low=-1.4,
        high=1.4,
        seed=1,
    ),
    case(
        "F.grid_sample bicubic reflection",
        lambda T, x, y: T.nn.functional.grid_sample(
            x, y, mode="bicubic", padding_mode="reflection", align_corners=False
        ),
        (1, 2, 3, 4),
        (1, 2, 3, 2),
        low=-1.4,
        high=1.4,
        seed=1,
    ),
    case(
        "F.grid_sample aligned",
        lambda T, x, y: T.nn.functional.grid_sample(x, y, align_corners=True),
        (2, 1, 3, 4),
        (2, 2, 1, 2),
        low=-0.9,
        high=0.9,
        seed=1,
    ),
    case(
        "F.grid_sample 3d",
        lambda T, x, y: T.nn.functional.grid_sample(x, y, align_corners=False),
        (1, 1, 2, 3, 3),
        (1, 1, 2, 2, 3),
        low=-1.1,
        high=1.1,
        seed=2,
    ),
    case("F.affine_grid", lambda T, x: T.nn.functional.affine_grid(x, (2, 1, 2, 3), align_corners=False), (2, 2, 3)),
    case(
        "F.affine_grid 3d", lambda T, x: T.nn.functional.affine_grid(x, (1, 1, 2, 3, 2), align_corners=True), (1, 3, 4)
    ),
    case("F.pixel_shuffle", lambda T, x: T.nn.functional.pixel_shuffle(x, 2), (1, 4, 2, 3)),
    case("F.pixel_unshuffle", lambda T, x: T.nn.functional.pixel_unshuffle(x, 2), (1, 4, 2)),
    case("F.channel_shuffle", lambda T, x: T.nn.functional.channel_shuffle(x, 2), (1, 4, 2)),
    case(
        "F.interpolate nearest-exact 2d",
        lambda T, x: T.nn.functional.interpolate(x, (3, 5), mode="nearest-exact"),
        (1, 2, 2, 3),
    ),
    case(
        "F.interpolate nearest-exact 3d",
        lambda T, x: T.nn.functional.interpolate(x, (3, 2, 5), mode="nearest-exact"),
        (1, 1, 2, 2, 3),
    ),
    case(
        "F.interpolate nearest-exact 1d",
        lambda T, x: T.nn.functional.interpolate(x, 5, mode="nearest-exact"),
        (1, 2, 3),
    ),
]
