"""Memory layouts: the constants for PyTorch's arguments ``layout=`` and ``memory_format=``."""

from __future__ import annotations

__all__ = [
    "channels_last", "channels_last_3d", "contiguous_format", "layout", "memory_format", "preserve_format",
    "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr", "strided",
]  # fmt: skip


class _Named:
    """A constant that prints as ``torch.<name>``."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class layout(_Named):  # noqa: N801 - PyTorch's name
    """The storage of elements: ``strided``, ``sparse_coo`` or ``sparse_csr``; others exist to be rejected by name."""

    __slots__ = ()


class memory_format(_Named):  # noqa: N801 - PyTorch's name
    """The order of a strided tensor's dimensions in memory."""

    __slots__ = ()


strided, sparse_coo, sparse_csr = (layout(name) for name in ("strided", "sparse_coo", "sparse_csr"))
sparse_csc, sparse_bsr, sparse_bsc = (layout(name) for name in ("sparse_csc", "sparse_bsr", "sparse_bsc"))
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")

layout.__module__ = memory_format.__module__ = "nbautograd"  # pickles refer to it by this name
