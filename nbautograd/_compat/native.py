"""``torch._C``: of PyTorch's compiled module, the names that packages ask for, each with what is true here."""

from __future__ import annotations

from typing import Any, NoReturn

from nbautograd._engine.core import defaults
from nbautograd._engine.core.batched import levels
from nbautograd._engine.core.overrides import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    disabled_torch_function,
)
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.rng.generator import Generator, default_generator
from nbautograd.errors import LinAlgError

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "Generator",
    "Graph",
    "Node",
    "TensorBase",
    "Value",
    "default_generator",
]

TensorBase = Tensor
_LinAlgError = LinAlgError
_disabled_torch_function_impl = disabled_torch_function


class _OfTheCompiler:
    """What PyTorch's compiler makes. Programs may name it in annotations; there is never one."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError."""
        raise NotImplementedError(
            f"torch._C.{cls.__name__} belongs to PyTorch's compiler, which nbautograd has not got"
        )


class Graph(_OfTheCompiler):
    """A function as TorchScript sees it."""


class Node(_OfTheCompiler):
    """An operation in a :class:`Graph`."""


class Value(_OfTheCompiler):
    """What passes between the nodes of a :class:`Graph`."""


def _log_api_usage_once(event: str) -> None:
    """Count the use of a part of PyTorch, for those who run it: nothing is counted here."""


def _get_tracing_state() -> None:
    """The state of ``torch.jit.trace``, which follows a call: None, as functions are never traced."""


def _are_functorch_transforms_active() -> bool:
    """Whether ``vmap`` runs, so that a tensor may stand for many samples."""
    return bool(levels())


def _get_default_device() -> str:
    """The type of the device on which tensors are made."""
    return defaults.get_default_device().type
