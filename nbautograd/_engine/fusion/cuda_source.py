"""Generation of CUDA C++ from the steps of a function: the body of a kernel that computes one element.

``lower_to_cuda`` traces a function with symbolic arrays (``fusion/symbolic.py``) and writes each step as one statement,
in the dtype of NumPy's promotion: float32 stays float32, numbers take the dtype of the array beside them, and half
precision is computed in float32 and rounded once, at the end. The output suits ``cupy.ElementwiseKernel``; generating
it requires neither CuPy nor a device. Kernels are compiled without contraction (``OPTIONS``): a fused expression gives
the same numbers as its steps.

This code has never run on a device, and its speed was not measured: tests compile it for the processor and compare, and
NVRTC accepts it.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbautograd._engine.arrays.summation import is_half
from nbautograd._engine.fusion.cuda_helpers import HELPERS
from nbautograd._engine.fusion.symbolic import KernelProgram, KernelStep, NeedsValue, NotFusable, Symbol

OPTIONS = ("--fmad=false",)
"""Options of NVRTC: a product is rounded before it is added to, as in separate kernels."""

NUMBER = object()
"""A marker for an operand that is a Python number, passed to the kernel at each call."""

_TYPES = {
    "?": "bool", "b": "signed char", "h": "short", "i": "int", "l": "long long", "q": "long long",
    "B": "unsigned char", "H": "unsigned short", "I": "unsigned int", "L": "unsigned long long",
    "Q": "unsigned long long", "e": "float16", "E": "bfloat16", "f": "float", "d": "double",
    "F": "complex<float>", "D": "complex<double>",
}  # fmt: skip
"""CuPy's C++ types by NumPy's type characters."""


class CudaProgram(NamedTuple):
    """A function of elements in CUDA C++, split into the parts of ``cupy.ElementwiseKernel``."""

    in_params: list[tuple[np.dtype[Any], str]]
    out_params: list[tuple[np.dtype[Any], str]]
    statements: list[str]
    results: list[str]
    """The expressions of the results."""
    preamble: str
    """The functions that the statements call, apart from CUDA's own."""
    steps: int
    """The number of CuPy kernels that it replaces."""
    is_many: bool
    """True if the function returns several arrays, in a tuple or a list."""
    numbers: frozenset[str]
    """The names of the operands that are numbers."""
    is_row_major: bool
    """True if results are row-major, whatever the layout of the operands."""

    @property
    def operation(self) -> str:
        """The body of the loop over elements."""
        stores = [f"{name} = {text};" for (_, name), text in zip(self.out_params, self.results, strict=True)]
        return "\n".join([*self.statements, *stores])

    def device_function(self, name: str) -> str:
        """Return the code as a function that returns the only result, for use in expressions."""
        parameters = ", ".join(f"const {c_type(kind)} {each}" for kind, each in self.in_params)
        (kind, _), (result,) = self.out_params[0], self.results
        lines = "\n".join(f"  {line}" for line in [*self.statements, f"return {result};"])
        return f"{self.preamble}__device__ inline {c_type(kind)} {name}({parameters}) {{\n{lines}\n}}\n"

    def listing(self, name: str) -> str:
        """Return the complete code, for readers: as a function of one element's operands and results."""
        parts = [f"const {c_type(kind)} {each}" for kind, each in self.in_params]
        parts += [f"{c_type(kind)} &{each}" for kind, each in self.out_params]
        lines = "\n".join(f"  {line}" for line in self.operation.splitlines())
        return f"{self.preamble}__device__ void {name}({', '.join(parts)}) {{\n{lines}\n}}\n"


