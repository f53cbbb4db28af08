"""The former ``weight_norm``: a hook computes the weight before each ``forward``."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.reduction.norms import linalg_vector_norm
from nbautograd.errors import warn
from nbautograd.nn.modules.module import Module
from nbautograd.nn.parameter import Parameter, is_lazy

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def _lengths(weight: Tensor, dim: int) -> Tensor:
    """Compute the norms over all dimensions but one; over all dimensions for -1."""
    if dim == -1:
        return linalg_vector_norm(weight, 2)
    others = [d for d in range(weight.ndim) if d != dim % weight.ndim]
    return linalg_vector_norm(weight, 2, others, keepdim=True) if others else weight.abs()


class WeightNorm:
    """The hook that computes ``name`` from ``name_g`` and ``name_v``."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """Return the direction of one parameter, with the length of the other."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return v * (g / _lengths(v, self.dim))

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Add the two parameters and the hook to a module."""
        warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
        )
        hooks = module._forward_pre_hooks.values()
        if any(isinstance(hook, WeightNorm) and hook.name == name for hook in hooks):
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(_lengths(weight, hook.dim).data))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"], module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        """Compute the weight, before ``forward``."""
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Deprecated: like :func:`parametrizations.weight_norm`, with the parameters ``name_g`` and ``name_v``.

    >>> import nbautograd as torch, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     layer = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
    >>> layer.weight_g.shape, layer.weight_v.shape
    (torch.Size([2, 1]), torch.Size([2, 3]))
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make a weight a plain parameter again.

    :raises ValueError: the weight does not exist.

    >>> import nbautograd as torch, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     layer = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
    >>> [name for name, _ in torch.nn.utils.remove_weight_norm(layer).named_parameters()]
    ['bias', 'weight']
    """
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
