"""Runs a program under PyTorch, and measures how far off its numbers are: nothing else here imports PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from tests import needs
from tests.oracle.answers import Measured, MeasuredComplex, plain

__all__ = ["VERSION", "ask"]

VERSION = torch.__version__.partition("+")[0]
OTHER = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.float64: torch.float32,
    torch.complex64: torch.complex128,
    torch.complex128: torch.complex64,
}
"""The precision in which each dtype's operations are run once more: one up, or, where there is none, one down."""
DOWN = 2.0**-29
"""The unit in the last place of float64 in that of float32."""


class World:
    """Shadows of tensors, in the other precision of each: a world in which PyTorch runs the same program once more.

    Each block of memory has one shadow, in which tensors lie as they lie in the block: so views, writes in place, saved
    tensors and gradients need no rule.
    """

    def __init__(self) -> None:
        self.blocks: dict[int, tuple[Any, Any]] = {}

    def of(self, t: torch.Tensor) -> torch.Tensor:
        """The shadow of a tensor, which begins with its numbers; the tensor itself, where it has none."""
        if not has_shadow(t):
            return t
        storage, other = t.untyped_storage(), OTHER[t.dtype]
        count = storage.nbytes() // t.dtype.itemsize
        known = self.blocks.get(storage._cdata)
        if known is None or known[1].nbytes() != count * other.itemsize:
            everything = torch.empty(0, dtype=t.dtype).set_(storage, 0, (count,), (1,))
            known = self.blocks[storage._cdata] = storage, everything.to(other).untyped_storage()
        shadow = torch.empty(0, dtype=other).set_(known[1], t.storage_offset(), t.size(), t.stride())
        shadow = shadow.conj() if t.is_conj() else shadow
        return torch._neg_view(shadow) if t.is_neg() else shadow

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The results of an operation in this world, or None where PyTorch has it in one precision only."""

        def other(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return self.of(value) if has_shadow(value) or not func._schema.is_mutable else value.clone()
            return OTHER.get(value, value) if isinstance(value, torch.dtype) else value

        try:
            return func(*tree_map(other, args), **tree_map(other, kwargs))
        except Exception:
            if func._schema.is_mutable:
                return None
        try:  # in that precision, with operands one unit in the last place away
            return func(*tree_map(moved, args), **tree_map(moved, kwargs))
        except Exception:
            return None


class Worlds(TorchDispatchMode):
    """Runs each operation of PyTorch twice more: in another precision, and in that with each result rounded at random.

    Integers, truth values and random numbers are shared: all three take the same branches.
    """

    def __init__(self) -> None:
        super().__init__()
        self.exact, self.rounded = World(), World()
        self.generator = np.random.default_rng(0)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        operands = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if is_view(func._schema) or not all(map(is_strided, operands)):
            return func(*args, **kwargs)
        worlds = (self.exact, self.rounded)
        is_known = bool(operands) and torch.Tag.nondeterministic_seeded not in func.tags
        found = [world.run(func, args, kwargs) if is_known else None for world in worlds]
        result = func(*args, **kwargs)
        written = written_operands(func._schema, args, kwargs)
        memory = {t.untyped_storage()._cdata for t in operands}
        for world, shadows in zip(worlds, found, strict=True):
            if shadows is None:  # what was drawn at random is the same everywhere
                for t in filter(has_shadow, written):
                    world.of(t).copy_(t)
                continue
            for real, shadow in zip(tree_leaves(result), tree_leaves(shadows), strict=True):
                if has_shadow(real) and real.untyped_storage()._cdata not in memory:
                    world.of(real).copy_(shadow)
        if is_known and not is_copy(func):
            fresh = [t for t in tree_leaves(result) if has_shadow(t) and t.untyped_storage()._cdata not in memory]
            for t in fresh + [t for t in written if has_shadow(t)]:
                self._round(t)
        return result

    def _round(self, t: torch.Tensor) -> None:
        """Move the numbers that cannot be exact by up to half a unit in the last place."""
        exact, rounded = self.exact.of(t), self.rounded.of(t)
        wide, narrow = (exact, t.dtype) if exact.dtype.itemsize > t.dtype.itemsize else (t, exact.dtype)
        is_rounded = wide.to(narrow).to(wide.dtype) != wide
        noise = torch.from_numpy(self.generator.uniform(-0.5, 0.5, tuple(t.shape))) * torch.finfo(narrow).eps
        rounded.copy_(torch.where(is_rounded, rounded * (1 + noise), rounded))

    def bound(self, value: Any) -> float | None:
        """How far off numbers of PyTorch may be: see ``comparison.py``."""
        if isinstance(value, np.ndarray):
            value = self._tensor_of(value)
        if not has_shadow(value):
            return None
        if not value.numel():
            return 0.0
        value = value.detach()
        wide = torch.complex128 if value.dtype.is_complex else torch.float64
        theirs, exact, rounded = (t.to(wide) for t in (value, self.exact.of(value), self.rounded.of(value)))

        def largest(t: Any) -> float:
            return float(t.abs().nan_to_num(0, 0, 0).max())

        error = max(largest(theirs - exact), largest(rounded - exact))
        ratio = DOWN if value.dtype in (torch.float64, torch.complex128) else 1
        return error * ratio + torch.finfo(value.dtype).eps * max(largest(theirs), largest(exact))

    def _tensor_of(self, array: np.ndarray[Any, Any]) -> Any:
        """The tensor whose memory an array looks at, or None."""
        start = array.__array_interface__["data"][0]
        for storage, _ in self.exact.blocks.values():
            if storage.data_ptr() <= start < storage.data_ptr() + storage.nbytes():
                dtype = torch.from_numpy(np.empty(0, array.dtype)).dtype
                offset = (start - storage.data_ptr()) // dtype.itemsize
                strides = tuple(s // dtype.itemsize for s in array.strides)
                if any(s < 0 for s in strides):
                    return None
                return torch.empty(0, dtype=dtype).set_(storage, offset, array.shape, strides)
        return None


def has_shadow(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in OTHER and is_strided(value)


def is_strided(t: torch.Tensor) -> bool:
    return t.layout is torch.strided and not t.is_nested


def is_view(schema: Any) -> bool:
    """Whether an operation's results lie in its operands' memory, and nothing is written."""
    infos = [result.alias_info for result in schema.returns]
    return bool(infos) and all(info is not None and not info.is_write for info in infos)


COPIES = frozenset(
    {"_to_copy", "alias", "cat", "clone", "copy", "copy_", "fill_", "gather", "index", "index_select", "stack", "where"}
)


def is_copy(func: Any) -> bool:
    """Whether an operation only moves numbers, so that none is rounded."""
    return func._schema.name.rpartition("::")[2] in COPIES


def written_operands(schema: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The tensors that an operation writes to."""
    found = []
    for index, argument in enumerate(schema.arguments):
        value = args[index] if index < len(args) else kwargs.get(argument.name)
        if argument.alias_info is not None and argument.alias_info.is_write:
            found += [t for t in tree_leaves(value) if isinstance(t, torch.Tensor)]
    return found


