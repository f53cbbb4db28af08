"""Forty operations of networks, each at three sizes, in PyTorch's language."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Sizes = tuple[int, ...]
Operand = Any  # a shape: normal numbers that require a gradient; or a `Constant`


@dataclass(frozen=True)
class Constant:
    """An operand without a gradient: a function of NumPy's generator gives it."""

    draw: Callable[[np.random.Generator], Any]


@dataclass(frozen=True)
class Operation:
    """A row of the table: a call, and its arguments at each size."""

    name: str
    call: Callable[..., Any]  # torch, and the operands
    operands: Callable[..., tuple[Operand, ...]]  # by the number of a size
    sizes: tuple[Sizes, ...]


def classes(count: int, *shape: int) -> Constant:
    """Indices below ``count``."""
    return Constant(lambda random: random.integers(0, count, shape))


def drawn(operands: tuple[Operand, ...]) -> list[tuple[Any, bool]]:
    """The operands as arrays, and whether they require a gradient."""
    random = np.random.default_rng(0)
    return [
        (part.draw(random), False)
        if isinstance(part, Constant)
        else (random.standard_normal(part, np.float32) * np.float32(0.5), True)
        for part in operands
    ]


def of(name: str) -> Callable[..., Any]:
    """A function of ``torch.nn.functional`` of the operands alone."""
    return lambda torch, *operands: getattr(torch.nn.functional, name)(*operands)


def matrix(rows: int, columns: int) -> tuple[Operand]:
    """One matrix."""
    return ((rows, columns),)


def picture(n: int, c: int, size: int) -> tuple[Operand]:
    """A batch of pictures."""
    return ((n, c, size, size),)


def filtered(kernel: int, per_group: Callable[[int], int] = lambda c: c) -> Callable[..., tuple[Operand, ...]]:
    """Pictures, filters and biases."""
    return lambda n, c, o, size: ((n, c, size, size), (o, per_group(c), kernel, kernel), (o,))


def attended(n: int, length: int, width: int) -> tuple[Operand, ...]:
    """Queries, keys and values of ``n`` samples times heads."""
    return ((n, 4, length, width),) * 3


@functools.cache
def recurrent_layer(torch: Any, kind: str, width: int) -> Any:
    """A recurrent layer, whose parameters are the same in both libraries."""
    torch.manual_seed(0)
    return getattr(torch.nn, kind)(width, width)


def recurrent(kind: str) -> Operation:
    """The row of a recurrent layer; its sizes are length, batch and width."""

    def call(torch: Any, x: Any) -> Any:
        return recurrent_layer(torch, kind, x.shape[-1])(x)[0]

    return Operation(kind, call, lambda *shape: (shape,), ((10, 8, 32), (50, 32, 128), (50, 32, 256)))


POINTS = ((32, 128), (256, 512), (1024, 1024))
ROWS = ((32, 64), (512, 256), (2048, 1024))
PICTURES = ((4, 16, 16), (16, 32, 32), (32, 64, 32))
FILTERS = ((4, 16, 16, 16), (16, 32, 64, 26), (16, 64, 64, 32))

