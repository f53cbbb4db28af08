"""Signatures, keywords and idioms of PyTorch's early days, under both libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.differences.both import Raised, TensorValue, agrees, differs

PROGRAMS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda torch, x: torch.add(x, 2.0, x),
    lambda torch, x: torch.add(x, 2, 3.0),
    lambda torch, x: x.add(2.0, x + 1),
    lambda torch, x: x.add_(2.0, x),
    lambda torch, x: torch.sub(x, 2, x),
    lambda torch, x: x.sub_(0.5, x),
    lambda torch, x: torch.addcmul(x, 2.0, x, x),
    lambda torch, x: x.addcmul_(2.0, x, x),
    lambda torch, x: x.addcdiv(2.0, x, x + 1),
    lambda torch, x: x.addcdiv_(2.0, x, x + 1),
    lambda torch, x: torch.addmm(2, torch.ones(2, 2), 3, x, x.t()),
    lambda torch, x: torch.addmm(2, torch.ones(2, 2), x, x.t()),
    lambda torch, x: torch.ones(2, 2).addmm(2, 3, x, x.t()),
    lambda torch, x: torch.ones(2, 2).addmm_(2, x, x.t()),
    lambda torch, x: torch.addmv(2, torch.ones(2), 3, x, torch.ones(3)),
    lambda torch, x: torch.ones(2).addmv_(2, 3, x, torch.ones(3)),
    lambda torch, x: torch.addbmm(2, torch.ones(2, 2), 3, torch.ones(1, 2, 2), torch.ones(1, 2, 2)),
    lambda torch, x: torch.baddbmm(2, torch.ones(1, 2, 2), 3, torch.ones(1, 2, 2), torch.ones(1, 2, 2)),
    lambda torch, x: torch.ones(1, 2, 2).baddbmm_(2, torch.ones(1, 2, 2), torch.ones(1, 2, 2)),
    lambda torch, x: torch.add(x, 2.0, x, out=torch.empty(2, 3)),
)


@agrees
def test_factors_before_tensors(torch: Any) -> Any:
    if torch.__name__ == "torch":
        torch.set_warn_always(True)  # otherwise it warns once per signature
    results = []
    try:
        for program in PROGRAMS:
            with pytest.warns(UserWarning, match="This overload of .* is deprecated"):
                results.append(program(torch, torch.arange(6.0).view(2, 3)))
    finally:
        if torch.__name__ == "torch":
            torch.set_warn_always(False)
    return results


REFUSED: tuple[Callable[[Any, Any], Any], ...] = (
    lambda torch, x: torch.add(x, x, x),
    lambda torch, x: torch.add(x, x, None),
    lambda torch, x: x.add_(x, x),
    lambda torch, x: torch.mul(x, 2, x),
)


@agrees
def test_other_orders_are_refused(torch: Any) -> Any:
    for program in REFUSED:
        with pytest.raises(TypeError):
            program(torch, torch.ones(2, 2))
    return True


@agrees
def test_numpys_names(torch: Any) -> Any:
    x = torch.arange(6.0).view(2, 3)
    return [
        *(x.unsqueeze(axis=0), x.unbind(axis=1), torch.stack([x, x], axis=1), torch.cat([x, x], axis=1)),
        *(x.repeat_interleave(2, axis=1), torch.tensor_split(x, 2, axis=1), x.sum(axis=0), x.max(axis=1)[0]),
        *(torch.cosine_similarity(x, x + 1, axis=0), x.mean(axis=(0, 1), keepdims=True), torch.softmax(x, axis=0)),
        *(torch.mean(input=x, axis=0), torch.cumsum(x, axis=0), torch.flip(x, dims=(0,)), x.reshape(shape=(3, 2))),
        *(torch.matmul(x=x, x2=x.t()), torch.squeeze(x=x), torch.std(x=x, axis=0), torch.tile(x, dims=(1, 2))),
        *(torch.ceil_(input=x / 2), torch.round_(input=x / 2), x.clone().resize_(size=(2, 2))),
    ]


@differs(
    "Elementwise functions do not take NumPy's names of their operands",
    pytorch=TensorValue("float32", (1,), [1.0]),
    here=Raised(TypeError),
)
def test_numpys_names_of_operands(torch: Any) -> Any:
    return torch.exp(x=torch.zeros(1))
