"""PyTorch's modules that are not supported, but can be imported for programs that import them.

A name of PyTorch's in such a module is a function, or a class, that raises an error with the reason when it is called.
So a program that never calls it runs.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NoReturn

from nbautograd._names import absent
from nbautograd._names.table import row

PACKAGE = __name__.partition(".")[0]


def why(path: str) -> str | None:
    """Return why a module's names raise; None for a module that is not of this kind.

    >>> why("ao.quantization.observer")
    'nothing is quantized; tensor.half() and tensor.bfloat16() save memory'
    """
    while path:
        if reason := row(path).refuses:
            return reason
        path = path.rpartition(".")[0]
    return None


def covers(path: str) -> bool:
    """Return whether PyTorch has a module of this path whose names raise."""
    return bool(row(path).refuses) or (why(path) is not None and path in absent.modules())


def refuses(path: str, name: str) -> bool:
    """Return whether a name of PyTorch's in a module only raises.

    >>> refuses("onnx", "export"), refuses("onnx", "is_in_onnx_export"), refuses("jit", "script")
    (True, False, False)
    """
    return why(path) is not None and name in absent.names(path) and name not in answers(path)


def answers(path: str) -> dict[str, str]:
    """Return the results of a module's functions that do not raise, by their names.

    >>> answers("onnx")
    {'is_in_onnx_export': 'False'}
    """
    return dict(each.split("=") for each in row(path).answers.split())


def refuse(full: str, reason: str) -> NoReturn:
    """Raise NotImplementedError for an unsupported part of PyTorch, with the reason."""
    raise NotImplementedError(f"torch.{full} is not part of {PACKAGE}: {reason}")


class _Refusing(type):
    """The metaclass of classes that can be named and inherited from, but not instantiated."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(cls.full, cls.reason)  # type: ignore[attr-defined]


@cache
def stand_in(path: str, name: str) -> Any:
    """Return a stand-in for an unsupported name of a PyTorch module: a class if the name begins with a capital.

    >>> stand_in("ao.quantization", "quantize_dynamic")()
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.ao.quantization.quantize_dynamic is not part of nbautograd: nothing is quantized; \
tensor.half() and tensor.bfloat16() save memory
    """
    if name in answers(path):
        return _constant(path, name, {"False": False, "0": 0, "None": None}[answers(path)[name]])
    full, reason = f"{path}.{name}", why(path) or ""
    text = f"Not part of {PACKAGE}: {reason}."
    if name.endswith(("Error", "Exception", "Warning")):  # for ``except`` and filters
        base = UserWarning if name.endswith("Warning") else RuntimeError
        return type(name, (base,), {"__module__": f"{PACKAGE}.{path}", "__doc__": text})
    if re.match(r"_*[A-Z]", name):
        scope = {"__module__": f"{PACKAGE}.{path}", "__doc__": text, "full": full, "reason": reason}
        return _Refusing(name, (), scope)

    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(full, reason)

    refused.__name__, refused.__qualname__, refused.__doc__ = name, name, text
    refused.__module__ = f"{PACKAGE}.{path}"
    return refused


def _constant(path: str, name: str, value: Any) -> Any:
    """Return a function with a constant result."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        return value

    answer.__name__, answer.__qualname__, answer.__module__ = name, name, f"{PACKAGE}.{path}"
    shown = "" if value is None else f"{value}\n"
    answer.__doc__ = (
        f"{value}: {why(path)}.\n\n:param args, kwargs: accepted without effect.\n:returns: {value}, always.\n\n"
        f">>> import {PACKAGE} as torch\n>>> torch.{path}.{name}({'1' if name.startswith('manual') else ''})\n{shown}"
    )
    return answer
