"""``torch.nn.attention``: the choice of a kernel for attention. Every choice selects nbautograd's only one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import Any

from nbautograd._names import absent

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False
"""Has no effect: with one kernel, there is no unfused choice to warn about."""


class SDPBackend(IntEnum):
    """PyTorch's kernels for scaled dot product attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self) -> str:
        return f"<SDPBackend.{self.name}: {self.value}>"


_chosen: ContextVar[tuple[SDPBackend, ...]] = ContextVar("sdpa_kernel", default=tuple(SDPBackend)[1:])


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """Return the kernels that are allowed in this block."""
    return list(_chosen.get())


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[dict[str, Any]]:
    """Open a block in which attention may use the given kernels; all give the same results.

    :param backends: one or several of :class:`SDPBackend`.
    :raises AssertionError: ``backends`` are not backends.

    >>> import nbautograd as torch
    >>> from nbautograd.nn.attention import SDPBackend, sdpa_kernel
    >>> x = torch.ones(1, 2, 2)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     torch.nn.functional.scaled_dot_product_attention(x, x, x).shape
    torch.Size([1, 2, 2])
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(f"Backend must be an instance of SDPBackend or a list of SDPBackend, got {type(backends)}")
    token = _chosen.set(tuple(dict.fromkeys([backends] if isinstance(backends, SDPBackend) else backends)))
    try:
        yield {}
    finally:
        _chosen.reset(token)


absent.answer(__name__)
