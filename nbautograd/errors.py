"""The exceptions of the library, each derived from PyTorch's exception in that place, so either name catches it.

Invalid arguments raise TypeError, ValueError, IndexError, RuntimeError (including NotImplementedError), OverflowError
or MemoryError, whose message names them; nothing has been changed then. ``tests/product/fuzz`` checks this for all
functions. The few functions that assert in PyTorch also raise AssertionError.
"""

from __future__ import annotations

import re
import sys
import warnings
from types import FrameType
from typing import Any

__all__ = [
    "AutogradError", "BadNumberError", "CudaUnavailableError", "DeviceError", "DtypeError", "GraphFreedError",
    "InplaceError", "LinAlgError", "NbautogradError", "NoGraphError", "NonScalarError", "OutOfMemoryError",
    "ProgramError", "ShapeError", "TracingError", "UnsupportedDtypeError",
]  # fmt: skip


SCALAR_TYPES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float16": "Half", "bfloat16": "BFloat16",
    "float32": "Float", "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip
"""The names of dtypes in PyTorch's messages."""


def kind_of(value: Any) -> str:
    """Return the name of a value of the wrong type in messages: its class, and PyTorch if it is PyTorch's.

    >>> kind_of([1])
    'list'
    """
    kind = type(value).__name__
    if not is_pytorchs(value):
        return kind
    if hasattr(value, "__dlpack__"):
        convert = f"from nbautograd import from_dlpack; from_dlpack({variable_of(value)}.detach())"
        return f"PyTorch's {kind} (`{convert}` converts it to nbautograd's)"
    return f"PyTorch's {kind} (use nbautograd's)"


def variable_of(value: Any) -> str:
    """Return the variable of the user's code that holds a value; ``x`` if none does.

    >>> here = [1]
    >>> variable_of(here), variable_of([1])
    ('here', 'x')
    """
    frame = _users_frame()
    names = {**frame.f_globals, **frame.f_locals}
    return next((name for name, each in names.items() if each is value and not name.startswith("_")), "x")


PASSED = {"nbautograd", "torch", "contextlib", "copy"}
"""The packages whose lines no warning names: this library, PyTorch, and what calls them back."""


def _users_frame() -> FrameType:
    """Return the innermost frame of the user's code, or the outermost frame."""
    frame = sys._getframe(1)
    while frame.f_back is not None and runs_code_of(frame, PASSED) and frame.f_code.co_filename[:8] != "<doctest":
        frame = frame.f_back
    return frame


def runs_code_of(frame: FrameType, packages: set[str]) -> bool:
    """Return whether a frame runs code of these packages, or code that this library has generated."""
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    return package in packages or frame.f_code.co_filename.startswith("<nbautograd")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code that led here, through however many functions of this library.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as warned:
    ...     warnings.simplefilter("always")
    ...     warn("Something is deprecated", FutureWarning)
    >>> warned[0].category.__name__, warned[0].filename.startswith("<doctest")
    ('FutureWarning', True)
    """
    frame = _users_frame()
    scope = frame.f_globals
    registry = scope.setdefault("__warningregistry__", {})
    name = scope.get("__name__", "<string>")
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, name, registry)


def is_pytorchs(value: Any) -> bool:
    """Return whether a value is of one of PyTorch's classes, judging by their names: PyTorch may not be installed."""
    if isinstance(value, tuple):  # named results are from torch.return_types
        return False
    named = [each for each in type(value).__mro__ if each.__module__.partition(".")[0] == "torch"]
    if not named:
        return False
    from nbautograd._names.identity import is_ours

    return not all(map(is_ours, named))


class NbautogradError(Exception):
    """Base class of all intentional errors of nbautograd."""


class ShapeError(NbautogradError, RuntimeError):
    """Shapes do not match each other or the operation."""


class DtypeError(NbautogradError, RuntimeError):
    """A dtype that the operation does not support."""


class UnsupportedDtypeError(DtypeError, NotImplementedError):
    """A dtype for which the operation is not defined, such as ``floor`` of complex numbers."""

    def __init__(self, function: str, dtype: Any, accepts: str) -> None:
        categories = {"b": "bool", "i": "integer", "f": "floating-point", "c": "complex"}
        what = "bifc"[dtype.rank]
        expected = " or ".join(categories[c] for c in accepts)
        super().__init__(
            f'{function}() is not supported for {categories[what]} tensors ("{function}" not implemented for '
            f"'{SCALAR_TYPES[dtype.name]}', that is, {dtype!r}): expected a tensor of {expected} dtype"
            f"{' of at least 32 bits' if what == 'f' and 'f' in accepts else ''}"
        )


