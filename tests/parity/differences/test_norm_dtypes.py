"""Test ``torch.norm`` with ``dtype=`` and several dimensions: what it takes is as in PyTorch."""

from __future__ import annotations

import itertools
import math
from typing import Any

from tests.parity.differences.both import agrees

PLACES: list[dict[str, Any]] = [{}, {"dim": (0, 1)}, {"dim": 0}, {"dim": (0, 1, 2)}, {"dim": ()}]


def taken(torch: Any, x: Any, p: Any, **options: Any) -> str:
    """The dtype and shape of the norm, or that it raises."""
    try:
        result = torch.norm(x, p, **options)
    except (RuntimeError, IndexError) as error:
        return "IndexError" if isinstance(error, IndexError) else "RuntimeError"
    return f"{str(result.dtype).removeprefix('torch.')} {list(result.shape)}"


@agrees
def test_dtypes_and_dimensions(torch: Any) -> Any:
    x = torch.tensor([[3.0, 1.0], [1.0, 2.0]])
    inputs = [x, x.long(), x > 1, x.half(), x + 0j, torch.stack([x, x])]
    kinds = [torch.float32, torch.float64, torch.float16, torch.complex64, torch.int64, None]
    orders = ["fro", 2, None, 1, 0, math.inf, "nuc"]
    return [
        taken(torch, a, p, dtype=kind, **place)
        for a, p, kind, place in itertools.product(inputs, orders, kinds, PLACES)
    ]


@agrees(says="the dtype of the input (Float) should be convertible without narrowing")
def test_no_narrowing(torch: Any) -> Any:
    return torch.norm(torch.ones(3), dtype=torch.float16)


@agrees(says="linalg.matrix_norm: dim must be a 2-tuple")
def test_frobenius_of_three_dimensions(torch: Any) -> Any:
    return torch.norm(torch.ones(2, 2, 2), "fro", dim=(0, 1, 2))


@agrees(says="grad_dtype can only be accessed on leaf tensors")
def test_grad_dtype_of_a_result(torch: Any) -> Any:
    return (torch.ones(2, requires_grad=True) * 2).grad_dtype


@agrees
def test_chain_matmul_into_a_tensor(torch: Any) -> Any:
    a, b, out = torch.ones(2, 3), torch.ones(3, 4), torch.empty(0)
    torch.chain_matmul(a, b, b.mT, out=out)
    return out, out.grad_fn
