"""In-place sampling (``uniform_``, ``normal_``, ...), and code shared with the sampling of new tensors.

As in PyTorch, a tensor is filled in memory order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.device import device
from nbautograd._engine.compiler.op import NATIVE, check_option, no_method, with_argument_errors
from nbautograd._engine.core.batched import random_function
from nbautograd._engine.core.inplace import check_call, check_writable, copy_into
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import F, example
from nbautograd._engine.rng import generator
from nbautograd._engine.rng.generator import Generator, memory_order
from nbautograd._names.docstrings import with_import
from nbautograd.errors import kind_of

__all__: list[str] = []

Array = np.ndarray[Any, Any]
Draw = Callable[[Sequence[int], np.dtype[Any]], Array]


def seeded(text: str) -> Callable[[F], F]:
    """Append an example, after the line that seeds the generator."""
    return example(text, ">>> _ = torch.manual_seed(42)\n")


def source(chosen: Generator | None) -> Generator:
    if chosen is None:
        return generator.default_generator
    if not isinstance(chosen, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {kind_of(chosen)}")
    return chosen


def check_dtype(name: str, kind: np.dtype[Any], accepted: str = "fc") -> None:
    """Check that the dtype's kind is among those that the distribution accepts (bfloat16 is V)."""
    if kind.kind.replace("V", "f") not in accepted:
        words = {"f": "floating", "c": "complex", "i": "integer", "b": "bool"}
        expected = ", ".join(word for letter, word in words.items() if letter in accepted)
        raise NotImplementedError(
            f"{name}() is not implemented for '{dtypes.scalar_type(kind)}': its dtypes are {expected}"
        )


def in_memory_order(array: Any, draw: Draw) -> Array:
    """Return samples in the shape and dtype of ``array``, drawn in its memory order."""
    if backend.is_bare(array):
        draw((0,), array.dtype)
        return np.empty_like(array)
    order = memory_order(array)
    drawn = draw([array.shape[d] for d in order], array.dtype)
    return drawn.transpose(np.argsort(order)) if array.ndim > 1 else drawn


def drawn_on(place: device, draw: Draw, shape: Sequence[int], kind: np.dtype[Any]) -> Any:
    """Return samples on a device; an array without memory on ``meta``, after the checks of ``draw``."""
    xp = backend.module(place)
    if place.type == "meta":
        draw((0,), kind)
        return xp.empty(shape, kind)
    return xp.asarray(draw(shape, kind))


def _in_parts(shape: Sequence[int], kind: np.dtype[Any], draw: Draw) -> Array:
    """Return samples of a real sampler; of a complex dtype, real and imaginary parts are drawn in turn."""
    if kind.kind != "c":
        return draw(shape, kind)
    return draw([*shape, 2], np.dtype(f"f{kind.itemsize // 2}")).view(kind).reshape(tuple(shape))


def uniform_numbers(name: str, chosen: Generator | None, low: float = 0.0, high: float = 1.0) -> Draw:
    def draw(shape: Sequence[int], kind: np.dtype[Any]) -> Array:
        check_dtype(name, kind)
        return _in_parts(shape, kind, lambda s, k: source(chosen).uniform(s, k, low, high))

    return draw


def normal_numbers(
    name: str, chosen: Generator | None, mean: float = 0.0, std: float = 1.0, contiguous: bool = True
) -> Draw:
    mean, std = check_option(name, "mean", mean, "float"), check_option(name, "std", std, "float")

    def draw(shape: Sequence[int], kind: np.dtype[Any]) -> Array:
        check_dtype(name, kind)
        spread = std / math.sqrt(2) if kind.kind == "c" else std  # half of the variance for each part
        return _in_parts(shape, kind, lambda s, k: source(chosen).normal(s, k, mean, spread, contiguous))

    return draw


def integers(name: str, chosen: Generator | None, low: int | None, high: int | None) -> Draw:
    def draw(shape: Sequence[int], kind: np.dtype[Any]) -> Array:
        check_dtype(name, kind, "fiub")
        return source(chosen).random(shape, kind, low, high)

    return draw


