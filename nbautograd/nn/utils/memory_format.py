"""The weights of convolutions in another memory format."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.ops.shape.shape import contiguous
from nbautograd.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from nbautograd.nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Any, kinds: Any, memory_format: Any) -> Any:
    if isinstance(module, kinds):
        weight = module.weight
        weight.data = contiguous(weight.detach().clone(), memory_format)
    for child in module.children():
        _convert(child, kinds, memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Store the weights of all 2D convolutions inside a module in another memory format.

    >>> import nbautograd as torch
    >>> layer = torch.nn.Conv2d(2, 3, 3)
    >>> _ = torch.nn.utils.convert_conv2d_weight_memory_format(layer, torch.channels_last)
    >>> layer.weight.is_contiguous(memory_format=torch.channels_last)
    True
    """
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)  # type: ignore[no-any-return]


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Store the weights of all 3D convolutions inside a module in another memory format.

    >>> import nbautograd as torch
    >>> layer = torch.nn.Conv3d(2, 3, 3)
    >>> _ = torch.nn.utils.convert_conv3d_weight_memory_format(layer, torch.channels_last_3d)
    >>> layer.weight.is_contiguous(memory_format=torch.channels_last_3d)
    True
    """
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)  # type: ignore[no-any-return]
