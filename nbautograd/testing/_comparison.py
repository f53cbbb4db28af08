"""``assert_close``: compare tensors, numbers or containers up to tolerances, with PyTorch's messages."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace as Options
from typing import Any, NoReturn

import numpy as np

from nbautograd._engine.arrays.dtypes import int64, promote_types
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import as_tensor, tensor
from nbautograd._engine.ops.elementwise.comparison import isclose
from nbautograd.errors import warn

TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip
"""The default ``rtol`` and ``atol`` by dtype; all other dtypes must be equal."""
FORMER_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}
"""The tolerances of ``assert_allclose``."""
NUMBERS = (int, float, complex, np.number)
BOOLEANS = (bool, np.bool_)
Path = tuple[Any, ...]


class _MismatchError(Exception):
    """The error for ``assert_close`` to raise: its class, its message, and the place in a container."""

    def __init__(self, kind: type[Exception], message: str, path: Path = ()) -> None:
        place = f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}" if path else ""
        super().__init__(message + place)
        self.kind = kind


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Check that ``|actual - expected| <= atol + rtol * |expected|``, element by element.

    Sequences and mappings are compared item by item. Tensors, and inputs of ``as_tensor`` such as NumPy arrays, must
    have related classes, the same shape and, unless switched off, the same dtype, device and layout.

    :param actual: a tensor, a number, an array, or a sequence or mapping of them.
    :param expected: the expected value.
    :param allow_subclasses: allow comparing a subclass with its base class, such as a Parameter with a Tensor.
    :param rtol: the relative tolerance; the defaults by dtype are (1e-3, 1e-5) for float16, (1.6e-2, 1e-5) for
        bfloat16, (1.3e-6, 1e-5) for float32 and complex64, (1e-7, 1e-7) for float64, complex128 and Python's numbers, 0
        for integers and bools. Two dtypes use the larger ones.
    :param atol: the absolute tolerance.
    :param equal_nan: NaN is equal to NaN.
    :param check_device: require the same device; otherwise compare on the CPU.
    :param check_dtype: require the same dtype, or type of numbers; otherwise promote both.
    :param check_layout: require the same layout; otherwise compare dense tensors.
    :param check_stride: require the same strides.
    :param msg: the message of the error, or a function from the default message to another.
    :raises AssertionError: the values differ; the message counts the elements, and locates the greatest difference.
    :raises TypeError: the objects cannot be compared.
    :raises ValueError: only one of ``rtol`` and ``atol`` is given, or one is negative.

    >>> import nbautograd as torch
    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    >>> torch.testing.assert_close([torch.tensor([1.0, 2.0])], [torch.tensor([1.0, 2.5])])
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)
    <BLANKLINE>
    The failure occurred for item [0]
    """
    __tracebackhide__ = True
    options = Options(**locals())  # the arguments, by name
    _check_tolerances(rtol=rtol, atol=atol)
    error = None
    try:
        pairs = list(_pairs(actual, expected, (), options))  # raises before any comparison if a pair cannot be compared
    except _MismatchError as failed:  # msg is only for differences
        error = failed.kind(str(failed))
    else:
        try:
            for compare, one, other, path in pairs:
                compare(one, other, path, options)
        except _MismatchError as failed:
            message = str(failed)
            if msg is not None:
                message = msg(message) if callable(msg) else msg
            error = failed.kind(message)
    if error is not None:
        raise error


def _check_tolerances(**tolerances: float | None) -> None:
    absent = [name for name, tolerance in tolerances.items() if tolerance is None]
    if len(absent) == 1:
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {absent[0]}.")
    for name, tolerance in tolerances.items():
        if tolerance is not None and not tolerance >= 0:
            raise ValueError(f"{name} must be greater than or equal to zero, but got {tolerance}.")


Compare = Callable[[Any, Any, Path, Options], None]


