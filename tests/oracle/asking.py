"""Runs a program under PyTorch, and measures the error of its numbers: only this module imports PyTorch."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from tests import needs
from tests.oracle.answers import Measured, MeasuredComplex, plain

__all__ = ["VERSION", "ask"]

VERSION = torch.__version__.partition("+")[0]
REAL = torch.float16, torch.bfloat16, torch.float32, torch.float64
WIDE = {**dict.fromkeys(REAL, torch.float64), torch.complex64: torch.complex128, torch.complex128: torch.complex128}
OTHER = {**WIDE, torch.float64: torch.float32, torch.complex128: torch.complex64}
"""The precision in which each dtype's operations are run once more: one up, or, at the top, one down."""
COARSE = {torch.float32: torch.bfloat16, torch.float64: torch.float32}
"""Dtypes that hold common numbers such as 0.5, and few others of a wider dtype."""
MOVED = 2
"""The number of runs of a program with moved numbers."""
FACTORS = re.compile("linalg_(qr|lu|svd|eig|ldl|inv|solve|lstsq|det|slogdet|hous)|cholesky|geqrf|ormqr|_solve")
"""Operations that factor a matrix: their error is bounded by the matrix's largest number, not by each number's size."""
DOWN = 2.0**-29
"""The unit in the last place of float64 in that of float32."""


class World:
    """Shadows of tensors, in the other precision of each: a world in which PyTorch runs the same program once more.

    Each block of memory has one shadow, with the tensors at the places of the block: so views, writes in place, saved
    tensors and gradients need no rule.
    """

    def __init__(self, dtypes: dict[Any, Any], seed: int = 0) -> None:
        self.dtypes, self.seed = dtypes, seed
        self.blocks: dict[int, tuple[Any, Any]] = {}

    def of(self, t: torch.Tensor) -> torch.Tensor:
        """The shadow of a tensor; the tensor itself, where it has none."""
        if not has_shadow(t):
            return t
        storage, other = t.untyped_storage(), self.dtypes[t.dtype]
        count = storage.nbytes() // t.dtype.itemsize
        known = self.blocks.get(storage._cdata)
        if known is None or known[1].nbytes() != count * other.itemsize:
            everything = torch.empty(0, dtype=t.dtype).set_(storage, 0, (count,), (1,))
            memory = self.moved(everything.to(other, copy=True), everything).untyped_storage()
            known = self.blocks[storage._cdata] = storage, memory
        shadow = torch.empty(0, dtype=other).set_(known[1], t.storage_offset(), t.size(), t.stride())
        shadow = shadow.conj() if t.is_conj() else shadow
        return torch._neg_view(shadow) if t.is_neg() else shadow

    def moved(
        self, shadow: torch.Tensor, t: torch.Tensor, where: Any = None, units: float = 0.5, matrix: bool = False
    ) -> torch.Tensor:
        """A shadow with numbers moved by up to this many units in the last place; only if this world has a seed.

        :param where: those that cannot be exact; without it, those with many digits.
        :param matrix: whether the units are those of each matrix's largest number.
        """
        where = has_many_digits(t) if where is None else where
        return noisy(shadow, t, where, self.seed, units, matrix) if self.seed else shadow

    def run(self, func: Any, args: Any, kwargs: Any, depth: float = 0.0) -> Any:
        """The results of an operation in this world, or None where PyTorch has it in one precision only.

        :param depth: log2 of the number of added terms: their numbers are moved before.
        """
        is_mutable = func._schema.is_mutable
        matrix = FACTORS.search(func._schema.name) is not None

        def other(value: Any) -> Any:
            if has_shadow(value) and depth and self.seed:
                return self.moved(self.of(value), value, units=depth / 2, matrix=matrix)
            if isinstance(value, torch.Tensor):
                return self.of(value) if has_shadow(value) or not is_mutable else value.clone()
            return self.dtypes.get(value, value) if isinstance(value, torch.dtype) else value

        try:
            result = func(*tree_map(other, args), **tree_map(other, kwargs))
            return [None] if result is None else result  # as operations on lists of tensors return
        except Exception:
            if is_mutable:
                return None

        def nearby(value: Any) -> Any:
            if not has_shadow(value):
                return value
            return self.moved(self.of(value), value, units=1 + depth / 2, matrix=matrix).to(value.dtype)

        try:  # in that precision, with operands moved by some units in the last place
            return func(*tree_map(nearby, args), **tree_map(nearby, kwargs))
        except Exception:
            return None


