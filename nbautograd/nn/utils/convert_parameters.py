"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.shape.joining import cat
from nbautograd.errors import kind_of

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenate all elements of all parameters.

    :raises TypeError: the parameters are on different devices.

    >>> torch.nn.utils.parameters_to_vector([torch.zeros(2, 2), torch.ones(1)])
    tensor([0., 0., 0., 0., 1.])
    """
    listed = list(parameters)
    if len({p.device for p in listed}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return cat([p.view(-1) for p in listed])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parts of a vector the data of the parameters; they share its memory afterwards.

    :raises TypeError: ``vec`` is not a tensor.
    :raises RuntimeError: it has too few elements.

    >>> w, b = torch.zeros(2), torch.zeros(1)
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([1., 2., 3.]), [w, b])
    >>> w, b
    (tensor([1., 2.]), tensor([3.]))
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {kind_of(vec)}")
    listed = list(parameters)
    needed = sum(p.numel() for p in listed)
    if vec.numel() < needed:
        raise RuntimeError(f"vector_to_parameters: the shape is invalid: {vec.numel()} elements for {needed}")
    position = 0
    for p in listed:
        p.data = vec[position : position + p.numel()].view_as(p).data
        position += p.numel()
