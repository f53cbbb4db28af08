"""Parameter initialization in place, with PyTorch's numbers after the same seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nbautograd._engine.compiler.argument_errors import with_argument_errors
from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import empty_like
from nbautograd._engine.ops.creation.random import randperm
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.linalg.qr import linalg_qr
from nbautograd._engine.rng.generator import Generator
from nbautograd._names import absent
from nbautograd._names.docstrings import describe_all, layers
from nbautograd.errors import warn

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip

LINEAR = ("linear", "sigmoid", *(f"conv{'_transpose' * t}{n}d" for t in (0, 1) for n in (1, 2, 3)))


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the recommended gain of the standard deviation of weights followed by a nonlinearity.

    :param nonlinearity: ``"linear"``, ``"conv2d"`` and the like, ``"sigmoid"``, ``"tanh"``, ``"relu"``,
        ``"leaky_relu"`` or ``"selu"``.
    :param param: the slope of ``"leaky_relu"`` below zero, 0.01 by default.
    :raises ValueError: the nonlinearity is unknown, or the slope is not a number.

    >>> torch.nn.init.calculate_gain("leaky_relu", 0.2)
    1.3867504905630728
    """
    if nonlinearity in LINEAR:
        return 1
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    known = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}
    if nonlinearity not in known:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}: known are {', '.join((*LINEAR, *known))}")
    return known[nonlinearity]


