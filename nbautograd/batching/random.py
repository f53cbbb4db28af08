"""What random functions draw inside of ``vmap``: nothing, the same for all samples, or different numbers for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd.batching.mode import lowered, per_sample
from nbautograd.core import batched as core_batched
from nbautograd.core.batched import BatchedTensor, Level, batched, level_of, without_level
from nbautograd.core.tensor import Tensor
from nbautograd.errors import AutogradError
from nbautograd.ops.shape.broadcasting import expand
from nbautograd.ops.shape.joining import stack
from nbautograd.ops.shape.shape import reshape
from nbautograd.rng import generator

__all__ = ["get_state", "set_state"]


def get_state() -> Any:
    """The state of the default generator."""
    return generator.default_generator.get_state()


def set_state(state: Any) -> None:
    """Set it again."""
    generator.default_generator.set_state(state)


def check(level: Level) -> None:
    """Make sure that random numbers may be drawn.

    :raises RuntimeError: ``vmap`` was not told which.
    """
    if level.randomness == "error":
        raise AutogradError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )


def on_random(how: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a random function inside of ``vmap``; ``how`` says what its arguments are, see below."""
    level = core_batched.innermost()
    assert level is not None
    check(level)
    with without_level():
        return _HOW[how](level, function, args, kwargs)


def _new(level: Level, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A new tensor of a shape, the second argument."""
    if level.randomness == "same":
        return function(*args, **kwargs)
    name, shape, *rest = args
    if rest[-1] is not None:
        raise AutogradError(f"vmap: out= is not possible for {name}() with different numbers for each sample")
    return batched(function(name, (level.size, *shape), *rest, **kwargs), 0, level)


def _permutation(level: Level, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One after the other for each sample."""
    if level.randomness == "same":
        return function(*args, **kwargs)
    return batched(stack([function(*args, **kwargs) for _ in range(level.size)]), 0, level)


def _like(level: Level, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A new tensor like another, the second argument, whose elements do not matter."""
    name, input, *rest = args
    if level.randomness == "same" or not isinstance(input, Tensor):
        return function(*args, **kwargs)
    return batched(function(name, _samples(input, level), *rest, **kwargs), 0, level)


def _fill(level: Level, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A tensor that is filled, the first argument."""
    t, *rest = args
    if level_of(t) != level.number:
        if level.randomness == "different":
            raise AutogradError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
                "randomness: there is one element for all samples."
            )
        return function(*args, **kwargs)
    if level.randomness == "same":
        return t.copy_(function(t.new_empty(t.shape), *rest, **kwargs))
    function(t.value, *rest, **kwargs)
    return t


def _elements(level: Level, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A number for each element of the first argument, on which the distribution does not depend."""
    if level.randomness == "same":
        return function(*args, **kwargs)
    input, *rest = args
    whole = input.value if level_of(input) == level.number and not input.bdim else _samples(input, level)
    result = function(whole, *rest, **kwargs)
    return input if result is whole and isinstance(input, BatchedTensor) else batched(result, 0, level)


def _channels(level: Level, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A number for each channel of the first argument."""
    if level.randomness == "same":
        return function(*args, **kwargs)
    input, *rest = args
    whole = _samples(input, level)
    if whole._a.ndim < 3:
        return function(*args, **kwargs)  # which says that this is too few
    result = function(reshape(whole, -1, *whole._a.shape[2:]), *rest, **kwargs)
    return batched(reshape(result, *whole._a.shape), 0, level)


def _distribution(level: Level, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Tensors are parameters of distributions, which the dimensions in front only count."""
    _check_same(level, (*args, *kwargs.values()))
    if level.randomness == "same":
        return function(*args, **kwargs)
    whole = [_samples(value, level) if isinstance(value, Tensor) else value for value in args]
    return batched(function(*whole, **kwargs), 0, level)


def _rows(level: Level, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The rows of a matrix, or one row, are the parameters: ``multinomial``."""
    _check_same(level, args)
    if level.randomness == "same":
        return function(*args, **kwargs)
    input, *rest = args
    whole = _samples(input, level)
    if whole._a.ndim == 2:
        return batched(function(whole, *rest, **kwargs), 0, level)
    result = function(reshape(whole, -1, whole._a.shape[-1]), *rest, **kwargs)
    return batched(reshape(result, level.size, -1, result._a.shape[-1]), 0, level)


def _each(level: Level, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Sample by sample: the elements decide how many numbers are drawn."""
    state = get_state()

    def one(*args: Any, **kwargs: Any) -> Any:
        if level.randomness == "same":
            set_state(state)
        return function(*args, **kwargs)

    return per_sample(one, args, kwargs, level)


def _check_same(level: Level, values: tuple[Any, ...]) -> None:
    if level.randomness == "same" and any(level_of(value) == level.number for value in values):
        raise AutogradError(
            "Vmap does not currently support same randomness with a batched tensor input: the distribution differs "
            "from sample to sample"
        )


def _samples(input: Tensor, level: Level) -> Any:
    """A tensor of all samples, repeated if there is one for all."""
    value, is_batched = lowered(input, level.number)
    return value if is_batched else expand(input, level.size, *input._a.shape).clone()


_HOW = {
    "new": _new,
    "permutation": _permutation,
    "like": _like,
    "fill": _fill,
    "elements": _elements,
    "channels": _channels,
    "distribution": _distribution,
    "rows": _rows,
    "each": _each,
}
core_batched.on_random = on_random