def _pairs(actual: Any, expected: Any, path: Path, options: Options) -> Iterator[tuple[Compare, Any, Any, Path]]:
    """Yield the pairs of items to compare, with the comparing function, of two containers or values."""

    def both(*kinds: Any) -> bool:
        return isinstance(actual, kinds) and isinstance(expected, kinds)

    def neither(kind: Any) -> bool:
        return not isinstance(actual, kind) and not isinstance(expected, kind)

    if both(Sequence) and neither(str):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise _MismatchError(AssertionError, text, path)
        for index, (one, other) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(one, other, (*path, index), options)
    elif both(Mapping):
        _compare_keys(actual, expected, path)
        for key in _in_order(actual):
            yield from _pairs(actual[key], expected[key], (*path, key), options)
    elif actual is None or expected is None:
        yield _compare_constants, actual, expected, path
    elif both(*BOOLEANS):
        yield _compare_constants, bool(actual), bool(expected), path
    elif both(*NUMBERS) and neither(bool):
        yield _compare_numbers, _number(actual), _number(expected), path
    else:
        yield _compare_tensors, *_tensors(actual, expected, path, options), path


def _in_order(keys: Iterable[Any]) -> list[Any]:
    """Return the keys, sorted if possible."""
    try:
        return sorted(keys)
    except TypeError:
        return list(keys)


def _compare_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any], path: Path) -> None:
    missing = _in_order(expected.keys() - actual.keys())
    additional = _in_order(actual.keys() - expected.keys())
    if missing or additional:
        text = "The keys of the mappings do not match:"
        text += f"\nMissing keys in the actual mapping: {missing}" if missing else ""
        text += f"\nAdditional keys in the actual mapping: {additional}" if additional else ""
        raise _MismatchError(AssertionError, text, path)


def _tensors(actual: Any, expected: Any, path: Path, options: Options) -> tuple[Tensor, Tensor]:
    """Convert two objects to tensors; raise if their classes are not related, or ``as_tensor`` does not know one."""
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if related and (options.allow_subclasses or type(actual) is type(expected)):
        try:
            return _as_tensor(actual), _as_tensor(expected)
        except Exception:  # any error of as_tensor means that it is not a tensor
            pass
    text = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    raise _MismatchError(TypeError, text, path)


def _as_tensor(value: Any) -> Tensor:
    return (value if isinstance(value, Tensor) else as_tensor(value)).detach()


# -- values ------------------------------------------------------------------------------------------------------------


def _compare_constants(actual: Any, expected: Any, path: Path, options: Options) -> None:
    if actual is not expected:
        what = "None" if actual is None or expected is None else "Booleans"
        raise _MismatchError(AssertionError, f"{what} mismatch: {actual} is not {expected}", path)


def _number(value: Any) -> complex:
    return value.item() if isinstance(value, np.number) else value  # type: ignore[no-any-return]


def _compare_numbers(actual: Any, expected: Any, path: Path, options: Options) -> None:
    kinds = type(actual), type(expected)
    if options.check_dtype and kinds[0] is not kinds[1]:
        raise _MismatchError(AssertionError, f"The (d)types do not match: {kinds[0]} != {kinds[1]}.", path)
    rtol, atol = _tolerances(options, *({float: "float64", complex: "complex128"}.get(kind) for kind in kinds))
    if actual == expected or options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
        return
    difference = abs(actual - expected)
    if not (cmath.isfinite(difference) and difference <= atol + rtol * abs(expected)):
        _fail_of_numbers(actual, expected, rtol, atol, path)


def _compare_tensors(actual: Tensor, expected: Tensor, path: Path, options: Options) -> None:
    _compare_attributes(actual, expected, path, options)
    rtol, atol = _tolerances(options, actual.dtype.name, expected.dtype.name)
    actual, expected = _alike(actual, expected)
    matches = isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if matches.all():
        return
    if actual.ndim == 0:
        _fail_of_numbers(actual.item(), expected.item(), rtol, atol, path)
    _fail_of_tensors(actual, expected, matches, rtol, atol, path)


def _compare_attributes(actual: Tensor, expected: Tensor, path: Path, options: Options) -> None:
    """Compare the attributes named in the options, in PyTorch's order."""
    strides = options.check_stride and "strided" in str(actual.layout) and actual.layout == expected.layout
    attributes: list[tuple[str, bool, Callable[[Tensor], Any]]] = [
        ("shape", True, lambda t: t.shape),
        ("layout", options.check_layout, lambda t: t.layout),
        ("stride()", strides, lambda t: t.stride()),
        ("device", options.check_device, lambda t: t.device),
        ("dtype", options.check_dtype, lambda t: t.dtype),
    ]
    for name, wanted, get in attributes:
        if wanted and get(actual) != get(expected):
            text = f"The values for attribute {name!r} do not match: {get(actual)} != {get(expected)}."
            raise _MismatchError(AssertionError, text, path)


