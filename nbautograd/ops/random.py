"""Random numbers: PyTorch's own streams, number for number, on the CPU.

On CUDA, a seed makes results reproducible, but the numbers are drawn on the host from the same generator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd import backend, dtypes, generator
from nbautograd.declare import composite, op
from nbautograd.device import as_device, device
from nbautograd.generator import Generator
from nbautograd.inplace import check_writable, into, rebase
from nbautograd.ops.creation import check_options, finish
from nbautograd.size import new_shape
from nbautograd.storage import record_write
from nbautograd.tensor import Tensor, wrap

__all__ = [
    "bernoulli",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "seed",
    "set_rng_state",
]

Device = device | str | int | None
Number = int | float


def _source(chosen: Generator | None) -> Generator:
    return generator.default_generator if chosen is None else chosen


def _made(values: np.ndarray[Any, Any], place: Device, requires_grad: bool, out: Tensor | None, name: str) -> Tensor:
    result = finish(backend.module(as_device(place)).asarray(values), requires_grad)
    return into(out, result, name)


def _kind(name: str, dtype: dtypes.dtype | None, out: Tensor | None = None) -> np.dtype[Any]:
    found = (dtypes.get_default_dtype() if out is None else out.dtype) if dtype is None else dtype
    if not isinstance(found, dtypes.dtype):
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(found).__name__}")
    if found.rank != 2:
        raise RuntimeError(f"{name}(): expected a floating-point dtype, got {found!r}")
    return found.numpy


def rand(
    *size: Any,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1).

    >>> import nbautograd as torch
    >>> _ = torch.manual_seed(42)
    >>> torch.rand(3)
    tensor([0.8823, 0.9150, 0.3829])
    """
    check_options("rand", dtype, layout)
    values = _source(generator).rand(new_shape(size, "rand"), _kind("rand", dtype, out))
    return _made(values, device, requires_grad, out, "rand")


