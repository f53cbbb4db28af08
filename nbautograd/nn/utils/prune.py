"""Pruning: weights set to zero by a mask, chosen at random, by size, or by the user."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Self

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import ones_like, zeros_like
from nbautograd._engine.ops.creation.random import rand, rand_like
from nbautograd._engine.ops.reduction.norms import norm
from nbautograd._engine.ops.reduction.quantiles import kthvalue
from nbautograd._engine.ops.reduction.sorting import topk
from nbautograd.nn.modules.module import Module
from nbautograd.nn.utils.convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod(ABC):
    """The base of pruning methods: a hook that masks a parameter before each ``forward``.

    The parameter becomes ``name_orig``, the mask the buffer ``name_mask``, and ``name`` their product. A subclass has
    ``PRUNING_TYPE``, one of ``"unstructured"``, ``"structured"`` and ``"global"``, and defines ``compute_mask``.
    """

    PRUNING_TYPE: str
    _tensor_name: Any = None

    def __call__(self, module: Module, inputs: Any) -> None:
        """Mask the parameter, before ``forward``."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask for a tensor; ``default_mask`` is the mask of earlier pruning."""

    def apply_mask(self, module: Module) -> Tensor:
        """Return the original parameter times the mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = getattr(module, f"{self._tensor_name}_mask"), getattr(module, f"{self._tensor_name}_orig")
        result: Tensor = mask.to(dtype=original.dtype) * original
        return result

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> Any:
        """Prune a parameter of a module; a pruned one is pruned further.

        :param importance_scores: the values that determine the mask, instead of the parameter.
        """
        hooks, own = module._forward_pre_hooks, _own_hook(module, name)
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        value = getattr(module, name)
        scores = value if importance_scores is None else importance_scores
        if scores.shape != value.shape:
            which = f"parameter {name} of {module}, got {scores.shape} vs {value.shape}"
            raise AssertionError(f"importance_scores should have the same shape as {which}")
        if own:
            earlier: Any = hooks[own[0]]
            container = earlier if isinstance(earlier, PruningContainer) else PruningContainer(earlier)
            methods, before = container._pruning_methods, getattr(module, f"{name}_mask")
            mask = before.detach().clone()
        else:
            module.register_parameter(f"{name}_orig", value)
            del module._parameters[name]
            mask = ones_like(value)
        try:
            if own:
                container.add_pruning_method(method)
                method = container
            module.register_buffer(f"{name}_mask", method.compute_mask(scores, default_mask=mask))
            setattr(module, name, method.apply_mask(module))
            if own:
                del hooks[own[0]]
            module.register_forward_pre_hook(method)
        except BaseException:
            if own:
                container._pruning_methods = methods
                module.register_buffer(f"{name}_mask", before)
            else:
                module.register_parameter(name, getattr(module, f"{name}_orig"))
                del module._parameters[f"{name}_orig"]
            raise
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Return a tensor times its mask."""
        scores = t if importance_scores is None else importance_scores
        if (given := scores.shape) != t.shape:
            raise AssertionError(f"importance_scores should have the same shape as tensor t, got {given} vs {t.shape}")
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the masked parameter a plain parameter; it stays pruned."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _own_hook(module: Module, name: str) -> list[Any]:
    """Return the key of the hook that prunes a parameter, or nothing."""
    hooks = module._forward_pre_hooks
    own = [k for k, hook in hooks.items() if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]
    if len(own) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
        )
    return own


