"""``skip_init``: modules with uninitialized parameters."""

from __future__ import annotations

import inspect
from typing import Any

from nbautograd._engine.rng.generator import default_generator
from nbautograd.nn.modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """Create a module without drawing random numbers, for parameters that are loaded afterwards.

    :param args, kwargs: the arguments of the class.
    :raises RuntimeError: ``module_cls`` is not a Module class, or does not accept ``device``.

    >>> import nbautograd as torch
    >>> torch.nn.utils.skip_init(torch.nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    before = default_generator.get_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        default_generator.set_state(before)