def moved(value: Any) -> Any:
    """A tensor of which each number is one unit in the last place larger or smaller."""
    if not has_shadow(value) or value.dtype.is_complex:
        return value
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=tuple(value.shape))
    return value * (1 + torch.tensor(signs) * torch.finfo(value.dtype).eps).to(value.dtype)


@contextmanager
def numbers_with_bounds(worlds: Worlds) -> Iterator[None]:
    """``item`` and ``tolist`` return numbers that know how far off they may be."""

    def known(value: Any, bound: float | None) -> Any:
        if isinstance(value, list):
            return [known(part, bound) for part in value]
        if bound is None or not isinstance(value, (float, complex)):
            return value
        number: Any = MeasuredComplex(value) if isinstance(value, complex) else Measured(value)
        number.bound = bound
        return number

    def wrapped(name: str) -> Callable[[torch.Tensor], Any]:
        method = getattr(torch.Tensor, name)

        def method_with_bounds(self: torch.Tensor) -> Any:
            value = method(self)
            return known(value, None if torch._C._functorch.is_functorch_wrapped_tensor(self) else worlds.bound(self))

        return method_with_bounds

    for name in ("item", "tolist"):
        setattr(torch.Tensor, name, wrapped(name))
    try:
        yield
    finally:
        for name in ("item", "tolist"):
            delattr(torch.Tensor, name)


def ask(program: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
    """What a program answers under PyTorch, as plain data with bounds."""
    needs.prepared(torch)
    worlds = Worlds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with worlds, numbers_with_bounds(worlds):
            result = program(torch, *inputs)
        return plain(result, worlds.bound)
