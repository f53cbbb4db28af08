"""Store one sample per operation and family of dtypes of PyTorch's database of operations (``opinfo.py``).

PyTorch's side is asked by its samples when the answers are recorded; ours takes the arguments that the answers have.
"""

from __future__ import annotations

import ast
import types
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle
from tests.oracle.answers import LARGE, plain
from tests.oracle.plugin import State

DTYPES = ["float64", "complex128", "int64", "bfloat16"]
"""One of each family."""
RANDOM_MEMORY = ("empty", "new_empty")
LESS_EXACT = "PyTorch has six to ten digits of it, or of its derivative"
WATCHED = "PyTorch forgets to conjugate where a mode watches it"
LEFT: dict[str, str] = {
    "digamma": LESS_EXACT,
    "linalg.pinv": WATCHED,
    "lu": "the class of PyTorch's result is private",
    "meshgrid list_of_tensors": "its samples come in another order in each run",
    "meshgrid variadic_tensors": "its samples come in another order in each run",
    "nn.functional.hardsigmoid": "the sixth of its derivative is in float32 there",
    "pinverse": WATCHED,
    "special.airy_ai": LESS_EXACT,
    "special.bessel_j0": LESS_EXACT,
    "special.bessel_j1": LESS_EXACT,
    "special.bessel_y0": LESS_EXACT,
    "special.bessel_y1": LESS_EXACT,
    "special.i1e": LESS_EXACT,
}
"""Entries that cannot be compared in the selection, and why; ``test_opinfo.py`` has them."""


@cache
def entries() -> dict[str, Any]:
    """Entries whose name tells the called function, and whose results are unique."""
    from tests.engine.ops import opinfo, opinfo_values

    left = {*opinfo.ABSENT, *opinfo.OTHERWISE}
    found = {}
    for entry in opinfo.ENTRIES:
        function = entry.info.op
        wrapped = isinstance(function, types.FunctionType) and (
            "common_methods_invocations" in function.__code__.co_filename or "opinfo" in function.__code__.co_filename
        )
        if not wrapped and entry.name not in left and not entry.info.name.startswith(opinfo_values.GAUGED):
            found[entry.name] = entry
    return found


@cache
def chosen(name: str, dtype: str) -> Any:
    """The largest sample that can be stored, or None."""
    from tests.engine.ops import opinfo, opinfo_values

    entry = entries()[name]
    of = getattr(opinfo.torch, dtype)
    if of not in entry.info.supported_dtypes("cpu") or name in opinfo.INEXACT.get(dtype, ()):
        return None
    differentiable = dtype in ("float64", "complex128") and entry.info.supports_autograd
    best, most = None, -1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in entry.samples(of, differentiable, 6):
            given = [sample.input, list(sample.args), sample.kwargs]
            tensors = opinfo_values.tensors(given, opinfo.torch.Tensor)
            size = sum(t.numel() for t in tensors)
            if most < size <= LARGE and len({*map(id, tensors)}) == len(tensors):
                try:
                    arguments(plain(given))
                    opinfo.call(entry.info.op, *opinfo.copied(sample))
                except Exception:  # results that cannot be stored, or need another build of PyTorch
                    continue
                best, most = sample, size
    return best


def arguments(value: Any) -> Any:
    """Stored arguments as ours."""
    if isinstance(value, oracle.Array):
        t = nb.as_tensor(np.array(value.values))
        return t.requires_grad_() if value.requires_grad else t
    if isinstance(value, list):
        return list(map(arguments, value))
    if not isinstance(value, oracle.Named):
        return value
    if value.name in ("slice", "range"):
        return {"slice": slice, "range": range}[value.name](*ast.literal_eval(value.parts.removeprefix(value.name)))
    if value.name in ("dtype", "layout", "memory_format"):
        return getattr(nb, value.parts)
    known = {"tuple": tuple, "Size": nb.Size, "dict": dict, "device": str, "ellipsis": lambda parts: ...}
    return known[value.name](arguments(value.parts))


def leaves(value: Any, kind: type) -> list[Any]:
    """The tensors of arguments or of a result, in order."""
    if isinstance(value, kind):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for part in parts for t in leaves(part, kind)]


def outcome(T: Any, function: Any, first: Any, args: Any, kwargs: Any, differentiable: bool) -> Any:
    """The result, and the gradients of all arguments that have one."""
    T.manual_seed(1)
    result = function(first, *args, **kwargs)
    wanted = [t for t in leaves([first, args, kwargs], T.Tensor) if t.requires_grad]
    results = [t for t in leaves(result, T.Tensor) if t.requires_grad]
    if not differentiable or not wanted or not results:
        return [result, None]
    cotangents = []
    for t in results:
        weights = np.cos(np.arange(t.numel())).reshape(tuple(t.shape))
        cotangents.append(T.tensor(weights * (1 + 0.5j) if t.dtype.is_complex else weights).to(t.dtype))
    return [result, T.autograd.grad(results, wanted, cotangents, allow_unused=True)]


def of_pytorch(T: Any, name: str, dtype: str, sample: Any) -> Any:
    """A sample's arguments, its result and its gradients."""
    info = entries()[name].info
    given = [sample.input, list(sample.args), sample.kwargs]
    before = plain(given)
    differentiable = info.supports_autograd and getattr(T, dtype) in info.supported_backward_dtypes("cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = outcome(T, info.op, *given, differentiable)
        except (NotImplementedError, RuntimeError):  # of the derivative
            found = outcome(T, info.op, *given, False)
            differentiable = False
        found[0] = of_known_numbers(T, info.name, found[0])
    return [before, differentiable, found]


def of_known_numbers(T: Any, path: str, result: Any) -> Any:
    """A result; zeros of its kind if its numbers are uninitialized memory."""
    return T.zeros_like(result) if path.startswith(RANDOM_MEMORY) else result


def is_zero(value: Any) -> bool:
    values = value.values if isinstance(value, oracle.Array) else value
    return value is None or not (values.detach().bool() if isinstance(value, nb.Tensor) else values).any()


def names(T: Any) -> list[list[str]]:
    """The entries, their functions, and the dtypes with a sample."""
    found = []
    for name, entry in entries().items():
        dtypes = [dtype for dtype in DTYPES if chosen(name, dtype) is not None]
        if dtypes:
            found.append([name, entry.info.name, *dtypes])
    return found


SELECTION = oracle.shared("entries", names)


@pytest.mark.parametrize("entry", [entry for entry in SELECTION if entry[0] not in LEFT], ids=lambda entry: entry[0])
def test_values_and_gradients(entry: list[str]) -> None:
    name, path, *dtypes = entry
    for dtype in dtypes:
        sample = chosen(name, dtype) if State.mode != "stored" else None
        given, differentiable, (result, gradients) = oracle.answer(of_pytorch, name, dtype, sample)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = outcome(nb, lookup(path), *arguments(given), differentiable)
        oracle.close([dtype, of_known_numbers(nb, path, ours[0])], [dtype, result])
        if gradients is not None:
            for mine, theirs in zip(ours[1], gradients.parts, strict=True):
                if not (is_zero(mine) and is_zero(theirs)):
                    oracle.close([dtype, "gradient", mine], [dtype, "gradient", theirs])


def lookup(path: str) -> Any:
    """``nb.<path>``, or the method of that name."""
    found: Any = nb
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if callable(found) else getattr(nb.Tensor, path)


def test_the_selection_is_most_of_the_database() -> None:
    assert len(SELECTION) > 400
    assert {*LEFT} <= {entry[0] for entry in SELECTION}
