"""Values as text: PyTorch's style for small ones, a summary for the rest, never an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nbautograd.viz.read import values
from nbautograd.viz.read.values import Digest
from tests import needs


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (5, "5"),
        (2.5, "2.5"),
        (True, "True"),
        (None, "None"),
        (1 + 2j, "1+2j"),
        (np.float32(5), "5."),
        (np.float32([5]), "5."),
        (np.float64(6), "6."),  # a Python float, too
        (np.float64(0.5), "0.5000"),
        (np.complex128(1 + 2j), "1.+2.j"),
        (6.0, "6"),
        (np.float32([1, 2]), "[1., 2.]"),
        (np.float32([-1, 2]), "[-1.,  2.]"),
        (np.float32([0.1, 2]), "[0.1000, 2.0000]"),
        (np.float32([1e-3, 2]), "[0.0010, 2.0000]"),
        (np.array([1, 20]), "[ 1, 20]"),
        (np.array([True, False]), "[ True, False]"),
        (np.float32([[1, 2], [3, 4]]), "[[1., 2.],\n [3., 4.]]"),
        (np.float32([np.nan, 1]), "[nan, 1.]"),
        (np.float32([np.inf]), "inf"),
        (np.complex64([1 + 2j]), "1.+2.j"),
        (np.zeros((0, 3)), "[]"),
        (np.zeros((8, 8)), "mean 0. · norm 0."),
        (np.arange(100), "0 … 99"),
        (np.full(50, np.nan), "50 NaN"),
        (np.r_[np.ones(9), np.nan, np.inf], "1 NaN · 1 Inf · mean 1."),
        (np.ones(20, bool), "100% True"),
    ],
)
def test_text(value: object, shown: str) -> None:
    assert values.text(value) == shown


def test_inline_is_one_line() -> None:
    assert values.inline(np.float32([[1, 2], [3, 4]])) == "[[1., 2.], [3., 4.]]"


def test_an_object_that_cannot_be_read_is_drawn_all_the_same() -> None:
    class Bad:
        shape = (1,)

        def __array__(self, *args: object, **kwargs: object) -> None:
            raise OSError

        def __repr__(self) -> str:
            raise OSError

    assert values.text(Bad()) == "<unavailable: OSError>"
    assert values.nbytes(Bad()) == 0
    assert values.is_finite(Bad())


def printed(tensor: Any) -> str:
    """Return the output of ``print`` for one of PyTorch's tensors."""
    return " ".join(repr(tensor).removeprefix("tensor(").removesuffix(")").split())


def test_small_tensors_are_written_as_torch_writes_them() -> None:
    torch = needs.package("torch")

    @given(st.lists(st.floats(width=32), min_size=1, max_size=4))
    def check(numbers: list[float]) -> None:
        tensor = torch.tensor(numbers)
        shown, written = values.inline(tensor).strip("[]").split(","), printed(tensor)
        assert [float(part) for part in shown] == pytest.approx([float(printed(part)) for part in tensor], nan_ok=True,
                                                                rel=0, abs=0)  # fmt: skip
        if "e" not in written:
            assert " ".join(values.inline(tensor).split()) == (written if len(numbers) > 1 else written.strip("[]"))

    check()


def test_torch_tensors_are_read_without_warnings() -> None:
    torch = needs.package("torch")
    x = torch.ones(2, requires_grad=True) * 2
    assert values.text(x) == "[2., 2.]"
    assert values.text(torch.tensor([1.0], dtype=torch.bfloat16)) == "1."
    assert values.text(torch.tensor([1 + 1j]).conj()) == "1.-1.j"


def test_huge_arrays_are_sampled() -> None:
    huge = np.broadcast_to(np.float32(2), (10_000, 100_000))
    assert values.text(huge) == "mean 2. · norm 63200"


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_a_mean_of_rounding_errors_is_zero(dtype: str) -> None:
    """Numbers that were centred leave a rest, another one with every BLAS and every processor."""
    eps, signs = np.finfo(dtype).eps, np.tile([1.0, -1.0], 500)
    zero = "mean 0.+0.j " if "complex" in dtype else "mean 0. "
    rest = (signs + eps).astype(dtype)
    assert values.text(rest).startswith(zero)
    assert values.text(-rest).startswith(zero)
    assert values.text(1e15 * rest).startswith(zero)
    assert values.text((signs / 100).astype(dtype) + eps).startswith(zero)  # a difference of numbers near 1
    assert not values.text((signs + 1000 * eps).astype(dtype)).startswith(zero)
    assert not values.text(np.full(1000, eps, dtype)).startswith(zero)  # small, but not a rounding error


def test_a_mean_of_half_precision_is_shown_as_it_is() -> None:
    assert values.text(np.float16(np.tile([1.0, -0.999], 500))) == "mean 0.000488 · norm 31.6"


def test_the_kept_mean_of_a_large_result_is_read_alike() -> None:
    def digest(mean: float) -> Digest:
        return Digest((1000,), "float32", np.zeros(4, np.float32), (mean, 1000**0.5))

    assert values.text(digest(-1e-9)).startswith("mean 0. ")
    assert not values.text(digest(1e-4)).startswith("mean 0. ")
