"""``MaskedTensor``, PyTorch's prototype of a tensor with a mask, which is not supported."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

WORDS = (
    "there is no MaskedTensor in nbautograd, which is a prototype in PyTorch: keep data and mask as two tensors, and "
    "call torch.masked.sum(data, dim, mask=mask) and the like"
)


class MaskedTensor:
    """Not supported: the functions of ``torch.masked`` take the data and the mask as two tensors.

    :param data: a tensor.
    :param mask: a bool tensor.
    :param requires_grad: accepted and ignored.
    :returns: nothing: it raises.
    :raises NotImplementedError: always.

    >>> MaskedTensor(1, True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    NotImplementedError: there is no MaskedTensor in nbautograd, ...
    """

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        raise NotImplementedError(WORDS)


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> NoReturn:
    """Raise: ``MaskedTensor`` is not supported.

    :raises NotImplementedError: always.

    >>> masked_tensor(1, True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    NotImplementedError: masked_tensor(): there is no MaskedTensor in nbautograd, ...
    """
    raise NotImplementedError(f"masked_tensor(): {WORDS}")


def as_masked_tensor(data: Any, mask: Any) -> NoReturn:
    """Raise: ``MaskedTensor`` is not supported.

    :raises NotImplementedError: always.

    >>> as_masked_tensor(1, True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    NotImplementedError: as_masked_tensor(): there is no MaskedTensor in nbautograd, ...
    """
    raise NotImplementedError(f"as_masked_tensor(): {WORDS}")


def is_masked_tensor(obj: Any, /) -> bool:
    """Return False: ``MaskedTensor`` is not supported.

    >>> torch.masked.is_masked_tensor(torch.ones(2))
    False
    """
    return False