def randn(
    *size: Any,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal numbers with mean 0 and standard deviation 1.

    >>> import nbautograd as torch
    >>> _ = torch.manual_seed(42)
    >>> torch.randn(3)
    tensor([0.3367, 0.1288, 0.2345])
    """
    check_options("randn", dtype, layout)
    values = _source(generator).randn(new_shape(size, "randn"), _kind("randn", dtype, out))
    return _made(values, device, requires_grad, out, "randn")


def randint(
    *arguments: Any,
    low: int | None = None,
    high: int | None = None,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """``randint(low, high, size)`` or ``randint(high, size)``: integers from ``low`` (0) up to, but without, ``high``.

    :raises RuntimeError: the range is empty.

    >>> import nbautograd as torch
    >>> _ = torch.manual_seed(42)
    >>> torch.randint(3, 10, (2, 2))
    tensor([[4, 5],
            [7, 8]])
    """
    check_options("randint", dtype, layout)
    given = list(arguments)
    if size is None:
        size = given.pop()
    if high is None:
        high = given.pop()
    if given:
        low = given.pop()
    first = 0 if low is None else int(low)
    if first >= int(high):
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={first} >= to={high}")
    values = _source(generator).randint(new_shape((size,), "randint"), first, int(high))
    kind = dtypes.int64 if dtype is None else dtype
    return _made(values.astype(kind.numpy), device, requires_grad, out, "randint")


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """The integers from 0 to ``n - 1`` in random order.

    >>> import nbautograd as torch
    >>> _ = torch.manual_seed(42)
    >>> torch.randperm(4)
    tensor([2, 3, 0, 1])
    """
    check_options("randperm", dtype, layout)
    if n < 0:
        raise RuntimeError(f"randperm(): argument 'n' must be non-negative, got {n}")
    kind = dtypes.int64 if dtype is None else dtype
    return _made(_source(generator).randperm(n).astype(kind.numpy), device, requires_grad, out, "randperm")


def normal(
    mean: Tensor | Number = 0.0,
    std: Tensor | Number = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal numbers, each with its own mean and standard deviation where these are tensors.

    ``normal(mean, std)`` with at least one tensor, or ``normal(mean, std, size)`` with two numbers.

    :raises RuntimeError: a standard deviation is negative.

    >>> import nbautograd as torch
    >>> torch.normal(torch.zeros(3), 1.0).shape, torch.normal(2.0, 3.0, size=(1, 4)).shape
    (torch.Size([3]), torch.Size([1, 4]))
    """
    if isinstance(std, Tensor) and bool((std._a < 0).any()) or not isinstance(std, Tensor) and std < 0:
        raise RuntimeError("normal expects all elements of std >= 0.0")
    tensors = [value for value in (mean, std) if isinstance(value, Tensor)]
    if not tensors:
        if size is None:
            raise TypeError("normal(): with two numbers for mean and std, size must be given")
        kind = _kind("normal", dtype, out)
        values = _source(generator).normal(new_shape((size,), "normal"), kind, mean, std)
        return _made(values, device, requires_grad, out, "normal")
    if size is not None:
        raise TypeError("normal(): size can be given only with two numbers for mean and std")
    shape = np.broadcast_shapes(*(value._a.shape for value in tensors))
    kind = np.result_type(*(value._a.dtype for value in tensors))
    center, spread = (backend.fetch(v._a) if isinstance(v, Tensor) else v for v in (mean, std))
    values = (_source(generator).randn(shape, kind) * spread + center).astype(kind)
    return _made(values, tensors[0].device, False, out, "normal")


@composite()
def bernoulli(input: Tensor, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """1 with the probability that each element gives, otherwise 0.

    :raises RuntimeError: an element is not in [0, 1].

    >>> import nbautograd as torch
    >>> torch.bernoulli(torch.tensor([0., 1.]))
    tensor([0., 1.])
    """
    drawn = _bernoulli(input, input._a.shape, input._a.dtype, generator)
    result = wrap(backend.module(input.device).asarray(drawn))
    return into(out, result, "bernoulli")


def _bernoulli(p: Any, shape: tuple[int, ...], kind: np.dtype[Any], chosen: Generator | None) -> Any:
    chances = backend.fetch(p._a) if isinstance(p, Tensor) else p
    if np.any(np.less(chances, 0)) or np.any(np.greater(chances, 1)):
        raise RuntimeError(f"bernoulli expects 0 <= p <= 1, but got {np.min(chances)} to {np.max(chances)}")
    return _source(chosen).bernoulli(chances, shape, kind)


def _like(make: Any) -> Any:
    def like(input: Tensor, *args: Any, dtype: Any = None, device: Any = None, **options: Any) -> Tensor:
        place = input.device if device is None else device
        made: Tensor = make(*args, size=input._a.shape, dtype=dtype or input.dtype, device=place, **options)
        return made

    return like


rand_like = _like(lambda *, size, **options: rand(*size, **options))
rand_like.__name__, rand_like.__doc__ = (
    "rand_like",
    "Uniform numbers in [0, 1) in the shape, dtype and device of ``input``.",
)
randn_like = _like(lambda *, size, **options: randn(*size, **options))
randn_like.__name__, randn_like.__doc__ = "randn_like", "Normal numbers in the shape, dtype and device of ``input``."
randint_like = _like(randint)
randint_like.__name__ = "randint_like"
randint_like.__doc__ = "``randint_like(input, low, high)``: integers in the shape, dtype and device of ``input``."


# -- filling a tensor in place ---------------------------------------------------------------------------------------


@op(node="RandomBackward0", symbol="random", method=False, input="zeros_of(g)")
def _overwritten(input: Tensor, values: Any) -> Tensor:
    """``values``, which do not depend on ``input``."""
    return values


def _fill(self: Tensor, name: str, values: np.ndarray[Any, Any]) -> Tensor:
    check_writable(self, name)
    array = backend.module(self.device).asarray(values)
    result = _overwritten(self, array)
    self.shared_array()[...] = array
    record_write(self._a)
    if result._fn is not None:
        rebase(self, result._fn)
    return self


def uniform_(
    self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None, **named: float
) -> Tensor:
    """Fill with uniform numbers in [``from``, ``to``).

    >>> import nbautograd as torch
    >>> _ = torch.manual_seed(42)
    >>> torch.empty(2).uniform_(0, 1)
    tensor([0.8823, 0.9150])
    """
    low = named.pop("from", from_)
    if low > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}")
    kind = _kind("uniform_", self.dtype)
    return _fill(self, "uniform_", _source(generator).uniform(self._a.shape, kind, low, to))


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers.

    >>> import nbautograd as torch
    >>> _ = torch.manual_seed(42)
    >>> torch.empty(2).normal_()
    tensor([0.3367, 0.1288])
    """
    if std < 0:
        raise RuntimeError(f"normal_ expects std >= 0.0, but found std {std}")
    return _fill(self, "normal_", _source(generator).normal(self._a.shape, _kind("normal_", self.dtype), mean, std))


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 with probability ``p``, otherwise 0.

    >>> import nbautograd as torch
    >>> torch.empty(2).bernoulli_(1)
    tensor([1., 1.])
    """
    return _fill(self, "bernoulli_", _bernoulli(p, self._a.shape, self._a.dtype, generator))


for _method in (uniform_, normal_, bernoulli_):
    setattr(Tensor, _method.__name__, _method)


# -- the generator ---------------------------------------------------------------------------------------------------


def manual_seed(seed: int) -> Generator:
    """Seed the default generator; the numbers that follow are those that PyTorch draws after the same seed.

    >>> import nbautograd as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    return generator.default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator with a 64-bit number from the operating system, and return it."""
    return generator.default_generator.seed()


def initial_seed() -> int:
    """The number that the default generator was last seeded with."""
    return generator.default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, as a tensor of bytes."""
    return wrap(generator.default_generator.get_state())


def set_rng_state(new_state: Tensor) -> None:
    """Put the default generator into a state that :func:`get_rng_state` returned.

    >>> import nbautograd as torch
    >>> state = torch.get_rng_state()
    >>> first = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> bool((torch.rand(2) == first).all())
    True
    """
    generator.default_generator.set_state(backend.fetch(new_state._a))
