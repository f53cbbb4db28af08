"""The named tuples that functions with several results return, such as ``torch.return_types.max(values, indices)``."""

from __future__ import annotations

import functools
import operator
from typing import Any

__all__ = ["FIELDS", "Results", "return_type"]

_FIELDS = {
    "a tau": "geqrf",
    "eigenvalues eigenvectors": "linalg_eig linalg_eigh",
    "hist bin_edges": "histogram histogramdd",
    "inverse info": "linalg_inv_ex",
    "L info": "linalg_cholesky_ex",
    "LD pivots": "linalg_ldl_factor",
    "LD pivots info": "linalg_ldl_factor_ex",
    "LU pivots": "linalg_lu_factor",
    "LU pivots info": "_lu_with_info linalg_lu_factor_ex",
    "mantissa exponent": "frexp",
    "min max": "aminmax",
    "P L U": "linalg_lu lu_unpack",
    "Q R": "linalg_qr qr",
    "result info": "linalg_solve_ex",
    "sign logabsdet": "linalg_slogdet slogdet",
    "solution cloned_coefficient": "triangular_solve",
    "solution residuals rank singular_values": "linalg_lstsq",
    "U S V": "svd",
    "U S Vh": "linalg_svd",
    "values indices": "cummax cummin kthvalue max median min mode nanmedian sort topk",
}
FIELDS = dict(sorted((name, fields) for fields, names in _FIELDS.items() for name in names.split()))
"""The names of the results, by function."""


class Results(tuple):  # type: ignore[type-arg]
    """The base class of the named tuples of tensors."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, values: Any) -> Results:
        """Create the tuple from one sequence of values."""
        return super().__new__(cls, values)

    def __repr__(self) -> str:
        parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{parts})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_results, (type(self).__name__, tuple(self))


@functools.cache
def return_type(name: str) -> type[Results]:
    """Return the named-tuple class for the results of ``name``: built from a sequence, with an attribute per field.

    >>> from nbautograd._engine.core.return_types import return_type
    >>> pair = return_type("max")((3, 1))
    >>> pair.indices
    1
    >>> print(pair)
    torch.return_types.max(
    values=3,
    indices=1)
    """
    fields = tuple(FIELDS[name].split())
    members: dict[str, Any] = {"__slots__": (), "_fields": fields, "__module__": "torch.return_types"}
    members.update({field: property(operator.itemgetter(i)) for i, field in enumerate(fields)})
    return type(name, (Results,), members)


def __getattr__(name: str) -> type[Results]:
    if name not in FIELDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return return_type(name)


def _rebuild_results(name: str, values: tuple[Any, ...]) -> Results:
    return return_type(name)(values)


def _rebuild(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Results:
    """Load pickles of older versions, which list the fields."""
    return return_type(name)(values)


_rebuild_results.__module__ = "nbautograd"
