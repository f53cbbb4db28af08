"""``torch._C``: the names of PyTorch's compiled module that packages use, with nbautograd's values."""

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
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "Generator", "Graph", "Node", "TensorBase", "Value",
    "default_generator",
]  # fmt: skip

TensorBase = Tensor
_LinAlgError = LinAlgError
_disabled_torch_function_impl = disabled_torch_function


class _OfTheCompiler:
    """The base of PyTorch's compiler classes, for annotations; they have no instances."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"torch._C.{cls.__name__} belongs to PyTorch's compiler, which nbautograd has not got"
        )


class Graph(_OfTheCompiler):
    """A function in TorchScript."""


class Node(_OfTheCompiler):
    """An operation in a :class:`Graph`."""


class Value(_OfTheCompiler):
    """A value between the nodes of a :class:`Graph`."""


def _log_api_usage_once(event: str) -> None:
    """Do nothing: PyTorch counts the uses of its parts."""


def _get_tracing_state() -> None:
    """Return the state of ``torch.jit.trace``: None, because no tracer follows calls."""


def _are_functorch_transforms_active() -> bool:
    """Return whether ``vmap`` runs, so that a tensor may represent many samples."""
    return bool(levels())


def _get_default_device() -> str:
    """Return the type of the default device of new tensors."""
    return defaults.get_default_device().type
