"""A module with a bit of everything, and results of both libraries as values that can be compared."""

from __future__ import annotations

from typing import Any

import nbautograd
from tests import needs

torch = needs.package("torch")


def net(T: Any) -> Any:
    """A module with a bit of everything."""

    class Inner(T.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = T.nn.Parameter(T.ones(2))
            self.register_buffer("seen", T.zeros(1))
            self.register_buffer("scratch", T.zeros(1), persistent=False)
            self.register_parameter("absent", None)

        def forward(self, x: Any, scale: float = 1.0) -> Any:
            return x * self.w * scale

        def extra_repr(self) -> str:
            return "inner, n=1"

    class Net(T.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = Inner()
            self.second = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.BatchNorm1d(2), Inner())
            self.again = self.first
            self.own = T.nn.Parameter(T.zeros(1))
            self.note = "not a parameter"

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x)) + self.own

    T.manual_seed(1)
    return Net()


def plain(value: Any) -> Any:
    """Any result, as something that can be compared."""
    if isinstance(value, (nbautograd.Tensor, torch.Tensor)):
        return type(value).__name__, str(value.dtype), value.requires_grad, value.detach().tolist()
    if isinstance(value, (nbautograd.nn.Module, torch.nn.Module)):
        return repr(value)
    if isinstance(value, dict):
        return [(plain(k), plain(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple, set)):
        return [plain(v) for v in value]
    if isinstance(value, (str, int, float, type(None))):
        return value
    if isinstance(value, (nbautograd.dtype, torch.dtype)):
        return repr(value)
    return list(map(plain, value)) if hasattr(value, "__next__") else type(value).__name__


def same(ours: Any, theirs: Any) -> bool:
    """Whether plain values are equal, numbers to rounding."""
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        return abs(ours - theirs) <= 1e-5 * max(1.0, abs(theirs))
    return bool(ours == theirs)
