"""Print elementary functions at exact points, and their errors elsewhere: run on each level of a processor.

Prints a line per error.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import nbautograd as nb

INF = math.inf
TENS = {10.0**k: float(k) for k in range(23)}
TWOS = {2.0**k: float(k) for k in range(-126, 128)}
ODD = frozenset(["expm1", "log1p", "sqrt", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf"])
"""Functions that keep zeros, and their signs."""
EXACT: dict[str, dict[float, float]] = {
    "exp": {0.0: 1.0, INF: INF, -INF: 0.0},
    "exp2": {k: x for x, k in TWOS.items()} | {INF: INF, -INF: 0.0},
    "expm1": {INF: INF, -INF: -1.0},
    "log": {1.0: 0.0, 0.0: -INF, INF: INF},
    "log2": TWOS | {0.0: -INF, INF: INF},
    "log10": TENS | {0.0: -INF, INF: INF},
    "log1p": {-1.0: -INF, INF: INF},
    "sqrt": {float(n * n): float(n) for n in range(1, 4096)} | {INF: INF},
    "rsqrt": {4.0**k: 2.0**-k for k in range(-60, 60)} | {0.0: INF, INF: 0.0},
    "sin": {},
    "cos": {0.0: 1.0},
    "tan": {},
    "asin": {},
    "acos": {1.0: 0.0},
    "atan": {},
    "sinh": {INF: INF, -INF: -INF},
    "cosh": {0.0: 1.0, INF: INF, -INF: INF},
    "tanh": {INF: 1.0, -INF: -1.0, 50.0: 1.0, -50.0: -1.0},
    "asinh": {INF: INF, -INF: -INF},
    "acosh": {1.0: 0.0, INF: INF},
    "atanh": {1.0: INF, -1.0: -INF},
    "sigmoid": {0.0: 0.5, INF: 1.0, -INF: 0.0},
    "erf": {INF: 1.0, -INF: -1.0},
    "abs": {-0.0: 0.0, -3.0: 3.0, -INF: INF},
}
NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh"}
NUMPY |= {"atanh": "arctanh", "sigmoid": "", "erf": "", "rsqrt": "", "abs": ""}
INSIDE = {"asin": (-1, 1), "acos": (-1, 1), "atanh": (-1, 1), "acosh": (1, 9), "log1p": (-1, 9)}
INSIDE |= dict.fromkeys(("log", "log2", "log10", "sqrt"), (0, 9))
BEYOND = {"asinh": 2.0, "acosh": 2.0, "tanh": 1.25}
"""Functions of float64 beyond 1 ulp: the C library's, which are PyTorch's too, and NumPy's vectorized tanh."""


def points(name: str, dtype: Any) -> np.ndarray:
    """Points of the whole range, and many where the function is most itself."""
    rng = np.random.default_rng(0)
    low, high = INSIDE.get(name, (-9, 9))
    spread = np.exp2(rng.uniform(-120, 120, 1000)) * rng.choice([-1, 1], 1000)
    x = np.concatenate([rng.uniform(low, high, 3000), spread]).astype(dtype)
    return x[(x >= low) & ((x <= high) | (high == 9))]


def ulps(found: np.ndarray, true: np.ndarray) -> float:
    """The largest error in units in the last place of the true value, where that is within the dtype's range."""
    info = np.finfo(found.dtype)
    known = np.isfinite(true) & (np.abs(true) <= info.max)
    unit = np.ldexp(np.longdouble(1), np.maximum(np.frexp(true)[1] - info.nmant - 1, info.minexp - info.nmant))
    return float(np.max(np.abs(found.astype(np.longdouble) - true)[known] / unit[known], initial=0))


def wrong() -> list[str]:
    """Everything that is not as it should be."""
    found = []
    for name, values in EXACT.items():
        for dtype in (np.float32, np.float64):
            pairs = [*values.items(), *([(0.0, 0.0), (-0.0, -0.0)] if name in ODD else [])]
            x, expected = np.array(pairs).T.astype(dtype)
            of = getattr(nb, dtype.__name__)
            one_by_one = np.array([getattr(nb, name)(nb.tensor(a, dtype=of)).item() for a in x[-40:].tolist()], dtype)
            for kind, result in (("", getattr(nb, name)(nb.tensor(x)).numpy()), (" of a scalar", one_by_one)):
                right = expected[-len(result) :]
                at = np.flatnonzero((result != right) | (np.signbit(result) != np.signbit(right)))
                if len(at):
                    found.append(f"{name}{kind} {dtype.__name__}: {x[-len(result) :][at][:3]} gives {result[at][:3]}")
            ufunc = getattr(np, NUMPY.get(name, name), None) if NUMPY.get(name, name) else None
            wider = np.finfo(np.longdouble).nmant > np.finfo(dtype).nmant
            if ufunc is not None and wider:
                x = points(name, dtype)
                off = ulps(getattr(nb, name)(nb.tensor(x)).numpy(), ufunc(x.astype(np.longdouble)))
                most = 0.501 if dtype is np.float32 else BEYOND.get(name, 1.0)
                if off > most:
                    found.append(f"{name} {dtype.__name__}: {off:.3f} ulp off")
    return found


if __name__ == "__main__":
    np.seterr(all="ignore")
    print("\n".join(wrong()))
