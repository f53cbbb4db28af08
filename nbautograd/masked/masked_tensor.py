"""``MaskedTensor``, PyTorch's prototype of a tensor with a mask, which is refused."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

WORDS = (
    "there is no MaskedTensor in nbautograd, which is a prototype in PyTorch: keep data and mask as two tensors, and "
    "call torch.masked.sum(data, dim, mask=mask) and the like"
)


class MaskedTensor:
    """Refused; the functions of ``torch.masked`` take the data and the mask as two tensors.

    :raises NotImplementedError: always.
    """

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        raise NotImplementedError(WORDS)


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> NoReturn:
    """Refused: there is no ``MaskedTensor``.

    :raises NotImplementedError: always.
    """
    raise NotImplementedError(f"masked_tensor(): {WORDS}")


def as_masked_tensor(data: Any, mask: Any) -> NoReturn:
    """Refused: there is no ``MaskedTensor``.

    :raises NotImplementedError: always.
    """
    raise NotImplementedError(f"as_masked_tensor(): {WORDS}")


def is_masked_tensor(obj: Any, /) -> bool:
    """False: there is no ``MaskedTensor``.

    >>> import nbautograd as torch
    >>> torch.masked.is_masked_tensor(torch.ones(2))
    False
    """
    return False
