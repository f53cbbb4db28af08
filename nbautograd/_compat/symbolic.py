"""Symbolic numbers of PyTorch's compiler: no number is one here, and functions of them take Python's numbers."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._names.docstrings import import_in_module


class SymInt:
    """The class of symbolic integers: no size is one.

    >>> isinstance(torch.ones(2).shape[0], torch.SymInt)
    False
    """


class SymFloat:
    """The class of symbolic floats: no number is one.

    >>> isinstance(2.0, torch.SymFloat)
    False
    """


class SymBool:
    """The class of symbolic bools: no condition is one.

    >>> isinstance(True, torch.SymBool)
    False
    """


def sym_int(a: Any) -> int:
    """Return a number as an integer, rounded towards zero.

    >>> torch.sym_int(-3.5)
    -3
    """
    return int(a)


def sym_float(a: Any) -> float:
    """Return a number as a float.

    >>> torch.sym_float(2)
    2.0
    """
    return float(a)


def sym_max(a: Any, b: Any) -> Any:
    """Return the larger of two numbers; a float if one is.

    >>> torch.sym_max(1, 2), torch.sym_max(1.0, 2)
    (2, 2.0)
    """
    return float(max(a, b)) if isinstance(a, float) or isinstance(b, float) else max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers; a float if one is.

    >>> torch.sym_min(1, 2), torch.sym_min(1, 2.0)
    (1, 1.0)
    """
    return float(min(a, b)) if isinstance(a, float) or isinstance(b, float) else min(a, b)


def sym_not(a: Any) -> bool:
    """Return the negation of a condition.

    >>> torch.sym_not(True)
    False
    """
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """Return one value if a condition holds, and the other if not.

    >>> torch.sym_ite(True, 1, 2)
    1
    """
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """Return the square root of a number.

    >>> torch.sym_sqrt(4)
    2.0
    """
    return math.sqrt(a)


def sym_sum(args: Any) -> Any:
    """Return the sum of numbers.

    >>> torch.sym_sum([1, 2, 3])
    6
    """
    return sum(args)


import_in_module(__name__)