class Worlds(TorchDispatchMode):
    """Runs each operation of PyTorch again: in another precision, and several times with moved numbers.

    Integers, truth values and random numbers are shared: all runs take the same branches.
    """

    def __init__(self) -> None:
        super().__init__()
        self.exact = World(OTHER)
        self.moved = [World(WIDE, seed) for seed in range(1, 1 + MOVED)]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        operands = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if is_view(func._schema) or not all(map(is_strided, operands)):
            return func(*args, **kwargs)
        worlds = (self.exact, *self.moved)
        found: list[Any] = [None] * len(worlds)
        is_mutable, is_random = func._schema.is_mutable, torch.Tag.nondeterministic_seeded in func.tags
        given = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Generator)]
        generator = given[0] if given else torch.default_generator
        state = generator.get_state() if is_random else None
        result = None if is_mutable else func(*args, **kwargs)
        if is_random and not is_mutable:  # dropout is declared random, even if it drops nothing
            is_random = not torch.equal(generator.get_state(), state)
        is_known = bool(operands) and not is_random
        if is_known:
            found[0] = self.exact.run(func, args, kwargs)
            depth = doublings(func, operands, found[0])
            found[1:] = [world.run(func, args, kwargs, depth) for world in self.moved]
        if is_mutable:
            result = func(*args, **kwargs)
        written = [t for t in written_operands(func._schema, args, kwargs) if has_shadow(t)]
        memory = {t.untyped_storage()._cdata for t in operands}
        fresh = [t if has_shadow(t) and t.untyped_storage()._cdata not in memory else None for t in tree_leaves(result)]
        for world, shadows in zip(worlds, found, strict=True):
            if shadows is None:  # random results are the same everywhere
                for t in written:
                    world.of(t).copy_(t)
            else:
                for t, shadow in zip(fresh, tree_leaves(shadows), strict=True):
                    if t is not None:
                        world.of(t).copy_(shadow)
        if is_known and not is_copy(func):
            for t in [t for t in fresh if t is not None] + written:
                self._round(t)
        return result

    def _round(self, t: torch.Tensor) -> None:
        """Move the numbers that cannot be exact."""
        exact = self.exact.of(t)
        is_rounded = has_many_digits(t) if exact.dtype.itemsize < t.dtype.itemsize else exact.to(t.dtype) != exact
        for world in self.moved:
            shadow = world.of(t)
            shadow.copy_(world.moved(shadow, t, is_rounded))

    def bound(self, value: Any) -> float | None:
        """Return the error bound of PyTorch's numbers: see ``comparison.py``."""
        if isinstance(value, np.ndarray):
            value = self._tensor_of(value)
        if not has_shadow(value):
            return None
        if not value.numel():
            return 0.0
        value = value.detach()
        wide = WIDE[value.dtype]
        theirs, exact = value.to(wide), self.exact.of(value).to(wide)

        def largest(t: Any) -> float:
            return float(t.abs().nan_to_num(0, 0, 0).max())

        is_widest = value.dtype is wide
        errors = [largest(world.of(value) - (theirs if is_widest else exact)) for world in self.moved]
        errors.append(largest(theirs - exact) * (DOWN if is_widest else 1))
        return max(errors) + torch.finfo(value.dtype).eps * max(largest(theirs), largest(exact))

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
    """Return whether a value is a tensor of numbers in memory: forward mode creates others, of zeros and for shapes
    alone.
    """
    is_one = isinstance(value, torch.Tensor) and value.dtype in OTHER and is_strided(value)
    return is_one and not value._is_zerotensor() and value.device.type == "cpu"


def is_strided(t: torch.Tensor) -> bool:
    """Return whether a tensor has numbers in a block of memory, or is one of zeros without (a derivative of sign)."""
    return t.layout is torch.strided and not t.is_nested and t.device.type != "meta"


def is_view(schema: Any) -> bool:
    """Return whether an operation's results share its operands' memory, and nothing is written."""
    infos = [result.alias_info for result in schema.returns]
    return bool(infos) and all(info is not None and not info.is_write for info in infos)


