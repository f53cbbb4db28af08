"""Parameters that are computed from others: each use of ``module.weight`` computes it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from typing import Any, NoReturn

from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd.nn.modules.container import ModuleDict, ModuleList
from nbautograd.nn.modules.module import Module
from nbautograd.nn.parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

WANTED = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)."
_cache: ContextVar[dict[tuple[int, str], Tensor] | None] = ContextVar("parametrize_cache", default=None)


@contextmanager
def cached() -> Iterator[None]:
    """Open a block in which each computed parameter is computed once, for a weight that every step uses."""
    if _cache.get() is not None:
        yield
        return
    token = _cache.set({})
    try:
        yield
    finally:
        _cache.reset(token)


def _keep(module: Module, name: str, value: Any) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def _inverse(modules: Any, value: Any, required: bool) -> Any:
    """Return the originals from which the modules compute ``value``."""
    for module in reversed(list(modules)):
        if hasattr(module, "right_inverse"):
            try:
                value = module.right_inverse(value)
            except NotImplementedError:
                if required:
                    raise
        elif required:
            raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
    return value


def _check_alike(value: Tensor, result: Any, name: str = "") -> None:
    """Check that a parametrization changes neither dtype nor shape."""
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    for what in ("dtype", "shape"):
        before, after = getattr(value, what), getattr(result, what)
        if before != after:
            labels = (f"module.{name}.{what}", f"parametrization(module.{name}).{what}")
            first, second = labels if name else (f"unparametrized {what}", f"parametrized {what}")
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless "
                f"{'the ' if name else ''}`unsafe` flag is enabled.\n{first}: {before}\n{second}: {after}"
            )


class ParametrizationList(ModuleList):
    """The modules that compute a parameter, and the original tensors, their inputs.

    :param modules: each gets the result of the previous one; its ``right_inverse``, if defined, returns the input
        that gives a value.
    :param original: the present value of the parameter.
    :param unsafe: whether shape and dtype may change.
    :raises ValueError: no modules are given, or shape or dtype change.
    """

    original: Any

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before = original.detach()
        with no_grad():
            new = _inverse(self, original, required=False)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(f"{WANTED} Got {type(new).__name__}")
        self.is_tensor, self.ntensors = isinstance(new, Tensor), 1
        if isinstance(new, Tensor):
            for what in ("dtype", "device"):
                if getattr(original, what) != getattr(new, what):
                    raise ValueError(
                        f"When `right_inverse` outputs one tensor, it may not change the {what}.\noriginal.{what}: "
                        f"{getattr(original, what)}\nright_inverse(original).{what}: {getattr(new, what)}"
                    )
            if new is not original:  # optimizers hold this object
                original.data = new.detach()
            _keep(self, "original", original)
        else:
            self.ntensors = len(new)
            for i, each in enumerate(new):
                if not isinstance(each, Tensor):
                    raise ValueError(f"{WANTED} Got element {i} of the sequence with type {type(each).__name__}.")
                if isinstance(original, Parameter):
                    each = Parameter(each.detach(), original.requires_grad)
                _keep(self, f"original{i}", each)
        if not unsafe:
            try:
                _check_alike(before, self())
            except ValueError:
                original.data = before
                raise

    @property
    def _names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that they give ``value``.

        :raises RuntimeError: a module has no ``right_inverse``.
        :raises ValueError: its result does not fit the originals.
        """
        with no_grad():
            new = _inverse(self, value, required=True)
        if self.is_tensor:
            if not isinstance(new, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
            new = [new]
        elif not isinstance(new, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(new).__name__}.")
        elif len(new) != self.ntensors:
            lengths = f"{self.ntensors}. Got a sequence of length {len(new)}"
            raise ValueError(f"'right_inverse' must return a sequence of tensors of length {lengths}.")
        for name, each in zip(self._names, new, strict=True):
            own = getattr(self, name)
            if own.dtype != each.dtype:
                kinds = f"{each.dtype} while `{name}` has dtype {own.dtype}"
                raise ValueError(f"The tensor returned by `right_inverse` has dtype {kinds}")
            own.data = each.detach()

    def forward(self) -> Tensor:
        """Return the value, computed from the originals."""
        values = tuple(getattr(self, name) for name in self._names)
        for module in self:
            values = (module(*values),)
        result: Tensor = values[0]
        return result


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether the given parameter of a module, or any parameter, is computed from others."""
    result = getattr(module, "parametrizations", None)
    if not isinstance(result, ModuleDict):
        return False
    return len(result) > 0 if tensor_name is None else tensor_name in result


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer by a module; the class of the owner becomes a new ``Parametrized...`` class.

    :param unsafe: allow the shape and dtype to change.
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
    if is_parametrized(module, tensor_name):
        parametrizations = module.parametrizations[tensor_name]
        if not unsafe:
            value = getattr(module, tensor_name)
            result = parametrization(value)
            _check_alike(value, result, tensor_name)
            _check_inverse(parametrization, value, result, tensor_name)
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _give_class(module)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _computed_property(tensor_name))
    module.parametrizations[tensor_name] = parametrizations
    return module


def _check_inverse(parametrization: Any, value: Tensor, result: Tensor, name: str) -> None:
    """Check that ``right_inverse`` of a new module returns the dtype and shape of the previous module's result."""
    try:
        inverse = parametrization.right_inverse(result) if hasattr(parametrization, "right_inverse") else value
    except NotImplementedError:
        return
    if not isinstance(inverse, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}")
    for what in ("dtype", "shape"):
        if getattr(inverse, what) != getattr(value, what):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as module.{name}, "
                f"unless the `unsafe` flag is enabled.\nmodule.{name}.{what}: {getattr(value, what)}\n"
                f"returned {what}: {getattr(inverse, what)}"
            )


def _give_class(module: Module) -> None:
    """Give a module its own class, with a property for each computed parameter."""
    plain = type(module)
    members: dict[str, Any] = {"__getstate__": _not_pickled, "__module__": plain.__module__}
    if not hasattr(plain, "__deepcopy__"):
        members["__deepcopy__"] = _copy
    module.__class__ = type(f"Parametrized{plain.__name__}", (plain,), members)


def _copy(self: Module, memo: dict[int, Any]) -> Module:
    if id(self) not in memo:
        replica = memo[id(self)] = self.__new__(type(self))
        replica.__dict__ = deepcopy(self.__dict__, memo)
    result: Module = memo[id(self)]
    return result


def _not_pickled(self: Module) -> NoReturn:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(): save that, and load it into a "
        "module that was parametrized in the same way"
    )


def _computed_property(name: str) -> property:
    def get(self: Module) -> Tensor:
        values = _cache.get()
        if values is None:
            result: Tensor = self.parametrizations[name]()
            return result
        key = id(self), name
        if key not in values:
            values[key] = self.parametrizations[name]()
        return values[key]

    def put(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a computed parameter a plain parameter again.

    :param leave_parametrized: keep the computed value instead of the original one.
    :raises ValueError: the parameter is not computed, or has several originals.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _keep(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before its parameters were computed."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Compute the parameters of a second module as in the first, from the same originals.

    :param tensor_name: the name of one parameter; by default all.
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        theirs = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for parametrization in theirs:
            register_parametrization(to_module, name, parametrization)
        for original in theirs._names:
            setattr(to_module.parametrizations[name], original, getattr(theirs, original))
    return to_module
