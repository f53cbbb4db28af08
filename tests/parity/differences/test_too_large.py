"""Test ``out=`` of the wrong kind, and tensors that no memory holds: the exceptions are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbautograd as nb
from tests.parity.differences.both import agrees

SEVERAL: dict[str, Callable[[Any, Any], Any]] = {
    "max": lambda T, out: T.max(T.ones(3, 4), 0, out=out),
    "min": lambda T, out: T.min(T.ones(3, 4), 0, out=out),
    "median": lambda T, out: T.median(T.ones(3, 4), 0, out=out),
    "nanmedian": lambda T, out: T.nanmedian(T.ones(3, 4), 0, out=out),
    "mode": lambda T, out: T.mode(T.ones(3, 4), 0, out=out),
    "sort": lambda T, out: T.sort(T.ones(3, 4), 0, out=out),
    "topk": lambda T, out: T.topk(T.ones(3, 4), 1, out=out),
    "cummax": lambda T, out: T.cummax(T.ones(3, 4), 0, out=out),
    "eig": lambda T, out: T.linalg.eig(T.eye(3), out=out),
    "split_copy": lambda T, out: T.split_copy(T.ones(2), 1, out=out),
}


def kind(call: Callable[[], Any]) -> str:
    """The exception of a call, or nothing."""
    try:
        call()
    except (TypeError, RuntimeError) as error:
        return "TypeError" if isinstance(error, TypeError) else "RuntimeError"
    return ""


@agrees
def test_out_of_the_wrong_kind(torch: Any) -> Any:
    x, places = torch.empty(0), torch.empty(0, dtype=torch.int64)
    wrong = [x, 3, "x", (), (x,), (x, None), (x, 3), [None, None], (x, places, x), {}]
    return {name: [kind(lambda c=call, out=out: c(torch, out)) for out in wrong] for name, call in SEVERAL.items()}


MADE: list[Callable[[Any], Any]] = [
    *[lambda T, n=n: getattr(T, n)(2**60) for n in ("zeros", "ones", "empty", "rand", "randn", "arange", "eye")],
    *[lambda T, n=n: getattr(T, n)(2**40, 2**30) for n in ("zeros", "ones", "empty", "rand", "randn", "eye")],
    *[lambda T, n=n: getattr(T, n)(2**60) for n in ("hann_window", "kaiser_window", "randperm", "UntypedStorage")],
    lambda T: T.full((2**60,), 1.0),
    lambda T: T.randint(3, (2**60,)),
    lambda T: T.linspace(0, 1, 2**60),
    lambda T: T.logspace(0, 1, 2**60),
    lambda T: T.empty_strided((2**60,), (2**60,)),
    lambda T: T.tril_indices(2**60, 2**60),
    lambda T: T.fft.fftfreq(2**60),
    lambda T: T.zeros_like(T.ones(1).expand(2**60)),
    lambda T: T.ones(1).expand(2**60).clone(),
    lambda T: T.ones(1).expand(2**60).sin(),
    lambda T: T.ones(1).expand(2**60) + 1,
    lambda T: T.ones(1).repeat(2**60),
    lambda T: T.ones(1).new_full((2**60,), 2),
    lambda T: T.ones(3).resize_(2**60),
    lambda T: T.nn.functional.pad(T.ones(3), (0, 2**60)),
    lambda T: T.nn.Linear(2**45, 2**45),
    lambda T: T.outer(T.ones(1).expand(2**45), T.ones(1).expand(2**45)),
    lambda T: T.UntypedStorage(-1),
]


@agrees
def test_no_memory_holds_it(torch: Any) -> Any:
    return [kind(lambda c=call: c(torch)) for call in MADE]


@agrees(says="DefaultCPUAllocator: can't allocate memory")
def test_the_words_that_programs_look_for(torch: Any) -> Any:
    return torch.zeros(2**58)


def test_it_names_the_function():
    with pytest.raises(nb.OutOfMemoryError, match=r"^zeros\(\): Storage size calculation overflowed"):
        nb.zeros(2**40, 2**30)
    with pytest.raises(MemoryError, match=r"^sin\(\): .*can't allocate memory"):
        nb.ones(1).expand(2**58).sin()


@pytest.mark.parametrize("name", ["no_grad", "enable_grad", "FloatStorage"])
def test_no_private_name_in_errors_of_arguments(name):
    with pytest.raises(TypeError, match=r"^[a-zA-Z]\w*\.__new__\(\) "):
        getattr(nb, name)(1, 2, 3)
