"""Custom Functions inside ``vmap``: their ``vmap`` staticmethod, or a generated batching rule."""

from __future__ import annotations

from typing import Any, NamedTuple

from nbautograd._engine.batching.mode import lowered
from nbautograd._engine.batching.transform import entered, placed
from nbautograd._engine.core.batched import (
    BatchedTensor,
    BatchLevel,
    NoRuleError,
    batched,
    level_of,
    levels,
    without_level,
)
from nbautograd._engine.core.pytree import broadcast_prefix, tree_flatten, tree_map, tree_unflatten
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import AutogradError


class VmapInfo(NamedTuple):
    """The first argument of a Function's ``vmap``: the batch size and the ``randomness``."""

    batch_size: int
    randomness: str


def apply_batched(cls: Any, base: Any, args: tuple[Any, ...]) -> Any:
    """Run ``cls.apply(*args)`` with a batched tensor among the arguments; ``base`` is ``Function``."""
    name, own_rule = cls.__name__, cls.vmap is not base.vmap
    if own_rule and cls.generate_vmap_rule:
        raise AutogradError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            "ambiguity."
        )
    if not own_rule and not cls.generate_vmap_rule:
        raise NoRuleError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True."
        )
    number = max(level_of(leaf) for leaf in tree_flatten(args)[0])
    stack = levels()
    level = stack[number - 1]
    with without_level(stack[: number - 1]):
        if own_rule:
            return _by_own_rule(cls, args, level)
        values, dims = _taken_apart(args, level)
        generated = _generated(cls, base, dims, level)
        return _wrapped(generated.apply(*values), generated.out_dims, level)


def _taken_apart(args: Any, level: BatchLevel) -> tuple[Any, Any]:
    """Return the arguments without a level, and the batch dimension of each; None for one that is not batched."""
    leaves, spec = tree_flatten(args)
    own = [leaf.__class__ is BatchedTensor and leaf.level is level for leaf in leaves]
    values = [leaf.value if flag else leaf for leaf, flag in zip(leaves, own, strict=True)]
    dims = [leaf.bdim if flag else None for leaf, flag in zip(leaves, own, strict=True)]
    return tree_unflatten(values, spec), tree_unflatten(dims, spec)


def _by_own_rule(cls: Any, args: tuple[Any, ...], level: BatchLevel) -> Any:
    """Return the result of the class's ``vmap`` staticmethod."""
    values, dims = _taken_apart(args, level)
    answer = cls.vmap(VmapInfo(level.size, level.randomness), dims, *values)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise AutogradError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got a {type(answer)} instead"
        )
    output, out_dims = answer
    leaves, spec = tree_flatten(output)
    placing = broadcast_prefix(out_dims, spec)
    if placing is None:
        raise AutogradError(
            f"The vmap staticmethod of {cls.__name__} returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims to be compatible with the structure of output, {spec}, got {out_dims}"
        )
    wrapped = [x if d is None else batched(x, d % x.dim(), level) for x, d in zip(leaves, placing, strict=True)]
    return tree_unflatten(wrapped, spec)


# -- the generated rule ----------------------------------------------------------------------------------------------


