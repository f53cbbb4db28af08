"""Helpers of distributions: broadcasting parameters, probabilities and logits, matrices from vectors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar, overload

from nbautograd._engine.arrays.dtypes import dtype as DType, finfo, get_default_dtype  # noqa: N812
from nbautograd._engine.core.grad_mode import enable_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import tensor
from nbautograd._engine.ops.creation.random import randn
from nbautograd._engine.ops.creation.ranges import arange
from nbautograd._engine.ops.reduction.softmax import softmax
from nbautograd._engine.ops.shape.broadcasting import broadcast_tensors

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip

R = TypeVar("R")
euler_constant: Final[float] = 0.57721566490153286060
Number = Tensor | float
_Number = (bool, int, float)


def formula(compute: Callable[..., Any]) -> Any:
    """Declare a formula: a function of a distribution d, a transform t or a constraint c, and of values."""
    return compute


def attribute(compute: Callable[[Any], Any], doc: str | None = None) -> Any:
    """Declare an attribute that is computed from others, such as the natural parameters."""
    return property(compute, doc=doc)


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Broadcast tensors and numbers to one shape.

    Numbers become tensors of the first tensor's dtype and device, or of the default ones.

    :param values: the tensors and numbers.
    :returns: a tuple of tensors.
    :raises ValueError: a value is neither a tensor nor a number.

    >>> torch.distributions.utils.broadcast_all(torch.zeros(2), 1.0)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    if not all(_is_tensor_like(value) or isinstance(value, _Number) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    options: dict[str, Any] = {"dtype": get_default_dtype()}
    for value in values:
        if isinstance(value, Tensor):
            options = {"dtype": value.dtype, "device": value.device}
            break
    tensors = [value if _is_tensor_like(value) else tensor(value, **options) for value in values]
    return tuple(broadcast_tensors(*tensors))


def _standard_normal(shape: Sequence[int], dtype: DType | None, device: Any) -> Tensor:
    """Draw samples of the standard normal distribution."""
    return randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """Compute the sum over the last ``dim`` dimensions."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Compute probabilities from logits: by the sigmoid function, or by softmax over the last dimension.

    :param logits: a tensor of floating dtype.
    :param is_binary: whether each logit is of a binary event; otherwise the last dimension is of classes.
    :returns: a tensor of the shape of ``logits``.
    :raises TypeError: ``logits`` is not a tensor, and ``is_binary`` is false.
    :raises AttributeError: ``logits`` is not a tensor, and ``is_binary`` is true.

    >>> torch.distributions.utils.logits_to_probs(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """
    return logits.sigmoid() if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities to between the dtype's ``eps`` and 1 - ``eps``.

    :param probs: a tensor of floating dtype.
    :returns: a tensor of the shape of ``probs``.
    :raises TypeError: the dtype is not floating.

    >>> torch.distributions.utils.clamp_probs(torch.tensor([0., 0.5])) > 0
    tensor([True, True])
    """
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Compute logits from probabilities: log-odds, or logarithms.

    :param probs: a tensor of floating dtype.
    :param is_binary: whether each probability is of a binary event.
    :returns: a tensor of the shape of ``probs``; finite, because the probabilities are clamped first.
    :raises TypeError: the dtype is not floating.

    >>> torch.distributions.utils.probs_to_logits(torch.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property(Generic[R]):  # noqa: N801 - PyTorch's name
    """A property that is computed once, with gradients, and then stored as an attribute of the instance.

    :param wrapped: a function of the instance.
    :returns: the value, on an instance; on the class the property itself.
    :raises AttributeError: the function needs an attribute that is missing.

    >>> class Square:
    ...     def __init__(self, side):
    ...         self.side = side
    ...     @torch.distributions.utils.lazy_property
    ...     def area(self):
    ...         return self.side * self.side
    >>> square = Square(3)
    >>> square.area, vars(square)
    (9, {'side': 3, 'area': 9})
    """

    def __init__(self, wrapped: Callable[[Any], R]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> lazy_property[R]: ...
    @overload
    def __get__(self, instance: Any, owner: type | None = None) -> R: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return _PropertyOfTheClass(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _PropertyOfTheClass(lazy_property[Any], property):  # type: ignore[misc] # both are descriptors
    """The lazy property on a class: a plain property for documentation tools."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def _below(n: int, diag: int, like: Tensor) -> Tensor:
    """Return a mask of an n by n matrix, True on the diagonal ``diag`` and below."""
    column = arange(n, device=like.device)
    return column < column.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the lower triangle of matrices as vectors, row by row: up to the diagonal ``diag``.

    :param mat: a tensor, shape (..., n, n).
    :param diag: the last diagonal; 0 is the main one, and those below it are negative.
    :returns: a tensor of shape (..., k), with k elements in the triangle.
    :raises ValueError: the diagonal is out of range.

    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1, 0], [2, 3]]))
    tensor([1, 2, 3])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _below(n, diag, mat)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return matrices with these vectors as lower triangles, row by row; zero elsewhere.

    :param vec: a tensor, shape (..., k).
    :param diag: the last diagonal; 0 is the main one, and those below it are negative.
    :returns: a tensor of shape (..., n, n).
    :raises ValueError: no triangle has this number of elements.

    >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1, 2, 3.]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    odd = 1 + 2 * diag
    size = (math.sqrt(odd**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) - odd) / 2  # of n (n + odd) / 2 elements
    n = round(size)
    if abs(n - size) > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    mat: Tensor = vec.new_zeros(vec.shape[:-1] + (n, n))
    mat[..., _below(n, diag, vec)] = vec
    return mat
