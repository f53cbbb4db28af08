"""Random functions inside ``vmap``, by ``randomness``: an error, equal or different numbers for each sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.batching.mode import lowered, per_sample
from nbautograd._engine.core.batched import BatchedTensor, BatchLevel, batched, level_of, without_level
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.shape.broadcasting import expand
from nbautograd._engine.ops.shape.joining import stack
from nbautograd._engine.ops.shape.shape import reshape
from nbautograd._engine.rng.generator import default_generator
from nbautograd.errors import AutogradError

Function = Callable[..., Any]


def check(level: BatchLevel) -> None:
    """Check that random numbers are allowed: that ``randomness`` is not ``"error"``."""
    if level.randomness == "error":
        raise AutogradError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )


def draw(level: BatchLevel, how: str, traced: str, function: Any, args: Any, kwargs: Any) -> Any:
    """Call a random function at the innermost level; ``how`` is its signature, a key of ``_HOW``."""
    check(level)
    with without_level():
        if level.randomness == "same" and how not in ("fill", "each"):
            parameters = {"distribution": (*args, *kwargs.values()), "rows": args}.get(how, ())
            if any(level_of(value) == level.number for value in parameters):
                raise AutogradError(
                    "Vmap does not currently support same randomness with a batched tensor input: the distribution "
                    "differs from sample to sample"
                )
            return function(*args, **kwargs)
        return _HOW[how](level, function, args, kwargs)


def _new(level: BatchLevel, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Batch functions that create a tensor; the second argument is its shape."""
    name, shape, *rest = args
    if rest[-1] is not None:
        raise AutogradError(f"vmap: out= is not possible for {name}() with different numbers for each sample")
    return batched(function(name, (level.size, *shape), *rest, **kwargs), 0, level)


def _permutation(level: BatchLevel, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:

    return batched(stack([function(*args, **kwargs) for _ in range(level.size)]), 0, level)


def _like(level: BatchLevel, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Batch functions that create a tensor with the shape and dtype of the second argument."""
    name, input, *rest = args
    if not isinstance(input, Tensor):
        return function(*args, **kwargs)
    return batched(function(name, _samples(input, level), *rest, **kwargs), 0, level)


def _fill(level: BatchLevel, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Batch in-place functions that fill the first argument."""
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


def _elements(level: BatchLevel, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Draw a random number for each element of the first argument, whose values are not parameters: dropout."""
    input, *rest = args
    whole = input.value if level_of(input) == level.number and not input.bdim else _samples(input, level)
    result = function(whole, *rest, **kwargs)
    return input if result is whole and isinstance(input, BatchedTensor) else batched(result, 0, level)


def _channels(level: BatchLevel, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Draw a random number for each channel of the first argument: channel dropout."""
    input, *rest = args
    whole = _samples(input, level)
    if whole._a.ndim < 3:
        return function(*args, **kwargs)  # raises the error
    result = function(reshape(whole, -1, *whole._a.shape[2:]), *rest, **kwargs)
    return batched(reshape(result, whole._a.shape), 0, level)


def _distribution(level: BatchLevel, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Batch distributions whose parameters are tensors; their leading dimensions are batch dimensions."""
    whole = [_samples(value, level) if isinstance(value, Tensor) else value for value in args]
    return batched(function(*whole, **kwargs), 0, level)


def _rows(level: BatchLevel, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Batch functions whose parameters are the rows of a matrix, or a single row: ``multinomial``."""
    input, *rest = args
    whole = _samples(input, level)
    if whole._a.ndim == 2:
        return batched(function(whole, *rest, **kwargs), 0, level)
    result = function(reshape(whole, -1, whole._a.shape[-1]), *rest, **kwargs)
    return batched(reshape(result, level.size, -1, result._a.shape[-1]), 0, level)


def _each(level: BatchLevel, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Draw sample by sample: the number of draws depends on the elements."""
    state = default_generator.get_state()

    def run_sample(*args: Any, **kwargs: Any) -> Any:
        if level.randomness == "same":
            default_generator.set_state(state)
        return function(*args, **kwargs)

    return per_sample(run_sample, args, kwargs, level)


def _samples(input: Tensor, level: BatchLevel) -> Any:
    """Return the tensor with the batch dimension in front; expanded and copied if it is not batched."""
    value, is_batched = lowered(input, level.number)
    return value if is_batched else expand(input, level.size, *input._a.shape).clone()


_HOW = {
    "new": _new, "permutation": _permutation, "like": _like, "fill": _fill, "elements": _elements,
    "channels": _channels, "distribution": _distribution, "rows": _rows, "each": _each,
}  # fmt: skip
