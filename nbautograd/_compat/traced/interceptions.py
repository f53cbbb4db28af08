"""Interceptions while a function is traced: code objects are exchanged, and handlers check the context.

Conversions to Python values warn; unsupported functions raise; functions that compute with arrays, draw random numbers
or read values are recorded as calls.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from nbautograd._compat.traced.recorder import TraceRecorder, current
from nbautograd._engine.compiler.interception import intercept, release
from nbautograd._engine.core import batched, dispatch_mode, inplace
from nbautograd._engine.core.pytree import tree_flatten
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.core.tensor_conversions import TensorConversions
from nbautograd.autograd import engine
from nbautograd.autograd.function import Function
from nbautograd.errors import warn


class TracerWarning(Warning):
    """The warning that a function may behave differently for other arguments, which a trace does not record."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Do nothing: the library itself gives no such warnings."""


def is_tracing() -> bool:
    """Return whether a function is being traced.

    >>> import nbautograd as torch
    >>> torch.jit.is_tracing()
    False
    """
    return current.get() is not None


# -- interceptions while a function is traced ------------------------------------------------------------------------


def _recorder() -> TraceRecorder | None:
    """Return the recorder of the function that is traced here; None outside of one, and while it pauses."""
    recorder = current.get()
    return None if recorder is None or recorder.pauses else recorder


