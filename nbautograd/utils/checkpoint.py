"""``torch.utils.checkpoint``: recompute parts of the forward pass in backward, instead of storing them."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from nbautograd._engine.core.grad_mode import enable_grad, is_grad_enabled, no_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.rng.generator import default_generator
from nbautograd.amp import state as autocast
from nbautograd.autograd import engine
from nbautograd.autograd.backward import backward
from nbautograd.autograd.function import Function
from nbautograd.autograd.saved_tensors import saved_tensors_hooks
from nbautograd.errors import AutogradError, warn
from nbautograd.random import fork_rng

__all__ = [
    "CheckpointError", "check_backward_validity", "checkpoint", "checkpoint_sequential", "detach_variable",
    "get_device_states", "noop_context_fn", "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip

Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]

_early_stop: ContextVar[bool | None] = ContextVar("checkpoint_early_stop", default=None)


class CheckpointError(AutogradError):
    """The recomputation saved other tensors than the first forward pass."""


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Return a ``context_fn`` that changes nothing."""
    return nullcontext(), nullcontext()


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Detach the tensors in arguments and keep ``requires_grad``; for user-defined checkpoints.

    :raises RuntimeError: the arguments are not a tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor among the arguments requires a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return the devices with their own random streams, and their states: none, because all share one stream."""
    return [], []


def set_device_states(devices: Iterable[int], states: Iterable[Tensor], *, device_type: str | None = None) -> None:
    """Do nothing: ``get_device_states`` returns no states."""


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Contexts = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Return ``function(*args, **kwargs)``, saving only the arguments for backward, which recomputes the function.

    :param function: the function.
    :param args: its arguments.
    :param use_reentrant: False, which is recommended, records the function's graph. With True, the function becomes one
        node whose backward runs a nested backward pass, and at least one argument must require grad.
    :param context_fn: returns a context manager for the first and one for the second computation.
    :param determinism_check: ``"default"`` compares shapes, dtypes and devices of saved tensors; or ``"none"``.
    :param debug: must be False.
    :param early_stop: stop the second computation when it has all required tensors.
    :param preserve_rng_state: use the same random numbers in the second computation.
    :param kwargs: its keyword arguments, unless ``use_reentrant``.
    :raises ValueError: keywords are used with ``use_reentrant``, or the check is unknown.
    :raises NotImplementedError: ``debug`` is True.
    :raises CheckpointError: the second computation saved other tensors than the first.

    >>> import nbautograd as torch
    >>> from nbautograd.utils.checkpoint import checkpoint
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([  5.4366, 218.3926])
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
            "recommended; the default is True for now."
        )
        use_reentrant = True
    if debug:
        raise NotImplementedError("checkpoint(debug=True) is not supported; tracing shows what operations ran")
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn:
            raise ValueError("Passing `context_fn` is only supported when use_reentrant=False.")
        if is_grad_enabled():
            check_backward_validity(args)
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    stop = _early_stop.get()
    return _Recomputation(
        functools.partial(function, **kwargs), context_fn, determinism_check, early_stop if stop is None else stop,
        preserve_rng_state,
    ).run(args)  # fmt: skip


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Apply functions in order, with a checkpoint for each segment except the last.

    :param functions: functions of one argument, or a module with children, such as ``nn.Sequential``.
    :param segments: the number of segments, from 1 to the number of functions.
    :param input: the argument of the first function.
    :param use_reentrant: see :func:`checkpoint`.
    :param kwargs: ``preserve_rng_state``; see :func:`checkpoint`.
    :returns: the result of the last function.
    :raises ValueError: there are more segments than functions, or unknown keywords.
    :raises ZeroDivisionError: ``segments`` is 0.

    >>> import nbautograd as torch
    >>> from nbautograd.utils.checkpoint import checkpoint_sequential
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> checkpoint_sequential([torch.exp, torch.sin, torch.cos], 3, x, use_reentrant=False)
    tensor([0.9168], grad_fn=<CosBackward0>)
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. "
            "use_reentrant=False is recommended; the default is True for now."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    chain = list(functions.children()) if hasattr(functions, "children") else list(functions)

    if segments == 0 or len(chain) < segments:
        raise (ValueError if segments else ZeroDivisionError)(
            "checkpoint_sequential(): argument 'segments' must be from 1 to the number of functions, "
            f"{len(chain)}, got {segments}"
        )

    def part(start: int, end: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for function in chain[start:end]:
                value = function(value)
            return value

        return run

    size, end = len(chain) // segments, 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(part(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(end, len(chain))(input)


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Decide for all checkpoints made inside the ``with`` block whether their second computation stops early."""
    token = _early_stop.set(enable)
    try:
        yield
    finally:
        _early_stop.reset(token)


@contextmanager
def _random_state(state: Any) -> Iterator[None]:
    """Fork the random generator: use this state inside, then restore the previous one; do nothing for None."""
    with fork_rng(enabled=state is not None):
        if state is not None:
            default_generator.set_state(state)
        yield


