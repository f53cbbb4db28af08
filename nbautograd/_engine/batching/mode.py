"""Compute operations on batched tensors for all samples at once, as a level does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.core import batched as batched_tensors
from nbautograd._engine.core.batched import BatchedTensor, BatchLevel, SampleArray, batched, level_of
from nbautograd._engine.core.sparse import UnsupportedError
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.shape.broadcasting import expand
from nbautograd._engine.ops.shape.joining import stack
from nbautograd._engine.ops.shape.shape import view
from nbautograd._engine.ops.shape.slicing import select
from nbautograd._engine.ops.shape.transpose import permute
from nbautograd.errors import AutogradError

RANDOM = (
    "_bernoulli", "_normal_around", "_normal_spread", "_normal_both", "poisson", "binomial", "_standard_gamma",
    "_sample_dirichlet",
)  # fmt: skip
"""Operations that draw random numbers."""


class Unsuitable(Exception):  # noqa: N818 - no error: control flow between a rule and the mode
    """An error of a rule that does not support a call, which then runs sample by sample."""


class BatchedCall:
    """One call of an operation with batched arguments.

    ``values`` holds the arguments by name. If ``batched`` is True, dimension 0 of the tensor is the batch dimension;
    for a list of tensors both are lists.
    """

    __slots__ = ("batched", "level", "op", "size", "values")

    def __init__(self, op: Any, level: BatchLevel, values: dict[str, Any], is_batched: dict[str, Any]) -> None:
        self.op, self.level, self.size = op, level, level.size
        self.values, self.batched = values, is_batched

    def ndim(self, name: str) -> int:
        """Return the number of dimensions of one sample."""
        return int(self.values[name]._a.ndim) - bool(self.batched.get(name))

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of one sample."""
        shape = tuple(self.values[name]._a.shape)
        return shape[1:] if self.batched.get(name) else shape

    def full(self, name: str, ndim: int | None = None) -> Any:
        """Return the tensor with the batch dimension in front; expanded if it is shared by all samples.

        :param ndim: dimensions of length 1 are inserted behind the first until a sample has this number of dimensions.
        """
        return aligned(self.values[name], self.batched.get(name, False), self.size, ndim)

    def as_sample(self, name: str) -> Any:
        """Return the argument as a batched tensor, for rules that are written for one sample."""
        value = self.values[name]
        return batched(value, 0, self.level) if self.batched.get(name) else value

    def from_sample(self, result: Any) -> Any:
        """Return the value of a batched result, with the batch dimension in front; expanded if it is not batched."""
        return aligned(*lowered(result, self.level.number), self.size)

    def run(self, **changes: Any) -> Any:
        """Call the operation itself, with some of its arguments changed."""
        return invoke(self.op, {**self.values, **changes})


Rule = Callable[[BatchedCall], Any]
rules: dict[str, Rule] = {}
"""The batching rules by the name of the operation. Operations without one that are not elementwise run in a loop."""

how: dict[str, str] = {}
"""A short description of the rule of each operation, for the documentation."""

batch_options: set[Rule] = set()
"""The rules that accept batched options."""


def rule(names: str, word: str, options: bool = False) -> Callable[[Rule], Rule]:
    """Return a decorator that registers a rule, and its word for the documentation.

    :param options: True if the rule takes batched options.
    """

    def add(function: Rule) -> Rule:
        for name in names.split():
            rules[name], how[name] = function, word
        if options:
            batch_options.add(function)
        return function

    return add


def invoke(op: Any, values: dict[str, Any]) -> Any:
    """Call the operation with its arguments by name."""
    args, kwargs = op.bound(values)
    return op.function(*args, **kwargs)


def aligned(value: Any, is_batched: bool, size: int, ndim: int | None = None) -> Any:
    """Compute ``Call.full`` for a value."""
    if not is_batched:
        value = expand(value, size, *value._a.shape)
    missing = 0 if ndim is None else ndim + 1 - value._a.ndim
    return view(value, size, *(1,) * missing, *value._a.shape[1:]) if missing > 0 else value


def to_front(value: Any, dim: int) -> Any:
    """Return the tensor with a dimension moved to the front."""
    if not dim:
        return value
    return permute(value, dim, *(d for d in range(value._a.ndim) if d != dim))


def contains(value: Any, number: int) -> bool:
    """Return whether an argument is, or contains, a batched tensor of a level."""
    if isinstance(value, (tuple, list)):
        return any(contains(part, number) for part in value)
    if value.__class__ is SampleArray and value.tensor is None:
        value.item()  # part of a SampleArray without its tensor: raises the error
    return level_of(value) == number


def lowered(value: Any, number: int) -> tuple[Any, Any]:
    """Return the value of an argument, batch dimension in front, and whether it was batched; for a list, two lists."""
    if isinstance(value, (tuple, list)):
        if not contains(value, number):
            return value, False
        parts = [lowered(part, number) for part in value]
        return [part for part, _ in parts], [flag for _, flag in parts]
    if level_of(value) != number:
        return value, False
    whole = value if isinstance(value, BatchedTensor) else value.tensor
    return to_front(whole.value, whole.bdim), True


