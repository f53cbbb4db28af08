"""The sample frequencies of a discrete Fourier transform, and ``fftshift``, which centers frequency 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.device import as_device
from nbautograd._engine.arrays.size import as_int, dimension
from nbautograd._engine.compiler.op import composite
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import Device, check_options, creation
from nbautograd._engine.ops.creation.ranges import ranged
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.shape.rearrange import roll
from nbautograd._engine.ops.signal.fourier import Dims
from nbautograd.errors import DtypeError


def _frequencies(name: str, doc: str) -> Any:
    """Make ``fft_fftfreq``, or ``fft_rfftfreq`` for real signals."""

    def make(
        n: int,
        d: float = 1.0,
        *,
        out: Tensor | None = None,
        dtype: dtypes.dtype | None = None,
        layout: Any = None,
        device: Device = None,
        requires_grad: bool = False,
    ) -> Tensor:
        length = as_int(n, f"{name}(): argument 'n' (position 1)")
        if length < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {length}: [{length}] in {name}()")
        dtype = check_options(name, dtype, layout)
        kind = dtype or dtypes.get_default_dtype()
        if kind.rank < 2:
            raise DtypeError(f"{name} requires a floating point or complex dtype, but got {kind!r}")
        if kind.is_complex:
            raise NotImplementedError(f'"{name}" not implemented for complex numbers: dtype={kind!r}')
        half, is_real = length // 2, name == "fft_rfftfreq"
        unit = 1 / (length * d) if length * d else math.inf
        with backend.quiet():  # where d is 0, 0 * inf is nan
            steps = backend.module(as_device(device)).arange(*((half + 1,) if is_real else (-half, (length + 1) // 2)))
            values = steps.astype(kind.numpy) * kind.numpy.type(unit)
        return ranged(name, values if is_real else np.roll(values, -half), out, requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = doc
    return creation(make)


fft_fftfreq = _frequencies(
    "fft_fftfreq",
    """Return the sample frequencies of :func:`fft_fft`, in cycles per unit of time.

    :param n: the number of points.
    :param d: the sample spacing.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """,
)
fft_rfftfreq = _frequencies(
    "fft_rfftfreq",
    """Return the sample frequencies of :func:`fft_rfft`, in cycles per unit of time.

    :param n: the number of points of the real signal.
    :param d: the sample spacing.

    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """,
)


def _shifted(name: str, input: Tensor, dim: Dims, back: bool) -> Tensor:
    check_tensors(name, input=input)
    chosen = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = tuple(dimension(d, input.ndim) for d in chosen)
    if not dims:
        raise RuntimeError(f"{name}(): `shifts` required: the tensor has no dimensions to shift along")
    return roll(input, tuple((input.shape[d] + back) // 2 for d in dims), dims)


@composite(method=False)
def fft_fftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """Return the transform with frequency 0 shifted to the center, along all or some dimensions.

    >>> torch.fft.fftshift(torch.arange(5))
    tensor([3, 4, 0, 1, 2])
    """
    return _shifted("fft_fftshift", input, dim, False)


@composite(method=False)
def fft_ifftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """Return the inverse of :func:`fft_fftshift`.

    >>> torch.fft.ifftshift(torch.arange(5))
    tensor([2, 3, 4, 0, 1])
    """
    return _shifted("fft_ifftshift", input, dim, True)