class CheckpointFunction(Function):
    """A function as one node whose backward recomputes it with recording and runs a nested backward pass."""

    @staticmethod
    def forward(ctx: Any, function: Any, preserve: bool, *args: Any) -> Any:
        ctx.function, ctx.state = function, default_generator.get_state() if preserve else None
        ctx.autocast = autocast.snapshot()
        ctx.plain = [None if isinstance(a, Tensor) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        current = engine.current_graph_task()
        if current is not None and current.targets is not None:
            raise AutogradError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        args = list(ctx.plain)
        for place, saved in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = saved.detach().requires_grad_(ctx.needs_input_grad[2 + place])
        with _random_state(ctx.state), autocast.again(ctx.autocast), enable_grad():
            result = ctx.function(*args)
        outputs = result if isinstance(result, tuple) else (result,)
        both = zip(outputs, gradients, strict=True)
        pairs = [(out, g) for out, g in both if isinstance(out, Tensor) and out.requires_grad]
        if not pairs:
            raise AutogradError("none of output has requires_grad=True, this checkpoint() is not necessary")
        outputs, gradients = zip(*pairs, strict=True)
        backward(outputs, gradients)
        return None, None, *(a.grad if isinstance(a, Tensor) else None for a in args)


class _SaveInputs(Function):
    """An operation that saves the arguments of a checkpointed function, so that outer saved-tensor hooks apply."""

    @staticmethod
    def forward(ctx: Any, dummy: Tensor, *tensors: Tensor) -> Any:
        ctx.save_for_backward(*tensors)
        return dummy.new_zeros((0,))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise AssertionError("nothing is computed from the result, so no gradient arrives here")

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> None:
        """Return None: the result has no elements."""


class _Stop(BaseException):
    """The exception that stops the recomputation early, when all required tensors have been saved."""


def _facts(t: Tensor) -> dict[str, Any]:
    return {"shape": t.shape, "dtype": t.dtype, "device": t.device}


class _Recomputation:
    """One checkpointed call: the inputs of its recomputation, and the recomputed tensors by backward pass."""

    def __init__(
        self, function: Callable[..., Any], contexts: Contexts, check: str, early_stop: bool, preserve: bool
    ) -> None:
        self.function, self.check, self.early_stop = function, check, early_stop
        self.state = default_generator.get_state() if preserve else None
        self.autocast = autocast.snapshot()
        self.first_context, self.second_context = contexts()
        self.facts: list[Any] = []
        self.recomputed: weakref.WeakKeyDictionary[Any, dict[int, Tensor]] = weakref.WeakKeyDictionary()
        self.saver: Any = None
        self.arguments: list[Any] = []

    def run(self, args: tuple[Any, ...]) -> Any:
        """Run the first forward pass."""
        tensors = [a for a in args if isinstance(a, Tensor)]
        self.arguments = [None if isinstance(a, Tensor) else a for a in args]
        self.slots = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        with self.first_context:
            if not is_grad_enabled():
                return self.function(*args)
            from nbautograd._engine.ops.creation.creation import empty

            self.saver = _SaveInputs.apply(empty(0, requires_grad=True), *tensors).grad_fn
            with saved_tensors_hooks(self.pack, self.unpack):
                return self.function(*args)

    def pack(self, t: Tensor) -> int:
        """Return the index of a saved tensor, which represents it."""
        self.facts.append(_facts(t))
        return len(self.facts) - 1

    def unpack(self, index: int) -> Tensor:
        key = engine.current_graph_task() or self
        recomputed = self.recomputed.get(key)
        if recomputed is None or index not in recomputed:
            recomputed = self.recomputed[key] = self.again()
        tensor = recomputed.pop(index)
        if not recomputed:
            del self.recomputed[key]
        return tensor

    def again(self) -> dict[int, Tensor]:
        """Run the recomputation; return the saved tensors by index."""
        args = list(self.arguments)
        for slot, tensor in zip(self.slots, self.saver.saved_tensors, strict=True):
            args[slot] = tensor
        result: dict[int, Tensor] = {}

        def pack(t: Tensor) -> Any:
            index = len(result)
            if index >= len(self.facts):
                raise self.error(index + 1)
            result[index] = t.detach()
            if self.early_stop and index + 1 == len(self.facts):
                raise _Stop
            return result[index]

        try:
            with (
                enable_grad(),
                _random_state(self.state),
                autocast.again(self.autocast),
                self.second_context,
                saved_tensors_hooks(pack, lambda value: value),
            ):
                self.function(*args)
        except _Stop:
            pass
        if len(result) != len(self.facts):
            raise self.error(len(result))
        if self.check == "default":
            wrong = [
                f"tensor at position {i}:\nsaved metadata: {was}\nrecomputed metadata: {_facts(result[i])}"
                for i, was in enumerate(self.facts)
                if was != _facts(result[i])
            ]
            if wrong:
                raise CheckpointError(
                    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                    "during the forward pass.\n" + "\n".join(wrong)
                )
        return result

    def error(self, count: int) -> CheckpointError:
        """Return the error for a difference between forward pass and recomputation."""
        return CheckpointError(
            "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
            f"recomputation.\nNumber of tensors saved during forward: {len(self.facts)}\n"
            f"Number of tensors saved during recomputation: {count}."
        )
