"""``vmap`` itself: wraps the arguments as batched tensors, calls the function once, and unwraps the results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import nbautograd._engine.batching.rules  # noqa: F401 - fills the table of rules
from nbautograd._engine.batching import mode, random
from nbautograd._engine.batching.mode import aligned, lowered
from nbautograd._engine.core import batched as core_batched, dispatch_mode, inplace
from nbautograd._engine.core.batched import BatchedTensor, BatchLevel, batched, levels, without_level
from nbautograd._engine.core.pytree import broadcast_prefix, tree_flatten, tree_unflatten
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.shape.broadcasting import expand
from nbautograd._engine.ops.shape.joining import cat
from nbautograd._engine.ops.shape.shape import view
from nbautograd._engine.ops.shape.transpose import permute
from nbautograd._engine.rng.generator import default_generator
from nbautograd.errors import AutogradError

Dims = Any
"""An int, None, or a tree of them."""


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Vectorize a function: map ``func`` over a dimension of its arguments, all samples at once.

    :param in_dims: the dimension to map over: an int for all arguments, or a tuple with an entry per argument. An entry
        is an int, None for an argument shared by all samples, or nested like the argument.
    :param out_dims: the position of the batch dimension in the results, for all of them or nested like them. None for a
        result shared by all samples.
    :param randomness: the mode of random functions: raise an ``"error"``, draw ``"different"`` numbers for each sample,
        or the ``"same"``.
    :param chunk_size: the number of samples computed at once; None for all.
    :raises ValueError: ``in_dims`` or ``out_dims`` do not match the arguments or results, or batch sizes differ.
    :raises RuntimeError: ``func`` reads an element of a batched tensor, as by ``.item()`` or ``if``.

    >>> import nbautograd as torch
    >>> torch.vmap(torch.dot)(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([[1., 0.], [0., 1.]]))
    tensor([1., 4.])
    """
    if randomness not in ("error", "different", "same"):
        raise AutogradError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and not (chunk_size == 1 or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        name = getattr(func, "__name__", repr(func))
        leaves, spec, dims, size = _inputs(name, in_dims, args)

        def run(leaves: list[Any], size: int) -> Any:
            with entered(size, randomness) as level:
                inputs = [x if d is None else batched(x, d, level) for x, d in zip(leaves, dims, strict=True)]
                return _outputs(name, func(*tree_unflatten(inputs, spec), **kwargs), out_dims, level)

        if chunk_size is None or not size:
            return run(leaves, size)
        state = default_generator.get_state() if randomness == "same" else None
        parts = []
        for start in range(0, size, chunk_size):
            if state is not None:
                default_generator.set_state(state)
            count = min(chunk_size, size - start)
            chunk = [x if d is None else x.narrow(d, start, count) for x, d in zip(leaves, dims, strict=True)]
            parts.append(run(chunk, count))
        return _concatenated(parts, out_dims)

    return mapped


@contextmanager
def entered(size: int, randomness: str = "error") -> Iterator[BatchLevel]:
    """Enter a level of ``size`` samples for the ``with`` block."""
    stack = levels()
    level = _Level(len(stack) + 1, size, randomness)
    dispatch_mode.push(level)
    try:
        with without_level((*stack, level)):
            yield level
    finally:
        dispatch_mode.pop(level)


# -- arguments -------------------------------------------------------------------------------------------------------


def _inputs(name: str, in_dims: Dims, args: tuple[Any, ...]) -> tuple[list[Any], Any, list[int | None], int]:
    """Return the leaves of the arguments, their structure, the mapped dimension of each, and the batch size."""
    called = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{called}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = broadcast_prefix(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{called}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    dims = [_in_dim(called, x, d) for x, d in zip(leaves, dims, strict=True)]
    sizes = [x._a.shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return leaves, spec, dims, sizes[0]


def _in_dim(called: str, x: Any, dim: Any) -> int | None:
    """Return the dimension of one argument to map over, as a nonnegative index."""
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{called}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
        )
    if not isinstance(x, Tensor):
        raise ValueError(
            f"{called}: Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    n = x._a.ndim
    if not -n <= dim < n:
        raise ValueError(
            f"{called}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {n} so expected "
            f"in_dim to satisfy -{n} <= in_dim < {n}."
        )
    return int(dim % n)


# -- results ---------------------------------------------------------------------------------------------------------


def _outputs(name: str, answer: Any, out_dims: Dims, level: BatchLevel) -> Any:
    """Return the results of a function, unwrapped, with the batch dimensions at ``out_dims``."""
    leaves, spec = tree_flatten(answer)
    dims = _out_dims(name, out_dims, spec)
    return tree_unflatten([_out(name, x, d, level) for x, d in zip(leaves, dims, strict=True)], spec)


def _out_dims(name: str, out_dims: Dims, spec: Any) -> list[Any]:
    """Return the position of the batch dimension for each leaf of the results."""
    if not all(d is None or isinstance(d, int) for d in tree_flatten(out_dims)[0]):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )
    if spec.type is None and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    dims = broadcast_prefix(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return dims


def _out(name: str, x: Any, dim: int | None, level: BatchLevel) -> Any:
    """Return one result, unwrapped."""
    if dim is None:
        if isinstance(x, BatchedTensor) and x.level is level:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return x
    if not isinstance(x, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did you mean to set out_dims= "
            "to None for output?"
        )
    n = x._a.ndim + 1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return placed(x, dim % n, level)


def placed(x: Tensor, dim: int, level: BatchLevel) -> Any:
    """Return the value of a result, with the batch dimension at ``dim``."""
    if isinstance(x, BatchedTensor) and x.level is level and x.bdim == dim:
        return x.value
    value = aligned(*lowered(x, level.number), level.size)
    return permute(value, *range(1, dim + 1), 0, *range(dim + 1, value._a.ndim)) if dim else value


def _concatenated(parts: list[Any], out_dims: Dims) -> Any:
    columns = zip(*(tree_flatten(part)[0] for part in parts), strict=True)
    spec = tree_flatten(parts[0])[1]
    pairs = zip(columns, _out_dims("", out_dims, spec), strict=True)
    return tree_unflatten([values[0] if d is None else cat(list(values), d) for values, d in pairs], spec)


# -- writing in place ------------------------------------------------------------------------------------------------


def write(t: Tensor, result: Tensor) -> Tensor:
    """Write into the samples of ``t``, which is batched wherever ``result`` is; called by ``copy_into``."""
    number = core_batched.level_of(result)
    if core_batched.level_of(t) < number:
        raise AutogradError(
            "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
            "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` "
            "not being vmapped over in a vmap. Please try to use out-of-place operators instead of inplace arithmetic. "
            f"`self` has shape {list(t.shape)}, and only one element for all samples."
        )
    assert isinstance(t, BatchedTensor)
    if number == t.level.number:
        values = placed(result, t.bdim, t.level)
    else:
        shape = list(result._a.shape)
        values = view(result, *shape[: t.bdim], 1, *shape[t.bdim :]) if t.bdim else result
        values = expand(values, *t.value._a.shape)
    inplace.check_writable(t.value, "vmap")
    inplace.copy_into(t.value, values)
    return t


class _Level(BatchLevel):
    """A level with its methods; ``assign`` is ``copy_into`` for samples."""

    run, random, elements, assign = mode.run, random.draw, mode.elements, staticmethod(write)
