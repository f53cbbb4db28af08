"""A module with a bit of everything, and results of either library as they are compared."""

from __future__ import annotations

from typing import Any

from tests import oracle
from tests.oracle.answers import is_of


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

    return oracle.fill(T, Net())


def plain(value: Any) -> Any:
    """Any result, with the class's name for parts that cannot be compared."""
    if is_of(value, "Tensor"):
        return [type(value).__name__, value.requires_grad, value.detach().clone()]
    if isinstance(value, dict):
        return [(plain(k), plain(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple, set)):
        return [plain(v) for v in value]
    if isinstance(value, (str, int, float, type(None))) or is_of(value, "Module", "dtype"):
        return repr(value) if is_of(value, "Module") else value
    return list(map(plain, value)) if hasattr(value, "__next__") else type(value).__name__
