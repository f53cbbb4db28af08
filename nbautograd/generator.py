"""PyTorch's CPU random numbers, number for number: the Mersenne Twister and what is made of its 32-bit words.

The streams were worked out from PyTorch's outputs (see ``tests/test_generator.py``, which compares them): uniform
numbers take the low 24 (float32) or 53 (float64) bits of a word or of two; normal ones come from the Box-Muller
transform, for fewer than 16 elements in pairs in double precision, otherwise in blocks of 16.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["Generator", "default_generator"]

Array = np.ndarray[Any, Any]
DEFAULT_SEED = 67280421310721  # what a generator has before anybody seeds it

# The layout of PyTorch's state: seed, words left before the next twist, two flags and the index of the next word,
# the 624 words in 64 bits each, and the normal number that is kept for the next draw.
_STATE = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", (624,)),
        ("normal_x", "<f8"),
        ("normal_y", "<f8"),
        ("normal_rho", "<f8"),
        ("normal_is_valid", "<i4"),
        ("padding", "<i4"),
        ("next_float_normal", "<f4"),
        ("has_float_normal", "<i4"),
    ]
)


class Generator:
    """A source of random numbers.

    >>> import nbautograd as torch
    >>> g = torch.Generator().manual_seed(42)
    >>> torch.rand(2, generator=g)
    tensor([0.8823, 0.9150])
    """

    def __init__(self, device: Any = "cpu") -> None:
        if str(device) != "cpu":
            raise RuntimeError(f"Generator(): only device='cpu' is supported, got {device!r}")
        self.device = device
        self._seed = DEFAULT_SEED
        self._twister: Any = None  # made when first needed: importing numpy.random takes time
        self._kept: float | None = None  # the second normal number of a pair

    # -- seeds and states ---------------------------------------------------------------------------------------------

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of ``seed``, an integer of at most 64 bits; negative ones count from the top.

        :raises RuntimeError: it does not fit.
        """
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise RuntimeError(f"Overflow when unpacking long: a seed must be in [-2**63, 2**64), got {seed}")
        self._seed = seed % 2**64
        self._twister = self._kept = None
        return self

    def seed(self) -> int:
        """Seed with a number from the operating system, and return it."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little") >> 11)
        return self._seed

    def initial_seed(self) -> int:
        """The number that the stream was started with."""
        return self._seed

    def get_state(self) -> Array:
        """The state as bytes, in PyTorch's layout."""
        key, position = self._mt().get_state(legacy=False)["state"].values()
        state = np.zeros((), _STATE)
        state["seed"], state["seeded"], state["words"] = self._seed, 1, key
        state["left"], state["next"] = (1, 0) if position == 624 else (624 - position + 1, position)
        if self._kept is not None:
            state["normal_is_valid"], state["normal_y"] = 1, self._kept
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    def set_state(self, state: Any) -> Generator:
        """Go on from a state that ``get_state`` (or PyTorch's) returned.

        :raises RuntimeError: it is no such state.
        """
        raw = np.asarray(getattr(state, "_a", state))
        if raw.dtype != np.uint8 or raw.size != _STATE.itemsize:
            raise RuntimeError(f"RNG state is wrong size: expected {_STATE.itemsize} bytes of dtype uint8, got {raw.size} of {raw.dtype}")
        found = np.frombuffer(raw.tobytes(), _STATE)[0]
        left = int(found["left"])
        twister = self._fresh(0)
        position = 624 if left == 1 and int(found["next"]) == 0 else 624 - left + 1
        words = found["words"].astype(np.uint32)
        twister.set_state({"bit_generator": "MT19937", "state": {"key": words, "pos": position}})
        self._seed, self._twister = int(found["seed"]), twister
        self._kept = float(found["normal_y"]) if found["normal_is_valid"] else None
        return self

    def _fresh(self, seed: int) -> Any:
        from numpy.random import RandomState

        return RandomState(seed & 0xFFFFFFFF)

    def _mt(self) -> Any:
        if self._twister is None:
            self._twister = self._fresh(self._seed)
        return self._twister

    # -- words --------------------------------------------------------------------------------------------------------

    def words(self, n: int) -> Array:
        """The next n 32-bit words, as uint64."""
        drawn: Array = self._mt().randint(0, 2**32, n, np.uint32)
        return drawn.astype(np.uint64)

    def long_words(self, n: int) -> Array:
        """The next n 64-bit words, each of two draws, the first being the high one."""
        pairs = self.words(2 * n)
        return (pairs[0::2] << np.uint64(32)) | pairs[1::2]

    # -- distributions ------------------------------------------------------------------------------------------------

    def _unit(self, n: int, dtype: np.dtype[Any]) -> Array:
        """n uniform numbers in [0, 1)."""
        if dtype == np.float64:
            return (self.long_words(n) & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53
        return ((self.words(n) & np.uint64(2**24 - 1)).astype(np.float32) * np.float32(2.0**-24)).astype(dtype)

    def rand(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """Uniform numbers in [0, 1)."""
        return self._unit(math.prod(shape), np.dtype(dtype)).reshape(tuple(shape))

    def uniform(self, shape: Sequence[int], dtype: np.dtype[Any], low: float, high: float) -> Array:
        """Uniform numbers in [low, high)."""
        # PyTorch's machine code multiplies and adds with one rounding; a wider type does the same.
        wide = np.longdouble if np.dtype(dtype) == np.float64 else np.float64
        unit = self.rand(shape, np.promote_types(dtype, np.float32)).astype(wide)
        return (unit * (wide(high) - wide(low)) + wide(low)).astype(dtype)

    def randint(self, shape: Sequence[int], low: int, high: int) -> Array:
        """Integers in [low, high), as int64."""
        n, span = math.prod(shape), high - low
        drawn = self.words(n) if span < 2**32 else self.long_words(n)
        return ((drawn % np.uint64(span)).astype(np.int64) + low).reshape(tuple(shape))

    def randperm(self, n: int) -> Array:
        """The integers below n in random order, as int64."""
        order = list(range(n))
        steps = (self.words(max(n - 1, 0)) % np.arange(n, 1, -1, dtype=np.uint64)).tolist()
        for i, step in enumerate(steps):
            j = i + step
            order[i], order[j] = order[j], order[i]
        return np.array(order, np.int64)

    def normal(self, shape: Sequence[int], dtype: np.dtype[Any], mean: float, std: float) -> Array:
        """Normal numbers. (float16 in more than 16 elements is not PyTorch's stream.)"""
        n, kind = math.prod(shape), np.dtype(dtype)
        if n < 16:
            values = np.array([self._one_normal() * std + mean for _ in range(n)], np.float64).astype(kind)
        else:
            values = self._normal_blocks(n, kind, mean, std)
        return values.reshape(tuple(shape))

    def randn(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """Normal numbers with mean 0 and standard deviation 1."""
        return self.normal(shape, dtype, 0.0, 1.0)

    def _one_normal(self) -> float:
        if self._kept is not None:
            value, self._kept = self._kept, None
            return value
        u1, u2 = self._unit(2, np.dtype(np.float64)).tolist()
        radius, angle = math.sqrt(-2 * math.log1p(-u2)), 2 * math.pi * u1
        self._kept = radius * math.sin(angle)
        return radius * math.cos(angle)

    def _normal_blocks(self, n: int, dtype: np.dtype[Any], mean: float, std: float) -> Array:
        values = self._unit(n, dtype)
        whole = n - n % 16
        values[:whole] = _box_muller(values[:whole])
        if n % 16:  # the last 16 are drawn again, whole
            values[-16:] = _box_muller(self._unit(16, dtype))
        return values * dtype.type(std) + dtype.type(mean)

    def bernoulli(self, p: Any, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """1 with probability p (a number, or an array that broadcasts to the shape), otherwise 0."""
        chances = np.broadcast_to(np.asarray(p), tuple(shape))
        if isinstance(p, np.ndarray) and p.dtype != np.float64:
            drawn = self.rand(shape, np.dtype(np.float32))
        else:
            drawn = self.rand(shape, np.dtype(np.float64))
        return (drawn < chances).astype(dtype)


def _box_muller(uniform: Array) -> Array:
    """Blocks of 16 uniform numbers turned into normal ones: the first 8 of each give radii, the last 8 angles."""
    kind = np.float64 if uniform.dtype == np.float64 else np.float32
    blocks = uniform.reshape(-1, 2, 8).astype(kind)
    radius = np.sqrt(kind(-2) * np.log(kind(1) - blocks[:, 0]))
    angle = kind(2 * math.pi) * blocks[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1).astype(uniform.dtype)


class _Default(Generator):
    """A generator that is seeded by the operating system when it is first used, unless somebody seeds it before."""

    def __init__(self) -> None:
        super().__init__()
        self._seeded = False

    def manual_seed(self, seed: int) -> Generator:
        self._seeded = True
        return super().manual_seed(seed)

    def initial_seed(self) -> int:
        if not self._seeded:
            self.seed()
        return super().initial_seed()

    def _mt(self) -> Any:
        if not self._seeded:
            self.seed()
        return super()._mt()


default_generator = _Default()
"""The source of all random numbers for which no other is given."""
