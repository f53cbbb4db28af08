"""Linear and bilinear maps, normalization, and distances of vectors."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.compiler.argument_kinds import check_arguments
from nbautograd._engine.compiler.op import OPS, composite, with_numpy_names
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.overrides import UNHANDLED, offer, subclasses
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.linalg.addmm import addmm
from nbautograd._engine.ops.linalg.einsum import einsum
from nbautograd._engine.ops.queries import check_tensors, result_type
from nbautograd._engine.ops.reduction.distances import pdist, vector_norm
from nbautograd._engine.ops.shape.broadcasting import broadcast_shapes
from nbautograd.errors import DtypeError

__all__ = ["bilinear", "cosine_similarity", "linear", "normalize", "pairwise_distance", "pdist"]

transposed = OPS["t"].temporary_view


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return ``input @ weight.T + bias``.

    :param input: shape (..., in).
    :param weight: shape (out, in), or (in,).
    :param bias: shape (out,).

    >>> torch.nn.functional.linear(torch.tensor([[1., 2.]]), torch.tensor([[3., 4.]]), torch.tensor([10.]))
    tensor([[21.]])
    """
    if subclasses and (answer := offer(linear, _without_none(input, weight, bias), {})) is not UNHANDLED:
        return answer
    try:
        a = input._a
        if a.ndim == 2 and bias is not None and weight._a.ndim == 2 and out is None:
            return addmm(bias, input, transposed(weight))
    except AttributeError:
        if (answer := offer(linear, _without_none(input, weight, bias), {})) is not UNHANDLED:
            return answer
        check_arguments(linear, (input, weight, bias), {})
        raise
    return _linear(input, weight, bias, out=out)


def _without_none(*args: Any) -> tuple[Any, ...]:
    """Return the arguments before the first None, as in a call that omits it."""
    return args[:-1] if args[-1] is None else args


@composite(method=False, out=True)
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute the linear map for any shapes."""
    shape = input._a.shape
    if weight._a.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight._a.ndim}D")
    if bias is None or weight._a.ndim != 2 or not shape or not math.prod(shape):
        product = input @ (weight.t() if weight._a.ndim == 2 else weight)
        return product if bias is None else product + bias
    if shape[-1] != weight._a.shape[1]:
        raise RuntimeError(
            f"linear(): mat1 and mat2 shapes cannot be multiplied ({list(shape)} and {list(weight._a.shape)}): the "
            "last size of input must be the last of weight"
        )
    return bias.addmm(input.reshape(-1, shape[-1]), weight.t()).view(*shape[:-1], weight._a.shape[0])


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``input1 @ weight[k] @ input2 + bias[k]`` for each output k.

    :param input1: shape (..., m).
    :param input2: shape (..., n).
    :param weight: shape (out, m, n).
    :param bias: shape (out,).

    >>> torch.nn.functional.bilinear(torch.tensor([[1., 2.]]), torch.tensor([[3.]]), torch.ones(1, 2, 1))
    tensor([[9.]])
    """
    check_tensors("bilinear", input1=input1, input2=input2, weight=weight)
    given = {"input1": input1, "input2": input2, "weight": weight, **({} if bias is None else {"bias": bias})}
    if len({t.dtype for t in given.values()}) > 1:
        kinds = ", ".join(f"{label}: {dtypes.c_type(t.dtype)}" for label, t in given.items())
        raise DtypeError(f"All tensors must have the same dtype, got {kinds}")
    _check_bilinear(input1._a.shape, input2._a.shape, weight, bias)
    if input1.is_complex() and is_grad_enabled() and any(t.requires_grad for t in (input1, input2, weight)):
        raise RuntimeError("_trilinear does not support automatic differentiation for outputs with complex dtype.")
    result = einsum("...m,omn,...n->...o", input1, weight, input2)
    return result if bias is None else result + bias


def _check_bilinear(a: tuple[int, ...], b: tuple[int, ...], weight: Tensor, bias: Tensor | None) -> None:
    """Check the shapes of the inputs, ``a`` and ``b``, of the weight and of the bias."""
    w = weight._a.shape
    if len(a) != len(b):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(a)} and {len(b)}")
    if a[:-1] != b[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got shapes {list(a)} for input1 and {list(b)} for input2"
        )
    for position, (label, shape) in enumerate((("input1", a), ("input2", b)), 1):
        if len(w) <= position:
            raise IndexError("bilinear(): Dimension out of range: weight must have 3 dimensions")
        if len(w) > 3 or shape[-1] != w[position]:
            raise RuntimeError(f"bilinear(): {label} size does not match weight size: {shape[-1]} and {list(w)}")
    if bias is None:
        return
    if not bias._a.ndim:
        raise IndexError("bilinear(): Dimension out of range: bias must have 1 dimension")
    if bias._a.shape[0] != w[0]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: expected {w[0]} of {weight.dtype!r}")


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Return ``input`` divided by its p-norm over ``dim``, or by ``eps`` where that is larger.

    >>> torch.nn.functional.normalize(torch.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """
    check_tensors("normalize", input=input)
    return input.true_divide(input.norm(p, dim, True).clamp(min=eps).expand_as(input), out=out)


@with_numpy_names
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Compute the cosine of the angle between vectors along ``dim``: dot product over the product of the lengths.

    :param eps: the smallest divisor.

    >>> torch.nn.functional.cosine_similarity(torch.tensor([[1., 0.]]), torch.tensor([[1., 1.]]))
    tensor([0.7071])
    """
    check_tensors("cosine_similarity", x1=x1, x2=x2)
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps}")
    shape = broadcast_shapes(x1._a.shape, x2._a.shape)
    x1, x2 = x1.expand(*shape), x2.expand(*shape)
    kind = result_type(x1, x2)
    if kind.rank != 2:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {kind!r}")
    if x1.dtype is not x2.dtype:
        x1, x2 = x1.to(kind), x2.to(kind)
    lengths = [vector_norm(x, 2.0, dim, True) for x in (x1, x2)]
    return (x1 / lengths[0].clamp(min=eps) * (x2 / lengths[1].clamp(min=eps))).sum(dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """Compute the p-norm of ``x1 - x2 + eps`` over the last dimension.

    >>> torch.nn.functional.pairwise_distance(torch.tensor([[0., 0.]]), torch.tensor([[3., 4.]]), eps=0)
    tensor([5.])
    """
    check_tensors("pairwise_distance", x1=x1, x2=x2)
    return (x1 - x2 + eps).norm(p, -1, keepdim)
