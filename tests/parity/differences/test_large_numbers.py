"""Degrees, orders and counts as large as a user may write them: nothing loops that often, or lists that much."""

from __future__ import annotations

import itertools
from typing import Any

from tests.parity.differences.both import agrees

CHEBYSHEV = [f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"]
HERMITE = ["hermite_polynomial_h", "hermite_polynomial_he"]
OTHERS = ["laguerre_polynomial_l", "legendre_polynomial_p"]


@agrees
def test_polynomials_of_large_degrees(torch: Any) -> Any:
    infinite, nan = float("inf"), float("nan")
    points = torch.tensor([3.0, -3.0, infinite, nan, 0.75, -1.0, 1.0, 0.0, 0.5], dtype=torch.float64)
    at_ends = torch.tensor([3.0, -3.0, infinite, nan, -1.0, 1.0, 0.0], dtype=torch.float64)
    return [
        [getattr(torch.special, name)(points, n) for name in CHEBYSHEV + HERMITE + OTHERS for n in (-1, 9, 10, 33)],
        [getattr(torch.special, name)(at_ends[:6], n) for name in CHEBYSHEV[:4] for n in (1001, 2.0**40, 2.0**40 + 1)],
        [getattr(torch.special, name)(at_ends, n) for name in HERMITE for n in (2.0**40, 2.0**40 + 1)],
    ]


@agrees
def test_degrees_that_no_integer_holds(torch: Any) -> Any:
    degrees = torch.tensor([2.0**63, 1e30, float("inf"), float("nan"), -(2.0**70)])
    names = CHEBYSHEV + HERMITE + OTHERS
    return [getattr(torch.special, name)(torch.full((5,), x), degrees) for name in names for x in (0.5, 3.0)]


@agrees
def test_orders_and_places(torch: Any) -> Any:
    x = torch.tensor([0.5, -2.0, 1.0])
    return (
        [torch.special.polygamma(order, x) for order in (35, 170, 171, 200, 2**40)],
        [torch.round(torch.tensor([1.5, 0.0]), decimals=places) for places in (60, -60, 308, 309, -400, 2**40)],
    )


@agrees
def test_products_that_overflow(torch: Any) -> Any:
    kinds = torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8
    pairs = itertools.product(kinds, ((100, 7), (2**14, 2**13 - 1), (2**30, 2**29 - 1), (2**62, 2**61 - 1)))
    return [torch.lcm(*(torch.tensor([n]).to(kind) for n in two)) for kind, two in pairs]


@agrees
def test_vandermonde_matrices(torch: Any) -> Any:
    x = torch.tensor([1.0, 0.0, float("nan"), 2.0], requires_grad=True)
    y = torch.linalg.vander(x, N=4)
    y[:, ::2].sum().backward()
    return y, x.grad, torch.linalg.vander(torch.tensor([2, 3], dtype=torch.uint8), N=9)


@agrees
def test_what_no_memory_holds(torch: Any) -> Any:
    large = 2**46  # more than a process can address
    x = torch.ones(3)
    calls = (
        lambda: torch.linalg.vander(x, N=large),
        lambda: torch.vander(x, N=large),
        lambda: torch.randperm(large),
        lambda: torch.empty(large, device="meta").split(1),
        lambda: torch.tensor_split(x, large),
        lambda: torch.combinations(x, r=large),
    )
    return [fails(call) for call in calls]


def fails(call: Any) -> bool:
    """Return whether a call says at once that there is not enough memory: PyTorch by a RuntimeError."""
    try:
        call()
    except (MemoryError, RuntimeError):
        return True
    return False