def run(level: Any, op: Any, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run an operation at a level."""
    if op.name in RANDOM and batched_tensors.reader() is level:
        return level.random("distribution", "", op.function, args, kwargs)
    if not any(contains(value, level.number) for value in (*args, *kwargs.values())):
        return call(*args, **kwargs)
    if kwargs.get("out") is not None:
        raise AutogradError(
            f"vmap: out= is not possible for {op.name}() with batched tensors. Omit it, or write in place"
        )
    values, flags = {}, {}
    for name, value in named(op, args, kwargs).items():
        values[name], flag = lowered(value, level.number)
        if flag is not False:  # but True, or a list of flags
            flags[name] = flag
    return wrapped(compute(BatchedCall(op, level, values, flags)), level)


def named(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, defaults included."""
    values = dict(op.defaults)
    values.update(zip(op.positional, args, strict=False))
    if op.rest:
        rest = args[len(op.positional) :]
        values[op.rest] = tuple(rest[0]) if len(rest) == 1 and isinstance(rest[0], (tuple, list)) else rest
    kwargs = {{"axis": "dim", "keepdims": "keepdim"}.get(name, name): value for name, value in kwargs.items()}
    values.update((name, value) for name, value in kwargs.items() if value is not None or name not in values)
    values.pop("out", None) if op.has_out else None
    return values


def compute(call: BatchedCall) -> Any:
    """Compute the result for all samples, with the batch dimension in front."""
    rule = rules.get(call.op.name)
    if rule is None and call.op.kind == "pointwise":
        rule = rules["pointwise"]
    if rule is not None and (rule in batch_options or call.batched.keys() <= {*call.op.tensors}):
        try:
            return rule(call)
        except (Unsuitable, UnsupportedError):  # the latter with a sparse tensor
            pass
    return loop(call)


def wrapped(result: Any, level: BatchLevel) -> Any:
    """Return a result for all samples as a batched tensor."""
    if isinstance(result, Tensor):
        assert result._a.shape[0] == level.size, "a rule has lost the batch"
        return batched(result, 0, level)
    return rebuilt(result, [wrapped(part, level) for part in result]) if isinstance(result, (tuple, list)) else result


def rebuilt(like: Any, parts: list[Any]) -> Any:
    """Return results as a tuple, list or named tuple of the type of ``like``."""
    return getattr(type(like), "_make", type(like))(parts)


# -- sample by sample ------------------------------------------------------------------------------------------------


def loop(call: BatchedCall) -> Any:
    """Run the operation sample by sample."""
    op = call.op
    arrays = {name for name in call.values if name not in op.tensors}

    def run_sample(i: int) -> Any:
        values = dict(call.values)
        for name, flag in call.batched.items():
            values[name] = _sample(values[name], flag, i, name in arrays)
        return invoke(op, values)

    return joined([run_sample(i) for i in range(call.size)], op.name)


def _sample(value: Any, flag: Any, i: int, as_array: bool) -> Any:
    """Return one sample of an argument."""
    if isinstance(flag, list):
        parts = [_sample(part, f, i, as_array) for part, f in zip(value, flag, strict=True)]
        return tuple(parts) if as_array else parts
    if not flag:
        return value
    sample = select(value, 0, i)
    return sample._a if as_array else sample


def per_sample(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], level: BatchLevel) -> Any:
    """Call any function of tensors once for each sample of a level."""
    positions = [lowered(value, level.number) for value in args]
    names = {name: lowered(value, level.number) for name, value in kwargs.items()}
    results = []
    for i in range(level.size):
        values = [_sample(value, flag, i, False) for value, flag in positions]
        results.append(function(*values, **{name: _sample(*pair, i, False) for name, pair in names.items()}))
    return wrapped(joined(results, getattr(function, "__name__", "function")), level)


def elements(level: BatchLevel, public: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that reads elements once for each sample of the innermost level among its arguments."""
    for level in reversed(batched_tensors.levels()):
        if any(contains(value, level.number) for value in (*args, *kwargs.values())):
            return per_sample(public, args, kwargs, level)
    return public.__wrapped__(*args, **kwargs)


def joined(results: list[Any], name: str) -> Any:
    """Return the results of all samples, stacked along a batch dimension in front."""
    if not results:
        raise AutogradError(
            f"vmap: a batch of size 0 is not possible with {name}(), which runs sample by sample: no result exists to "
            "take the shape from"
        )
    first = results[0]
    if isinstance(first, (tuple, list)):
        return rebuilt(first, [joined(list(column), name) for column in zip(*results, strict=True)])
    if not isinstance(first, Tensor):
        return first
    shapes = {tuple(r._a.shape) for r in results}
    if len(shapes) > 1:
        raise AutogradError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
            f"{name}(), whose results for single samples are not of equal size: {sorted(map(list, shapes))}"
        )
    return stack(results)
