"""The one comparison of our results with PyTorch's, and the bound, which is derived and never typed.

Two libraries that compute the same in another order differ by rounding. How much depends on the program: a sum loses
little, a difference of near numbers much, a hundred training steps more. So the program says it itself. While PyTorch
runs it, each operation is run again (``asking.Worlds``): once in float64, which to float32, float16 and bfloat16 is
exact, and twice in float64 with numbers moved at random, as rounding moves them: what the program begins with and each
result by up to half a unit in the last place of its dtype, and the operands of n terms that are added up by log2(n)
times that, which is what adding in pairs does. All take the same branches with the same random numbers. Of each tensor
of the result

    b = max(max|theirs - exact|, max|moved - exact|) + eps max|exact|

where eps is the unit. The first term is what rounding does here, in three runs, because one may be lucky; the second
lets a result that happens to be exact be one unit off. PyTorch has nothing above float64. Of float64, the first run is
in float32, whose error times 2**-29, the ratio of the units, is what the same roundings do in float64; and the moved
ones are compared with theirs. What has few digits, as 0, 0.5 and 3, is exact and not moved, and equal numbers are moved
equally, so that ties stay ties. A number of ours passes if

    |ours - theirs| <= 4 b steps

because ours may be off as theirs is, which makes 2 b, and twice that is for the hidden roundings inside of PyTorch's
kernels. Of 1,930 outputs and gradients of 244 layers, at three levels of all kernels, the largest difference
was 1.5 b, of single kernels that normalize 2.8 b; b is 1.5 to 3 units for an elementwise function, 3 to 20 for a
Transformer. ``steps`` is the number of steps of a training loop, elsewhere 1. NaN and infinities are in the same
places. A number that no tensor gave (a learning rate, say) may be off by 4 units of float64. Integers, truth values,
shapes, dtypes, classes, texts, and whether a gradient is required are equal.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.oracle.answers import Array, Measured, MeasuredComplex, Named, Raised, Warned, sample_of

__all__ = ["difference"]

ROOM = 4
EPS = float(np.finfo(np.float64).eps)


def difference(ours: Any, theirs: Any, *, steps: int = 1, exact: bool = False, place: str = "") -> str | None:
    """Return where and how our plain data differ from PyTorch's, or None.

    :param exact: True if numbers must be equal as well.
    """

    def inner(a: Any, b: Any, part: str) -> str | None:
        return difference(a, b, steps=steps, exact=exact, place=place + part)

    if isinstance(theirs, Array):
        return _of_arrays(ours, theirs, steps, exact, place)
    if isinstance(theirs, (float, complex)) and type(ours) in (float, complex, Measured, MeasuredComplex):
        if isinstance(ours, complex) != isinstance(theirs, complex):
            return f"{place}: {ours!r}, PyTorch's {theirs!r}"
        bound = getattr(theirs, "bound", None)
        bound = EPS * abs(theirs) if bound is None else bound
        return _of_numbers(np.asarray(ours), np.asarray(theirs), 0.0 if exact else ROOM * steps * bound, place)
    if isinstance(theirs, Raised) and not isinstance(ours, Raised):
        return _of_exceptions(ours, theirs, place)
    if isinstance(theirs, Warned) and isinstance(ours, Warned):
        alike = ours.kind == theirs.kind and (not theirs.words or {*ours.words} & {*theirs.words})
        return None if alike else f"{place}: {ours}, PyTorch's {theirs}"
    if isinstance(theirs, Named) and isinstance(ours, Named):
        return (
            inner(ours.parts, theirs.parts, "")
            if ours.name == theirs.name
            else f"{place}: a {ours.name}, PyTorch's a {theirs.name}"
        )
    if isinstance(theirs, (list, tuple)) and isinstance(ours, (list, tuple)):
        if len(ours) != len(theirs):
            return f"{place}: {len(ours)} parts, PyTorch's {len(theirs)}: {ours!r:.200}, PyTorch's {theirs!r:.200}"
        pairs = enumerate(zip(ours, theirs, strict=True))
        return next(filter(None, (inner(a, b, f"[{i}]") for i, (a, b) in pairs)), None)
    if type(ours) is type(theirs) and bool(ours == theirs):
        return None
    return f"{place}: {ours!r:.300}, PyTorch's {theirs!r:.300}"


def _of_arrays(ours: Any, theirs: Array, steps: int, exact: bool, place: str) -> str | None:
    if not isinstance(ours, Array):
        return f"{place}: {ours!r:.200}, PyTorch's {theirs}"
    for name in ("kind", "dtype", "shape", "requires_grad"):
        if getattr(ours, name) != getattr(theirs, name):
            return f"{place}: {name} {getattr(ours, name)}, PyTorch's {getattr(theirs, name)}"
    bound = 0.0 if exact or theirs.bound is None else ROOM * steps * theirs.bound
    if theirs.sample is None:
        return _of_numbers(ours.values, theirs.values, bound, place)
    sample, stored = sample_of(ours.values), theirs.sample
    if exact:
        return None if sample.digest == stored.digest else f"{place}: not all numbers are PyTorch's"
    length = -(-ours.values.size // stored.sums.size)  # of a block; its sum is rounded that often
    wider = bound * length + ROOM * EPS * length * float(np.abs(np.nan_to_num(stored.sums, posinf=0, neginf=0)).max())
    return _of_numbers(sample.numbers, stored.numbers, bound, f"{place} in a sample") or _of_numbers(
        sample.sums, stored.sums, wider, f"{place} in the sums of blocks"
    )


def _of_numbers(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any], bound: float, place: str) -> str | None:
    if ours.dtype.kind not in "biufc":  # bfloat16 is a separate kind
        ours, theirs = ours.astype(np.float32), theirs.astype(np.float32)
    if ours.dtype.kind in "fc":
        wide = np.complex128 if ours.dtype.kind == "c" else np.float64
        ours, theirs = ours.astype(wide), theirs.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        same = (ours == theirs) | ((ours != ours) & (theirs != theirs))
        if ours.dtype.kind in "fc" and bound:
            same |= np.abs(ours - theirs) <= bound
    if same.all():
        return None
    off = np.abs(np.where(same, 0, ours) - np.where(same, 0, theirs)) if ours.dtype.kind in "fc" else ~same
    at = np.unravel_index(np.nanargmax(off) if np.isfinite(off).any() else np.argmin(same), same.shape)
    where = f"{place}{[*map(int, at)] if at else ''}"
    return (
        f"{where}: {ours[at]!r}, PyTorch's {theirs[at]!r}; {int((~same).sum())} of {same.size} numbers differ"
        f" by more than {bound:.3g}, the most by {np.max(off):.3g}"
    )


def _of_exceptions(ours: Any, theirs: Raised, place: str) -> str | None:
    if not isinstance(ours, BaseException):
        return f"{place}: {ours!r:.200}, PyTorch raises {theirs}"
    if theirs.kind not in {cls.__name__ for cls in type(ours).__mro__}:
        return f"{place}: raises {ours!r}, PyTorch {theirs}"
    if theirs.says not in str(ours):
        return f"{place}: {ours!r} does not say {theirs.says!r}"
    if theirs.words and not {*re.findall(r"[a-z_]{3,}", str(ours).lower())} & {*theirs.words}:
        return f"{place}: {ours!r} has none of PyTorch's words: {', '.join(theirs.words)}"
    return None
