"""Lazy modules: layers that learn the size of their input from the first one, and then become plain layers."""

from __future__ import annotations

import itertools
from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """The base of lazy modules; put it before the class of the plain module: ``class LazyOwn(LazyModuleMixin, Own)``.

    A subclass has uninitialized parameters, defines ``initialize_parameters``, which materializes them from the
    arguments of ``forward``, and may name its later class in ``cls_to_become``.

    >>> import nbautograd as torch
    >>> layer = torch.nn.LazyLinear(1)
    >>> layer
    LazyLinear(in_features=0, out_features=1, bias=True)
    >>> y = layer(torch.ones(2, 3))
    >>> layer
    Linear(in_features=3, out_features=1, bias=True)
    """

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = module.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _own_tensors(self) -> list[tuple[str, Any]]:
        module: Any = self
        own = itertools.chain(module._parameters.items(), module._buffers.items())
        return [(name, value) for name, value in own if value is not None]

    def _lazy_load_hook(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: Any, strict: bool, missing_keys: Any,
        unexpected_keys: Any, error_msgs: Any,
    ) -> None:  # fmt: skip
        """Give tensors without a shape the shapes of the loaded tensors."""
        for name, own in self._own_tensors():
            loaded = state_dict.get(prefix + name)
            if is_lazy(own) and isinstance(loaded, Tensor) and not is_lazy(loaded):
                own.materialize(loaded.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters, from the arguments of ``forward``; for subclasses to define."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or a buffer of the module has no shape yet."""
        return any(is_lazy(value) for _, value in self._own_tensors())

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """Initialize the module before its first ``forward``, and make it a plain module."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
            "correctly initialize the modules"
        )
