"""``torch.compile`` and ``torch.compiler``: accepted without effect, because functions run as they are written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

from nbautograd._names import absent
from nbautograd._names.docstrings import import_in_module

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "config", "cudagraph_mark_step_begin", "disable",
    "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends",
    "nested_compile_region", "reset", "save_cache_artifacts", "set_default_backend", "set_enable_guard_collectives",
    "set_stance", "substitute_in_graph", "wrap_numpy",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])
MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


class Settings(ModuleType):
    """A module of settings for programs to assign to: they are stored without effect."""

    def __init__(self, name: str, **settings: Any) -> None:
        super().__init__(name, "Settings of PyTorch's compiler, stored without effect.")
        vars(self).update(settings)

    def __getattr__(self, name: str) -> Any:
        absent.fail(self.__name__.partition(".")[2], name)

    @contextlib.contextmanager
    def patch(self, name: str | dict[str, Any] | None = None, value: Any = None, /, **settings: Any) -> Any:
        """Set options in a ``with`` block or a decorated function.

        >>> with torch._dynamo.config.patch(suppress_errors=True):
        ...     torch._dynamo.config.suppress_errors
        True
        """
        changed = settings | (name if isinstance(name, dict) else {} if name is None else {name: value})
        before = dict(vars(self))
        vars(self).update(changed)
        try:
            yield
        finally:
            vars(self).clear()
            vars(self).update(before)


config = Settings(
    "nbautograd._engine.compiler.config", job_id=None, force_disable_caches=False, dynamic_sources="",
    unbacked_sources="", cudagraph_backend_keep_input_mutation=True,
)  # fmt: skip


def compile(
    model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor", mode: str | None = None, options: dict[str, Any] | None = None,
    disable: bool = False, recompile_limit: int | None = None,
) -> Any:  # fmt: skip
    """Return the function or module: compiling changes nothing, because functions run as they are written.

    Also a decorator, with and without arguments. Arithmetic of large arrays is always tiled and fused.

    :param model: the function or module; None for a decorator with arguments.
    :param fullgraph, dynamic, disable, recompile_limit: accepted and ignored.
    :param backend: as in PyTorch; only the form of this and the following options is checked.
    :param mode: ``"default"``, ``"reduce-overhead"``, ``"max-autotune"`` or another of PyTorch's.
    :param options: a dict, which is ignored.
    :returns: ``model``.
    :raises AssertionError: the argument is not callable.
    :raises RuntimeError: ``mode`` is unknown, or is given together with ``options``.

    >>> @torch.compile(mode="reduce-overhead")
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if backend == "inductor" and mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if model is None:
        return compile
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return model


def is_compiling() -> bool:
    """Return False: nothing is compiled.

    :returns: False.

    >>> torch.compiler.is_compiling()
    False
    """
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Do nothing: there is no compiled code to drop.

    :returns: None.

    >>> torch.compiler.reset()
    """


def cudagraph_mark_step_begin() -> None:
    """Do nothing: no graphs are recorded on the device.

    :returns: None.

    >>> torch.compiler.cudagraph_mark_step_begin()
    """


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None, **kwargs: Any) -> Any:
    """Return the function, or a decorator that returns it: nothing is compiled.

    :param fn: the function or module; None for a decorator with arguments.
    :param recursive, reason, kwargs: accepted and ignored.
    :returns: ``fn``, or the decorator.

    >>> @torch.compiler.disable(recursive=False)
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    return _same if fn is None else fn


def _same(fn: F) -> F:
    return fn


def allow_in_graph(fn: Any) -> Any:
    """Mark a function, or a list of functions, for a compiler; it runs as written.

    :param fn: the function, or a list or tuple of functions.
    :returns: ``fn``.
    :raises AssertionError: the argument is not callable.

    >>> torch.compiler.allow_in_graph(torch.sin) is torch.sin
    True
    """
    for each in fn if isinstance(fn, (list, tuple)) else [fn]:
        if not callable(each):
            raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: F) -> F:
    """Mark a function for a compiler; it is called each time.

    :param fn: the function.
    :returns: ``fn``.

    >>> torch.compiler.assume_constant_result(torch.sin) is torch.sin
    True
    """
    return fn


def wrap_numpy(fn: F) -> F:
    """Return the function: a compiler would trace NumPy's functions in it.

    :param fn: the function.
    :returns: ``fn``; PyTorch's version takes and returns tensors for a function of NumPy arrays.

    >>> torch.compiler.wrap_numpy(torch.sin) is torch.sin
    True
    """
    return fn


def nested_compile_region(fn: Any = None, **kwargs: Any) -> Any:
    """Return the function, or a decorator that returns it: a compiler would compile it once for all calls.

    :param fn: the function; None for a decorator with arguments.
    :param kwargs: accepted and ignored.
    :returns: ``fn``, or the decorator.

    >>> @torch.compiler.nested_compile_region
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    return _same if fn is None else fn


def substitute_in_graph(original_fn: Callable[..., Any], **kwargs: Any) -> Callable[[F], F]:
    """Return a decorator that returns its function, which a compiler would substitute for another.

    :param original_fn: the function to replace.
    :param kwargs: accepted and ignored.
    :returns: a decorator.

    >>> @torch.compiler.substitute_in_graph(abs)
    ... def absolute(x):
    ...     return x if x > 0 else -x
    >>> absolute(-2)
    2
    """
    return _same


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Return an empty list: there is no compiler.

    :param exclude_tags: accepted and ignored.
    :returns: an empty list.

    >>> torch.compiler.list_backends()
    []
    """
    return []


_backend: Any = "inductor"
_collectives = False


def get_default_backend() -> Any:
    """Return the setting of ``set_default_backend``, initially ``"inductor"`` as in PyTorch.

    :returns: the stored name or function.

    >>> torch.compiler.get_default_backend()
    'inductor'
    """
    return _backend


def set_default_backend(backend: Any) -> None:
    """Store the name, which has no effect.

    :param backend: a name or a function, which is not checked.
    :returns: None.

    >>> torch.compiler.set_default_backend("eager")
    >>> torch.compiler.get_default_backend()
    'eager'
    >>> torch.compiler.set_default_backend("inductor")
    """
    global _backend
    _backend = backend


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Store the setting, which has no effect, and return the previous one.

    :param enabled: the setting.
    :returns: the previous setting, initially False.

    >>> torch.compiler.set_enable_guard_collectives(True)
    False
    >>> torch.compiler.set_enable_guard_collectives(False)
    True
    """
    global _collectives
    before, _collectives = _collectives, enabled
    return before


def save_cache_artifacts() -> None:
    """Return None, as in PyTorch without compiled code.

    :returns: None.

    >>> torch.compiler.save_cache_artifacts() is None
    True
    """


class set_stance:  # noqa: N801 - PyTorch's name
    """A function, context manager and decorator without effect: nothing is compiled.

    :param stance: ``"default"``, ``"force_eager"`` or another of PyTorch's, which is not checked.
    :param settings: accepted and ignored.
    :returns: a context manager, which is also a decorator.

    >>> with torch.compiler.set_stance("force_eager"):
    ...     x = torch.ones(2) + 1
    """

    def __init__(self, stance: str = "default", **settings: Any) -> None:
        self.stance = stance

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...

    def __call__(self, fn: F) -> F:
        """Return the function unchanged."""
        return fn


import_in_module(__name__)
