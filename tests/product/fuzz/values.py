"""Draw arguments of every kind, and tensors of every shape, dtype and layout."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import nbautograd as nb

NUMBERS: list[Any] = [
    *(0, 1, -1, 2, 3, 5, True, False),
    *(0.5, -0.0, 1.5, math.nan, math.inf, -math.inf, 1e308, 5e-324),
    *(2**31, 10**12, -(10**12), 2**63 - 1, 2**63, -(2**63), 2**70),
    *(1j, complex(math.nan, math.inf), np.float32(1.5), np.int64(2), np.float64(math.nan)),
]
TEXTS = [
    *("", "a", "mean", "sum", "none", "batchmean", "constant", "reflect", "replicate", "circular", "same", "valid"),
    *("ij,jk->ik", "i...", "->", "nearest", "bilinear", "fro", "nuc", "ortho", "backward", "floor", "trunc", "tanh"),
    *("float32", "cpu", "cuda", "\ud800", "\0", "ij" * 40),
]
OTHERS: list[Any] = [
    *(None, Ellipsis, slice(None), slice(0, 10**12), b"x", {}, {"a": 1}, {1}, object, len, range(3)),
    *((), [], (0,), [1, 2], (2, -1), [0, 0], (1.5, 2), [None], ["a"], [[1, 2], [3]], [10**12, 10**12], (-(2**70),)),
    *(np.ones(2), np.zeros((0, 3), np.int32), np.array("x"), np.array([None])),
    *(nb.float32, nb.int64, nb.bool, nb.complex64, nb.float16, nb.device("cpu"), nb.strided, nb.Size([2])),
]
DTYPES = [kind.name for kind in nb._engine.arrays.dtypes.ALL]
LAYOUTS = ["plain"] * 4 + ["transposed", "expanded", "every other"]
FILLS = ["small"] * 3 + ["index", "special", "zero"]


def small(random: Random) -> int:
    return random.randint(-3, 4)


def sizes(random: Random) -> list[int]:
    return [small(random) for _ in range(random.randint(0, 3))]


def shapes(random: Random) -> tuple[int, ...]:
    least = random.choice([0, 1, None])
    if least is None:
        return random.choice([(3,), (2, 3), (2, 2), (3, 3), (2, 3, 3), (1, 2, 4)])
    return tuple(random.randint(least, 4) for _ in range(random.randint(least, 3)))


def odd(random: Random) -> Any:
    values = random.choice([NUMBERS, TEXTS, OTHERS, None])
    return small(random) if values is None else random.choice(values)


def filled(shape: tuple[int, ...], fill: str, seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    if fill == "zero":
        return np.zeros(shape)
    if fill == "index":
        return rng.integers(0, 4, shape).astype(float)
    if fill == "small":
        return rng.integers(-8, 9, shape) / 4
    return rng.choice([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e38, 1e-45, 200.0], shape)


def tensors(random: Random, like: tuple[int, ...] | None = None) -> nb.Tensor:
    """A tensor, often of the shape ``like`` or one that broadcasts with it."""
    if like is None or not random.choice([0, 1, 1, 1]):
        shape = shapes(random)
    else:
        shape = like[random.choice([0, 0, 0, 1]) :]
        if shape and not random.randint(0, 5):
            shape = (*shape[:-1], 1)
    dtype = random.choice(["float32", "float64", "float32", "float64", "int64", *DTYPES])
    array = filled(shape, random.choice(FILLS), random.randint(0, 3))
    if dtype.startswith("uint"):  # -1 would be the largest number, and a polynomial of that degree takes hours
        array = abs(array)
    with np.errstate(all="ignore"):
        t = nb.tensor(array).to(getattr(nb, dtype))
    layout = random.choice(LAYOUTS)
    if layout == "transposed" and t.ndim > 1:
        t = t.transpose(0, -1).contiguous().transpose(0, -1)
    elif layout == "expanded" and t.ndim:
        t = t[:1].expand(t.shape) if t.shape[0] else t
    elif layout == "every other" and t.ndim:
        t = t.repeat_interleave(2, -1)[..., ::2]
    if t.dtype.is_floating_point or t.dtype.is_complex:
        wanted = random.choice(["constant", "leaf", "computed"])
        if wanted != "constant":
            t = t.detach().requires_grad_()
        if wanted == "computed":
            t = t.clone()
    return t


Draw = Callable[[Random], Any]


def for_hint(hint: str, like: tuple[int, ...]) -> Draw:
    """Return what draws a value for a parameter with this annotation."""

    def tensor(random: Random) -> nb.Tensor:
        return tensors(random, like)

    made: list[Draw] = []
    if "Sequence[Tensor]" in hint or "list[Tensor]" in hint:
        made.append(lambda random: [tensor(random) for _ in range(random.randint(0, 3))])
    elif "Tensor" in hint or "Mask" in hint:
        made.append(tensor)
    if "Number" in hint or "float" in hint:
        made.append(lambda random: random.choice(NUMBERS[:12]))
    if any(word in hint for word in ("Sequence[int]", "tuple[int", "list[int", "Size", "Dims", "Ints")):
        made.append(sizes)
    if any(word in hint for word in ("int", "Dims", "Ints")):
        made.append(small)
    if "bool" in hint:
        made.append(lambda random: random.choice([False, True]))
    if "str" in hint:
        made.append(lambda random: random.choice(TEXTS))
    if "dtype" in hint:
        made.append(lambda random: getattr(nb, random.choice(DTYPES)))
    if "Device" in hint or "device" in hint:
        made.append(lambda random: random.choice([None, "cpu"]))
    if "None" in hint:
        made.append(lambda random: None)
    return lambda random: random.choice(made or [tensor, small, odd])(random)