def name_operation(error: Exception, name: str) -> None:
    """Put the operation's name before the message, as in ``mm(): mat1 and mat2 shapes cannot ...``, if it has none.

    If one operation calls another, each does this in turn, and the name of the outermost remains. Errors that are none
    of ``INPUT_ERRORS``, such as those of autograd, name their subject themselves.

    :raises OutOfMemoryError: it is NumPy's error of an array that is too large.
    """
    if type(error) not in INPUT_ERRORS:
        if isinstance(error, MemoryError) and not isinstance(error, NbautogradError):
            raise OutOfMemoryError(f"{name}(): DefaultCPUAllocator: can't allocate memory: {error}") from None
        if isinstance(error, ValueError) and re.search(_TOO_LARGE, str(error)):
            raise OutOfMemoryError(f"{name}(): Storage size calculation overflowed: {error}") from None
        if type(error) not in (TypeError, ValueError) or not re.match(_OF_ARGUMENT, str(error)):
            return
    message, name, named = str(error), name.lstrip("_"), getattr(error, "operation", None)
    if named is not None:
        message = message.removeprefix(f"{named}(): ")
    elif not name or re.search(rf"^{_NAMED}|^\W?{re.escape(name)}\b|\b{re.escape(name)}\(\)", message):
        return
    error.operation = name  # type: ignore[attr-defined]
    error.args = (f"{name}(): {message}",)


INPUT_ERRORS = (RuntimeError, IndexError, ShapeError, DtypeError)
"""The exact types of errors about inputs that an operation does not support."""
CAUGHT = (*INPUT_ERRORS, MemoryError, TypeError, ValueError)  # and given to name_operation
_TOO_LARGE = "^array is too big|^Maximum allowed|^broadcast dimensions"
_OF_ARGUMENT = r"(dims?|size|stride|argument .*) must be |expected a number, |Overflow when unpacking long long: \w+="
"""The pattern of a message about an argument, made by a check that serves many operations."""
_NAMED = r"[a-z_\d.]+(\(\)|\(\):|:) "
"""The pattern of a message that begins with an operation's name: ``gather(): ...``, ``linalg.inv: ...``."""


class DeviceError(NbautogradError, RuntimeError):
    """Tensors are on different devices, or a device does not exist."""


class CudaUnavailableError(DeviceError, AssertionError):
    """CUDA was requested but is not available; the message names the missing part and the command that installs it."""


class OutOfMemoryError(DeviceError, MemoryError):
    """The memory of a device is full; tensors and graphs are unchanged.

    :param args, kwargs: the message, as for Python's exceptions.
    :returns: an error, which is a ``RuntimeError`` and a ``MemoryError``.
    :raises TypeError: keywords are given.

    >>> import nbautograd as torch
    >>> issubclass(torch.cuda.OutOfMemoryError, MemoryError)
    True
    """


class AutogradError(NbautogradError, RuntimeError):
    """A backward pass cannot be run as requested."""


class BadNumberError(AutogradError):
    """A NaN or an infinity that ended a computation; ``bad`` says everything about it.

    >>> from nbautograd._engine.base.bad_numbers import BadNumber
    >>> error = BadNumberError(BadNumber("log", "-inf", (1,), 1, 2, (("x", "0"),), cure="log"))
    >>> print(str(error).splitlines()[0])
    log() returned -inf at [1] (1 of 2 elements)
    """

    def __init__(self, bad: Any, head: str = "", node: Any = None, operands: tuple[Any, ...] = ()) -> None:
        self.bad, self.node, self.operands = bad, node, operands
        first, *rest = bad.told()
        super().__init__("\n  ".join([head, first.partition(" returned ")[2], *rest] if head else [first, *rest]))


class NoGraphError(AutogradError):
    """A derivative is requested of a tensor, or by a tensor, that has no graph."""

    cause: Any = None
    """The cause of the missing graph, and the cure: a ``Cause`` of ``nbautograd._engine.base.missing_graph``."""


class NonScalarError(AutogradError):
    """A derivative is requested of several numbers at once, without their weights."""


class GraphFreedError(AutogradError):
    """A node's saved tensors are freed: its graph has already been run backward."""


class InplaceError(AutogradError):
    """An in-place write that would make, or has made, a gradient wrong."""

    saved: str = ""
    """The name under which a node saved the written tensor, if it did."""
    versions: tuple[int, int] = (0, 0)
    """The version when it was saved, and the current version."""
    written: tuple[str, int] | None = None
    """File and line of the last write, if places were recorded."""


class ProgramError(AutogradError):
    """A recorded graph cannot be written as a program with the same gradients."""


class TracingError(AutogradError):
    """``torch.jit.trace`` cannot record the function, or recorded it for other arguments."""


class LinAlgError(NbautogradError, RuntimeError):
    """A matrix for which the computation is not defined: singular, not positive-definite, or not finite.

    :param args: the message.
    :param kwargs: none are accepted.
    :returns: the exception, a RuntimeError.
    :raises TypeError: keyword arguments are given.

    >>> import nbautograd as torch
    >>> try:
    ...     torch.linalg.inv(torch.zeros(2, 2))
    ... except torch.linalg.LinAlgError:
    ...     print("singular")
    singular
    """
