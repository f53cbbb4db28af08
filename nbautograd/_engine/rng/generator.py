"""PyTorch's CPU random numbers, bit for bit: the Mersenne Twister and the distributions of its 32-bit words.

The streams were derived from PyTorch's outputs, and ``tests/engine/test_generator.py`` compares them: uniform numbers
take the low 24 (float32, float16) or 53 (float64) bits of one or two words; normal numbers come from the Box-Muller
transform (``box_muller.py``), for fewer than 16 elements in pairs in double precision, otherwise in blocks of 16.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, strides as stride_tools
from nbautograd._engine.arrays.device import as_device, device as Device  # noqa: N812 - ``device`` is a parameter here
from nbautograd._engine.arrays.summation import is_half
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.rng.box_muller import BLOCK_SIZE, box_muller, fma
from nbautograd._engine.rng.dtype_range import bounds, largest_integer, representable
from nbautograd.errors import kind_of, warn

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]
DEFAULT_SEED = 67280421310721  # PyTorch's default seed
MAX_LIST_LENGTH = 1 << 15  # elements of a permutation that are exchanged in a list

# The layout of PyTorch's state: seed, words left before the next twist, the seeded flag, the index of the next word,
# the 624 words in 64 bits each, and the normal numbers kept for the next draw.
_STATE = np.dtype([
    ("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("words", "<u8", (624,)),
    ("normal_x", "<f8"), ("normal_y", "<f8"), ("normal_rho", "<f8"), ("normal_is_valid", "<i4"), ("padding", "<i4"),
    ("next_float_normal", "<f4"), ("has_float_normal", "<i4"),
])  # fmt: skip


class Generator:
    """A source of random numbers: the stream of PyTorch's CPU generator for the same seed.

    Its states are also PyTorch's, byte for byte, so that a stream begun in one library continues in the other.

    The drawing methods take a shape and a NumPy dtype and return NumPy arrays. Integer-valued distributions are cast to
    any dtype; real-valued ones require a floating dtype.

    :param device: always the CPU, which also draws the numbers of tensors on CUDA.
    :raises RuntimeError: the device is not the CPU.

    >>> import nbautograd as torch
    >>> g = torch.Generator().manual_seed(42)
    >>> torch.rand(2, generator=g)
    tensor([0.8823, 0.9150])
    >>> later = g.clone_state()
    >>> torch.rand(2, generator=g).equal(torch.rand(2, generator=later))
    True
    """

    def __init__(self, device: Any = "cpu") -> None:
        place = as_device(device)
        if place.type != "cpu":
            raise RuntimeError(f"Generator(): only device='cpu' is supported, got {device!r}")
        self.device: Device = place
        self._seed: int | None = DEFAULT_SEED  # None: drawn from the operating system on first use
        self._twister: Any = None  # created on first use: importing numpy.random takes time
        self._kept: float | None = None  # the second normal number of a pair

    # -- seeds and states --------------------------------------------------------------------------------------------

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of ``seed``, an integer of at most 64 bits; negative ones count from the top.

        :raises ValueError: it does not fit into 64 bits.
        :raises RuntimeError: it is not an integer.
        """
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {kind_of(seed)}: a seed must be an int")
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: a seed must be in [-2**63, 2**64), got {seed}")
        self._seed = seed % 2**64
        self._twister = self._kept = None
        return self

    def seed(self) -> int:
        """Seed with 64 bits from the operating system, and return them as a number."""
        return self.manual_seed(int.from_bytes(os.urandom(8), "little")).initial_seed()

    def initial_seed(self) -> int:
        """Return the seed of the stream."""
        return self.seed() if self._seed is None else self._seed

    def get_state(self) -> Tensor:
        """Return the state as a tensor of 5056 bytes (uint8), in PyTorch's layout."""
        state = np.zeros((), _STATE)
        state["seed"], state["seeded"] = self.initial_seed(), 1
        untouched = self._twister is None  # before the first twist; next is 0
        state["words"], position = self._mt().get_state(legacy=False)["state"].values()
        state["left"], state["next"] = (1, 0) if untouched else (625 - position, position)
        if self._kept is not None:
            state["normal_is_valid"], state["normal_y"] = 1, self._kept
        if untouched:
            self._twister = None
        return wrap(np.frombuffer(state.tobytes(), np.uint8).copy())

    def set_state(self, new_state: Tensor) -> Generator:
        """Restore a state that ``get_state`` (or PyTorch's) returned.

        :param new_state: 5056 elements of dtype uint8.
        :raises TypeError: the state is not a tensor, or has another dtype.
        :raises RuntimeError: the size differs, or the bytes are not a state.
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"set_state() expected a torch.ByteTensor, but got {kind_of(new_state)}")
        raw = backend.fetch(new_state._a)
        if raw.dtype != np.uint8:
            raise TypeError(f"RNG state must be a torch.ByteTensor, got elements of dtype {raw.dtype}")
        if raw.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a state of size {_STATE.itemsize} bytes but found the input RNG state size to be {raw.size}"
            )
        state = np.frombuffer(raw.tobytes(), _STATE)[0]
        left = int(state["left"])
        if not (state["seeded"] == 1 and 1 <= left <= 624 and state["next"] <= 624):
            raise RuntimeError("Invalid mt19937 state: these bytes do not come from get_state()")
        self.manual_seed(int(state["seed"]))
        if state["next"] > 0:
            words = state["words"].astype(np.uint32)
            twister = {"bit_generator": "MT19937", "state": {"key": words, "pos": 625 - left}}
            self._mt().set_state(twister)
        self._kept = float(state["normal_y"]) if state["normal_is_valid"] else None
        return self

    def clone_state(self) -> Generator:
        """Return a copy of the generator with an independent state."""
        return Generator().set_state(self.get_state())

    def __deepcopy__(self, memo: dict[int, Any]) -> Generator:
        return self.clone_state()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_generator, (self.get_state(),)

    def _mt(self) -> Any:
        if self._twister is None:
            from numpy.random import RandomState

            self._twister = RandomState(self.initial_seed() & 0xFFFFFFFF)
        return self._twister

    # -- words -------------------------------------------------------------------------------------------------------

    def words(self, n: int) -> Array:
        """Return the next n 32-bit words, as uint32."""
        if n == 0:  # leaves the state unchanged
            return np.empty(0, np.uint32)
        drawn: Array = self._mt().randint(0, 2**32, n, np.uint32)
        return drawn

    def long_words(self, n: int) -> Array:
        """Return the next n 64-bit words (uint64), each of two draws, the first being the high one."""
        pairs = self.words(2 * n).astype(np.uint64)
        return (pairs[0::2] << np.uint64(32)) | pairs[1::2]

    # -- uniform -----------------------------------------------------------------------------------------------------

    def _unit(self, n: int) -> Array:
        """Return uniform numbers in [0, 1) of 24 bits, as float32."""
        return (self.words(n) & np.uint32(2**24 - 1)).astype(np.float32) * np.float32(2.0**-24)

    def _unit_double(self, n: int) -> Array:
        """Return uniform numbers in [0, 1) of 53 bits, as float64."""
        return (self.long_words(n) & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53

    def _unit_as(self, n: int, dtype: DType) -> Array:
        """Return uniform numbers in [0, 1), float64 for that dtype and float32 for narrower dtypes."""
        return self._unit_double(n) if dtype == np.float64 else self._unit(n)

    def rand(self, shape: Sequence[int], dtype: DType) -> Array:
        """Return uniform numbers in [0, 1)."""
        return self.uniform(shape, dtype, 0.0, 1.0)

    def uniform(self, shape: Sequence[int], dtype: DType, low: float, high: float) -> Array:
        """Return uniform numbers in [low, high).

        :raises RuntimeError: the ends or their distance exceed the dtype's range, or are in the wrong order.
        """
        largest = bounds(np.dtype(dtype))[1]
        for name, end in (("from", low), ("to", high)):
            _check(-largest <= end <= largest, f"{name} is out of bounds for {np.dtype(dtype)}: got {name}={end}")
        _check(low <= high, f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
        _check(
            high - low <= largest,
            f"uniform_ expects to-from <= {largest}, the largest {np.dtype(dtype)}, but found to={high} and from={low}",
        )
        unit = self._unit_as(math.prod(shape), np.dtype(dtype))
        if (low, high) != (0, 1):
            start, end = unit.dtype.type(low), unit.dtype.type(high)
            unit = fma(unit, end - start, start)
        values = _shaped(unit, shape, dtype)
        values[values == values.dtype.type(high)] = low  # rounded up to the end
        return values

    def randint(self, shape: Sequence[int], low: int, high: int) -> Array:
        """Return integers in [low, high), as int64; the range may be as wide as 2**64."""
        n, span = math.prod(shape), high - low
        drawn = self.words(n).astype(np.uint64) if span < 2**28 else self.long_words(n)
        if span < 2**64:
            drawn %= np.uint64(span)
            drawn += np.uint64(low % 2**64)  # modulo 2**64, as in two's complement
        return drawn.view(np.int64).reshape(tuple(shape))

    def random(self, shape: Sequence[int], dtype: DType, low: int | None = None, high: int | None = None) -> Array:
        """Return integers in [low, high), cast to the dtype.

        Without ``high``, up to the largest number of an integer dtype, or up to the largest power of two below which a
        floating dtype holds every integer. Without ``low`` as well, from 0.

        :raises RuntimeError: the range is empty, or the dtype cannot hold it.
        """
        kind = np.dtype(dtype)
        count = largest_integer(kind) + 1
        if low is None and high is None:  # one word, or two for wider types, even if the range is wide
            n = math.prod(shape)
            drawn = self.long_words(n) if kind.itemsize == 8 else self.words(n).astype(np.uint64)
            return _shaped(drawn % np.uint64(count), shape, kind)
        first, end = low or 0, count if high is None else high
        is_float = kind.kind in "fV"
        if first >= end and (is_float or high is not None):
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={first} >= to={end}")
        smallest, greatest = bounds(kind)
        for name, value in (("from", first), ("to - 1", end - 1)):
            if not smallest <= value <= greatest:
                raise RuntimeError(f"{name} is out of bounds for {kind}: random_ got from={first}, to={high}")
            if is_float and abs(value) >= count:
                warn(f"{name}={value} is out of bounds [{1 - count}, {count - 1}], in which {kind} has every integer")
        if is_float:
            first, end = representable(first, end, kind)
            _check(first < end, f"random_ expects 'from' to be less than 'to' after rounding both to {kind}")
        return self.randint(shape, first, end).astype(kind)

    def randperm(self, n: int) -> Array:
        """Return the integers below n in random order, as int64."""
        first = np.arange(max(n - 1, 0), dtype=np.uint64)
        # The numbers of a long list lie apart in memory: an array's stay in the cache.
        from array import array

        order: Any = array("q", range(n)) if n > MAX_LIST_LENGTH else list(range(n))
        for i, j in enumerate((first + self.words(len(first)) % (np.uint64(n) - first)).tolist()):
            order[i], order[j] = order[j], order[i]
        return np.array(order, np.int64)

    # -- normal ------------------------------------------------------------------------------------------------------

    def randn(self, shape: Sequence[int], dtype: DType) -> Array:
        """Return normal numbers with mean 0 and standard deviation 1."""
        return self.normal(shape, dtype, 0.0, 1.0)

    def normal(self, shape: Sequence[int], dtype: DType, mean: float, std: float, contiguous: bool = True) -> Array:
        """Return normal numbers; 16 or more of them are drawn in blocks if they are for contiguous memory.

        :raises RuntimeError: std is negative.
        """
        _check(std >= 0, f"normal expects std >= 0.0, but found std {std}")
        n = math.prod(shape)
        if n < BLOCK_SIZE or not contiguous:
            values = fma(self.normal_pairs(n), std, mean)
        else:
            values = self._normal_blocks(n, np.dtype(dtype))
            values = fma(values, values.dtype.type(std), values.dtype.type(mean))
        return _shaped(values, shape, dtype)

    def normal_pairs(self, n: int) -> Array:
        """Return standard normal numbers as float64, made in pairs; the second of an unfinished pair is kept."""
        values = [] if self._kept is None else [self._kept]
        fresh = max(n - len(values) + 1, 0) // 2
        for u1, u2 in self._unit_double(2 * fresh).reshape(fresh, 2).tolist():
            # Like PyTorch, the math module uses the C library's functions; NumPy's own may differ in the last bit.
            radius, angle = math.sqrt(-2 * math.log1p(-u2)), 2 * math.pi * u1
            values += (radius * math.cos(angle), radius * math.sin(angle))
        self._kept = values[n] if len(values) > n else None
        return np.array(values[:n], np.float64)

    def _normal_blocks(self, n: int, dtype: DType) -> Array:
        """Return standard normal numbers, at least 16; float64 for that dtype and float32 for narrower dtypes."""
        rest = n % BLOCK_SIZE
        if not rest:
            return box_muller(self._unit_as(n, dtype))
        # The last 16 are drawn again, as a whole. The numbers drawn for the rest are lost; half precision does not draw
        # them.
        whole = n - rest
        first = self._unit_as(whole if is_half(dtype) else n, dtype)[:whole]
        values = box_muller(np.append(first, self._unit_as(BLOCK_SIZE, dtype)))
        return np.append(values[: n - BLOCK_SIZE], values[whole:])

    def log_normal(self, shape: Sequence[int], dtype: DType, mean: float, std: float) -> Array:
        """Return numbers whose logarithm is normally distributed.

        :raises RuntimeError: std is not positive.
        """
        _check(std > 0, f"log_normal_ expects std > 0.0, but found std={std}")
        return _shaped(np.exp(fma(self.normal_pairs(math.prod(shape)), std, mean)), shape, dtype)

    # -- others ------------------------------------------------------------------------------------------------------

    def bernoulli(self, p: Any, shape: Sequence[int], dtype: DType) -> Array:
        """Return 1 with probability p (a number, or an array that broadcasts to the shape), otherwise 0."""
        double = not isinstance(p, np.ndarray) or p.dtype == np.float64
        n = math.prod(shape)
        drawn = (self._unit_double(n) if double else self._unit(n)).reshape(tuple(shape))
        below: Array = drawn < p
        return below.astype(dtype)

    def exponential(self, shape: Sequence[int], dtype: DType, rate: float = 1.0) -> Array:
        """Return samples of the exponential distribution with this rate.

        :raises RuntimeError: rate is not positive.
        """
        _check(rate > 0, f"exponential_ expects lambda > 0.0, but found lambda={rate}")
        return _shaped(-1 / rate * np.log1p(-self._unit_double(math.prod(shape))), shape, dtype)

    def geometric(self, shape: Sequence[int], dtype: DType, p: float) -> Array:
        """Return the number of trials, each a success with probability p, up to the first success.

        :raises RuntimeError: p is not between 0 and 1.
        """
        _check(0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p}")
        with np.errstate(divide="ignore"):
            trials = np.ceil(np.log(self._unit_double(math.prod(shape))) / math.log1p(-p))
        return _shaped(trials, shape, dtype)

    def cauchy(self, shape: Sequence[int], dtype: DType, median: float = 0.0, sigma: float = 1.0) -> Array:
        """Return samples of the Cauchy distribution with this median and half-width ``sigma``.

        :raises RuntimeError: sigma is not positive.
        """
        _check(sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
        tangent = np.tan(math.pi * (self._unit_double(math.prod(shape)) - 0.5))
        return _shaped(fma(tangent, sigma, median), shape, dtype)

    def multinomial(self, weights: Array, count: int, replacement: bool = False) -> Array:
        """Return ``count`` indices into the last dimension of ``weights``, drawn with those weights.

        :param weights: one or two dimensions; floating; they need not sum to 1.
        :returns: int64, shape (count,) or (rows, count).
        :raises RuntimeError: weights have another shape or dtype, or are negative, not finite or all zero; or the count
            is below 1, or, without replacement, above the number of weights.

        The indices are PyTorch's, except if two draws without replacement are equal to the last bit.
        """
        size = weights.shape[-1] if weights.ndim else 0
        _check(1 <= weights.ndim <= 2, f"prob_dist must be 1 or 2 dim, got {weights.ndim} dimensions")
        kind = weights.dtype
        _check(
            kind.kind in "fV",
            f"multinomial only supports floating-point dtypes for input, got: {dtypes.scalar_type(kind)}",
        )
        _check(count > 0, f"cannot sample n_sample <= 0 samples, got {count}")
        _check(
            replacement or count <= size,
            f"cannot sample n_sample > prob_dist.size(-1) samples without replacement, got {count} > {size}",
        )
        valid = bool(np.all(np.isfinite(weights) & (weights >= 0)))
        _check(
            valid,
            "invalid multinomial distribution: the probability tensor contains either `inf`, `nan` or element < 0 "
            "(encountering probability entry < 0 or not finite)",
        )
        _check(bool(np.all(weights.sum(-1) > 0)), "invalid multinomial distribution (sum of probabilities <= 0)")
        if count == 1 or not replacement:  # the index whose exponential clock rings first
            order = memory_order(weights)
            clocks = self.exponential([weights.shape[d] for d in order], weights.dtype)
            rates = weights / clocks.transpose(np.argsort(order))
            return np.argsort(-rates, axis=-1, kind="stable")[..., :count].astype(np.int64)
        total = np.cumsum(weights, axis=-1, dtype=weights.dtype)
        total /= total[..., -1:]
        total[..., -1] = 1
        drawn = self._unit_double(math.prod(weights.shape[:-1]) * count).reshape(-1, count)
        rows = [np.searchsorted(row, points) for row, points in zip(total.reshape(-1, size), drawn, strict=True)]
        return np.array(rows, np.int64).reshape((*weights.shape[:-1], count))

    # -- by rejection, one number after the other --------------------------------------------------------------------

    def poisson(self, rates: Array, dtype: DType) -> Array:
        """Return samples of Poisson distributions with these rates.

        Rates of 10 or more use transformed rejection (W. Hörmann, 1993), lower rates products of uniform numbers.

        :raises RuntimeError: a rate is negative or not a number.
        """
        _check(bool(np.all(rates >= 0)), "invalid Poisson rate, expected rate to be non-negative")
        rejection = _rejection()
        with rejection.Numbers(self) as numbers:
            counts = rejection.poisson(rates.ravel().tolist(), numbers.one)
        return _shaped(np.array(counts, np.float64), rates.shape, dtype)

    def binomial(self, counts: Array, chances: Array, dtype: DType) -> Array:
        """Return samples of binomial distributions with these counts and probabilities, arrays of one shape.

        If 10 or more successes are expected, by transformed rejection (W. Hörmann, 1993), otherwise from the geometric
        numbers of trials between two successes.
        """
        rejection = _rejection()
        with rejection.Numbers(self) as numbers:
            values = rejection.binomial(counts.ravel().tolist(), chances.ravel().tolist(), numbers.one)
        return _shaped(np.array(values, np.float64), counts.shape, dtype)

    def gamma(self, shapes: Array, dtype: DType) -> Array:
        """Return numbers of the gamma distributions with these shape parameters (G. Marsaglia, W. W. Tsang, 2000)."""
        from nbautograd._engine.rng.gamma import gamma  # few programs need it

        return gamma(self, shapes, dtype)

    def dirichlet(self, alphas: Array, dtype: DType) -> Array:
        """Return points whose coordinates along the last dimension sum to 1: gamma numbers divided by their sum."""
        from nbautograd._engine.rng.gamma import dirichlet

        return dirichlet(self, alphas, dtype)


def _rebuild_generator(state: Tensor) -> Generator:
    return Generator().set_state(state)


_restored = _rebuild_generator  # the name in pickles of older versions
_rebuild_generator.__module__ = "nbautograd"


def memory_order(array: Any) -> list[int]:
    """Return the dimensions of an array, the one with the largest steps first: the order in which PyTorch fills it."""
    strides = stride_tools.dense(array.shape, stride_tools.strides_of(array))
    return sorted(range(array.ndim), key=lambda d: -strides[d])


def _rejection() -> Any:
    from nbautograd._engine.rng import rejection  # few programs need it

    return rejection


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise RuntimeError(message)


def _shaped(values: Array, shape: Sequence[int], dtype: DType) -> Array:
    with np.errstate(over="ignore"):
        if is_half(dtype):  # rounded twice, as by PyTorch
            values = values.astype(np.float32, copy=False)
        return values.astype(dtype, copy=False).reshape(tuple(shape))


default_generator = Generator()
"""The source of all random numbers by default; the operating system seeds it unless a user does."""
default_generator._seed = None
