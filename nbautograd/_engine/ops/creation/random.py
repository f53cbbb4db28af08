"""Random numbers: PyTorch's CPU streams, bit for bit.

On CUDA, a seed makes results reproducible, but the numbers are drawn on the host by the same generator. On Intel
processors, PyTorch draws exponential and Bernoulli numbers with Intel's library; these streams are those of all other
processors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, strides as stride_tools
from nbautograd._engine.arrays.device import as_device, device
from nbautograd._engine.arrays.size import as_int, by_name, new_shape
from nbautograd._engine.compiler.op import NATIVE, check_option, no_method
from nbautograd._engine.core.batched import elements, random_function
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.inplace import copy_into, out_rules
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd._engine.ops.creation.from_data import check_options, creation, finish
from nbautograd._engine.ops.creation.random_inplace import (
    Draw,
    check_dtype,
    common_shape,
    drawn_on,
    in_memory_order,
    integers,
    normal_numbers,
    seeded,
    source,
    uniform_numbers,
)
from nbautograd._engine.ops.creation.ranges import check_dtype_of_out, written
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.rng import generator
from nbautograd._engine.rng.dtype_range import largest_integer
from nbautograd._engine.rng.generator import Generator
from nbautograd._names.docstrings import described
from nbautograd.errors import AutogradError

Array = np.ndarray[Any, Any]
Device = device | str | int | None
Number = int | float


@random_function("new")
def _new(
    name: str, shape: tuple[int, ...], dtype: dtypes.dtype | None, draw: Draw, place: Device, requires_grad: bool,
    out: Tensor | None,
) -> Tensor:  # fmt: skip
    """Return a new tensor of random numbers, drawn in row-major order, or ``out`` resized and filled."""
    device = as_device(place)
    if out is None:
        kind = (dtypes.get_default_dtype() if dtype is None else dtype).numpy
        return finish(drawn_on(device, draw, shape, kind), requires_grad)
    with resized_out(out, shape, name):
        check_dtype_of_out(name, dtype, out)
        copy_into(out, wrap_known(backend.module(out.device).asarray(in_memory_order(out._a, draw))))
    return written(out, requires_grad)


@contextmanager
def resized_out(out: Tensor, shape: tuple[int, ...], name: str, operand: Tensor | None = None) -> Iterator[None]:
    """Resize ``out=`` to the shape of the result, without a warning as in PyTorch; restore it if filling it fails."""
    check_tensors(name, out=out)
    if is_grad_enabled() and any(t is not None and t._fn is not None for t in (out, operand)):
        raise AutogradError(f"{name}(): functions with out=... arguments don't support automatic differentiation")
    former = out._a
    try:
        if former.shape != shape:
            out._a = out_rules().in_memory_of(out, backend.module(out.device).empty(shape, former.dtype))
        yield
    except BaseException:
        out._a = former
        raise


# -- new tensors -----------------------------------------------------------------------------------------------------


@creation
@seeded("rand(3) -> [0.8823, 0.9150, 0.3829]")
def rand(
    *arguments: Any, size: Any = None, generator: Generator | None = None, out: Tensor | None = None,
    dtype: dtypes.dtype | None = None, layout: Any = None, device: Device = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return random numbers from the uniform distribution on [0, 1): ``rand(2, 3)`` or ``rand((2, 3))``.

    :param dtype: floating or complex; both parts of complex numbers are uniform.
    :raises NotImplementedError: the dtype is neither.
    """
    dtype = check_options("rand", dtype, layout, pin_memory)
    shape = new_shape(arguments if size is None else by_name(size, "size", arguments), "rand")
    return _new("rand", shape, dtype, uniform_numbers("rand", generator), device, requires_grad, out)


