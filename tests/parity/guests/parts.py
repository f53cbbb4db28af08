"""What the files of guests are written with: a part is a function without parameters that returns what to compare.

It may return tensors, arrays, numbers, strings, and dicts and lists of them. Before each run the seeds are set anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["gradients", "part", "random", "state", "trained", "without_init"]

Part = Callable[[], Any]


def part(function: Part) -> Part:
    """Declare a part."""
    function.is_part = True  # type: ignore[attr-defined]
    return function


def random(*shape: int, grad: bool = False) -> Any:
    """Numbers of the normal distribution, in the default dtype."""
    import torch

    return torch.randn(*shape, requires_grad=grad)


def gradients(loss: Any, *of: Any) -> dict[str, Any]:
    """A loss, and after its backward pass the gradients of a module's parameters, or of tensors."""
    import torch

    loss.backward()
    values = {"loss": loss}
    for place, what in enumerate(of):
        named = what.named_parameters() if isinstance(what, torch.nn.Module) else [(f"tensor {place}", what)]
        values |= {name: x.grad for name, x in named if x.grad is not None}
    assert len(values) > 1, "nothing has a gradient"
    return values


def state(module: Any) -> dict[str, Any]:
    """The parameters and buffers of a module."""
    return dict(module.state_dict())


def trained(
    module: Any,
    loss: Callable[[], Any],
    optimizer: Callable[[Iterable[Any]], Any] | None = None,
    steps: int = 3,
) -> dict[str, Any]:
    """The losses of a few training steps, by SGD if nothing else is said, and the parameters and buffers after them."""
    import torch

    optimizer = optimizer or (lambda parameters: torch.optim.SGD(parameters, lr=0.05))
    chosen = optimizer([p for p in module.parameters() if p.requires_grad])
    losses = []
    for _ in range(steps):
        chosen.zero_grad()
        value = loss()
        value.backward()
        chosen.step()
        losses.append(value.detach())
    return {"losses": losses, **state(module)}


def without_init(package: str) -> None:
    """Let the modules of a package be imported without its ``__init__``, which imports what is compiled for PyTorch."""
    import sys
    from importlib.machinery import PathFinder
    from types import ModuleType

    spec = PathFinder.find_spec(package)
    assert spec is not None and spec.submodule_search_locations is not None, f"{package} is not there"
    module = sys.modules[package] = ModuleType(package)
    module.__path__ = list(spec.submodule_search_locations)