def lower_to_cuda(
    function: Callable[..., Any], names: Sequence[str], operands: Sequence[Any], rounds: bool = True
) -> CudaProgram:
    """Return the CUDA C++ of a function of arrays and numbers.

    :param operands: for each operand: the dtype of an array, ``NUMBER``, or a value that is part of the program.
    :param rounds: if True, results of half-precision operands are rounded to half precision.
    :raises NotFusable: the function does more than compute element by element, or in a way that CUDA does not support.
    :raises NeedsValue: the value of a ``NUMBER`` decides what is computed.

    >>> program = lower_to_cuda(lambda g, r: g * (1 - r), ["g", "r"], [np.dtype("f4"), np.dtype("f4")])
    >>> print(program.operation)
    const float t0 = 1.0f - r_in;
    const float t1 = g_in * t0;
    result_out = t1;
    """
    program = KernelProgram()
    values = [_operand(program, f"{name}_in", kind) for name, kind in zip(names, operands, strict=True)]
    result = with_symbols(function, values, NeedsValue if NUMBER in operands else NotFusable)
    is_many = isinstance(result, (tuple, list))
    results = _results(list(result) if is_many else [result], operands if rounds else ())
    named = [f"result{i}_out" if is_many else "result_out" for i in range(len(results))]
    return CudaProgram(
        [(symbol.dtype, symbol.name) for symbol in program.inputs],
        [(each.dtype, name) for each, name in zip(results, named, strict=True)],
        *written(program, results),
        len(program.steps),
        is_many,
        frozenset(symbol.name for symbol in program.inputs if symbol.is_number),
        program.is_row_major,
    )


def written(program: KernelProgram, results: list[Symbol]) -> tuple[list[str], list[str], str]:
    """Return the statements that the results need, the results' names, and the helpers that are called."""
    needed = {each.name for each in results}
    kept: list[KernelStep] = []
    for step in reversed(program.steps):
        if step.name in needed:
            kept.append(step)
            needed.update(operand for operand, _ in step.operands if isinstance(operand, str))
    statements = [statement(step) for step in reversed(kept)]
    text = "\n".join(statements)
    helpers = "".join(code for name, code in HELPERS.items() if name + "(" in text)
    return statements, [each.name for each in results], helpers


def statement(step: KernelStep) -> str:
    """Return the statement of a step.

    >>> single = np.dtype("f4")
    >>> statement(KernelStep("t3", "add", [("x_in", single), (2, None)], (single, single), single))
    'const float t3 = x_in + 2.0f;'
    """
    operands = [_cast(*operand, to) for operand, to in zip(step.operands, step.loop, strict=True)]
    return f"const {c_type(step.dtype)} {step.name} = {_expression(step, operands)};"


def c_type(dtype: np.dtype[Any]) -> str:
    """Return the C++ type of an element, or raise NotFusable if it has none."""
    if dtype.char not in _TYPES:
        raise NotFusable(f"arrays of {dtype}")
    return _TYPES[dtype.char]


# -- operands ----------------------------------------------------------------------------------------------------------


def _cast(operand: Any, have: Any, to: np.dtype[Any]) -> str:
    """Return an operand cast to a dtype."""
    if not isinstance(operand, str):
        return _literal(operand, to)
    if have == to:
        return operand
    kind = c_type(to)
    if to.kind == "b":
        return f"({operand} != {_literal(0, have)})"
    if to.kind == "c":
        part = c_type(np.dtype(f"f{to.itemsize // 2}"))
        if have.kind == "c":
            return f"{kind}(({part}){operand}.real(), ({part}){operand}.imag())"
        return f"{kind}(({part}){operand})"
    text = f"{operand}.real()" if have.kind == "c" else operand
    if is_half(to):
        wide = text if have.char == "f" else f"({'double' if have.char + to.char == 'de' else 'float'}){text}"
        return f"{kind}({wide})"
    if is_half(have) and to.char != "f":
        text = f"(float){text}"
    return f"({kind}){text}"


def _literal(value: Any, to: np.dtype[Any]) -> str:
    """Return a number cast to a dtype."""
    if isinstance(value, np.generic):
        value = value.item()
    if to.kind == "b":
        return "true" if value else "false"
    if to.kind in "iu":
        return _integer(int(value), to)
    if to.kind == "c":
        part = np.dtype(f"f{to.itemsize // 2}")
        number = complex(value)
        return f"{c_type(to)}({_literal(number.real, part)}, {_literal(number.imag, part)})"
    return f"{c_type(to)}({_literal(value, np.dtype(np.float32))})" if is_half(to) else _real(value, to)