def decided(chances: Any, source: Generator) -> Draw:
    """Return a sampler of the Bernoulli distribution with these probabilities, a number or an array."""
    with np.errstate(invalid="ignore"):
        if not np.all((chances >= 0) & (chances <= 1)):
            bounds = f"p={chances}" if not np.ndim(chances) else f"{np.min(chances)} to {np.max(chances)}"
            raise RuntimeError(f"bernoulli expects p to be in [0, 1] (p_in >= 0 && p_in <= 1), but got {bounds}")
    return lambda shape, kind: source.bernoulli(chances, shape, kind)


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that all broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        text = " and ".join(str(list(shape)) for shape in shapes)
        raise RuntimeError(f"the sizes of the tensors must match or be 1, or they do not broadcast: {text}") from None


# -- the methods -------------------------------------------------------------------------------------------------------


def _history(name: str, node: str) -> Callable[[Tensor, Any], Tensor]:
    """Declare the operation that becomes the ``grad_fn`` of a filled tensor; its gradient is 0."""

    @no_method(node=node, symbol=name, name=f"_{node}", half=NATIVE, input="zeros_of(g)")
    def overwritten(input: Tensor, values: Any) -> Tensor:
        """Return ``values``, which do not depend on ``input``."""
        return values

    return overwritten


_HISTORIES = {
    name: _history(name.split("_")[0], f"{node}Backward{number}")
    for name, node, number in (
        ("uniform_", "Uniform", 0), ("normal_", "Normal", 0), ("exponential_", "Exponential", 0),
        ("cauchy_", "Cauchy", 0), ("geometric_", "Geometric", 0), ("log_normal_", "LogNormal", 0),
        ("bernoulli_", "Bernoulli", 2), ("random_from_to", "Random", 0), ("random_to", "Random", 1),
        ("random_", "Random", 2),
    )
}  # fmt: skip


@no_method(
    node="BernoulliBackward1", symbol="bernoulli", half=NATIVE,
    input="zeros_of(g)",
    p="cast_back(sum_to(zeros_of(g), p.shape), p.dtype)",
)  # fmt: skip
def _bernoulli_each(input: Tensor, p: Tensor, values: Any) -> Tensor:
    """Return ``values``, which were drawn with the probabilities ``p``."""
    return values


@random_function("fill")
def _fill(self: Tensor, name: str, draw: Draw, history: str | None = None) -> Tensor:
    """Fill a tensor in memory order."""
    check_call(check_writable, self, name, lambda _: draw((0,), self._a.dtype), (), {})
    with np.errstate(all="ignore"):  # parameters may be as large as numbers are
        values = backend.module(self.device).asarray(in_memory_order(self._a, draw))
    return copy_into(self, _HISTORIES[history or name](self, values))


@seeded("empty(2).uniform_(0, 1) -> [0.8823, 0.9150]")
def uniform_(
    self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None, **named: float
) -> Tensor:
    """Fill with samples of the uniform distribution on [``from``, ``to``).

    :raises RuntimeError: ``from`` is above ``to``, or one of them does not fit into the dtype.
    """
    low = named.pop("from", from_)  # which is not a valid name of a Python parameter
    for key in named:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{key}'")
    low = check_option("uniform_", "from", low, "float", 0)
    return _fill(self, "uniform_", uniform_numbers("uniform_", generator, low, to))


@seeded("empty(2).normal_() -> [0.3367, 0.1288]")
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with samples of the normal distribution.

    :raises RuntimeError: ``std`` is negative.
    """
    return _fill(self, "normal_", normal_numbers("normal_", generator, mean, std, bool(self._a.flags.c_contiguous)))


@example("empty(2).bernoulli_(1) -> [1., 1.]")
def bernoulli_(self: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with samples (0 or 1) of the Bernoulli distribution with probability ``p`` of 1.

    :param p: a number, or a tensor that broadcasts to this one.
    :raises RuntimeError: a probability is not in [0, 1].
    """
    check_dtype("bernoulli_", self._a.dtype, "fiub")
    if not isinstance(p, Tensor):
        p = check_option("bernoulli_", "p", p, "float", 0)
        return _fill(self, "bernoulli_", decided(p, source(generator)))
    check_writable(self, "bernoulli_")
    check_dtype("bernoulli_", p._a.dtype, "f")
    if common_shape(self._a.shape, p._a.shape) != self._a.shape:
        raise RuntimeError(f"bernoulli_(): a p of size {list(p.shape)} is not expandable to size {list(self.shape)}")
    if backend.is_bare(self._a):
        return copy_into(self, _bernoulli_each(self, p, np.empty_like(self._a)))
    chances = np.broadcast_to(backend.fetch(p._a), self._a.shape).transpose(memory_order(self._a))
    values = in_memory_order(self._a, decided(chances, source(generator)))
    return copy_into(self, _bernoulli_each(self, p, backend.module(self.device).asarray(values)))


