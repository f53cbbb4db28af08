"""Fusion for evaluation: one convolution or linear layer that includes the batch normalization after it."""

from __future__ import annotations

import copy
from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import ones_like, zeros_like
from nbautograd.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _statistics(layer: Any, bn: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return the statistics and parameters of ``bn``, after checking that both are in evaluation mode."""
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a convolution that computes ``bn(conv(x))``; both are in evaluation mode.

    :raises AssertionError: one is in training mode, or has no running statistics.

    >>> import nbautograd as torch
    >>> conv, bn = torch.nn.Conv2d(1, 2, 3).eval(), torch.nn.BatchNorm2d(2).eval()
    >>> x = torch.randn(1, 1, 4, 4)
    >>> torch.allclose(torch.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    statistics, fused = _statistics(conv, bn), copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, *statistics, transpose)
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None, transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Return weight and bias of the fused convolution.

    >>> import nbautograd as torch
    >>> ones = torch.ones(1)
    >>> weight, bias = torch.nn.utils.fuse_conv_bn_weights(torch.ones(1, 1, 1), None, ones, ones, 3.0, None, None)
    >>> weight.tolist(), bias.tolist()
    ([[[0.5]]], [-0.5])
    """
    kind = conv_w.dtype if conv_b is None else conv_b.dtype
    conv_b = zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = zeros_like(bn_rm) if bn_b is None else bn_b
    scale = (bn_rv + bn_eps).rsqrt()
    shape = [1, -1] if transpose else [-1, 1]
    weight = (conv_w * (bn_w * scale).reshape(shape + [1] * (conv_w.ndim - 2))).to(conv_w.dtype)
    bias = ((conv_b - bn_rm) * scale * bn_w + bn_b).to(kind)
    return Parameter(weight.detach(), conv_w.requires_grad), Parameter(bias.detach(), conv_b.requires_grad)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a linear layer that computes ``bn(linear(x))``; both are in evaluation mode.

    :raises AssertionError: one is in training mode, has no running statistics, or the features do not fit.

    >>> import nbautograd as torch
    >>> linear, norm = torch.nn.Linear(3, 2).eval(), torch.nn.BatchNorm1d(2).eval()
    >>> fused = torch.nn.utils.fuse_linear_bn_eval(linear, norm)
    >>> torch.allclose(fused(torch.ones(4, 3)), norm(linear(torch.ones(4, 3))), atol=1e-6)
    True
    """
    statistics = _statistics(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        given = f"{linear.out_features=!s} and {bn.num_features=!s}"
        raise AssertionError(f"To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got {given}")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, *statistics)
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of the fused linear layer.

    >>> import nbautograd as torch
    >>> one = torch.ones(1)
    >>> weight, bias = torch.nn.utils.fuse_linear_bn_weights(torch.ones(1, 2), None, one, one, 3.0, one, one)
    >>> weight.tolist(), bias.tolist()
    ([[0.5, 0.5]], [0.5])
    """
    kind = linear_w.dtype if linear_b is None else linear_b.dtype
    linear_b = zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    weight = (linear_w * scale.unsqueeze(-1)).to(linear_w.dtype)
    bias = ((linear_b - bn_rm) * scale + bn_b).to(kind)
    return Parameter(weight.detach(), linear_w.requires_grad), Parameter(bias.detach(), linear_b.requires_grad)
