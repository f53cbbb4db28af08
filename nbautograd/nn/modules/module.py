"""The module: a function with parameters, built from other modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Self

from nbautograd._engine.core.tensor import Tensor
from nbautograd._names.docstrings.classes import composed
from nbautograd.errors import kind_of
from nbautograd.nn.modules._calls import *  # noqa: F403 - what registers hooks for all modules
from nbautograd.nn.modules._calls import KINDS, Calls, _Registry, registered
from nbautograd.nn.modules._conversion import Conversion
from nbautograd.nn.modules._state import State
from nbautograd.nn.parameter import Buffer, Parameter

__all__ = ["Module"]

STATE_HOOKS = (
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"
)  # fmt: skip
MEMBERS = ("_parameters", "_buffers", "_modules")


def forward_missing(self: Module, *input: Any) -> None:
    """Raise: the module does not define ``forward``."""
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function: define it in the class'
    )


@composed
class Module(Calls, State, Conversion):
    """Base class of all layers and networks.

    A subclass creates its parts in ``__init__``, after ``super().__init__()``, and computes with them in ``forward``.
    Assignment as an attribute registers parameters, buffers and modules.

    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = torch.nn.Parameter(torch.tensor(2.0))
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> m = Scale()
    >>> m(torch.ones(2))
    tensor([2., 2.], grad_fn=<MulBackward0>)
    >>> [name for name, _ in m.named_parameters()]
    ['factor']
    """

    dump_patches = False
    call_super_init = False
    training: bool
    forward: Callable[..., Any] = forward_missing

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        composed(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            for name in kwargs:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{name}'")
            if args:
                name = type(self).__name__
                raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        own = self.__dict__
        own["training"] = True
        own["_parameters"], own["_buffers"], own["_modules"] = {}, {}, {}
        own["_non_persistent_buffers_set"] = set()
        for kind in KINDS:
            own[kind] = _Registry()
        for kind in STATE_HOOKS:
            own[kind] = OrderedDict()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # -- attributes --------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for kind in MEMBERS:
            members = own.get(kind)
            if members is not None and name in members:
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        parameters, buffers, modules = (own.get(members, {}) for members in MEMBERS)
        if isinstance(value, Parameter):
            self._check_made("parameters")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif name in parameters:
            self._check_kind(value, (), "parameter", name, "torch.nn.Parameter or None")
            parameters[name] = None
        elif isinstance(value, Module):
            self._check_made("module")
            self._forget(name, "_modules")
            modules[name] = registered("module", self, name, value)
        elif name in modules:
            self._check_kind(value, (), "child module", name, "torch.nn.Module or None")
            modules[name] = registered("module", self, name, None)
        elif isinstance(value, Buffer) or name in buffers:
            self._check_kind(value, Tensor, "buffer", name, "torch.nn.Buffer, torch.Tensor or None")
            self._check_made("buffer")
            if isinstance(value, Buffer) and name not in buffers:
                self._forget(name, "_buffers")
                self.register_buffer(name, value, value.persistent)
            else:
                buffers[name] = registered("buffer", self, name, value)
        else:
            object.__setattr__(self, name, value)

    def _check_made(self, what: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call: call super().__init__() first")

    def _forget(self, name: str, kept: str) -> None:
        """Remove other attributes of this name; members of the same kind keep their order."""
        for members in (self.__dict__, *(self.__dict__[kind] for kind in MEMBERS if kind != kept)):
            members.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    @staticmethod
    def _check_kind(value: Any, kinds: Any, what: str, name: str, expected: str) -> None:
        if value is not None and not isinstance(value, kinds):
            kind = value.type() if isinstance(value, Tensor) else kind_of(value)
            raise TypeError(f"cannot assign '{kind}' as {what} '{name}' ({expected} expected)")

    def __delattr__(self, name: str) -> None:
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                del members[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _check_name(self, name: Any, what: str, taken: dict[str, Any]) -> None:
        self._check_made(what)
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in taken:
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the module's state but is not trained, such as a running mean.

        :param persistent: whether it is part of ``state_dict()``.
        :raises TypeError: ``name`` is not a string, or ``tensor`` is neither a tensor nor None.
        :raises KeyError: the name exists, is empty or contains a dot.
        """
        self._check_name(name, "buffer", self.__dict__.get("_buffers", {}))
        if tensor is not None and not isinstance(tensor, Tensor):
            kind = kind_of(tensor)
            raise TypeError(f"cannot assign '{kind}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = registered("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None means an absent one.

        :raises TypeError: ``name`` is not a string, or ``param`` is neither a Parameter nor None.
        :raises KeyError: the name exists, is empty or contains a dot.
        :raises ValueError: the parameter is not a leaf.
        """
        self._check_name(name, "parameter", self.__dict__.get("_parameters", {}))
        if param is not None and not isinstance(param, Parameter):
            kind = param.type() if isinstance(param, Tensor) else type(param).__name__
            raise TypeError(
                f"cannot assign '{kind}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}': a parameter must be a leaf; to have it computed "
                "from others, compute it in forward()"
            )
        self._parameters[name] = None if param is None else registered("parameter", self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule; it is found as the attribute ``name``.

        :raises TypeError: ``module`` is not a Module, or ``name`` is not a string.
        :raises KeyError: the name exists, is empty or contains a dot.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{kind_of(module)} is not a Module subclass")
        self._check_name(name, "module", self.__dict__.get("_modules", {}))
        self._modules[name] = registered("module", self, name, module)

    register_module = add_module

    # -- submodules and parameters by path ---------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """Return the submodule at a path such as ``"encoder.layers.0"``; the module itself for an empty path.

        :raises AttributeError: the path does not exist.
        """
        result: Module = self
        for name in target.split(".") if target else ():
            if not hasattr(result, name):
                raise AttributeError(f"{type(result).__name__} has no attribute `{name}`")
            result = getattr(result, name)
            if not isinstance(result, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return result

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a path.

        :param strict: require an existing module.
        :raises ValueError: the path is empty, or ``module`` is not a Module.
        :raises AttributeError: a part of the path does not exist.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"module is not an nn.Module, found {kind_of(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_tensor(self, target: str) -> tuple[Module, str, Any]:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        return owner, name, getattr(owner, name)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a path.

        :raises AttributeError: the path does not exist.
        """
        _, name, result = self._get_tensor(target)
        if not isinstance(result, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return result

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a path.

        :raises AttributeError: the path does not exist.
        """
        owner, name, value = self._get_tensor(target)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        buffer: Tensor = value
        return buffer

    # -- iteration ---------------------------------------------------------------------------------------------------

    def _named_members(
        self, get_members_fn: Callable[[Module], Any], prefix: str = "", recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:  # fmt: skip
        """Yield the tensors that a function finds in each module, with their paths."""
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters with their paths; with those of submodules if ``recurse``.

        >>> import nbautograd as torch
        >>> [name for name, _ in torch.nn.Sequential(torch.nn.Linear(1, 1)).named_parameters()]
        ['0.weight', '0.bias']
        """
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers with their paths; with those of submodules if ``recurse``."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters; with those of submodules if ``recurse``."""
        for _, value in self.named_parameters(recurse=recurse):
            yield value

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers; with those of submodules if ``recurse``."""
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the modules directly inside, each once, with their names."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Yield the modules directly inside, each once."""
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield the module itself and all modules inside, each once if ``remove_duplicate``, with their paths."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """Yield the module itself and all modules inside, each once."""
        for _, module in self.named_modules():
            yield module

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call ``fn`` with each submodule and then with this module; return the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # -- modes and gradients -----------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Switch the module and its submodules to training mode, which dropout and batch normalization use.

        :raises ValueError: ``mode`` is not a bool.
        """
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, got {type(mode).__name__}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Switch the module and its submodules to evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set ``requires_grad`` of all parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for p in self.parameters():
            if p.grad is not None:
                if set_to_none:
                    p.grad = None
                else:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    # -- text --------------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the options to show in ``repr``; subclasses define it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        inside = "\n  ".join(lines + children)
        return f"{self._get_name()}(\n  {inside}\n)"