@seeded("empty(2).exponential_() -> [0.0599, 0.0650]")
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with samples of the exponential distribution of rate ``lambd``.

    :raises RuntimeError: ``lambd`` is not positive, or the dtype is not floating.
    """
    if self._a.dtype.kind not in "fV":
        raise RuntimeError(
            f"exponential_(): dtype must be a floating point but you specified {dtypes.scalar_type(self.dtype)}"
        )
    return _fill(self, "exponential_", lambda shape, kind: source(generator).exponential(shape, kind, lambd))


@example("empty(2).cauchy_().shape -> torch.Size([2])")
def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with samples of the Cauchy distribution with location ``median`` and scale ``sigma``.

    :raises RuntimeError: ``sigma`` is not positive, or the dtype is not floating.
    """
    if self._a.dtype.kind not in "fV":
        raise RuntimeError(f"cauchy_(): dtype must be a floating point but you specified {dtypes.c_type(self.dtype)}")
    return _fill(self, "cauchy_", lambda shape, kind: source(generator).cauchy(shape, kind, median, sigma))


@example("empty(2).geometric_(0.3).shape -> torch.Size([2])")
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with samples of the geometric distribution: the number of trials until the first success.

    :param p: the probability of success.
    :raises RuntimeError: ``p`` is not between 0 and 1.
    """
    check_dtype("geometric_", self._a.dtype, "fiu")
    return _fill(self, "geometric_", lambda shape, kind: source(generator).geometric(shape, kind, p))


@example("empty(2).log_normal_().shape -> torch.Size([2])")
def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with samples of the log-normal distribution; ``mean`` and ``std`` are those of the logarithm.

    :raises RuntimeError: ``std`` is not positive.
    """
    check_dtype("log_normal_", self._a.dtype, "f")
    return _fill(self, "log_normal_", lambda shape, kind: source(generator).log_normal(shape, kind, mean, std))


@seeded("empty(3).random_(10) -> [2., 7., 6.]")
def random_(self: Tensor, *bounds: int | None, generator: Generator | None = None, **named: int | None) -> Tensor:
    """Fill with random integers in [``from``, ``to``): ``random_()``, ``random_(to)`` or ``random_(from, to)``.

    ``from`` is 0 by default. Without ``to`` (or with None) the integers go up to the largest value of the dtype; for
    floating dtypes up to the largest power of two below which every integer is representable.

    :raises RuntimeError: the range is empty, or the dtype cannot hold it.
    """
    arguments = dict(zip(("to",) if len(bounds) == 1 and "to" not in named else ("from", "to"), bounds, strict=False))
    for key in [key for key in named if key not in ("from", "to") or key in arguments] or ["from"] * (len(bounds) > 2):
        raise TypeError(f"random_() takes (), (to) or (from, to): '{key}' is unknown or given twice")
    arguments.update(named)
    hints = {"from": "int", "to": "int | None" if "from" in arguments else "int"}
    bound = {key: check_option("random_", key, value, hints[key]) for key, value in arguments.items()}
    first, end = bound.get("from", 0 if arguments else None), bound.get("to")
    history = "random_from_to" if "from" in arguments else "random_to" if arguments else "random_"
    return _fill(self, "random_", integers("random_", generator, first, end), history)


for _method in (uniform_, normal_, bernoulli_, exponential_, cauchy_, geometric_, log_normal_, random_):
    _method.__doc__ = with_import(_method.__doc__ or "")
    setattr(Tensor, _method.__name__, with_argument_errors(_method))
