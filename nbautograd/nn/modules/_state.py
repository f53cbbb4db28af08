"""The state of a module, as a dict of its parameters and buffers by their paths."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.hooks import RemovableHandle
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import kind_of, warn
from nbautograd.nn.parameter import Parameter, is_lazy

__all__ = ["State"]

EXTRA = "_extra_state"


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """Result of :meth:`State.load_state_dict`: missing and unexpected keys."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _Problems(list[str]):
    """The errors of a load, and the functions that undo what was loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.undo: list[Callable[[], Any]] = []

    def take_back(self) -> None:
        """Undo all changes made so far."""
        with no_grad():
            for step in reversed(self.undo):
                step()


class State:
    """The part of :class:`Module` that saves and loads its state."""

    _version: int | None = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict[int, Any]
    _state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_post_hooks: OrderedDict[int, Any]

    # -- saving ------------------------------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """Return extra state for the ``state_dict``; subclasses define it together with ``set_extra_state``."""
        raise RuntimeError("get_extra_state() is for subclasses to define, together with set_extra_state()")

    def set_extra_state(self, state: Any) -> None:
        """Restore the state that ``get_extra_state`` returned."""
        raise RuntimeError("set_extra_state() is for subclasses to define, together with get_extra_state()")

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Put the module's own parameters and buffers, not those of its submodules, into ``destination``."""
        for name, value in self._own_state():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def _own_state(self) -> list[tuple[str, Any]]:
        buffers = ((n, b) for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set)
        return [(n, t) for n, t in itertools.chain(self._parameters.items(), buffers) if t is not None]

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return the parameters and the persistent buffers by their paths; the tensors share the module's memory.

        :param destination: the dict to fill, instead of a new one.
        :param prefix: the beginning of the paths.
        :param keep_vars: return the parameters themselves instead of detached tensors.

        >>> import nbautograd as torch
        >>> list(torch.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        destination, prefix, keep_vars = [*args, *(destination, prefix, keep_vars)[len(args) :]][:3]
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        about = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = about
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replacement = hook(self, destination, prefix, about)
            if not getattr(hook, "_public", False):
                destination = destination if replacement is None else replacement
            elif replacement is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    # -- loading -----------------------------------------------------------------------------------------------------

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy parameters and buffers from a dict that ``state_dict()`` returned.

        A load that raises leaves the module as it was.

        :param strict: raise if keys are missing or unexpected.
        :param assign: use the tensors of the dict themselves, with their dtypes and devices.
        :returns: the missing and the unexpected keys, as a named tuple.
        :raises TypeError: ``state_dict`` is not a mapping.
        :raises RuntimeError: shapes differ; or keys differ, and ``strict`` is true.

        >>> import nbautograd as torch
        >>> m = torch.nn.Linear(2, 1, bias=False)
        >>> m.load_state_dict({"weight": torch.ones(1, 2)})
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        problems = _Problems()
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata  # type: ignore[attr-defined]

        def load(module: State, state: dict[str, Any], prefix: str) -> None:
            about = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                about["assign_to_params_buffers"] = True
            module._load_from_state_dict(state, prefix, about, True, missing, unexpected, problems)
            for name, child in module._modules.items():
                if child is not None:
                    inner = f"{prefix}{name}."
                    load(child, OrderedDict((k, v) for k, v in state.items() if k.startswith(inner)), inner)
            keys = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, keys) is not None:
                    raise AssertionError(
                        "a hook of register_load_state_dict_post_hook must return None: to change what is missing or "
                        "unexpected, change the lists that it gets in place"
                    )

        try:
            load(self, state_dict, "")
            if strict:
                for what, keys in (("Unexpected", unexpected), ("Missing", missing)):
                    if keys:
                        listed = ", ".join('"' + key + '"' for key in keys)
                        problems.insert(0, f"{what} key(s) in state_dict: {listed}. ")
            if problems:
                lines = "\n\t".join(problems)
                raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}")
        except BaseException:
            problems.take_back()
            raise
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Load the module's own parameters and buffers, not those of its submodules."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        undo = getattr(error_msgs, "undo", [])
        for name, own in self._own_state():
            key = prefix + name
            if key in state_dict:
                problem = self._load_one(name, key, own, state_dict[key], assign, undo)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA
        if type(self).set_extra_state is not State.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            unexpected_keys += self._unexpected(state_dict, prefix)

    def _unexpected(self, state_dict: dict[str, Any], prefix: str) -> Iterator[str]:
        """Yield the keys that neither the module's own values nor its submodules have."""
        known = {*self._modules, *(name for name, _ in self._own_state())}
        for key in state_dict:
            if key.startswith(prefix) and key != prefix + EXTRA:
                first, _, rest = key[len(prefix) :].partition(".")
                if first not in known or rest and first not in self._modules:
                    yield key

    def _load_one(self, name: str, key: str, own: Any, loaded: Any, assign: bool, undo: list[Any]) -> str | None:
        """Load one tensor; returns an error message, or None."""
        if not isinstance(loaded, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {kind_of(loaded)}"
            )
        if is_lazy(own):  # and so is the loaded tensor: a hook has given the others their shapes
            return None
        if own.ndim == 0 and loaded.shape == (1,):  # as PyTorch before 0.4 saved numbers
            loaded = loaded[0]
        if own.shape != loaded.shape:
            shapes = f"{loaded.shape} from checkpoint, the shape in current model is {own.shape}"
            return f"size mismatch for {key}: copying a param with shape {shapes}."
        if assign:
            if isinstance(own, Parameter):
                if not isinstance(loaded, Parameter):
                    loaded = Parameter(loaded, requires_grad=own.requires_grad)
                else:
                    loaded.requires_grad_(own.requires_grad)
            undo.append(lambda: setattr(self, name, own))
            setattr(self, name, loaded)
            return None
        if own.is_meta and not loaded.is_meta:
            warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                "model, which is a no-op. Pass assign=True to use the tensors of the checkpoint themselves"
            )
        with no_grad():
            before = own.detach().clone()
            try:
                own.copy_(loaded)
            except Exception as error:
                return (
                    f'While copying the parameter named "{key}", whose dimensions in the model are {own.shape} and '
                    f"whose dimensions in the checkpoint are {loaded.shape}, an exception occurred : {error.args}."
                )
        undo.append(lambda: own.copy_(before))
        return None

    # -- hooks -------------------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before the module's state is collected."""
        return RemovableHandle(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` with the state collected, to change it in place."""
        hook._public = True  # type: ignore[attr-defined]
        return RemovableHandle(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)`` before a load.

        It may change the dict and the three lists in place.
        """
        return RemovableHandle(self._load_state_dict_pre_hooks, _WithModule(hook, self))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register a hook like ``register_state_dict_post_hook``; its result replaces the state."""
        if getattr(hook, "_public", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return RemovableHandle(self._state_dict_hooks, hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """Register a hook like ``register_load_state_dict_pre_hook``; it gets the module only if asked for."""
        return RemovableHandle(self._load_state_dict_pre_hooks, _WithModule(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after a load, to change the keys in place."""
        return RemovableHandle(self._load_state_dict_post_hooks, hook)


class _WithModule:
    """A hook that gets its module as the first argument; a copy of the module gets a hook with that copy."""

    def __init__(self, hook: Callable[..., Any], module: State) -> None:
        if not callable(hook):
            raise TypeError(f"a hook must be callable, and this {type(hook).__name__} is not")
        self.hook, self.module = hook, module

    def __call__(self, *args: Any) -> None:
        self.hook(self.module, *args)
