"""Measure the errors of elementwise functions, on every level of this processor, next to PyTorch.

    python benchmarks/elementwise.py [--points N] [--only NAME ...]

needs python-flint, whose numbers carry proven bounds, for the true values. Errors are the largest of all points, in
units in the last place (ulp) of the true value; for complex numbers, of the absolute value of the true one. Points are
drawn from the whole range of the dtype (a third from all bit patterns, that is, evenly over exponents), and more
densely in the interesting range (a third normal, a third uniform in an interval of the case); points without a finite
true value in the dtype are skipped. Complex numbers have a tenth as many points, up to 10^4. ``!`` marks errors larger
than PyTorch's and larger than 1 ulp.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from levels import levels

os.environ.setdefault("OMP_NUM_THREADS", "1")

Array = np.ndarray[Any, Any]
KINDS = {"float32": np.float32, "float64": np.float64, "complex64": np.complex64, "complex128": np.complex128}
BITS = 90
"""The number of certain bits of a true value."""


@dataclass(frozen=True)
class Case:
    """A function of PyTorch's interface and its true value, over flint's numbers."""

    call: Callable[..., Any]
    true: Callable[..., Any]
    kinds: str = "fc"
    near: tuple[float, float] = (-20, 20)
    largest: float = math.inf
    """Operands beyond are left out: true values would take too long."""
    few: int = 1
    """Only every so many points: true values take long."""


def named(name: str, true: Callable[..., Any] | None = None, kinds: str = "fc", **more: Any) -> Case:
    """The case of a function that PyTorch and flint call alike, if ``true`` is not given."""

    def call(T: Any, *x: Any) -> Any:
        space = T
        *path, last = name.split(".")
        for part in path:
            space = getattr(space, part)
        return getattr(space, last)(*x)

    return Case(call, true or (lambda x: getattr(x, name)()), kinds, **more)


def pi() -> Any:
    return flint.arb.pi()


def half() -> Any:
    return flint.arb(1) / 2


def logistic(x: Any) -> Any:
    return 1 / (1 + (-x).exp())


def softplus(x: Any) -> Any:
    return x.exp().log1p()


def ndtr(x: Any) -> Any:
    return (-x / flint.arb(2).sqrt()).erfc() / 2


def logaddexp(x: Any, y: Any) -> Any:
    """By the larger one, if any."""
    if isinstance(x, flint.acb):
        return (x.exp() + y.exp()).log()
    large, small = (x, y) if x > y else (y, x)
    return large + (small - large).exp().log1p()


def divided(x: Any, y: Any, rounding: str) -> Any:
    """Return the remainder of ``x`` divided by ``y``, exactly."""
    (a, i), (b, j) = x.man_exp(), y.man_exp()
    shift = min(i, j)
    a, b = int(a) << int(i - shift), int(b) << int(j - shift)
    left = a % b if rounding == "floor" else int(math.copysign(1, a)) * (abs(a) % abs(b))
    return flint.arb(left) * flint.arb(2) ** int(shift)


def bessel(which: str, n: int, scale: int = 0) -> Callable[[Any], Any]:
    return lambda x: getattr(x, f"bessel_{which}")(n) * ((scale * abs(x)).exp() if scale else 1)


def log2(x: Any) -> Any:
    return x.log() / flint.arb.const_log2()


def logaddexp2(x: Any, y: Any) -> Any:
    two = flint.arb.const_log2()
    return logaddexp(x * two, y * two) / two


def abs_of(z: Any) -> Any:
    return abs(z) if isinstance(z, flint.acb) else flint.acb(abs(z))


CASES = {
    "exp": named("exp", near=(-90, 90)),
    "exp2": named("exp2", lambda x: (x * flint.arb.const_log2()).exp(), near=(-130, 130)),
    "expm1": named("expm1", lambda x: x.expm1(), near=(-5, 5)),
    "log": named("log", near=(0, 3)),
    "log2": named("log2", log2, near=(0, 3)),
    "log10": named("log10", lambda x: x.log() / flint.arb.const_log10(), near=(0, 20)),
    "log1p": named("log1p", near=(-1, 3)),
    "sqrt": named("sqrt", near=(0, 100)),
    "rsqrt": named("rsqrt", near=(0, 100)),
    "reciprocal": named("reciprocal", lambda x: 1 / x),
    "sigmoid": named("sigmoid", logistic, near=(-90, 30)),
    "sin": named("sin"),
    "cos": named("cos"),
    "tan": named("tan"),
    "asin": named("asin", near=(-1, 1)),
    "acos": named("acos", near=(-1, 1)),
    "atan": named("atan", near=(-3, 3)),
    "sinc": named("sinc", lambda x: flint.arb(1) if x == 0 else (x * pi()).sin() / (x * pi())),
    "sinh": named("sinh"),
    "cosh": named("cosh"),
    "tanh": named("tanh", near=(-3, 3)),
    "asinh": named("asinh", near=(-3, 3)),
    "acosh": named("acosh", near=(1, 3)),
    "atanh": named("atanh", near=(-1, 1)),
    "deg2rad": named("deg2rad", lambda x: x * pi() / 180, "f"),
    "rad2deg": named("rad2deg", lambda x: x * 180 / pi(), "f"),
    "square": named("square", lambda x: x * x),
    "pow(x, 3)": Case(lambda T, x: T.pow(x, 3), lambda x: x**3),
    "pow(x, -1.5)": Case(lambda T, x: T.pow(x, -1.5), lambda x: 1 / (x * x.sqrt()), near=(0, 20)),
    "pow(2, x)": Case(lambda T, x: T.pow(2.0, x), lambda x: (x * flint.arb.const_log2()).exp(), near=(-130, 130)),
    "pow": named("pow", lambda x, y: x**y, near=(0, 10)),
    "true_divide": named("true_divide", lambda x, y: x / y),
    "fmod": named("fmod", lambda x, y: divided(x, y, "trunc"), "f"),
    "remainder": named("remainder", lambda x, y: divided(x, y, "floor"), "f"),
    "atan2": named("atan2", lambda x, y: flint.arb.atan2(x, y), "f"),
    "hypot": named("hypot", lambda x, y: (x * x + y * y).sqrt(), "f"),
    "logaddexp": named("logaddexp", logaddexp),
    "logaddexp2": named("logaddexp2", logaddexp2, "f"),
    "xlogy": named("xlogy", lambda x, y: x * y.log(), "f", near=(0, 3)),
    "xlog1py": named("special.xlog1py", lambda x, y: x * y.log1p(), "f", near=(-1, 3)),
    "abs": named("abs", abs_of, "c"),
    "angle": named("angle", lambda z: flint.acb(z.arg()), "c"),
    "sgn": named("sgn", lambda z: z / abs(z), "c"),
    "lgamma": named("lgamma", lambda x: abs(x.gamma()).log() if abs(x) < 300 else x.lgamma(), "f"),
    "digamma": named("digamma", kinds="f"),
    "polygamma(1, x)": Case(lambda T, x: T.polygamma(1, x), lambda x: flint.arb(2).zeta(x), "f", (0, 20), 1e6, 5),
    "erf": named("erf", kinds="f", near=(-3, 3)),
    "erfc": named("erfc", kinds="f", near=(-3, 20)),
    "erfinv": named("erfinv", kinds="f", near=(-1, 1), few=5),
    "erfcx": named("special.erfcx", lambda x: (x * x).exp() * x.erfc(), "f", largest=1e6),
    "ndtr": named("special.ndtr", ndtr, "f", near=(-12, 6)),
    "ndtri": named(
        "special.ndtri", lambda x: flint.arb(2).sqrt() * (2 * x - 1).erfinv(), "f", near=(0, 1), largest=1, few=5
    ),
    "log_ndtr": named("special.log_ndtr", lambda x: ndtr(x).log(), "f", largest=1e6),
    "logit": named("logit", lambda x: x.log() - (-x).log1p(), "f", near=(0, 1)),
    "entr": named("special.entr", lambda x: -x * x.log(), "f", near=(0, 3)),
    "igamma": named("igamma", lambda a, x: x.gamma_lower(a, True), "f", near=(0, 20), largest=1e3, few=20),
    "igammac": named("igammac", lambda a, x: x.gamma_upper(a, True), "f", near=(0, 20), largest=1e3, few=20),
    "zeta": named("special.zeta", lambda s, q: s.zeta(q), "f", near=(1, 20), largest=50, few=100),
    "i0": named("i0", bessel("i", 0), "f", largest=1e3, few=2),
    "i0e": named("special.i0e", bessel("i", 0, -1), "f", largest=1e4, few=2),
    "i1": named("special.i1", bessel("i", 1), "f", largest=1e3, few=2),
    "i1e": named("special.i1e", bessel("i", 1, -1), "f", largest=1e4, few=2),
    "k0": named("special.modified_bessel_k0", bessel("k", 0), "f", near=(0, 20), largest=1e3, few=2),
    "k1": named("special.modified_bessel_k1", bessel("k", 1), "f", near=(0, 20), largest=1e3, few=2),
    "k0e": named("special.scaled_modified_bessel_k0", bessel("k", 0, 1), "f", near=(0, 20), largest=1e3, few=2),
    "k1e": named("special.scaled_modified_bessel_k1", bessel("k", 1, 1), "f", near=(0, 20), largest=1e3, few=2),
    "j0": named("special.bessel_j0", bessel("j", 0), "f", largest=1e4, few=2),
    "j1": named("special.bessel_j1", bessel("j", 1), "f", largest=1e4, few=2),
    "y0": named("special.bessel_y0", bessel("y", 0), "f", near=(0, 20), largest=1e4, few=2),
    "y1": named("special.bessel_y1", bessel("y", 1), "f", near=(0, 20), largest=1e4, few=2),
    "spherical_j0": named("special.spherical_bessel_j0", lambda x: x.sin() / x, "f"),
    "airy_ai": named("special.airy_ai", lambda x: x.airy_ai(), "f", near=(-10, 10), largest=1e2, few=2),
    "elu": named("nn.functional.elu", lambda x: x if x > 0 else x.expm1(), "f", near=(-5, 1)),
    "celu": named("nn.functional.celu", lambda x: x if x > 0 else x.expm1(), "f", near=(-5, 1)),
    "gelu": named("nn.functional.gelu", lambda x: x * ndtr(x), "f", near=(-12, 5)),
    "silu": named("nn.functional.silu", lambda x: x * logistic(x), near=(-90, 20)),
    "mish": named("nn.functional.mish", lambda x: x * softplus(x).tanh(), "f", near=(-90, 20)),
    "softplus": named("nn.functional.softplus", lambda x: x if x > 20 else softplus(x), "f", near=(-90, 20)),
    "logsigmoid": named("nn.functional.logsigmoid", lambda x: -softplus(-x), "f", near=(-20, 90)),
}


def operands_of(case: Case) -> int:
    return len(inspect.signature(case.true).parameters)


def drawn(rng: np.random.Generator, dtype: Any, n: int, near: tuple[float, float]) -> Array:
    """Points of the whole range of a real dtype, in no order."""
    third = n // 3
    unsigned = {4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
    patterns = rng.integers(0, np.iinfo(unsigned).max, third, unsigned, endpoint=True).view(dtype)
    parts = [patterns, rng.standard_normal(third), rng.uniform(*near, n - 2 * third)]
    found: Array = rng.permutation(np.concatenate([np.asarray(part, dtype) for part in parts]))
    return found


def points(name: str, kind: str, n: int) -> list[Array]:
    """The operands of a case."""
    case, dtype = CASES[name], KINDS[kind]
    rng = np.random.default_rng([*name.encode(), *kind.encode()])
    real = np.empty(0, dtype).real.dtype.type
    count = operands_of(case)
    made = []
    for _ in range(count):
        x = drawn(rng, real, n // case.few, case.near)
        if kind.startswith("c"):
            y = drawn(rng, real, n // case.few, case.near)
            z = np.empty(len(x), dtype)
            z.real, z.imag = x, y
            x = z
        made.append(x)
    largest = min(case.largest, 1e4) if kind.startswith("c") else case.largest
    fine = np.logical_and.reduce([np.isfinite(x) & (np.abs(x) <= largest) for x in made])
    return [x[fine] for x in made]


def split(value: Any) -> tuple[float, float]:
    """A real number as the sum of two float64 numbers, the first the nearest."""
    if not value.is_finite():
        return math.nan, 0.0
    try:
        high = float(value.mid())
    except OverflowError:
        return math.copysign(math.inf, 1 if value > 0 else -1), 0.0
    return high, float((value - flint.arb(high)).mid()) if math.isfinite(high) else 0.0


def truth(name: str, kind: str, operands: list[Array]) -> Array:
    """True values, two float64 numbers for each, four if they are complex."""
    case, is_complex = CASES[name], kind.startswith("c")
    found = np.empty((4 if is_complex else 2, len(operands[0])))
    for i, at in enumerate(zip(*(x.tolist() for x in operands), strict=True)):
        for precision in (200, 600, 2500, 10000):
            flint.ctx.prec = precision
            try:
                value = case.true(*map(flint.acb if is_complex else flint.arb, at))
            except (ValueError, ZeroDivisionError, OverflowError):
                value = flint.arb("nan")
                break
            if value.rel_accuracy_bits() >= BITS or not value.is_finite() or value == 0:
                break
        else:
            value = flint.arb("nan")
        if not is_complex:
            found[:, i] = split(value)
        else:
            value = flint.acb(value)
            found[:, i] = (*split(value.real), *split(value.imag))
    return found


def ulps(found: Array, true: Array) -> float:
    """The largest error in units of the last place."""
    real = found.real.dtype
    info = np.finfo(real)
    with np.errstate(all="ignore"):
        size = np.abs(true[0]) if len(true) == 2 else np.hypot(true[0], true[2])
        known = np.isfinite(true).all(0) & (size <= float(info.max))
        unit = np.ldexp(1.0, np.maximum(np.frexp(size)[1] - info.nmant - 1, info.minexp - info.nmant))
        off = np.abs((found.real.astype(np.float64) - true[0]) - true[1])
        if len(true) == 4:
            imaginary = found.imag if found.dtype.kind == "c" else np.zeros_like(found)
            off = np.hypot(off, np.abs((imaginary.astype(np.float64) - true[2]) - true[3]))
        errors = np.where(known, off / unit, 0)
    errors[known & np.isnan(off)] = np.inf
    return float(errors.max(initial=0))


def measured(folder: Path, T: Any, as_tensor: Callable[[Array], Any]) -> dict[str, float | None]:
    """The errors of one library, for the points and true values in a folder."""
    found: dict[str, float | None] = {}
    for file in sorted(folder.glob("*.npz")):
        name, kind = json.loads(str(np.load(file)["case"]))
        with np.load(file) as data:
            operands = [data[f"x{i}"] for i in range(len(data.files) - 2)]
            try:
                result = CASES[name].call(T, *map(as_tensor, operands))
                found[f"{name} {kind}"] = ulps(np.asarray(result), data["true"])
            except (RuntimeError, NotImplementedError, TypeError):
                found[f"{name} {kind}"] = None
    return found


def ours(folder: Path) -> dict[str, float | None]:
    import nbautograd as nb

    return measured(folder, nb, nb.from_numpy)


def prepare(folder: Path, n: int, only: list[str]) -> None:
    """Write points and true values."""
    for number, (name, case) in enumerate(CASES.items()):
        for kind in KINDS:
            file = folder / f"{number:03} {kind}.npz"
            if kind[0] not in case.kinds or only and name not in only or file.exists():
                continue
            operands = points(name, kind, n // 10 if kind[0] == "c" else n)
            true = truth(name, kind, operands)
            np.savez(file, case=json.dumps([name, kind]), true=true, **{f"x{i}": x for i, x in enumerate(operands)})
            print(name, kind, len(operands[0]), file=sys.stderr, flush=True)


def shown(error: float | None) -> str:
    return "" if error is None else f"{error:.2f}" if error < 1000 else f"{error:.0e}"


def table(columns: dict[str, dict[str, float | None]]) -> list[str]:
    """A line for each function and kind of number: the error of each column."""
    lines = [f"| | {' | '.join(columns)} |", "|" + " --- |" * (len(columns) + 1)]
    theirs = columns.get("PyTorch", {})
    for key in next(iter(columns.values())):
        cells = []
        for name, column in columns.items():
            error = column[key]
            worse = name != "PyTorch" and error is not None and error > max(1, theirs.get(key) or 0)
            cells.append(shown(error) + " **!**" * worse)
        lines.append(f"| {key} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=10**5)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--folder", type=Path, help="where points and true values are kept, and taken from")
    parser.add_argument("--level", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.level:
        print(json.dumps(ours(options.folder)))
        return
    with tempfile.TemporaryDirectory() as made:
        folder = options.folder or Path(made)
        folder.mkdir(exist_ok=True)
        prepare(folder, options.points, options.only)
        columns: dict[str, dict[str, float | None]] = {}
        for name, environment in levels().items():
            command = [sys.executable, __file__, "--level", "--folder", str(folder)]
            done = subprocess.run(
                command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True
            )
            columns[name] = json.loads(done.stdout)
        try:
            import torch

            columns["PyTorch"] = measured(folder, torch, torch.from_numpy)
        except ImportError:
            pass
    print("\n".join(table(columns)))


if __name__ == "__main__":
    if "--level" not in sys.argv:
        import flint
    main()
