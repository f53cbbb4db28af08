"""Cases with complex numbers, built from real inputs and read as real results, for finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.engine.ops.cases.case import Case, case


def holomorphic(name: str, call: Callable[..., Any] | None = None, **options: Any) -> Case:
    """A function of one complex tensor; off its branch cuts for real and imaginary parts apart from 0."""
    function = call or (lambda T, z: getattr(T, name)(z))
    return case(
        f"{name} complex", lambda T, x, y: T.view_as_real(function(T, T.complex(x, y))), (2, 2), (2, 2), **options
    )


FUNCTIONS = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "conj_physical",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
]

CASES = [
    *(holomorphic(name) for name in FUNCTIONS),
    holomorphic("pow 3", lambda T, z: z**3),
    holomorphic("pow complex number", lambda T, z: z ** (1 + 2j)),
    holomorphic("pow base", lambda T, z: 2**z),
    holomorphic("mul", lambda T, z: z * (2 - 1j)),
    holomorphic("div", lambda T, z: (1 + 1j) / z),
    holomorphic("add alpha", lambda T, z: T.add(z.conj(), z, alpha=2j)),
    holomorphic("lerp", lambda T, z: T.lerp(z, z * 2j, 0.25)),
    holomorphic("addcmul", lambda T, z: T.addcmul(z, z, z.conj(), value=3)),
    holomorphic("addcdiv", lambda T, z: T.addcdiv(z, z.conj(), z, value=3)),
    holomorphic("logaddexp", lambda T, z: T.logaddexp(z, z * 1j)),
    holomorphic("where", lambda T, z: T.where(z.real > 0, z, 2j * z)),
    case("mul of real and complex", lambda T, x, y: T.view_as_real(x * T.complex(y, y + 1)), (2, 3), (3,)),
    case("div of real by complex", lambda T, x, y: T.view_as_real(x / T.complex(y, y + 1)), (2, 3), (3,)),
    case("abs complex", lambda T, x, y: T.complex(x, y).abs(), (2, 2), (2, 2)),
    case("angle complex", lambda T, x, y: T.angle(T.complex(x, y)), (2, 2), (2, 2)),
    case("angle", lambda T, x: T.angle(x), (3,)),
    case("real", lambda T, x, y: (T.complex(x, y) ** 2).real, (2, 2), (2, 2)),
    case("imag", lambda T, x, y: T.imag(T.complex(x, y) ** 2), (2, 2), (2, 2)),
    case("polar", lambda T, x, y: T.view_as_real(T.polar(x, y)), (2, 3), (2, 3), low=0.1),
    case("view_as_complex", lambda T, x: T.view_as_complex(x).abs(), (3, 2)),
]