OPERATIONS = [
    # products
    Operation(
        "linear",
        of("linear"),
        lambda n, i, o: ((n, i), (o, i), (o,)),
        ((32, 64, 64), (128, 512, 512), (256, 1024, 1024)),
    ),
    Operation(
        "linear of a sequence",
        of("linear"),
        lambda n, t, i: ((n, t, i), (i, i), (i,)),
        ((4, 16, 32), (16, 64, 128), (32, 64, 512)),
    ),
    Operation("batched product", lambda T, a, b: a @ b, lambda n, m: ((n, m, m),) * 2, ((8, 16), (64, 64), (64, 128))),
    Operation(
        "einsum bij,bkj->bik",
        lambda T, a, b: T.einsum("bij,bkj->bik", a, b),
        lambda n, m: ((n, m, m),) * 2,
        ((8, 16), (64, 64), (64, 128)),
    ),
    Operation("attention", of("scaled_dot_product_attention"), attended, ((2, 16, 16), (16, 64, 32), (16, 128, 64))),
    Operation(
        "attention, causal",
        lambda T, *qkv: T.nn.functional.scaled_dot_product_attention(*qkv, is_causal=True),
        attended,
        ((2, 16, 16), (16, 64, 32), (16, 128, 64)),
    ),
    # convolutions
    Operation(
        "conv1d 5",
        lambda T, x, w, b: T.nn.functional.conv1d(x, w, b, padding=2),
        lambda n, c, t: ((n, c, t), (c, c, 5), (c,)),
        ((4, 16, 32), (16, 32, 128), (16, 64, 512)),
    ),
    Operation("conv2d 3×3", lambda T, x, w, b: T.nn.functional.conv2d(x, w, b, padding=1), filtered(3), FILTERS),
    Operation("conv2d 3×3, 1 channel", of("conv2d"), filtered(3), ((4, 1, 16, 16), (32, 1, 32, 28), (64, 1, 32, 64))),
    Operation("conv2d 5×5, stride 2", lambda T, x, w, b: T.nn.functional.conv2d(x, w, b, 2, 2), filtered(5), FILTERS),
    Operation("conv2d 1×1", of("conv2d"), filtered(1), FILTERS),
    Operation(
        "depthwise conv 3×3",
        lambda T, x, w, b: T.nn.functional.conv2d(x, w, b, 1, 1, 1, x.shape[1]),
        filtered(3, lambda c: 1),
        ((4, 16, 16, 16), (16, 32, 32, 26), (16, 64, 64, 32)),
    ),
    Operation(
        "conv_transpose2d 4×4, stride 2",
        lambda T, x, w, b: T.nn.functional.conv_transpose2d(x, w, b, 2, 1),
        lambda n, c, size: ((n, c, size, size), (c, c, 4, 4), (c,)),
        ((4, 16, 8), (16, 32, 16), (16, 64, 16)),
    ),
    # pictures
    Operation("max_pool2d 2", lambda T, x: T.nn.functional.max_pool2d(x, 2), picture, PICTURES),
    Operation("max_pool2d 3, stride 2", lambda T, x: T.nn.functional.max_pool2d(x, 3, 2, 1), picture, PICTURES),
    Operation("avg_pool2d 2", lambda T, x: T.nn.functional.avg_pool2d(x, 2), picture, PICTURES),
    Operation("adaptive_avg_pool2d 1", lambda T, x: T.nn.functional.adaptive_avg_pool2d(x, 1), picture, PICTURES),
    Operation("interpolate, nearest", lambda T, x: T.nn.functional.interpolate(x, scale_factor=2), picture, PICTURES),
    Operation("pad", lambda T, x: T.nn.functional.pad(x, (1, 1, 1, 1)), picture, PICTURES),
    # normalizations
    Operation(
        "batch_norm",
        lambda T, x, w, b: T.nn.functional.batch_norm(x, None, None, w, b, True),
        lambda n, c, size: ((n, c, size, size), (c,), (c,)),
        PICTURES,
    ),
    Operation(
        "layer_norm",
        lambda T, x, w, b: T.nn.functional.layer_norm(x, x.shape[-1:], w, b),
        lambda n, c: ((n, c), (c,), (c,)),
        ROWS,
    ),
    Operation(
        "group_norm",
        lambda T, x, w, b: T.nn.functional.group_norm(x, 4, w, b),
        lambda n, c, size: ((n, c, size, size), (c,), (c,)),
        PICTURES,
    ),
    Operation(
        "rms_norm", lambda T, x, w: T.nn.functional.rms_norm(x, x.shape[-1:], w), lambda n, c: ((n, c), (c,)), ROWS
    ),
    # activations
    Operation("relu", of("relu"), matrix, POINTS),
    Operation("leaky_relu", of("leaky_relu"), matrix, POINTS),
    Operation("gelu", of("gelu"), matrix, POINTS),
    Operation("gelu, tanh", lambda T, x: T.nn.functional.gelu(x, approximate="tanh"), matrix, POINTS),
    Operation("silu", of("silu"), matrix, POINTS),
    Operation("tanh", lambda T, x: x.tanh(), matrix, POINTS),
    Operation("sigmoid", lambda T, x: x.sigmoid(), matrix, POINTS),
    Operation("softmax", lambda T, x: x.softmax(-1), matrix, ROWS),
    Operation("log_softmax", lambda T, x: x.log_softmax(-1), matrix, ROWS),
    # losses
    Operation(
        "cross_entropy",
        of("cross_entropy"),
        lambda n, c: ((n, c), classes(c, n)),
        ((32, 10), (512, 1000), (1024, 5000)),
    ),
    Operation(
        "bce_with_logits",
        of("binary_cross_entropy_with_logits"),
        lambda n, c: ((n, c), Constant(lambda r: r.random((n, c), np.float32))),
        POINTS,
    ),
    # looking up, adding up
    Operation(
        "embedding",
        lambda T, i, w: T.nn.functional.embedding(i, w),
        lambda n, words, width: (classes(words, n), (words, width)),
        ((64, 100, 32), (2048, 1000, 64), (4096, 10_000, 128)),
    ),
    Operation(
        "x[i]",
        lambda T, x, i: x[i],
        lambda n, words, width: ((words, width), classes(words, n)),
        ((64, 100, 32), (2048, 1000, 64), (4096, 10_000, 128)),
    ),
    Operation("cumsum", lambda T, x: x.cumsum(-1), matrix, ROWS),
    # recurrent layers
    recurrent("RNN"),
    recurrent("LSTM"),
    recurrent("GRU"),
]