def _tolerances(options: Options, *dtypes: str | None) -> tuple[float, float]:
    """Return the given tolerances, or the larger ones of the dtypes' tolerances."""
    if options.rtol is not None and options.atol is not None:
        return _plain(options.rtol), _plain(options.atol)
    return _larger(TOLERANCES, dtypes)


def _larger(table: Mapping[Any, tuple[float, float]], dtypes: Iterable[str | None]) -> tuple[float, float]:
    rtols, atols = zip(*(table.get(dtype, (0.0, 0.0)) for dtype in dtypes), strict=True)
    return max(rtols), max(atols)


def _plain(tolerance: Any) -> Any:
    return tolerance.item() if isinstance(tolerance, Tensor) else tolerance


def _alike(actual: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
    """Return both tensors on one device, in one dtype and one layout."""
    if actual.layout != expected.layout:
        actual, expected = (t if "strided" in str(t.layout) else t.to_dense() for t in (actual, expected))
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.dtype != expected.dtype:  # an unsigned integer and another dtype have no promoted dtype
        dtypes = (int64 if t.dtype.name in ("uint16", "uint32", "uint64") else t.dtype for t in (actual, expected))
        common = promote_types(*dtypes)
        actual, expected = actual.to(common), expected.to(common)
    return actual, expected


# -- messages ----------------------------------------------------------------------------------------------------------


def _fail(what: str, lines: list[str], rtol: float, atol: float, path: Path) -> NoReturn:
    """Raise for a mismatch; the last two lines give the absolute and the relative difference."""
    exact = rtol == 0 and atol == 0
    if not exact:
        allowed = zip(lines[-2:], (atol, rtol), strict=True)
        lines = [*lines[:-2], *(f"{line} (up to {tolerance} allowed)" for line, tolerance in allowed)]
    text = "\n".join([f"{what} are not {'equal' if exact else 'close'}!", "", *lines])
    raise _MismatchError(AssertionError, text, path)


def _fail_of_numbers(actual: Any, expected: Any, rtol: float, atol: float, path: Path) -> NoReturn:
    difference = abs(actual - expected)
    relative = math.inf if expected == 0 else difference / abs(expected)
    lines = [
        f"Expected {expected} but got {actual}.",
        f"Absolute difference: {difference}",
        f"Relative difference: {relative}",
    ]
    _fail("Scalars", lines, rtol, atol, path)


def _fail_of_tensors(
    actual: Tensor, expected: Tensor, matches: Tensor, rtol: float, atol: float, path: Path
) -> NoReturn:
    if not actual.is_floating_point() and not actual.is_complex():
        actual, expected = actual.to(int64), expected.to(int64)  # differences may exceed the dtype's range
    absolute = (actual - expected).abs()
    absolute[matches] = 0
    relative = absolute / expected.abs()
    relative[matches] = 0
    total, wrong = matches.numel(), int((~matches).sum())
    lines = [f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"]
    for name, differences in (("absolute", absolute), ("relative", relative)):
        place = int(differences.argmax())
        index = tuple(int(i) for i in np.unravel_index(place, tuple(matches.shape)))
        lines.append(f"Greatest {name} difference: {differences.flatten()[place].item()} at index {index}")
    _fail("Tensor-likes", lines, rtol, atol, path)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Check closeness of tensors of any dtypes, with wider tolerances; deprecated, use ``assert_close``.

    :param actual: a tensor, or an input of ``torch.tensor``.
    :param expected: likewise.
    :param rtol: the relative tolerance; the defaults of both depend on the dtypes: float16, float32 or float64.
    :param atol: the absolute tolerance.
    :param equal_nan: NaN is equal to NaN.
    :param msg: the message of the error.
    :returns: None.
    :raises AssertionError: as in ``assert_close``.

    >>> import nbautograd as torch, pytest
    >>> with pytest.warns(FutureWarning):
    ...     torch.testing.assert_allclose(torch.ones(2), torch.ones(2) + 1e-6)
    """
    __tracebackhide__ = True
    warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
    )
    if not isinstance(actual, Tensor):
        actual = tensor(actual)
    if not isinstance(expected, Tensor):
        expected = tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = _larger(FORMER_TOLERANCES, (actual.dtype.name, expected.dtype.name))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
