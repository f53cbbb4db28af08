"""The base class of optimizers: parameter groups, per-parameter state, and its (de)serialization."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from importlib import import_module
from typing import Any

from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.hooks import RemovableHandle
from nbautograd._engine.core.tensor import Tensor
from nbautograd._names import absent
from nbautograd._names.docstrings.classes import composed
from nbautograd.errors import kind_of, warn

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "required"]

Params = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
ParamsT = Params
Group = dict[str, Any]
Hooks = OrderedDict[int, Callable[..., Any]]


class _RequiredParameter:
    def __repr__(self) -> str:
        return "<required parameter>"


required: Any = _RequiredParameter()
"""Marks an option without a default: every parameter group must set it."""

_pre_hooks: Hooks = OrderedDict()
_post_hooks: Hooks = OrderedDict()
_global_optimizer_pre_hooks, _global_optimizer_post_hooks = _pre_hooks, _post_hooks  # PyTorch's names


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimizer."""
    return RemovableHandle(_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimizer."""
    return RemovableHandle(_post_hooks, hook)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``step`` to run the step hooks, and to count its calls for the schedulers."""

    @functools.wraps(step)
    def stepped(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        watch = dispatch_mode.watcher
        if watch is None:
            return with_hooks(self, *args, **kwargs)
        return watch(f"Optimizer.step#{type(self).__name__}.step", with_hooks, (self, *args), kwargs)

    def with_hooks(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if "_optimizer_step_pre_hooks" not in self.__dict__:  # a wrapper that did not call Optimizer.__init__
            return step(self, *args, **kwargs)
        for hook in (*_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
            changed = hook(self, (self, *args), kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    f"{step.__qualname__}: a step pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                    f"got {changed!r}"
                )
            (_, *args), kwargs = changed
        result = step(self, *args, **kwargs)
        if "_opt_called" in self.__dict__:  # a schedule asks for it
            self._opt_called = True
        for hook in (*self._optimizer_step_post_hooks.values(), *_post_hooks.values()):
            hook(self, (self, *args), kwargs)
        return result

    stepped.hooked = True  # type: ignore[attr-defined]
    return stepped


def options(arguments: dict[str, Any], names: str) -> Group:
    """Return the arguments of these names: an optimizer's defaults are arguments of its ``__init__``."""
    return {name: arguments[name] for name in names.split()}


HOOKS = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post")


def _parameters(params: Any) -> Group:
    """Return the tensors of a parameter group, and their names if they have some, as its entries."""
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but params is a set, whose order "
            "changes between runs: please use a list instead"
        )
    parameters = [params] if isinstance(params, Tensor) else list(params)
    named = [p for p in parameters if isinstance(p, tuple)]
    if named and len(named) != len(parameters):
        raise ValueError("all optimizer params should be with/without names: some param names are missing")
    tensors = [p[1] for p in parameters] if named else parameters
    for p in tensors:
        _check_parameter(p)
    return {"params": tensors} | ({"param_names": [p[0] for p in named]} if named else {})


def _check_parameter(p: Any) -> None:
    if not isinstance(p, Tensor):
        raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {kind_of(p)}")
    if not (p.is_leaf or p.retains_grad):
        raise ValueError(
            "can't optimize a non-leaf Tensor: optimize the tensors that it was computed from, or detach() it"
        )


@composed
class Optimizer:
    """The base of all optimizers.

    :param params: tensors, pairs of a name and a tensor, or dictionaries with ``params`` and options for them.
    :param defaults: the default options of the groups.
    :raises TypeError: ``params`` is a tensor itself, or contains a value that is not a tensor.
    :raises ValueError: there are no parameters, one is not a leaf, or one is in two groups.

    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    _optimizer_step_pre_hooks: Hooks
    _optimizer_step_post_hooks: Hooks
    _optimizer_state_dict_pre_hooks: Hooks
    _optimizer_state_dict_post_hooks: Hooks
    _optimizer_load_state_dict_pre_hooks: Hooks
    _optimizer_load_state_dict_post_hooks: Hooks
    _opt_called: bool  # whether it has made a step since its first schedule was created

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        composed(cls)
        step = cls.__dict__.get("step")
        if step is not None and not hasattr(step, "hooked"):
            cls.step = _with_hooks(step)  # type: ignore[method-assign]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self._prepare_hooks()
        self.defaults = defaults
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{type(params).__name__}: put it into a list"
            )
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _prepare_hooks(self) -> None:
        for name in HOOKS:
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare_hooks()

    def __repr__(self) -> str:
        groups = (
            f"Parameter Group {index}\n"
            + "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            for index, group in enumerate(self.param_groups)
        )
        return f"{type(self).__name__} (\n" + "\n".join(groups) + ")"

    profile_hook_step = staticmethod(_with_hooks)

    def _patch_step_function(self) -> None:
        """Do nothing: the class wraps ``step`` on creation. Third-party optimizers call it."""

    def _cuda_graph_capture_health_check(self) -> None:
        """Do nothing: steps are not captured in CUDA graphs. Third-party optimizers call it."""

    def _optimizer_step_code(self) -> None:
        """Do nothing: a hook for profilers to replace, called after each step."""

    # -- parameters --------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: Group) -> None:
        """Add a parameter group with its own options, for example for layers that are unfrozen later.

        :param param_group: ``params``, a tensor or a list of tensors or of (name, tensor), and options.
        :raises TypeError: it is not a dictionary, or its parameters are in a set or are not tensors.
        :raises ValueError: a parameter is not a leaf or is in another group, or only some have names.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        new = _parameters(param_group["params"])
        tensors, named = new["params"], "param_names" in new
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
        ids = {id(p) for p in tensors}
        for group in self.param_groups:
            if named != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names: cannot add param group "
                    f"{'with' if named else 'without'} names to the optimizer"
                )
            if not ids.isdisjoint(id(p) for p in group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
        self._check_options(self.defaults | param_group)
        if len(ids) != len(tensors):
            warn(
                "optimizer contains a parameter group with duplicate parameters: each is stepped as often as it occurs"
            )
        param_group.update(new)
        param_group.update(self.defaults | param_group)
        self.param_groups.append(param_group)

    def _check_options(self, options: dict[str, Any]) -> None:
        """Raise for options that are not supported."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters.

        :param set_to_none: set None, so that the next step skips parameters without a gradient; otherwise zeros.
        """
        watch = dispatch_mode.watcher
        if watch is None:
            self._zero_grad(set_to_none)
        else:
            watch(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad", self._zero_grad, (set_to_none,), {})

    def _zero_grad(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                    continue
                if p.grad.is_leaf:
                    p.grad.requires_grad_(False)
                else:
                    p.grad.detach_()
                p.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Perform one optimization step.

        :param closure: computes the loss and its gradients again and returns the loss, which the step returns.
        """
        raise NotImplementedError

    # -- hooks -------------------------------------------------------------------------------------------------------

    def _register(self, name: str, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        hooks: Hooks = getattr(self, f"_optimizer_{name}_hooks")
        handle = RemovableHandle(hooks, hook)
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; a returned pair replaces the arguments."""
        return self._register("step_pre", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return self._register("step_post", hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before each :meth:`state_dict`."""
        return self._register("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after each :meth:`state_dict`; its result replaces the state."""
        return self._register("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; its result is loaded instead."""
        return self._register("load_state_dict_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after loading."""
        return self._register("load_state_dict_post", hook, prepend)

    # -- the state ---------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state to save in a checkpoint: ``state`` by the index of the parameter, and ``param_groups``.

        >>> import nbautograd as torch
        >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.5)
        >>> optimizer.state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        count, groups = 0, []
        for group in self.param_groups:
            for index, p in enumerate(group["params"], count):
                numbers.setdefault(id(p), index)
            count += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            groups.append(packed | {"params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of :meth:`state_dict`; cast the state to the parameter's dtype, except ``step``.

        :raises ValueError: the numbers of groups or of parameters differ; the optimizer is then unchanged.
        """
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError(
                f"loaded state dict has a different number of parameter groups: {len(saved)}, and the optimizer "
                f"{len(self.param_groups)}"
            )
        owners: dict[Any, Tensor] = {}
        for index, (group, new) in enumerate(zip(self.param_groups, saved, strict=True)):
            if len(group["params"]) != len(new["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group "
                    f"{index}: {len(new['params'])} parameters and {len(group['params'])}"
                )
            owners.update(zip(new["params"], group["params"], strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in owners:
                state[owners[key]] = _cast(owners[key], value, None)
            else:
                state[key] = value
        for group, new in zip(self.param_groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


def _cast(param: Tensor, value: Any, key: Any) -> Any:
    """Return a value of a loaded state, with its tensors on the parameter's device and in its dtype."""
    if isinstance(value, Tensor):
        if key == "step":  # large counts are not exact in half precision
            return value
        return value.to(param.device, param.dtype) if param.is_floating_point() else value.to(param.device)
    if isinstance(value, dict):
        return {k: _cast(param, v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_cast(param, v, None) for v in value)
    return value


def __getattr__(name: str) -> Any:
    module = import_module("nbautograd.optim.subclassing")
    if name in vars(module) and name.startswith("_") and not name.startswith("__"):
        return getattr(module, name)
    return absent.fail("optim.optimizer", name)