class PruningContainer(BasePruningMethod):
    """Several pruning methods for a parameter, in sequence.

    :param args: the methods.
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a pruning method for the parameter.

        :raises TypeError: ``method`` is not a pruning method.
        :raises ValueError: the method is for another parameter.
        """
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer "
                f"{self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask so far, extended by the last method's pruning of the remaining elements."""
        method: Any = self._pruning_methods[-1]
        if method.PRUNING_TYPE == "unstructured":
            rest: Any = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
                )
            dim = method.dim if method.dim >= 0 else method.dim + t.ndim
            if dim < 0:
                raise IndexError(f"Index is out of bounds for tensor with dimensions {t.ndim}")
            kept = default_mask.sum(dim=[d for d in range(t.ndim) if d != dim]) != 0
            rest = tuple(kept if d == dim else slice(None) for d in range(t.ndim))
        elif method.PRUNING_TYPE == "global":
            rest = (slice(None),) * t.ndim
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask = default_mask.to(dtype=t.dtype, copy=True)
        mask[rest] = method.compute_mask(t[rest], default_mask=default_mask[rest]).to(dtype=mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """A pruning method that creates the mask and prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask unchanged."""
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> Self:  # type: ignore[override]
        """Give a parameter a mask of ones."""
        return super().apply(module, name)  # type: ignore[no-any-return]


class _ByAmount(BasePruningMethod):
    """The base of methods that prune a number or a fraction of the elements."""

    def __init__(self, amount: float) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        whole = isinstance(amount, numbers.Integral)
        if amount < 0 or not whole and amount > 1:
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount: Any = amount

    def _count(self, size: int) -> int:
        """Return the number of pruned elements of ``size``."""
        count: int = round(self.amount * size)  # for a fraction
        if not isinstance(self.amount, numbers.Integral):
            return count
        if int(self.amount) > size:
            raise ValueError(f"amount={self.amount} should be smaller than the number of parameters to prune={size}")
        return int(self.amount)


class RandomUnstructured(_ByAmount):
    """A pruning method that prunes random elements."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask, with further elements set to 0."""
        count = self._count(t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[topk(rand_like(t).view(-1), k=count)[1]] = 0
        return mask

    @classmethod
    def apply(cls, module: Module, name: str, amount: float) -> Self:  # type: ignore[override]
        """Prune a parameter of a module."""
        return super().apply(module, name, amount=amount)  # type: ignore[no-any-return]


class L1Unstructured(_ByAmount):
    """A pruning method that prunes the elements with the smallest absolute values."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask, with further elements set to 0."""
        count = self._count(t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[topk(t.abs().view(-1), k=count, largest=False)[1]] = 0
        return mask

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: float, importance_scores: Tensor | None = None
    ) -> Self:
        """Prune a parameter of a module."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)  # type: ignore[no-any-return]


class _Structured(_ByAmount):
    """The base of methods that prune whole channels."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _channels(self, t: Tensor) -> int:
        """Return the number of pruned channels."""
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.ndim} dims"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        return self._count(t.shape[self.dim])

    def _mask_of(self, t: Tensor, channels: Any, default_mask: Tensor) -> Tensor:
        """Return the mask that keeps only these channels."""
        mask = zeros_like(t)
        mask[tuple(channels if d == self.dim % t.ndim else slice(None) for d in range(t.ndim))] = 1
        mask *= default_mask.to(dtype=mask.dtype)
        return mask


class RandomStructured(_Structured):
    """A pruning method that prunes random channels."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask, with further channels set to 0."""
        count = self._channels(t)
        if not count:
            return default_mask
        chances = rand(t.shape[self.dim])
        return self._mask_of(t, chances > kthvalue(chances, k=count)[0], default_mask)

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, dim: int = -1) -> Self:  # type: ignore[override]
        """Prune a parameter of a module."""
        return super().apply(module, name, amount=amount, dim=dim)  # type: ignore[no-any-return]


class LnStructured(_Structured):
    """A pruning method that prunes the channels with the smallest norms.

    :param n: the order of the norm.
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask, with further channels set to 0."""
        count = self._channels(t)
        norms = norm(t, p=self.n, dim=[d for d in range(t.ndim) if d != self.dim % t.ndim])
        largest = topk(norms, k=t.shape[self.dim] - count, largest=True)[1]
        return self._mask_of(t, largest, default_mask) if count else default_mask

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
    ) -> Self:
        """Prune a parameter of a module."""
        options = {"amount": amount, "n": n, "dim": dim, "importance_scores": importance_scores}
        return super().apply(module, name, **options)  # type: ignore[no-any-return]


class CustomFromMask(BasePruningMethod):
    """A pruning method with a custom mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the product of both masks."""
        given, own = default_mask.shape, self.mask.shape
        if given != own:
            raise AssertionError(f"default_mask shape {given} must match self.mask shape {own}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> Self:  # type: ignore[override]
        """Prune a parameter of a module."""
        return super().apply(module, name, mask=mask)  # type: ignore[no-any-return]


def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask of ones, and prune nothing."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune random elements of a parameter: ``amount`` of them, or that fraction.

    >>> import nbautograd as torch
    >>> from nbautograd.nn.utils import prune
    >>> layer = prune.random_unstructured(torch.nn.Linear(2, 3), "weight", amount=4)
    >>> int((layer.weight == 0).sum())
    4
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prune the smallest elements of a parameter: ``amount`` of them, or that fraction."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune random channels of a parameter: ``amount`` of them, or that fraction."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the channels with the smallest norms of order ``n``: ``amount`` of them, or that fraction."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: dict[Any, Tensor] | None = None, **kwargs: Any
) -> None:
    """Prune several parameters together, as if they were one.

    :param parameters: pairs of a module and a name.
    :param pruning_method: a class of an unstructured pruning method.
    :param kwargs: its arguments.
    :raises TypeError: an argument has an unsupported type.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs: list[Any] = list(parameters)
    values = [getattr(module, name) for module, name in pairs]
    relevant = parameters_to_vector([scores.get(pair, value) for pair, value in zip(pairs, values, strict=True)])
    before = [getattr(m, f"{name}_mask", ones_like(value)) for (m, name), value in zip(pairs, values, strict=True)]
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    mask = PruningContainer(method).compute_mask(relevant, parameters_to_vector(before))
    start = 0
    for (module, name), value in zip(pairs, values, strict=True):
        custom_from_mask(module, name, mask=mask[start : start + value.numel()].view_as(value))
        start += value.numel()


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter by a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter a plain parameter; it stays pruned.

    :raises ValueError: the parameter is not pruned.
    """
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Return whether a parameter of the module, or of a submodule, is pruned."""
    hooks = (hook for _, each in module.named_modules() for hook in each._forward_pre_hooks.values())
    return any(isinstance(hook, BasePruningMethod) for hook in hooks)
