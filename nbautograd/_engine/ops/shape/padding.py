"""Padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.strides import images_like, is_channels_last
from nbautograd._engine.compiler.op import no_method, op, with_argument_errors
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import under_node
from nbautograd._engine.ops.queries import Number, check_tensors
from nbautograd._names.docstrings import described
from nbautograd.errors import kind_of

Pads = tuple[tuple[int, int], ...]
"""Sizes of the padding before and after each of the last dimensions; negative ones crop."""


def negated(pads: Pads) -> Pads:
    """Return the inverse padding, which crops what was padded."""
    return tuple((-a, -b) for a, b in pads)


@no_method(node="ConstantPadNdBackward0", symbol="pad", input="constant_pad(g, negated(pads), 0)")
def constant_pad(input: Tensor, pads: Pads, value: Any) -> Tensor:
    """Return ``input`` padded with ``value``."""
    first = input.ndim - len(pads)
    shape: list[int] = [*input.shape[:first]]
    source: list[Any] = [...]
    target: list[Any] = [...]
    for n, (a, b) in zip(input.shape[first:], pads, strict=True):
        shape.append(n + a + b)
        source.append(slice(-a if a < 0 else 0, n + b if b < 0 else n))
        target.append(slice(a if a > 0 else 0, n + a if b > 0 else n + a + b))
    order = "K" if is_channels_last(input) else "C"
    output: Any = np.full_like(input, value, shape=tuple(shape), order=order)
    output[tuple(target)] = input[tuple(source)]
    return output


def sources(mode: str, n: int, before: int, after: int) -> np.ndarray[Any, Any]:
    """Return, for each element of a padded row, the index of the input element that it repeats."""
    at = np.arange(-before, n + after)
    if mode == "replicate":
        return at.clip(0, n - 1)
    if mode == "circular":
        return at % n
    at = np.abs(at)
    return np.where(at > n - 1, 2 * (n - 1) - at, at)


def _pad(input: Tensor, pads: Pads, mode: str) -> Tensor:
    """Return ``input`` padded by reflection, replication or circularly."""
    result: Any = input
    for d, (before, after) in enumerate(pads, input.ndim - len(pads)):
        if before or after:
            at = backend.module(backend.device_of(input)).asarray(sources(mode, input.shape[d], before, after))
            result = np.take(result, at, d)
    padded = result.copy() if result is input else result
    return padded if mode == "circular" else images_like(padded, input)


@no_method(node="PadBackwardBackward0", symbol="pad", input="pad_more(g, pads, mode)")
def pad_back(input: Tensor, shape: Any, pads: Pads, mode: str) -> Tensor:
    """Compute the transpose of ``_pad``: add each element to the input element that it repeats."""
    result = input
    for d, (before, after) in enumerate(pads, input.ndim - len(pads)):
        if before or after:
            result = _add_edges(result, d, shape[d], before, after, mode)
    return result.copy() if result is input else result


def _add_edges(g: Any, d: int, n: int, before: int, after: int, mode: str) -> Any:
    """Compute the transpose of the padding of one dimension."""
    at, lead = sources(mode, n, before, after), (slice(None),) * d
    low, high = max(before, 0), g.shape[d] - max(after, 0)
    if min(before, after) < -n:  # no element of the input is left but those that are repeated
        low = high = g.shape[d]
    output = np.zeros_like(g, shape=(*g.shape[:d], n, *g.shape[d + 1 :]))
    output[(*lead, slice(max(-before, 0), max(n + min(after, 0), 0)))] = g[(*lead, slice(low, high))]
    for edge in (slice(0, low), slice(high, None)):
        if len(at[edge]):
            where = backend.module(backend.device_of(g)).asarray(at[edge])
            backend.add_at(output, (*lead, where), g[(*lead, edge)])
    return output


pad_more = op(
    node="PadBackward0", symbol="pad", method=False, input="pad_back(g, input.shape, pads, mode)", name="pad_more"
)(_pad)
_PADS: dict[tuple[str, int], Any] = {}
for _mode, _name in (("reflect", "Reflection"), ("replicate", "Replication"), ("circular", "Circular")):
    for _n in (1, 2, 3):
        _PADS[_mode, _n] = under_node(pad_more, f"{_name}Pad{_n}DBackward0", f"{_mode}_pad{_n}d")


def _padding_numbers(pad: Any) -> list[int]:
    """Return the argument ``pad`` as an even number of ints."""
    if not isinstance(pad, (tuple, list)):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {kind_of(pad)}")
    for item in pad:
        if isinstance(item, (bool, float)) or not hasattr(item, "__index__"):
            raise TypeError(f"pad(): argument 'pad' must be tuple of ints, but found element of type {kind_of(item)}")
    numbers = [int(item) for item in pad]
    if len(numbers) % 2:
        raise RuntimeError(f"pad(): Padding length must be divisible by 2, got {numbers}")
    return numbers


def _check_crop(shape: tuple[int, ...], numbers: list[int], pads: Pads) -> None:
    """Check that negative padding leaves sizes that are not negative."""
    for n, (a, b) in zip(shape[len(shape) - len(pads) :], pads, strict=True):
        if n + min(a, 0) + min(b, 0) < 0 or n + a + b < 0:
            raise RuntimeError(
                f"pad(): the padding {numbers} would give a negative size from shape {list(shape)}: each resulting "
                "length must be non-negative"
            )


def _padding_value(value: Any, input: Tensor) -> Any:
    """Return the number that constant padding writes: 0 by default."""
    if not value:
        return 0
    from nbautograd._engine.ops.creation.from_data import number_in

    return number_in(value if isinstance(value, complex) or value > 0 else float(value), input.dtype, "pad")


def _check_fit(input: Tensor, pads: Pads, mode: str) -> None:
    """Check that the input is large enough for the padding in this mode."""
    first = input._a.ndim - len(pads)
    if mode != "circular" and 0 in input._a.shape[first - 1 :]:
        raise RuntimeError(f"pad(): Expected non-empty dimensions after that of the batch, but got {[*input._a.shape]}")
    for d, (n, ends) in enumerate(zip(input._a.shape[first:], pads, strict=True), first):
        if mode == "reflect" and max(ends) >= n:
            raise RuntimeError(
                f"pad(): Padding size should be less than the corresponding input dimension, but got: padding {ends} "
                f"at dimension {d} of input {list(input._a.shape)}"
            )
        if mode == "circular" and max(ends) > n:
            raise RuntimeError(
                f"Padding value causes wrapping around more than once: padding {ends} at dimension {d} of input "
                f"{list(input._a.shape)}"
            )
        cut = -min(0, ends[0]) - min(0, ends[1])
        if n + sum(ends) < 0 or n == 0 or cut > n and mode != "replicate":
            raise RuntimeError(f"pad(): the padding {ends} does not fit dimension {d} of input {list(input._a.shape)}")


@described
def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Return ``input`` padded at its edges, or cropped where the padding is negative.

    :param pad: the sizes before and after the last dimension, then the last but one, and so on.
    :param mode: ``"constant"``; or, for the last one, two or three dimensions, ``"reflect"`` (the edge itself not
        repeated), ``"replicate"`` or ``"circular"``.
    :param value: the padding value of the mode ``"constant"``; 0 by default.
    :raises RuntimeError: more padding than fits.
    :raises NotImplementedError: the mode is unknown, or does not support these dimensions.

    >>> torch.nn.functional.pad(torch.tensor([[1, 2, 3]]), (1, 2))
    tensor([[0, 1, 2, 3, 0, 0]])
    >>> torch.nn.functional.pad(torch.tensor([[1, 2, 3]]), (2, 0), mode="reflect")
    tensor([[3, 2, 1, 2, 3]])
    """
    check_tensors("pad", input=input)
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(
            f"Unrecognised padding mode {mode}: expected 'constant', 'reflect', 'replicate' or 'circular'"
        )
    numbers = _padding_numbers(pad)
    count, ndim = len(numbers) // 2, input._a.ndim
    if count > ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(numbers)} and input of dimension {ndim}"
        )
    pads = tuple(zip(numbers[::2], numbers[1::2], strict=True))[::-1]
    if mode == "constant":
        if min(numbers, default=0) < 0:
            _check_crop(input._a.shape, numbers, pads)
        return constant_pad(input, pads, _padding_value(value, input))
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument, got {value}')
    if not 1 <= count <= 3 or ndim not in (count + 1, count + 2):
        raise NotImplementedError(
            f"Padding size {len(numbers)} is not supported for {ndim}D input tensor in mode {mode!r}: the last 1, 2 or "
            "3 dimensions of an input with one or two more can be padded"
        )
    _check_fit(input, pads, mode)
    if mode == "circular" and min(numbers) < 0:  # crop first, so that circular padding repeats the rest
        input = constant_pad(input, tuple((min(a, 0), min(b, 0)) for a, b in pads), 0)
        pads = tuple((max(a, 0), max(b, 0)) for a, b in pads)
    return _PADS[mode, count](input, pads, mode)


_padded = pad  # the function has the name of a parameter


@with_argument_errors
def constant_pad_nd(input: Tensor, pad: Any, value: Number = 0) -> Tensor:
    """Return ``input`` padded with ``value``, or cropped where the padding is negative.

    :param pad: the sizes before and after the last dimension, then the last but one, and so on.

    >>> import nbautograd as torch
    >>> torch.constant_pad_nd(torch.ones(2), (1, 0))
    tensor([0., 1., 1.])
    """
    from nbautograd._engine.ops.creation.from_data import number_in

    check_tensors("constant_pad_nd", input=input)
    return _padded(input, pad, "constant", number_in(value, input.dtype, "constant_pad_nd"))
