"""Calling a module: ``forward``, with the hooks around it and around its part of the backward pass."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbautograd import protocol
from nbautograd._engine.core import tracing
from nbautograd._engine.core.hooks import RemovableHandle
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import zeros
from nbautograd.autograd.function import Function
from nbautograd.errors import warn

__all__ = [
    "Calls", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook", "registered",
]  # fmt: skip

Hook = Callable[..., Any]


class _Registry(OrderedDict[int, Hook]):
    """Hooks by id in the order in which they run, with the options of each."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.with_kwargs: set[int] = set()
        self.always_call: set[int] = set()
        self.at_last_node: set[int] = set()
        """Backward hooks in PyTorch's deprecated form."""

    def __repr__(self) -> str:
        return repr(OrderedDict(self))

    def add(
        self, hook: Hook, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        handle = RemovableHandle(self, hook)
        if prepend:
            self.move_to_end(handle.id, last=False)
        if with_kwargs:
            self.with_kwargs.add(handle.id)
        if always_call:
            self.always_call.add(handle.id)
        return handle

    def call(self, number: int, module: Calls, args: Any, kwargs: Any, *rest: Any) -> Any:
        hook = self[number]
        return hook(module, args, kwargs, *rest) if number in self.with_kwargs else hook(module, args, *rest)


KINDS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
EVERYWHERE = {kind: _Registry() for kind in KINDS}  # the hooks of all modules
REGISTRATIONS = {kind: _Registry() for kind in ("parameter", "buffer", "module")}  # the hooks of registrations


class BackwardHookFunction(Function):
    """The identity: its node holds the hooks."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        """Return the same tensors."""
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return tuple(a.view_as(a) for a in args)

    @staticmethod
    def backward(ctx: Any, *args: Tensor | None) -> tuple[Tensor | None, ...]:
        """Return the same gradients."""
        return args


class _BackwardHooks:
    """The backward hooks of one call: they run at identity nodes around the module's inputs and outputs."""

    def __init__(self, module: Calls, hooks: list[Hook], pre_hooks: list[Hook]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.arguments = 0
        self.inputs: tuple[list[int], list[Any]] | None = None  # the positions of the tensors, and their kind
        self.outputs: tuple[list[int], int] = ([], 0)  # the positions of the tensors, and the number of values

    @staticmethod
    def _through_node(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Any]:
        """Pass the tensors through an identity node; returns values, the tensors' positions, and the node or None."""
        places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        if not any(values[i].requires_grad for i in places):
            return values, places, None
        passed = BackwardHookFunction.apply(*[values[i] for i in places])
        node = next((t.grad_fn for t in passed if t.grad_fn is not None), None)
        new = dict(zip(places, passed, strict=True))
        return tuple([new.get(i, value) for i, value in enumerate(values)]), places, node

    @staticmethod
    def _spread(gradients: tuple[Any, ...], places: list[int], count: int) -> tuple[Any, ...]:
        found = dict(zip(places, gradients, strict=True))
        return tuple([found.get(i) for i in range(count)])

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        passed, places, node = self._through_node(args)
        self.arguments = len(args)
        if node is not None:
            self.inputs = (places, [(args[i].shape, args[i].dtype, args[i].device) for i in places])
            node.register_hook(self._at_inputs)
        return passed

    def watch_outputs(self, result: Any) -> Any:
        if not isinstance(result, (Tensor, tuple)):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                f"{type(self.module).__name__} returned {type(result)}"
            )
            return result
        passed, places, node = self._through_node((result,) if isinstance(result, Tensor) else result)
        if node is None:
            return result
        self.outputs = (places, len(passed))
        node.register_prehook(self._at_outputs)
        if isinstance(result, Tensor):
            return passed[0]
        return type(result)(*passed) if hasattr(result, "_fields") else passed

    def _at_outputs(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run when the backward pass enters the module."""
        places, count = self.outputs
        grad_outputs = self._spread(gradients, places, count)
        for hook in self.pre_hooks:
            replacement = hook(self.module, grad_outputs)
            if replacement is not None:
                grad_outputs = _checked("Backward pre hook", replacement, count)
        self.grad_outputs = grad_outputs
        if self.inputs is None and self.hooks:  # no input requires a gradient, so there is no node
            warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs, since no "
                "inputs require gradients"
            )
            for hook in self.hooks:
                if hook(self.module, (None,) * self.arguments, grad_outputs) is not None:
                    raise RuntimeError(
                        "backward hook returned a gradient for grad_input, but no input of the module requires "
                        "grad: it must always return None here"
                    )
        return tuple(grad_outputs[i] for i in places)

    def _at_inputs(self, gradients: tuple[Any, ...], _: Any) -> tuple[Any, ...] | None:
        """Run after the backward pass has left the module, unless it reached the inputs another way.

        A pass through a gradient does so, such as that of a gradient penalty.
        """
        if self.grad_outputs is None:
            return None
        assert self.inputs is not None
        places, kinds = self.inputs
        filled = tuple(  # a tensor without a gradient, such as a target, gets zeros
            zeros(shape, dtype=dtype, device=device) if g is None else g
            for g, (shape, dtype, device) in zip(gradients, kinds, strict=True)
        )
        grad_inputs = self._spread(filled, places, self.arguments)
        for hook in self.hooks:
            replacement = hook(self.module, grad_inputs, self.grad_outputs)
            if replacement is not None:
                grad_inputs = _checked("Backward hook", replacement, self.arguments)
        self.grad_outputs = None
        return tuple(None if g is None else grad_inputs[i] for g, i in zip(gradients, places, strict=True))


def _checked(what: str, gradients: Any, count: int) -> tuple[Any, ...]:
    result = gradients if isinstance(gradients, tuple) else (gradients,)
    if len(result) != count:
        raise RuntimeError(f"{what} returned an invalid number of grad: got {len(result)}, but expected {count}")
    return result


def _hook_last_node(module: Any, hooks: list[Hook], args: tuple[Any, ...], result: Any) -> None:
    """Register hooks at the node that made the output, the first one of several."""
    output = result
    while not isinstance(output, Tensor):
        if isinstance(output, dict):
            output = next(value for value in output.values() if isinstance(value, Tensor))
        else:
            output = output[0]
    node = output.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(functools.partial(hook, module))
    when = _when_incomplete(args, result, node)
    if when:
        warn(
            f"Using a non-full backward hook {when} is deprecated: it misses some gradients. Please use "
            "register_full_backward_hook.",
            FutureWarning,
        )


def _when_incomplete(args: tuple[Any, ...], result: Any, node: Any) -> str:
    """Return the circumstances in which hooks at the last node miss gradients; empty if they get all."""
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(each, Tensor) for each in results):
        return "on a Module that does not return a single Tensor or a tuple of Tensors"
    if not all(isinstance(each, Tensor) for each in args):
        return "on a Module that does not take as input a single Tensor or a tuple of Tensors"
    if len({id(each.grad_fn) for each in results}) > 1:
        return "when outputs are generated by different autograd Nodes"
    if {each.grad_fn for each in args} != {edge for edge, _ in node.next_functions}:
        return "when the forward contains multiple autograd Nodes"
    return ""


def _new_arguments(hooks: _Registry, number: int, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    replacement = hooks.call(number, module, args, kwargs)
    if replacement is None:
        return args, kwargs
    if number not in hooks.with_kwargs:
        return replacement if isinstance(replacement, tuple) else (replacement,), kwargs
    if not isinstance(replacement, tuple) or len(replacement) != 2:
        raise RuntimeError(
            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {replacement}."
        )
    return replacement


def _call_after_error(hooks: _Registry, number: int, *arguments: Any) -> None:
    try:
        hooks.call(number, *arguments)
    except Exception as error:
        warn(
            "a module forward hook with always_call=True raised an exception, which is silenced as forward had raised "
            f"another one: {error}"
        )


class Calls:
    """The part of :class:`Module` that calls ``forward``."""

    _forward_hooks: _Registry
    _forward_pre_hooks: _Registry
    _backward_hooks: _Registry
    _backward_pre_hooks: _Registry

    if TYPE_CHECKING:
        forward: Callable[..., Any]

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        if tracing.is_on():  # pictures show the operations of a module as one group
            with protocol.scope(type(self).__name__, self):
                return self._call(args, kwargs)
        own = self.__dict__
        for kind, everywhere in EVERYWHERE.items():
            if own[kind] or everywhere:
                return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(self.__dict__[kind] or everywhere for kind, everywhere in EVERYWHERE.items()):
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    __call__: Callable[..., Any] = _call_impl

    def _hooks(self, kind: str) -> list[tuple[_Registry, int]]:
        """Return the hooks to run now: those of all modules before this one's own."""
        return [(hooks, number) for hooks in (EVERYWHERE[kind], self.__dict__[kind]) for number in tuple(hooks)]

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        module: Any = self
        done: set[int] = set()
        result: Any = None
        try:
            for hooks, number in self._hooks("_forward_pre_hooks"):
                args, kwargs = _new_arguments(hooks, number, module, args, kwargs)
            watcher = None
            backward: list[Hook] = []
            at_last_node: list[Hook] = []
            for hooks, number in self._hooks("_backward_hooks"):
                (at_last_node if number in hooks.at_last_node else backward).append(hooks[number])
            before_backward = [hooks[number] for hooks, number in self._hooks("_backward_pre_hooks")]
            if backward or before_backward:
                watcher = _BackwardHooks(module, backward, before_backward)
                args = watcher.watch_inputs(args)
            result = self.forward(*args, **kwargs)
            for hooks, number in self._hooks("_forward_hooks"):
                done.add(number)
                replacement = hooks.call(number, module, args, kwargs, result)
                if replacement is not None:
                    result = replacement
            if watcher is not None:
                result = watcher.watch_outputs(result)
            if at_last_node:
                _hook_last_node(module, at_last_node, args, result)
            return result
        except Exception:
            for hooks, number in self._hooks("_forward_hooks"):
                if number in hooks.always_call and number not in done:
                    _call_after_error(hooks, number, module, args, kwargs, result)
            raise

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before each ``forward``; its result replaces the arguments.

        :param prepend: run it before the existing hooks.
        :param with_kwargs: call ``hook(module, args, kwargs)``, which returns None or both.
        :returns: a handle whose ``remove()`` removes the hook.
        """
        return self._forward_pre_hooks.add(hook, prepend, with_kwargs)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after each ``forward``; its result replaces the output.

        :param prepend: run it before the existing hooks.
        :param with_kwargs: call ``hook(module, args, kwargs, output)``.
        :param always_call: call it, with None for the output, even when ``forward`` raises.
        :returns: a handle whose ``remove()`` removes the hook.

        >>> import nbautograd as torch
        >>> m = torch.nn.ReLU()
        >>> handle = m.register_forward_hook(lambda module, args, output: output + 1)
        >>> m(torch.tensor([-1., 2.]))
        tensor([1., 3.])
        """
        return self._forward_hooks.add(hook, prepend, with_kwargs, always_call)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when a backward pass has gone through the module.

        Both are tuples, with None for values that are not tensors or have no gradient; a returned tuple replaces
        ``grad_input`` for the rest of the pass.

        :param prepend: run it before the existing hooks.
        :returns: a handle whose ``remove()`` removes the hook.
        """
        return _add_backward_hook(self._backward_hooks, hook, prepend, False)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when a backward pass reaches the module; a result replaces it.

        :param prepend: run it before the existing hooks.
        :returns: a handle whose ``remove()`` removes the hook.
        """
        return self._backward_pre_hooks.add(hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when a backward pass has gone through the last operation.

        This is PyTorch's deprecated form: it sees the gradients of the operation that made the output, not of the whole
        module. Use :meth:`register_full_backward_hook`.

        :returns: a handle whose ``remove()`` removes the hook.
        :raises RuntimeError: the module has a full backward hook.
        """
        return _add_backward_hook(self._backward_hooks, hook, False, True)


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """Return what a module registers under a name: hooks of all modules may replace it."""
    for hook in tuple(REGISTRATIONS[kind].values()):
        replacement = hook(module, name, value)
        value = value if replacement is None else replacement
    return value


def _add_backward_hook(
    hooks: _Registry, hook: Hook, prepend: bool, at_last_node: bool, where: str = "on a single Module"
) -> RemovableHandle:
    """Register a backward hook, in PyTorch's deprecated form if ``at_last_node``."""
    if any((number in hooks.at_last_node) != at_last_node for number in hooks):
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {where}. Please use only one of them."
        )
    handle = hooks.add(hook, prepend)
    if at_last_node:
        hooks.at_last_node.add(handle.id)
    return handle


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, args)`` before each ``forward`` of every module."""
    return EVERYWHERE["_forward_pre_hooks"].add(hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after each ``forward`` of every module."""
    return EVERYWHERE["_forward_hooks"].add(hook, False, with_kwargs, always_call)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` when a backward pass has gone through any module."""
    return _add_backward_hook(EVERYWHERE["_backward_hooks"], hook, False, False, "as a global Module hook")


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the last operation of any module."""
    return _add_backward_hook(EVERYWHERE["_backward_hooks"], hook, False, True, "as a global Module hook")


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` when a backward pass reaches any module."""
    return EVERYWHERE["_backward_pre_hooks"].add(hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when any module gets a parameter."""
    return REGISTRATIONS["parameter"].add(hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when any module gets a buffer."""
    return REGISTRATIONS["buffer"].add(hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when any module gets a submodule."""
    return REGISTRATIONS["module"].add(hook)