COPIES = {*("_to_copy", "alias", "cat", "clone", "copy", "copy_", "fill_", "gather", "index", "index_select", "stack"),
          "where"}  # fmt: skip


def is_copy(func: Any) -> bool:
    """Return whether an operation only moves numbers, so that none is rounded."""
    return func._schema.name.rpartition("::")[2] in COPIES


def written_operands(schema: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The tensors that an operation writes to."""
    found = []
    for index, argument in enumerate(schema.arguments):
        value = args[index] if index < len(args) else kwargs.get(argument.name)
        if argument.alias_info is not None and argument.alias_info.is_write:
            found += [t for t in tree_leaves(value) if isinstance(t, torch.Tensor)]
    return found


def has_many_digits(t: torch.Tensor) -> torch.Tensor:
    """Return where numbers are not simple ones such as 0.5: only these are moved, so that 0 never becomes negative."""
    if t.dtype.is_complex:
        return has_many_digits(torch.view_as_real(t)).any(-1)
    coarse = COARSE.get(t.dtype)
    return torch.zeros_like(t, dtype=torch.bool) if coarse is None else (t.to(coarse).to(t.dtype) != t)


def noisy(
    t: torch.Tensor, real: torch.Tensor, where: torch.Tensor, seed: int, units: float = 0.5, matrix: bool = False
) -> torch.Tensor:
    """Move numbers by up to this many units in the last place of the real dtype: equal ones equally, to keep ties."""
    size = real.abs().to(torch.float64)
    bits = size.contiguous().view(torch.int64)
    noise = (((bits * 0x9E3779B97F4A7C1) >> (13 * seed)) % (1 << 24)).to(torch.float64) / (1 << 23) - 1
    t = t.to(WIDE[real.dtype])
    unit = noise * units * torch.finfo(real.dtype).eps
    if matrix and t.ndim > 1 and t.numel():
        return torch.where(where, t + unit * size.nan_to_num(0, 0, 0).amax((-2, -1), keepdim=True), t)
    return torch.where(where, t * (1 + unit), t)


def doublings(func: Any, operands: list[torch.Tensor], results: Any) -> float:
    """Return log2 of the number of terms that an operation adds up for one number, by sizes.

    Of a product of matrices (m, k) and (k, n) there are k terms, the root of m k times k n over m n. What factors an
    (m, n) matrix is exact for a matrix that is moved by max(m, n) units (Higham, Accuracy and Stability, 9.3 and 19.4).
    """
    if FACTORS.search(func._schema.name):
        return 2.0 * max((max(t.shape[-2:]) for t in operands if has_shadow(t) and t.ndim > 1), default=0)
    sizes = sorted(t.numel() for t in operands if has_shadow(t))
    smallest = min((t.numel() for t in tree_leaves(results) if has_shadow(t) and t.numel()), default=0)
    if torch.Tag.pointwise in func.tags or is_copy(func) or func._schema.is_mutable or not smallest or not sizes:
        return 0.0
    terms = max(sizes[-1] / smallest, math.sqrt(sizes[-1] * sizes[-2 % len(sizes)] / smallest))
    return math.log2(max(terms, 1))


@contextmanager
def numbers_with_bounds(worlds: Worlds) -> Iterator[None]:
    """``item`` and ``tolist`` return numbers with their error bound."""

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
            if torch._C._functorch.is_functorch_wrapped_tensor(self):
                return value
            with _disable_current_modes():
                return known(value, worlds.bound(self))

        return method_with_bounds

    for name in ("item", "tolist"):
        setattr(torch.Tensor, name, wrapped(name))
    try:
        yield
    finally:
        for name in ("item", "tolist"):
            delattr(torch.Tensor, name)


def ask(program: Callable[..., Any], inputs: tuple[Any, ...], measured: bool = True) -> Any:
    """Return a program's answer under PyTorch, as plain data, with bounds if it is measured.

    What has to raise or to be exact is not measured: where a mode watches its operations, PyTorch leaves out some
    checks of numbers, counts writes to tensors otherwise, and has another inference mode.
    """
    needs.prepared(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not measured:
            return plain(program(torch, *inputs))
        worlds = Worlds()
        with worlds, numbers_with_bounds(worlds):
            result = program(torch, *inputs)
        return plain(result, worlds.bound)