@creation
@seeded("randn(3) -> [0.3367, 0.1288, 0.2345]")
def randn(
    *arguments: Any, size: Any = None, generator: Generator | None = None, out: Tensor | None = None,
    dtype: dtypes.dtype | None = None, layout: Any = None, device: Device = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return random numbers from the standard normal distribution: ``randn(2, 3)`` or ``randn((2, 3))``.

    :param dtype: floating or complex; each part of complex numbers has variance 1/2.
    :raises NotImplementedError: the dtype is neither.
    """
    dtype = check_options("randn", dtype, layout, pin_memory)
    shape = new_shape(arguments if size is None else by_name(size, "size", arguments), "randn")
    return _new("randn", shape, dtype, normal_numbers("randn", generator), device, requires_grad, out)


@creation
@seeded("randint(3, 10, (2, 2)) -> [[4, 5], [7, 8]]")
def randint(
    *arguments: Any, low: int | None = None, high: int | None = None, size: Any = None,
    generator: Generator | None = None, out: Tensor | None = None, dtype: dtypes.dtype | None = None,
    layout: Any = None, device: Device = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return random integers in [``low``, ``high``): ``randint(low, high, size)``, or ``randint(high, size)`` from 0.

    :param dtype: int64 by default.
    :raises TypeError: a bound is not an int, or the size not a sequence of ints.
    :raises RuntimeError: the range is empty, or the dtype cannot hold it.
    """
    dtype = check_options("randint", dtype, layout, pin_memory)
    positional = list(arguments)
    if size is None and positional:
        size = positional.pop()
    size = check_option("randint", "size", size, "Sequence[int]")
    first, end = _bounds("randint", positional, low, high)
    shape = new_shape((size,), "randint")
    kind = dtypes.int64 if dtype is None and out is None else dtype
    return _new("randint", shape, kind, integers("randint", generator, first, end), device, requires_grad, out)


def _bounds(name: str, positional: list[Any], low: Any, high: Any) -> tuple[int, int]:
    """Return ``low`` (by default 0) and ``high``, from positionals ``(high)`` or ``(low, high)``, or keywords."""
    named = {"low": low, "high": high}
    missing = [key for key in ("high", "low") if named[key] is None]
    if len(positional) > len(missing) or high is None and not positional:
        raise TypeError(f"{name}() takes the bounds (high) or (low, high), got {len(positional)} positional ones")
    named.update(zip(missing, [*reversed(positional), 0], strict=False))
    for key, value in named.items():
        if isinstance(value, Tensor):
            _check_bound(name, key, value, is_alone=len(positional) < len(missing))
    first, end = (as_int(value, f"{name}(): argument '{key}'") for key, value in named.items())
    return first, end


def _check_bound(name: str, key: str, value: Tensor, is_alone: bool) -> None:
    """Check that a bound is on the CPU; that of ``randint_like`` is a scalar, or a vector of one if not alone."""
    is_vector = name == "randint_like" and value.ndim and (is_alone or value.numel() != 1)
    if is_vector or not value.is_cpu:
        raise RuntimeError(f"{name}(): {key} must be a scalar tensor and on CPU, got the shape {list(value.shape)}")


@random_function("permutation")
@creation
@seeded("randperm(4) -> [2, 3, 0, 1]")
def randperm(
    n: int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtypes.dtype | None = None,
    layout: Any = None, device: Device = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return a random permutation of the integers from 0 to ``n - 1``.

    :param dtype: int64 by default.
    :raises RuntimeError: ``n`` is negative, or the dtype does not hold all integers below it.
    """
    dtype = check_options("randperm", dtype, layout, pin_memory)
    count = as_int(n, "randperm(): argument 'n'")
    if count < 0:
        raise RuntimeError(f"randperm(): argument 'n' must be non-negative, got {n}")

    def draw(shape: Sequence[int], kind: np.dtype[Any]) -> Array:
        check_dtype("randperm", kind, "fiu")
        holds = largest_integer(kind) + 1
        if count > (256 if kind.itemsize == 1 and kind.kind == "u" else holds):
            raise RuntimeError(
                f"randperm(): n={count} cannot be greater than what {dtypes.of(kind)!r} holds without overflow"
            )
        return source(generator).randperm(shape[0]).astype(kind)

    kind = dtypes.int64 if dtype is None and out is None else dtype
    return _new("randperm", (count,), kind, draw, device, requires_grad, out)


@random_function("like")
def _like(name: str, input: Tensor, dtype: Any, place: Device, requires_grad: bool, order: Any, draw: Draw) -> Tensor:
    """Return a random tensor like ``input``, by default with its memory format."""
    check_tensors(name, input=input)
    place = input.device if place is None else as_device(place)
    xp = backend.module(place)
    kind = input._a.dtype if dtype is None else dtype.numpy
    strides = stride_tools.strides_for(input._a, order, name)
    if strides == stride_tools.contiguous(input._a.shape):
        return finish(drawn_on(place, draw, input._a.shape, kind), requires_grad)
    target = stride_tools.empty(xp.empty(0), input._a.shape, strides, kind)
    target[...] = xp.asarray(in_memory_order(target, draw))
    return finish(target, requires_grad)


@creation
@seeded("rand_like(torch.zeros(3)) -> [0.8823, 0.9150, 0.3829]")
def rand_like(
    input: Tensor, *, generator: Generator | None = None, dtype: dtypes.dtype | None = None, layout: Any = None,
    device: Device = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return random numbers from the uniform distribution on [0, 1), shaped like ``input``, of its dtype and device."""
    dtype = check_options("rand_like", dtype, layout, pin_memory)
    draw = uniform_numbers("rand_like", generator)
    return _like("rand_like", input, dtype, device, requires_grad, memory_format, draw)


@creation
@seeded("randn_like(torch.zeros(3)) -> [0.3367, 0.1288, 0.2345]")
def randn_like(
    input: Tensor, *, generator: Generator | None = None, dtype: dtypes.dtype | None = None, layout: Any = None,
    device: Device = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return random numbers from the standard normal distribution, shaped like ``input``, of its dtype and device."""
    dtype = check_options("randn_like", dtype, layout, pin_memory)
    contiguous = True
    if isinstance(input, Tensor):
        strides = stride_tools.strides_for(input._a, memory_format, "randn_like")
        contiguous = strides == stride_tools.contiguous(input._a.shape)
    draw = normal_numbers("randn_like", generator, contiguous=contiguous)
    return _like("randn_like", input, dtype, device, requires_grad, memory_format, draw)


@creation
@seeded("randint_like(torch.zeros(2, 2), 3, 10) -> [[4., 5.], [7., 8.]]")
def randint_like(
    input: Tensor, *arguments: Any, low: int | None = None, high: int | None = None, generator: Generator | None = None,
    dtype: dtypes.dtype | None = None, layout: Any = None, device: Device = None, requires_grad: bool = False,
    pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return random integers like ``input``: ``randint_like(input, high)`` or ``randint_like(input, low, high)``.

    :raises RuntimeError: the range is empty, or the dtype cannot hold it.
    """
    first, end = _bounds("randint_like", list(arguments), low, high)
    dtype = check_options("randint_like", dtype, layout, pin_memory)
    draw = integers("randint_like", generator, first, end)
    return _like("randint_like", input, dtype, device, requires_grad, memory_format, draw)


# -- with parameters per element -------------------------------------------------------------------------------------


@described
def normal(
    mean: Tensor | Number = 0.0, std: Tensor | Number = 1.0, size: Any = None, *, generator: Generator | None = None,
    out: Tensor | None = None, dtype: dtypes.dtype | None = None, layout: Any = None, device: Device = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return random numbers from normal distributions with the given means and standard deviations.

    Either ``normal(mean, std)``, at least one of them a tensor, or ``normal(mean, std, size)`` with two numbers. The
    result has the dtype of ``mean``, or of ``std`` if ``mean`` is a number.

    :raises RuntimeError: a standard deviation is negative or complex.

    >>> torch.normal(torch.zeros(3), 1.0).shape, torch.normal(2.0, 3.0, size=(1, 4)).shape
    (torch.Size([3]), torch.Size([1, 4]))
    """
    if size is not None:
        size = check_option("normal", "size", size, "Sequence[int]", 2)
        mean, std = check_option("normal", "mean", mean, "float", 0), check_option("normal", "std", std, "float", 1)
    _check_spread(std)
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError("normal(): with two numbers for mean and std, argument 'size' must be given")
        dtype = check_options("normal", dtype, layout, pin_memory)
        shape = new_shape((size,), "normal")
        return _new("normal", shape, dtype, normal_numbers("normal", generator, mean, std), device, requires_grad, out)
    if requires_grad or any(option is not None for option in (size, dtype, layout, device)):
        raise TypeError("normal(): size, dtype, layout, device and requires_grad require two numbers for mean and std")
    source(generator)
    if not isinstance(std, Tensor):
        result = _normal_around(mean, std, generator)
    elif not isinstance(mean, Tensor):
        result = _normal_spread(std, mean, generator)
    else:
        result = _normal_both(mean, std, generator)
    if out is None:
        return result
    with resized_out(out, result._a.shape, "normal"):
        return copy_into(out, result.detach().to(out.dtype))


def _check_spread(std: Tensor | Number) -> None:
    """Check that standard deviations are real and not negative."""
    if isinstance(std, Tensor):
        if std._a.dtype.kind == "c":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        negative = bool((elements(std) < 0).any())
    else:
        negative = std < 0
    if negative:
        raise RuntimeError(f"normal expects all elements of std >= 0.0, got {std}")


def _standard_normal(like: Any, shape: Sequence[int], std: float, chosen: Generator | None) -> Any:
    """Return samples of the normal distribution with mean 0 in the dtype and on the device of an array."""
    return drawn_on(backend.device_of(like), normal_numbers("normal", chosen, 0.0, std), shape, like.dtype)


@no_method(node="NormalBackward1", symbol="normal", half=NATIVE, mean="zeros_of(g)")
def _normal_around(mean: Tensor, std: float, generator: Generator | None) -> Tensor:
    """Return samples of normal distributions with the means ``mean`` and one standard deviation."""
    return (_standard_normal(mean, mean.shape, std, generator) + mean).astype(mean.dtype)


@no_method(node="NormalBackward2", symbol="normal", half=NATIVE, std="zeros_of(g)")
def _normal_spread(std: Tensor, mean: float, generator: Generator | None) -> Tensor:
    """Return samples of normal distributions with one mean and the standard deviations ``std``."""
    return _standard_normal(std, std.shape, 1.0, generator) * std + std.dtype.type(mean)


@no_method(
    node="NormalBackward3", symbol="normal", half=NATIVE,
    mean="sum_to(zeros_of(g), mean.shape)",
    std="cast_back(sum_to(zeros_of(g), std.shape), std.dtype)",
)  # fmt: skip
def _normal_both(mean: Tensor, std: Tensor, generator: Generator | None) -> Tensor:
    """Return samples of normal distributions with the means ``mean`` and standard deviations ``std``."""
    shape = common_shape(mean.shape, std.shape)
    return (_standard_normal(mean, shape, 1.0, generator) * std).astype(mean.dtype) + mean


# -- the generator ---------------------------------------------------------------------------------------------------


@described
def manual_seed(seed: int) -> Generator:
    """Seed the default generator, and return it. The stream is PyTorch's for the same seed.

    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    return generator.default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator with a 64-bit number from the operating system, and return it."""
    return generator.default_generator.seed()


def initial_seed() -> int:
    """Return the last seed of the default generator."""
    return generator.default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the default generator, as a uint8 tensor."""
    return generator.default_generator.get_state()


@described
def set_rng_state(new_state: Tensor) -> None:
    """Set the default generator to a state that :func:`get_rng_state` (or PyTorch's) returned.

    >>> state = torch.get_rng_state()
    >>> first = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> bool((torch.rand(2) == first).all())
    True
    """
    generator.default_generator.set_state(new_state)
