"""The argument that does not match its annotation, looked for after an error."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import kind_of

__all__ = ["check_arguments"]

INTS = (int, np.integer, Tensor)
NUMBERS = (int, float, complex, np.number, np.bool_, Tensor)

_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "Tensor": ("Tensor", (Tensor,)),
    "Number": ("Number", NUMBERS),
    "float": ("float", NUMBERS),
    "int": ("int", INTS),
    "bool": ("bool", (bool, np.bool_, *INTS)),
    "str": ("str", (str,)),
    "dtype": ("torch.dtype", (type(dtypes.float32),)),
    "Sequence": ("tuple", (tuple, list)),
    "tuple": ("tuple", (tuple, list)),
    "Ints": ("int or tuple of ints", (tuple, list, *INTS)),
    "Dims": ("int or tuple of ints", (type(None), tuple, list, *INTS)),
    "None": ("None", (type(None),)),
}
"""For a word of an annotation: its name in messages, and the accepted types."""


def check_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise a TypeError for the first argument that does not match its annotation, if any.

    :raises TypeError: an argument does not match.
    """
    signature = inspect.signature(function)
    try:
        arguments = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return
    for position, (name, parameter) in enumerate(signature.parameters.items(), 1):
        if name not in arguments:
            continue
        several = parameter.kind is parameter.VAR_POSITIONAL
        for value in arguments[name] if several else [arguments[name]]:
            expected = _unlike(str(parameter.annotation), value)
            if expected is not None:
                by_name = several or name in kwargs or parameter.kind is parameter.KEYWORD_ONLY
                place = "" if by_name else f" (position {position})"
                public = function.__name__.lstrip("_")
                raise TypeError(
                    f"{public}(): argument '{name}'{place} must be {expected}, not {kind_of(value)}"
                ) from None


def _unlike(annotation: str, value: Any) -> str | None:
    """Return the types required by an annotation, if the value does not match; None if it does, or if unknown."""
    outer = re.sub(r"\[.*?\]+", "", annotation)  # Sequence[Tensor] is a sequence
    kinds = [_KINDS.get(word.rpartition(".")[2]) for word in outer.split(" | ")]
    accepted = tuple(t for kind in kinds if kind for t in kind[1])
    if None in kinds or isinstance(value, accepted) and _fits(value, outer):
        if "Sequence[Tensor]" in annotation and "Sequence[int]" not in annotation and isinstance(value, (tuple, list)):
            return None if all(isinstance(item, Tensor) for item in value) else "tuple of Tensors"
        return None
    return " or ".join(kind[0] for kind in kinds if kind and kind[0] != "None")


def _fits(value: Any, annotation: str) -> bool:
    """Return whether a tensor in place of a number is 0-d, and a tuple in place of integers has only integers."""
    if isinstance(value, Tensor):
        return "Tensor" in annotation or not value.ndim
    return not (isinstance(value, (tuple, list)) and "Ints" in annotation) or all(isinstance(n, INTS) for n in value)
