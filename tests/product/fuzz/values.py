"""Arguments of every kind, and tensors of every shape, dtype and layout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

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

small = st.integers(-3, 4)
sizes = st.lists(small, max_size=3)
shapes = st.one_of(
    st.lists(st.integers(0, 4), max_size=3).map(tuple),
    st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple),
    st.sampled_from([(3,), (2, 3), (2, 2), (3, 3), (2, 3, 3), (1, 2, 4)]),
)
odd = st.one_of(st.sampled_from(NUMBERS), st.sampled_from(TEXTS), st.sampled_from(OTHERS), small)


def filled(shape: tuple[int, ...], fill: str, seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    if fill == "zero":
        return np.zeros(shape)
    if fill == "index":
        return rng.integers(0, 4, shape).astype(float)
    if fill == "small":
        return rng.integers(-8, 9, shape) / 4
    return rng.choice([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e38, 1e-45, 200.0], shape)


@st.composite
def tensors(draw: Any, like: tuple[int, ...] | None = None) -> nb.Tensor:
    """A tensor, often of the shape ``like`` or one that broadcasts with it."""
    if like is None or not draw(st.sampled_from([0, 1, 1, 1])):
        shape = draw(shapes)
    else:
        shape = like[draw(st.sampled_from([0, 0, 0, 1])) :]
        if shape and not draw(st.integers(0, 5)):
            shape = (*shape[:-1], 1)
    dtype = draw(st.sampled_from(["float32", "float64", "float32", "float64", "int64", *DTYPES]))
    array = filled(shape, draw(st.sampled_from(FILLS)), draw(st.integers(0, 3)))
    if dtype.startswith("uint"):  # -1 would be the largest number, and a polynomial of that degree takes hours
        array = abs(array)
    with np.errstate(all="ignore"):
        t = nb.tensor(array).to(getattr(nb, dtype))
    layout = draw(st.sampled_from(LAYOUTS))
    if layout == "transposed" and t.ndim > 1:
        t = t.transpose(0, -1).contiguous().transpose(0, -1)
    elif layout == "expanded" and t.ndim:
        t = t[:1].expand(t.shape) if t.shape[0] else t
    elif layout == "every other" and t.ndim:
        t = t.repeat_interleave(2, -1)[..., ::2]
    if t.dtype.is_floating_point or t.dtype.is_complex:
        wanted = draw(st.sampled_from(["constant", "leaf", "computed"]))
        if wanted != "constant":
            t = t.detach().requires_grad_()
        if wanted == "computed":
            t = t.clone()
    return t


def for_hint(hint: str, like: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """Return a strategy for a parameter with this annotation."""
    made: list[st.SearchStrategy[Any]] = []
    if "Sequence[Tensor]" in hint or "list[Tensor]" in hint:
        made.append(st.lists(tensors(like), max_size=3))
    elif "Tensor" in hint or "Mask" in hint:
        made.append(tensors(like))
    if "Number" in hint or "float" in hint:
        made.append(st.sampled_from(NUMBERS[:12]))
    if any(word in hint for word in ("Sequence[int]", "tuple[int", "list[int", "Size", "Dims", "Ints")):
        made.append(sizes)
    if any(word in hint for word in ("int", "Dims", "Ints")):
        made.append(small)
    if "bool" in hint:
        made.append(st.booleans())
    if "str" in hint:
        made.append(st.sampled_from(TEXTS))
    if "dtype" in hint:
        made.append(st.sampled_from(DTYPES).map(lambda name: getattr(nb, name)))
    if "Device" in hint or "device" in hint:
        made.append(st.sampled_from([None, "cpu"]))
    if "None" in hint:
        made.append(st.none())
    return st.one_of(made) if made else st.one_of(tensors(like), small, odd)
