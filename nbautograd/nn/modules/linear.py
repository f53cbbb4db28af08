"""Linear and bilinear layers, and the identity."""

from __future__ import annotations

import math
from typing import Any, overload

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import empty
from nbautograd.nn import functional as F, init  # noqa: N812
from nbautograd.nn.modules.module import Module
from nbautograd.nn.parameter import Parameter

__all__ = ["Bilinear", "Identity", "Linear"]


@overload
def new_parameter(*shape: int, device: Any = ..., dtype: Any = ...) -> Parameter: ...
@overload
def new_parameter(*shape: int, device: Any = ..., dtype: Any = ..., wanted: bool) -> Parameter | None: ...
def new_parameter(*shape: int, device: Any = None, dtype: Any = None, wanted: bool = True) -> Parameter | None:
    """Return an uninitialized parameter, or None."""
    return Parameter(empty(*shape, device=device, dtype=dtype)) if wanted else None


class Identity(Module):
    """The identity: returns its input, and ignores any arguments.

    >>> torch.nn.Identity(54, unused=True)(torch.tensor([1., 2.]))
    tensor([1., 2.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return the input."""
        return input


class Linear(Module):
    """``x @ weight.T + bias``: shape (..., in_features) to (..., out_features).

    >>> torch.nn.Linear(3, 2)
    Linear(in_features=3, out_features=2, bias=True)
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = new_parameter(out_features, in_features, device=device, dtype=dtype)
        self.register_parameter("bias", new_parameter(out_features, device=device, dtype=dtype, wanted=bias))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters, uniformly within ``1 / sqrt(in_features)`` of zero."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """Return the linear map of the last dimension."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes, and whether there is a bias."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """The output map of :class:`MultiheadAttention`, under the name that PyTorch shows."""


class Bilinear(Module):
    """``x1 @ weight[k] @ x2 + bias[k]`` for each output k.

    :raises ValueError: ``in1_features`` is not positive.

    >>> torch.nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 3)).shape
    torch.Size([5, 4])
    """

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = new_parameter(out_features, in1_features, in2_features, device=device, dtype=dtype)
        self.register_parameter("bias", new_parameter(out_features, device=device, dtype=dtype, wanted=bias))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters, uniformly within ``1 / sqrt(in1_features)`` of zero."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Return the bilinear map of the last dimensions."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes, and whether there is a bias."""
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"