def _integer(value: int, to: np.dtype[Any]) -> str:
    suffix = {"l": "LL", "q": "LL", "L": "ULL", "Q": "ULL"}.get(to.char, "")
    if suffix == "LL" and value == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    return f"({c_type(to)}){value}{suffix}" if to.itemsize < 4 else f"{value}{suffix}"


def _real(value: Any, to: np.dtype[Any]) -> str:
    """Return a floating number of a dtype, in as few digits as it takes."""
    with np.errstate(all="ignore"):
        rounded = to.type(value)
    number = float(rounded)
    if cmath.isinf(number) or math.isnan(number):
        text = "nbautograd_nan()" if math.isnan(number) else "nbautograd_inf()" if number > 0 else "-nbautograd_inf()"
        return f"({c_type(to)}){text}"
    text = np.format_float_scientific(rounded, unique=True, trim="0") if number else repr(number)
    if number and 1e-4 <= abs(number) < 1e7:
        text = np.format_float_positional(rounded, unique=True, trim="0")
    text += "f" * (to.char == "f")
    return f"({text})" if text.startswith("-") else text


# -- steps -------------------------------------------------------------------------------------------------------------

_BINARY = {"add": "+", "subtract": "-", "multiply": "*", "true_divide": "/", "divide": "/"}
_COMPARED = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_BITWISE = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_LOGICAL = {"logical_and": "&&", "logical_or": "||", "logical_xor": "!="}