# -- plain distributions ---------------------------------------------------------------------------------------------


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with samples of the uniform distribution on [a, b).

    >>> _ = torch.manual_seed(42)
    >>> torch.nn.init.uniform_(torch.empty(2))
    tensor([0.8823, 0.9150])
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with samples of the normal distribution.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.normal_(torch.empty(2, 2))
    tensor([[ 1.5410, -0.2934],
            [-2.1788,  0.5684]])
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill with samples of the normal distribution truncated to [a, b].

    Where [a, b] has less than 0.3 of the probability, uniform numbers are drawn instead and accepted with a
    probability proportional to their density.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.trunc_normal_(torch.empty(2, 2))
    tensor([[ 1.5410, -0.2934],
            [ 0.4033,  0.5684]])
    """
    if std <= 0:
        raise ValueError(f"trunc_normal_(): std must be positive, got {std}")
    if mean < a - 2 * std or mean > b + 2 * std:
        warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_: the numbers may be distributed otherwise")
    inside = (math.erf((b - mean) / std / math.sqrt(2.0)) - math.erf((a - mean) / std / math.sqrt(2.0))) / 2
    filled = (_normal_within if inside > 0.3 else _by_rejection)(tensor, mean, std, a, b, generator)
    if filled is not tensor:
        tensor.copy_(filled)
    return tensor


def _normal_within(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    low, high = (tensor.new_tensor(bound, device="cpu").item() for bound in (a, b))
    filled = tensor.normal_(mean, std, generator=generator)
    while not tensor.is_meta and (outside := (filled < low) | (filled > high)).any():
        filled = where(outside, empty_like(filled).normal_(mean, std, generator=generator), filled)
    return filled


def _by_rejection(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    top = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2  # the logarithm of the largest density
    filled, candidates, chance, pending = tensor, tensor, empty_like(tensor), None
    while pending is None or not tensor.is_meta and pending.any():
        candidates = candidates.uniform_(a, b, generator=generator)
        filled = candidates if pending is None else where(pending, candidates, filled)
        density = ((candidates - mean) / std).pow(2) * -0.5 - top
        refused = chance.uniform_(generator=generator).log_() > density
        pending = refused if pending is None else pending & refused
        candidates = empty_like(tensor)
    return filled


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with a constant.

    >>> torch.nn.init.constant_(torch.empty(2, 2), 7.)
    tensor([[7., 7.],
            [7., 7.]])
    """
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    >>> torch.nn.init.ones_(torch.empty(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    >>> torch.nn.init.zeros_(torch.empty(2, 2))
    tensor([[0., 0.],
            [0., 0.]])
    """
    return tensor.zero_()


# -- by the numbers of inputs and outputs ----------------------------------------------------------------------------


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return ``(fan_in, fan_out)`` of a weight of shape (out, in, *kernel)."""
    if tensor.ndim < 2:
        raise ValueError(
            f"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, and it has {tensor.ndim}"
        )
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ("fan_in", "fan_out")
    if str(mode).lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {list(modes)}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with uniform samples of variance ``gain² · 2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010).

    :param tensor: at least two dimensions, the first two being outputs and inputs.
    :raises ValueError: fewer dimensions.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.xavier_uniform_(torch.empty(2, 2))
    tensor([[-0.0092,  0.6570],
            [-1.0080, -0.9013]])
    """
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normal samples of variance ``gain² · 2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010).

    :raises ValueError: fewer than two dimensions.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.xavier_normal_(torch.empty(2, 2))
    tensor([[ 1.0896, -0.2075],
            [-1.5406,  0.4019]])
    """
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return normal_(tensor, 0.0, std, generator)


def _kaiming(fill: Callable[[float], Tensor], tensor: Tensor, a: float, mode: str, nonlinearity: str) -> Tensor:
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    return fill(calculate_gain(nonlinearity, a) / math.sqrt(fan))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill with uniform samples of variance ``gain² / fan`` (He et al., "Delving deep into rectifiers", 2015).

    :param a: the slope below zero of the leaky ReLU that follows.
    :raises ValueError: fewer than two dimensions, or ``mode`` is invalid.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.kaiming_uniform_(torch.empty(2, 2))
    tensor([[-0.0130,  0.9291],
            [-1.4256, -1.2747]])
    """

    def fill(std: float) -> Tensor:
        bound = math.sqrt(3.0) * std
        return uniform_(tensor, -bound, bound, generator)

    return _kaiming(fill, tensor, a, mode, nonlinearity)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill with normal samples of variance ``gain² / fan`` (He et al., "Delving deep into rectifiers", 2015).

    :param a: the slope below zero of the leaky ReLU that follows.
    :raises ValueError: fewer than two dimensions, or ``mode`` is invalid.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.kaiming_normal_(torch.empty(2, 2))
    tensor([[ 1.5410, -0.2934],
            [-2.1788,  0.5684]])
    """
    return _kaiming(lambda std: normal_(tensor, 0, std, generator), tensor, a, mode, nonlinearity)


# -- matrices --------------------------------------------------------------------------------------------------------


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix.

    :raises ValueError: not two dimensions.

    >>> torch.nn.init.eye_(torch.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndim != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, and this one has {tensor.ndim}")
    tensor.zero_()
    tensor.diagonal().fill_(1)
    return tensor


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution weight with the Dirac delta: it preserves as many input channels as possible.

    :param tensor: 3 to 5 dimensions.
    :raises ValueError: the number of dimensions is wrong, or ``groups`` does not divide the outputs.

    >>> torch.nn.init.dirac_(torch.empty(2, 2, 1)).squeeze()
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(f"Only tensors with 3, 4, or 5 dimensions are supported, and this one has {tensor.ndim}")
    if tensor.shape[0] % groups:
        raise ValueError(f"dim 0 must be divisible by groups: {tensor.shape[0]} channels, {groups} groups")
    each = tensor.shape[0] // groups
    middle = tuple(n // 2 for n in tensor.shape[2:])
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(each, tensor.shape[1])):
            tensor[(group * each + channel, channel, *middle)] = 1
    return tensor


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix, uniformly distributed (Saxe et al., 2013).

    :param tensor: at least two dimensions; dimensions after the first count as one.
    :raises ValueError: fewer dimensions.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.orthogonal_(torch.empty(2, 2))
    tensor([[ 0.5774,  0.8164],
            [-0.8164,  0.5774]])
    """
    if tensor.ndim < 2:
        raise ValueError(f"Only tensors with 2 or more dimensions are supported, and this one has {tensor.ndim}")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    q, r = linalg_qr(drawn.t() if rows < columns else drawn)
    q = q * r.diagonal().sign()  # makes the distribution uniform: Mezzadri, arXiv:math-ph/0609050
    if rows < columns:
        q = q.t()
    tensor.copy_((q * gain).reshape(tensor.shape))
    return tensor


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill with normal samples, and a fraction ``sparsity`` of each column with zeros (Martens, 2010).

    :raises ValueError: not two dimensions.

    >>> torch.nn.init.sparse_(torch.empty(4, 2), sparsity=0.75).count_nonzero(dim=0)
    tensor([1, 1])
    """
    if tensor.ndim != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, and this one has {tensor.ndim}")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows)[:zeros], column] = 0
    return tensor


for _name in {*__all__} - {"calculate_gain"}:
    globals()[_name] = with_argument_errors(globals()[_name])


def _deprecated(name: str) -> Callable[..., Any]:
    function = globals()[name + "_"]

    def former(*args: Any, **kwargs: Any) -> Any:
        warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning)
        return function(*args, **kwargs)

    former.__name__ = name
    former.__doc__ = f"Call :func:`{name}_`; deprecated name."
    return former


FORMER = """
    uniform normal constant eye dirac xavier_uniform xavier_normal kaiming_uniform kaiming_normal orthogonal sparse"""
for _name in FORMER.split():
    globals()[_name] = _deprecated(_name)

describe_all([globals()[name] for name in __all__], layers.FAMILIES, layers.SHARED_BY_UTILITIES)

absent.answer(__name__)