def _generated(cls: Any, base: Any, dims: tuple[Any, ...], outer: BatchLevel) -> Any:
    """Return a Function over all samples, whose methods run those of ``cls`` on batched tensors."""
    size, randomness = outer.size, outer.randomness

    def forward(*values: Any) -> Any:
        with entered(size, randomness) as level:
            output = cls.forward(*_wrapped(values, dims, level))
            generated.out_dims = tree_map(lambda x: 0 if level_of(x) == level.number else None, output)
            return _unwrapped(output, level)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        with entered(size, randomness) as level:
            ctx.samples = _SampleContext(level, ctx)
            ctx.out_dims = generated.out_dims
            cls.setup_context(ctx.samples, _wrapped(inputs, dims, level), _wrapped(output, ctx.out_dims, level))

    def backward(ctx: Any, *grads: Any) -> Any:
        out_dims = ctx.out_dims if isinstance(ctx.out_dims, tuple) else (ctx.out_dims,)
        with entered(size, randomness) as level:
            answer = cls.backward(ctx.samples.at(level, ctx, False), *_wrapped(grads, out_dims, level))
            answers = answer if isinstance(answer, tuple) else (answer,)
            return tuple(_gradient(g, d, level) for g, d in zip(answers, dims, strict=True))

    def jvp(ctx: Any, *tangents: Any) -> Any:
        with entered(size, randomness) as level:
            return _unwrapped(cls.jvp(ctx.samples.at(level, ctx, True), *_wrapped(tangents, dims, level)), level)

    methods = {method.__name__: staticmethod(method) for method in (forward, setup_context, backward, jvp)}
    members = {**methods, "out_dims": None, "generate_vmap_rule": True}
    generated: Any = type(cls)(f"Vmapped{cls.__name__}", (base,), members)
    return generated


def _wrapped(tree: Any, dims: Any, level: BatchLevel) -> Any:
    """Return batched tensors with the batch dimensions ``dims``; a tensor whose entry is None is unchanged."""
    leaves, spec = tree_flatten(tree)
    pairs = zip(leaves, tree_flatten(dims)[0], strict=True)
    return tree_unflatten([x if d is None or x is None else batched(x, d, level) for x, d in pairs], spec)


def _unwrapped(tree: Any, level: BatchLevel) -> Any:
    """Return the values of batched tensors, with the batch dimension in front."""
    return tree_map(lambda x: lowered(x, level.number)[0] if isinstance(x, Tensor) else x, tree)


def _gradient(g: Any, dim: int | None, level: BatchLevel) -> Any:
    """Return the gradient of an argument: batched, or summed over the samples if the argument is not batched."""
    if g is None:
        return None
    if dim is not None:
        return placed(g, dim, level)
    value, is_batched = lowered(g, level.number)
    return value.sum(0) if is_batched else value


class _SampleContext:
    """The ``ctx`` of the Function's methods; it saves batched tensors in the context of all samples."""

    def __init__(self, level: BatchLevel, ctx: Any) -> None:
        self._level, self._ctx, self._forward = level, ctx, False
        # The batch dimensions of the saved tensors; by whether they are for jvp.
        self._dims: dict[bool, tuple[int | None, ...]] = {}

    def at(self, level: BatchLevel, ctx: Any, forward: bool) -> _SampleContext:
        """Return a copy for another level and another context of all samples."""
        same = _SampleContext(level, ctx)
        same.__dict__.update({**self.__dict__, "_level": level, "_ctx": ctx, "_forward": forward})
        return same

    @property
    def needs_input_grad(self) -> Any:
        """For each argument, True if its gradient is requested."""
        return self._ctx.needs_input_grad

    @property
    def saved_tensors(self) -> Any:
        """The saved tensors, as batched tensors."""
        return _wrapped(tuple(self._ctx.saved_tensors), self._dims.get(self._forward, ()), self._level)

    def _to_save(self, tensors: tuple[Any, ...], forward: bool) -> list[Any]:
        number = self._level.number
        self._dims[forward] = tuple(0 if level_of(t) == number else None for t in tensors)
        return [None if t is None else lowered(t, number)[0] for t in tensors]

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors for ``backward``."""
        self._ctx.save_for_backward(*self._to_save(tensors, False))

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors for ``jvp``."""
        self._ctx.save_for_forward(*self._to_save(tensors, True))

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether missing gradients are passed as zeros."""
        self._ctx.set_materialize_grads(value)

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Declare the outputs that are not differentiable."""
        self._ctx.mark_non_differentiable(*(t.value if isinstance(t, BatchedTensor) else t for t in tensors))

    def mark_dirty(self, *tensors: Any) -> None:
        """Raise RuntimeError: a batched tensor does not have its own memory."""
        raise AutogradError(
            "NYI: mark_dirty is not supported in the vmap of an autograd.Function with generate_vmap_rule=True. Give "
            "the Function a vmap staticmethod"
        )
