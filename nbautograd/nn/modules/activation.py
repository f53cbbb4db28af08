"""Activations: elementwise functions and softmax as layers."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import empty
from nbautograd.errors import warn
from nbautograd.nn import functional as F  # noqa: N812
from nbautograd.nn.init import constant_
from nbautograd.nn.modules._options import Layer
from nbautograd.nn.modules.module import Module
from nbautograd.nn.parameter import Parameter

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softmax", "Softmax2d",
    "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip


class _Untold(Layer):
    def extra_repr(self) -> str:
        """Return the empty string: not even ``inplace`` is shown."""
        return ""


class ReLU(Layer, function=F.relu):
    """``max(x, 0)``."""

    inplace: bool = False


class Threshold(Layer, function=F.threshold, show="threshold value"):
    """``x`` where it is above ``threshold``, elsewhere ``value``."""

    threshold: float
    value: float
    inplace: bool = False


class RReLU(Layer, function=F.rrelu, show="lower upper", training=True):
    """ReLU with a random slope below zero, drawn for each element while training, and the mean slope in evaluation.

    >>> torch.nn.RReLU(0.1, 0.3).eval()(torch.tensor([-1., 1.]))
    tensor([-0.2000,  1.0000])
    """

    lower: float = 1 / 8
    upper: float = 1 / 3
    inplace: bool = False


class Hardtanh(Layer, function=F.hardtanh, show="min_val max_val", unused="min_value max_value"):
    """``x``, clamped to [``min_val``, ``max_val``].

    :raises AssertionError: the bounds are not in order.
    """

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False
    min_value: float | None = None
    max_value: float | None = None

    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        for former, name in (("min_value", "min_val"), ("max_value", "max_val")):
            value = options.pop(former)
            if value is not None:
                warn(f"keyword argument `{former}` is deprecated and renamed to `{name}`", FutureWarning)
                options[name] = value
        low, high = options["min_val"], options["max_val"]
        if not high > low:
            raise AssertionError(f"max_val must be greater than min_val, got {high} and {low}")
        return options


class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)``.

    >>> torch.nn.ReLU6()(torch.tensor([-1., 3., 9.]))
    tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Return ``inplace=True`` if the layer writes into its input."""
        return "inplace=True" if self.inplace else ""


class Sigmoid(Layer, function=F.sigmoid):
    """``1 / (1 + exp(-x))``."""


class Hardsigmoid(_Untold, function=F.hardsigmoid):
    """``clamp(x / 6 + 1 / 2, 0, 1)``."""

    inplace: bool = False


class Tanh(Layer, function=F.tanh):
    """The hyperbolic tangent."""


class SiLU(Layer, function=F.silu):
    """``x · sigmoid(x)``, also called swish (Elfwing et al., 2017)."""

    inplace: bool = False


class Mish(Layer, function=F.mish):
    """``x · tanh(softplus(x))`` (Misra, 2019)."""

    inplace: bool = False


class Hardswish(_Untold, function=F.hardswish):
    """``x · clamp(x / 6 + 1 / 2, 0, 1)`` (Howard et al., 2019)."""

    inplace: bool = False


class ELU(Layer, function=F.elu, show="alpha"):
    """``x`` above zero, below it ``alpha · (exp(x) - 1)`` (Clevert et al., 2016)."""

    alpha: float = 1.0
    inplace: bool = False


class CELU(Layer, function=F.celu, show="alpha"):
    """``x`` above zero, below it ``alpha · (exp(x / alpha) - 1)`` (Barron, 2017)."""

    alpha: float = 1.0
    inplace: bool = False


class SELU(Layer, function=F.selu):
    """The ELU that keeps means and variances (Klambauer et al., 2017)."""

    inplace: bool = False


class GLU(Layer, function=F.glu, show="dim"):
    """``a · sigmoid(b)`` of the two halves of a dimension (Dauphin et al., 2017)."""

    dim: int = -1


class GELU(Layer, function=F.gelu, show="approximate={0.approximate!r}"):
    """``x`` times the normal distribution function at ``x`` (Hendrycks and Gimpel, 2016)."""

    approximate: str = "none"


class Hardshrink(Layer, function=F.hardshrink, show="{0.lambd}"):
    """``x`` outside [-lambd, lambd], elsewhere 0."""

    lambd: float = 0.5


class LeakyReLU(Layer, function=F.leaky_relu, show="negative_slope"):
    """``x`` above zero, below it ``negative_slope · x``."""

    negative_slope: float = 0.01
    inplace: bool = False


class LogSigmoid(Layer, function=F.logsigmoid):
    """``log(sigmoid(x))``."""


class Softplus(Layer, function=F.softplus, show="beta threshold"):
    """``log(1 + exp(beta · x)) / beta``; ``x`` itself where ``beta · x`` is above ``threshold``."""

    beta: float = 1.0
    threshold: float = 20.0


class Softshrink(Layer, function=F.softshrink, show="{0.lambd}"):
    """``x`` moved by ``lambd`` towards zero; 0 in [-lambd, lambd]."""

    lambd: float = 0.5


class Softsign(Layer, function=F.softsign):
    """``x / (1 + |x|)``."""


class Tanhshrink(Layer, function=F.tanhshrink):
    """``x - tanh(x)``."""


class Softmin(Layer, function=F.softmin, show="dim"):
    """``softmax(-x)`` along a dimension."""

    dim: int | None = None


class Softmax(Layer, function=F.softmax, show="dim"):
    """``exp(x)``, divided by its sum along a dimension."""

    dim: int | None = None


class LogSoftmax(Layer, function=F.log_softmax, show="dim"):
    """The logarithm of the softmax along a dimension."""

    dim: int | None = None


class Softmax2d(Module):
    """The softmax over the channels: input of shape (n, c, h, w) or (c, h, w).

    :raises ValueError: the number of dimensions is wrong.

    >>> torch.nn.Softmax2d()(torch.zeros(1, 4, 1, 1)).flatten()
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Compute the softmax along dimension -3."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


class PReLU(Module):
    """ReLU with a slope below zero that is learned (He et al., 2015).

    :param num_parameters: 1, or the number of channels (dimension 1).
    :param init: the initial slope.

    >>> torch.nn.PReLU(init=0.5)(torch.tensor([-1., 1.]))
    tensor([-0.5000,  1.0000], grad_fn=<PreluKernelBackward0>)
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset all slopes to their initial value."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Return ``x`` above zero, below it ``weight · x``."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of slopes."""
        return f"num_parameters={self.num_parameters}"