_OF_FLOATS = {
    **{name: name for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt")},
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "rint")},
    **{name: name for name in ("hypot", "fmod", "copysign", "nextafter", "ldexp", "erf", "erfc", "signbit")},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "arctan2": "atan2", "float_power": "pow", "power": "pow", "absolute": "fabs", "fabs": "fabs", "gammaln": "lgamma",
    "isinf": "nbautograd_isinf", "isfinite": "nbautograd_isfinite", "sign": "nbautograd_sign",
    "maximum": "nbautograd_maximum", "minimum": "nbautograd_minimum", "fmax": "nbautograd_fmax",
    "fmin": "nbautograd_fmin", "floor_divide": "nbautograd_floor_divide", "remainder": "nbautograd_remainder",
    "heaviside": "nbautograd_heaviside", "logaddexp": "nbautograd_logaddexp", "logaddexp2": "nbautograd_logaddexp2",
}  # fmt: skip
"""CUDA functions of floating numbers, or helpers."""
_OF_INTEGERS = {
    **{name: f"nbautograd_{name}" for name in ("maximum", "minimum", "left_shift", "right_shift", "gcd", "lcm")},
    "fmax": "nbautograd_maximum", "fmin": "nbautograd_minimum", "floor_divide": "nbautograd_floor_divide_integer",
    "remainder": "nbautograd_remainder_integer", "fmod": "nbautograd_fmod_integer", "absolute": "nbautograd_absolute",
    "sign": "nbautograd_sign",
}  # fmt: skip
_OF_COMPLEX = {
    **{name: name for name in ("exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "conjugate": "conj", "absolute": "abs", "power": "pow",
}  # fmt: skip
_OF_BOOLS = {name: _OF_INTEGERS[name] for name in ("maximum", "minimum", "fmax", "fmin")}
_FUNCTIONS = {"f": _OF_FLOATS, "i": _OF_INTEGERS, "u": _OF_INTEGERS, "c": _OF_COMPLEX, "b": _OF_BOOLS}
_WHOLE = ("floor", "ceil", "trunc", "rint", "conjugate", "positive")
_UNCHANGED = {"f": _WHOLE[4:], "i": _WHOLE, "u": (*_WHOLE, "absolute"), "c": (), "b": (*_WHOLE, "absolute")}
# By the kind of a number, the functions that return it unchanged.


def _operand(program: KernelProgram, name: str, kind: Any) -> Any:
    """Return what stands for an operand in the function: a symbol, or a value that is part of the program."""
    if kind is NUMBER:
        return program.input(name, np.dtype(np.float64), is_number=True)
    if not isinstance(kind, np.dtype):
        return kind
    symbol = program.input(name, kind)
    return symbol.astype(np.float32) if is_half(kind) else symbol


def with_symbols(function: Callable[..., Any], values: Sequence[Any], failure: type[NotFusable]) -> Any:
    """Call the function with symbols, or raise ``failure`` if they cannot do what it does."""
    try:
        return function(*values)
    except NotFusable:
        raise
    except Exception as error:  # an error from a symbolic array; if not, the eager call raises it again
        raise failure(str(error)) from error


def _results(results: list[Any], operands: Sequence[Any]) -> list[Symbol]:
    """Return the results, which must be arrays, in half precision if an operand is."""
    if not results or not all(isinstance(each, Symbol) and not each.is_number for each in results):
        raise NotFusable("a result that is no array")
    halves = [kind for kind in operands if isinstance(kind, np.dtype) and is_half(kind)]
    return [each.astype(halves[0]) if halves and each.dtype == np.float32 else each for each in results]


_FORMS = {"cast": "{0}", "where": "{0} ? {1} : {2}", "real": "{0}.real()", "imag": "{0}.imag()", "square": "{0} * {0}"}


def _in_operators(step: KernelStep, operands: list[str]) -> str | None:
    """Return the expression of a step that needs no function but operators, methods or constants."""
    name, kind = step.function, step.loop[0].kind
    if name in _FORMS:
        return _FORMS[name].format(*operands)
    match name, operands:
        case "reciprocal", [a] if kind in "fc":
            return f"{_literal(1, step.dtype)} / {a}"
        case "negative", [a] if kind != "b":
            return f"-{a}"
        case "invert", [a]:
            return f"!{a}" if kind == "b" else f"~{a}"
        case "logical_not", [a]:
            return f"{a} == {_literal(0, step.loop[0])}"
        case "isnan", [a] if kind != "c":
            return f"{a} != {a}"
        case (("isinf" | "isfinite"), [_]) if kind in "biu":
            return "false" if name == "isinf" else "true"
        case (("radians" | "deg2rad"), [a]):
            return f"{a} * {_literal(math.pi / 180, step.dtype)}"
        case (("degrees" | "rad2deg"), [a]):
            return f"{a} * {_literal(180 / math.pi, step.dtype)}"
        case "power", _ if kind in "fc":
            return _power(step, operands)
        case _, [a, b]:
            return _of_two(step, name, a, b)
    return None


def _expression(step: KernelStep, operands: list[str]) -> str:
    """Return the expression of a step, for operands in its loop's dtypes, or raise NotFusable if CUDA has none."""
    name, kind = step.function, step.loop[0].kind
    text = _in_operators(step, operands)
    if text is not None:
        return text
    if name in _UNCHANGED.get(kind, ()):
        return operands[0]
    called = _FUNCTIONS.get(kind, {}).get(name)
    if called is None or (called in ("erf", "erfc", "lgamma") and len(operands) != 1):
        raise NotFusable(f"{name} of {step.loop[0]}")
    return f"{called}({', '.join(operands)})"


def _of_two(step: KernelStep, name: str, a: str, b: str) -> str | None:
    """Return an operator between two operands; None if the step is a call."""
    loop = step.loop[0]
    if name in _BINARY:
        if loop.kind == "b":
            return f"{a} {'||' if name == 'add' else '&&'} {b}"
        return f"{a} {_BINARY[name]} {b}"
    if name in _COMPARED:
        if loop.kind == "c" and name not in ("equal", "not_equal"):
            raise NotFusable("the order of complex numbers")
        return f"{a} {_COMPARED[name]} {b}"
    if name in _BITWISE:
        return f"{a} {_BITWISE[name]} {b}"
    if name in _LOGICAL:
        return f"({a} != {_literal(0, loop)}) {_LOGICAL[name]} ({b} != {_literal(0, step.loop[1])})"
    return None


def _power(step: KernelStep, operands: list[str]) -> str:
    """Return a power; small whole exponents as products, as PyTorch does."""
    base, (exponent, _) = operands[0], step.operands[1]
    one = _literal(1, step.dtype)
    if not isinstance(exponent, str):
        products = {2: f"{base} * {base}", 3: f"{base} * {base} * {base}"}
        products |= {1: base, -1: f"{one} / {base}", -2: f"{one} / ({base} * {base})"}
        if exponent in products:
            return products[exponent]
    return f"pow({', '.join(operands)})"
