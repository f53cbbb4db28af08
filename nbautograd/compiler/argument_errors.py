"""Which argument was of the wrong kind: looked for when a function has tripped over it, so that good calls pay nothing.

What an argument may be is read off the annotations, so that they say it once.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from nbautograd.arrays import dtypes
from nbautograd.core.tensor import Tensor
from nbautograd.errors import kind_of

__all__ = ["check_arguments", "with_argument_errors"]

F = TypeVar("F", bound=Callable[..., Any])

_INTS = (int, np.integer, Tensor)
_NUMBERS = (int, float, complex, np.number, np.bool_, Tensor)
_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "Tensor": ("Tensor", (Tensor,)),
    "Number": ("Number", _NUMBERS),
    "float": ("float", _NUMBERS),
    "int": ("int", _INTS),
    "bool": ("bool", (bool, np.bool_, *_INTS)),
    "str": ("str", (str,)),
    "dtype": ("torch.dtype", (type(dtypes.float32),)),
    "Sequence": ("tuple", (tuple, list)),
    "tuple": ("tuple", (tuple, list)),
    "Dims": ("int or tuple of ints", (tuple, list, *_INTS)),
    "None": ("None", (type(None),)),
}
"""For a word of an annotation: what a message calls it, and the types that are accepted."""


def with_argument_errors(function: F) -> F:
    """A function that, where it stumbles over an argument, says in a TypeError which one it was.

    >>> @with_argument_errors
    ... def twice(input: Tensor) -> Tensor:
    ...     return input.add(input)
    >>> twice("a")
    Traceback (most recent call last):
    TypeError: twice(): argument 'input' (position 1) must be Tensor, not str
    """

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except AttributeError:
            check_arguments(function, args, kwargs)
            raise

    return public  # type: ignore[return-value]


def check_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Complain about the first argument that is not what its annotation says; do nothing if all are.

    :raises TypeError: one is not.
    """
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return
    for position, (name, parameter) in enumerate(signature.parameters.items(), 1):
        if name not in given:
            continue
        several = parameter.kind is parameter.VAR_POSITIONAL
        for value in given[name] if several else [given[name]]:
            expected = _unlike(str(parameter.annotation), value)
            if expected is not None:
                place = "" if several or parameter.kind is parameter.KEYWORD_ONLY else f" (position {position})"
                raise TypeError(
                    f"{function.__name__}(): argument '{name}'{place} must be {expected}, not {kind_of(value)}"
                ) from None


def _unlike(annotation: str, value: Any) -> str | None:
    """What an argument with this annotation must be, if the value is not; None if it is, or nothing is known."""
    outer = re.sub(r"\[.*?\]+", "", annotation)  # Sequence[Tensor] is a sequence
    kinds = [_KINDS.get(word.rpartition(".")[2]) for word in outer.split(" | ")]
    if None in kinds or isinstance(value, tuple(t for kind in kinds if kind for t in kind[1])):
        if "Sequence[Tensor]" in annotation and isinstance(value, (tuple, list)):
            return None if all(isinstance(item, Tensor) for item in value) else "tuple of Tensors"
        return None
    return " or ".join(kind[0] for kind in kinds if kind and kind[0] != "None")
