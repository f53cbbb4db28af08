"""Check that functions and methods accept the argument names of PyTorch's schemas."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbautograd
from tests import oracle

OTHERWISE = {"out", "dtype", "layout", "device", "pin_memory", "memory_format", "generator"}
"""Arguments that other tests are about."""
NUMPY = {"dim": "axis", "keepdim": "keepdims"}

LEFT = {
    "name of the operation's own parameter": """
        function alpha_dropout, function cholesky_inverse, function det, function inverse, function matrix_exp,
        function orgqr, method orgqr, function ormqr, method ormqr, function as_strided_, function result_type,
        function split_copy, function tensor_split, method tensor_split,
        function smm, method smm""",
    "argument of PyTorch's own": "function group_norm, function layer_norm, method expand, method to_sparse",
    "axis of a view, or of a query": """
        function select, method select, function select_copy, function slice_copy, method size, method stride,
        function pairwise_distance""",
}
"""Functions that take other names only, and the reason."""


def value(library: Any, kind: str, name: str) -> Any:
    """Return a valid argument of a type."""
    kind = kind.removeprefix("Optional[")
    if kind.startswith("Tensor"):
        if name in ("index", "indices"):
            return library.zeros(2, 2, dtype=library.int64)
        return library.ones(2, 2, dtype=library.bool if name in ("mask", "condition") else library.float32)
    if kind.startswith("List[Tensor]"):
        return [library.ones(2, 2)] * 2
    if kind.startswith("List[int]"):
        return [0, 1] if name in ("dims", "dim") else [2, 2]
    if kind.startswith("int"):
        return 0 if name.startswith("dim") or name in ("k", "offset", "diagonal", "storage_offset", "start") else 1
    return {"number": 1, "float": 1.0, "bool": False}.get(kind.rstrip("]"))


def keywords(library: Any, arguments: Any, names: dict[str, str]) -> dict[str, Any]:
    """A call's arguments, by the names of the schema or by NumPy's."""
    result = {}
    for name, kind, has_default in arguments:
        given = value(library, kind, name)
        if given is not None or not has_default:
            result[names.get(name, name)] = given
    return result


def refuses(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        function(*args, **kwargs)
    except (TypeError, NotImplementedError):
        return True
    except Exception:
        return False  # the names were right
    return False


def calls(T: Any) -> Iterator[tuple[str, str, list[Any]]]:
    """For each of PyTorch's schemas that we have: True for a function, its name, and its arguments."""
    for schema in T._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        arguments = [each for each in schema.arguments if each.name not in OTHERWISE]
        odd = any(word in str(schema) for word in ("Dimname", "Generator", "QScheme"))
        if space != "aten" or odd or name.startswith("__") or schema.overload_name.endswith("out"):
            continue
        plain = [[each.name, str(each.type), each.has_default_value()] for each in arguments]
        if hasattr(T, name) and hasattr(nbautograd, name):
            yield "function", name, plain
        if hasattr(T.Tensor, name) and hasattr(nbautograd.Tensor, name) and plain and plain[0][0] == "self":
            yield "method", name, plain


NAMES = {"self": "input"}, {"self": "input", **NUMPY}


def refused_by(T: Any, kind: str, name: str, arguments: list[Any], names: dict[str, str]) -> bool:
    """Return whether a library rejects a call with such names."""
    kwargs = keywords(T, arguments, names)
    args = (kwargs.pop("input"),) if kind == "method" else ()
    return refuses(getattr(T.Tensor if kind == "method" else T, name), args, kwargs)


def accepted(T: Any) -> list[Any]:
    """All calls, and which names are accepted."""
    return [[*call, [not refused_by(T, *call, names) for names in NAMES]] for call in calls(T)]


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
def test_names_of_arguments_are_accepted() -> None:
    refused, count = set(), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, name, arguments, taken in oracle.answer(accepted, exact=True):
            for names in itertools.compress(NAMES, taken):
                count += 1
                if refused_by(nbautograd, kind, name, arguments, names):
                    refused.add(f"{kind} {name}")
    assert count > 2000
    left = {each.strip() for names in LEFT.values() for each in names.split(",")}
    assert refused - left == set(), "takes other names than PyTorch"
    assert left - refused == set(), "takes PyTorch's names now: delete its line"
