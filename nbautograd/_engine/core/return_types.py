"""The named tuples that functions with several results return, such as ``torch.return_types.max(values, indices)``."""

from __future__ import annotations

import functools
import operator
from typing import Any

__all__ = ["FIELDS", "Results", "return_type"]

FIELDS = {
    "_lu_with_info": "LU pivots info",
    "aminmax": "min max",
    "cummax": "values indices",
    "cummin": "values indices",
    "frexp": "mantissa exponent",
    "geqrf": "a tau",
    "histogram": "hist bin_edges",
    "histogramdd": "hist bin_edges",
    "kthvalue": "values indices",
    "linalg_cholesky_ex": "L info",
    "linalg_eig": "eigenvalues eigenvectors",
    "linalg_eigh": "eigenvalues eigenvectors",
    "linalg_inv_ex": "inverse info",
    "linalg_ldl_factor": "LD pivots",
    "linalg_ldl_factor_ex": "LD pivots info",
    "linalg_lstsq": "solution residuals rank singular_values",
    "linalg_lu": "P L U",
    "linalg_lu_factor": "LU pivots",
    "linalg_lu_factor_ex": "LU pivots info",
    "linalg_qr": "Q R",
    "linalg_slogdet": "sign logabsdet",
    "linalg_solve_ex": "result info",
    "linalg_svd": "U S Vh",
    "lu_unpack": "P L U",
    "max": "values indices",
    "median": "values indices",
    "min": "values indices",
    "mode": "values indices",
    "nanmedian": "values indices",
    "qr": "Q R",
    "slogdet": "sign logabsdet",
    "sort": "values indices",
    "svd": "U S V",
    "topk": "values indices",
    "triangular_solve": "solution cloned_coefficient",
}
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
