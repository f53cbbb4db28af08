"""Numbers, dtypes and tensors made from data."""

from __future__ import annotations

from typing import Any

from tests.differences.both import Raised, agrees, differs


@agrees
def test_int_max(torch: Any) -> Any:
    return torch.tensor(2**63 - 1)


@differs(
    "`y.mul_(y)` of a tensor that multiplication has saved can be differentiated",
    pytorch=Raised(RuntimeError),
    here=[2.0],
)
def test_square_in_place(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    y = x * 1
    y.mul_(y)
    y.backward()
    return x.grad.tolist()