def _while_recording(handle: Callable[..., Any]) -> Any:
    """Return a handler that calls ``handle`` with the recorder in front, or the plain function if nothing records."""

    def handler(plain: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        recorder = _recorder()
        return plain(*args, **kwargs) if recorder is None else handle(recorder, plain, args, kwargs)

    return handler


_CONVERSIONS = {
    "__bool__": "Python boolean", "__float__": "Python float", "__int__": "Python integer", "__index__": "Python index",
    "__complex__": "Python number", "item": "Python number", "tolist": "Python list", "numpy": "NumPy array",
}  # fmt: skip


def _warning_handler(what: str) -> Any:
    message = (
        f"Converting a tensor to a {what} might cause the trace to be incorrect: what Python does with the "
        "value is not recorded, so the trace does for every input what it does for this one."
    )

    def handle(recorder: TraceRecorder, plain: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if not recorder.varies(args[0]):
            return plain(*args, **kwargs)
        warn(message, TracerWarning)
        with recorder.paused():
            return plain(*args, **kwargs)

    return _while_recording(handle)


_REGISTERED = (
    "torch.tensor results are registered as constants in the trace: this one is made of another tensor's values, and "
    "stays what it is now. clone() or an operation would be recorded."
)


def _constant(recorder: TraceRecorder, plain: Callable[..., Any], args: Any, kwargs: Any, likes: int = 0) -> Any:
    """Call a function that creates a tensor of numbers, which may be tensors.

    :param likes: the number of its first arguments of which it takes no values.
    """
    leaves = tree_flatten((args, {key: part for key, part in kwargs.items() if key != "out"}))[0]
    for leaf in leaves:
        if isinstance(leaf, Tensor) and not any(leaf is like for like in args[:likes]) and recorder.varies(leaf):
            warn(_REGISTERED, TracerWarning)
            with recorder.paused():
                result = plain(*args, **kwargs)
            recorder.born[id(result)] = (result, True)
            return result
    return plain(*args, **kwargs)


def _refusing_handler(why: str) -> Any:
    return _while_recording(lambda recorder, *call: recorder.refuse(why))


@_while_recording
def _apply(recorder: TraceRecorder, plain: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Record ``Function.apply``: a custom function with its own backward."""
    return recorder.call(args[0].apply, args[1:], kwargs)


@_while_recording
def _capture(recorder: TraceRecorder, plain: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Run ``autograd.grad`` inside a traced function, and record its operations like any others."""
    roots, retain_graph, create_graph, keys = args
    gradients = plain(roots, retain_graph, True, keys)
    return gradients if create_graph else {key: g.detach() for key, g in gradients.items()}


def _empty(plain: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Note a tensor whose values are undefined, so that listings do not show them."""
    result = plain(*args, **kwargs)
    recorder = _recorder()
    if recorder is not None and id(result) in recorder.born:
        recorder.blank.add(id(result))
    return result


def _detached(plain: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Record ``x.detach()`` and ``x.data``."""
    result = plain(*args, **kwargs)
    recorder = _recorder()
    if recorder is not None and id(result) not in recorder.entries:
        recorder.detach(args[0], result)
    return result


def _copied(plain: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Record a copy that an in-place method computes with: it has the value of the tensor."""
    result = plain(*args, **kwargs)
    recorder = _recorder()
    if recorder is not None:
        recorder.know(result, recorder.value_of(args[0]))
    return result


class _Hooks:
    """The hooks of library functions while a function is traced; other threads are not affected."""

    opaque = staticmethod(_while_recording(TraceRecorder.call))

    @staticmethod
    def elements(public: Any, args: Any, kwargs: Any) -> Any:
        return _Hooks.opaque(public.__wrapped__, args, kwargs)

    @staticmethod
    def random(how: str, traced: str, public: Any, args: Any, kwargs: Any) -> Any:
        recorder, function = _recorder(), public.__wrapped__
        return function(*args, **kwargs) if recorder is None else recorder.draw(traced or how, function, args, kwargs)

    @staticmethod
    def check(function: Any, args: Any) -> Any:
        recorder = _recorder()
        return function(*args) if recorder is None else recorder.say(function, args)

    @staticmethod
    def looks(t: Any) -> None:
        recorder = _recorder()
        if recorder is not None and recorder.varies(t):
            recorder.refuse("a function looks at the values of its arguments, which a trace cannot record")


_OPAQUE = """
    argwhere bucketize cov istft nanquantile nn.functional.binary_cross_entropy nn.functional.gaussian_nll_loss
    nn.functional.max_unpool1d nn.functional.max_unpool2d nn.functional.max_unpool3d
    nn.functional.multilabel_margin_loss nn.functional.one_hot nonzero quantile repeat_interleave searchsorted
    stft"""
"""Functions that compute with arrays or read values: they run in each call."""


_METHODS = {name: _warning_handler(what) for name, what in _CONVERSIONS.items()}


def _interceptions() -> list[tuple[Any, Any]]:
    pairs = [(vars(TensorConversions)[name], handler) for name, handler in _METHODS.items()]
    pairs += [
        (Tensor.register_hook, _refusing_handler("it registers hooks on tensors")),
        (Tensor.retain_grad, _refusing_handler("it calls retain_grad()")),
        (vars(Function)["apply"].__func__, _apply),
        (Tensor.detach, _detached),
        (vars(Tensor)["data"].fget, _detached),
        (inplace.own_copy, _copied),
        (engine.capture, _capture),
        (engine.execute, _refusing_handler(
            "it calls backward(), which adds to .grad; torch.autograd.grad(..., create_graph=True) gives gradients")),
    ]  # fmt: skip
    package: Any = sys.modules[__name__.partition(".")[0]]
    constant = _while_recording(_constant)
    pairs += [(getattr(package, name), constant) for name in ("tensor", "full", "scalar_tensor", "arange")]
    like = _while_recording(partial(_constant, likes=1))
    pairs += [(package.full_like, like), (Tensor.new_tensor, like), (Tensor.new_full, like)]
    pairs += [(getattr(package, name), _empty) for name in ("empty", "empty_like", "empty_permuted", "empty_strided")]
    pairs += [(getattr(Tensor, name), _empty) for name in ("new_empty", "new_empty_strided")]
    for path in _OPAQUE.split():
        function: Any = package
        for name in path.split("."):
            function = getattr(function, name)
        pairs.append((function, _Hooks.opaque))
    return pairs


_lock = threading.RLock()


@contextlib.contextmanager
def recording(recorder: TraceRecorder) -> Iterator[None]:
    """Record what runs in the ``with`` block, in this context."""
    with _lock:  # one function at a time: interceptions are process-wide
        intercepted = _interceptions()
        former = batched.tracer
        token = current.set(recorder)
        done = []
        try:
            for function, handler in intercepted:
                intercept(function, handler)
                done.append((function, handler))
            batched.tracer = _Hooks
            dispatch_mode.push(recorder)
            yield
        finally:
            dispatch_mode.pop(recorder)
            batched.tracer = former
            for function, handler in reversed(done):
                release(function, handler)
            current.reset(token)
