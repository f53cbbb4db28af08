"""Parameters that are computed from others: each use of ``module.weight`` computes it anew."""

from __future__ import annotations

from typing import Any

from nbautograd.core.grad_mode import no_grad
from nbautograd.core.tensor import Tensor
from nbautograd.nn.modules.container import ModuleDict, ModuleList
from nbautograd.nn.modules.module import Module
from nbautograd.nn.parameter import Parameter

__all__ = ["ParametrizationList", "is_parametrized", "register_parametrization", "remove_parametrizations"]


class ParametrizationList(ModuleList):
    """The modules that compute a parameter, and the original tensors that they compute it from.

    :param modules: each gets what the one before returns; ``right_inverse`` of a module, if it has one, finds what
        gives a value.
    :param value: the value of the parameter so far.
    """

    def __init__(self, modules: list[Module], value: Tensor) -> None:
        super().__init__(modules)
        self._trained = isinstance(value, Parameter)
        self._wanted = value.requires_grad
        self.right_inverse(value)

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that they give ``value``."""
        with no_grad():
            originals: Any = value
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    originals = module.right_inverse(originals)
            several = isinstance(originals, (tuple, list))
            self.ntensors = len(originals) if several else 1
            self.is_tensor = not several
            for name, t in zip(self.names, originals if several else (originals,), strict=True):
                own = self.__dict__["_parameters"].get(name)
                if own is not None and own.shape == t.shape:
                    own.copy_(t)
                elif self._trained:
                    setattr(self, name, Parameter(t.detach(), requires_grad=self._wanted))
                else:
                    self.register_buffer(name, t.detach())

    @property
    def names(self) -> list[str]:
        """The names of the originals."""
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def forward(self) -> Tensor:
        """The value, computed from the originals."""
        values = tuple(getattr(self, name) for name in self.names)
        for module in self:
            values = (module(*values),)
        result: Tensor = values[0]
        return result


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a parameter of a module, or any, is computed from others."""
    result = module._modules.get("parametrizations")
    if not isinstance(result, ModuleDict):
        return False
    return len(result) > 0 if tensor_name is None else tensor_name in result


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Have a parameter or buffer computed by a module, whose class becomes a ``Parametrized...`` of its own.

    :param unsafe: let the shape and dtype change.
    :raises ValueError: the module has no such parameter, or its shape or dtype would change.

    >>> import nbautograd as torch
    >>> from nbautograd.nn.utils.parametrize import register_parametrization
    >>> class Positive(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.exp()
    >>> layer = register_parametrization(torch.nn.Linear(2, 1), "weight", Positive())
    >>> bool((layer.weight > 0).all())
    True
    """
    parametrization.train(module.training)
    again = is_parametrized(module, tensor_name)
    if not again and tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{type(module).__name__}' does not have a parameter, a buffer, or a parametrized element with "
            f"name '{tensor_name}'"
        )
    value = getattr(module, tensor_name)
    before = list(module.parametrizations[tensor_name]) if again else []
    parametrizations = ParametrizationList(
        [*before, parametrization], value if not again else Parameter(value.detach())
    )
    with no_grad():
        result = parametrizations()
    if not unsafe and (result.shape != value.shape or result.dtype != value.dtype):
        raise ValueError(
            f"Registering a parametrization may not change the shape or dtype of the tensor, unless unsafe=True: "
            f"{value.shape} and {value.dtype!r} would become {result.shape} and {result.dtype!r}"
        )
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    if not again:
        delattr(module, tensor_name)
    module.parametrizations[tensor_name] = parametrizations
    _give_class(module)
    return module


def _give_class(module: Module) -> None:
    """Give a module a class of its own, with a property for each parameter that is computed; copies keep theirs."""
    plain = vars(type(module)).get("_plain_class", type(module))
    names = list(module.parametrizations)
    if not names:
        module.__class__ = plain
        return
    members: dict[str, Any] = {name: _computed(name) for name in names}
    members.update(__module__=plain.__module__, _plain_class=plain)
    module.__class__ = type(f"Parametrized{plain.__name__}", (plain,), members)


def _computed(name: str) -> property:
    def get(self: Module) -> Tensor:
        result: Tensor = self.parametrizations[name]()
        return result

    def put(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parameter a plain one again.

    :param leave_parametrized: with the value that is computed, instead of the original one.
    :raises ValueError: it is not computed, or there are several originals to leave.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {type(module).__name__} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if leave_parametrized:
        value = parametrizations().detach()
    elif parametrizations.is_tensor:
        value = parametrizations.original.detach()
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor with several originals")
    del module.parametrizations[tensor_name]
    _give_class(module)
    if parametrizations._trained:
        module.register_parameter(tensor_name, Parameter(value, requires_grad=parametrizations._wanted))
    else:
        module.register_buffer(tensor_name, value)
    if not is_parametrized(module):
        del module.parametrizations
    return module
