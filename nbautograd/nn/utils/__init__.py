"""Helpers for gradients, parameters and sequences."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbautograd._names import absent, docstrings
from nbautograd._names.docstrings import layers
from nbautograd.nn.utils import rnn
from nbautograd.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from nbautograd.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

if TYPE_CHECKING:
    from nbautograd.nn.utils._spectral_norm import remove_spectral_norm, spectral_norm
    from nbautograd.nn.utils._weight_norm import remove_weight_norm, weight_norm
    from nbautograd.nn.utils.clip_grad import clip_grad_norm
    from nbautograd.nn.utils.fusion import (
        fuse_conv_bn_eval,
        fuse_conv_bn_weights,
        fuse_linear_bn_eval,
        fuse_linear_bn_weights,
    )
    from nbautograd.nn.utils.init import skip_init
    from nbautograd.nn.utils.memory_format import (
        convert_conv2d_weight_memory_format,
        convert_conv3d_weight_memory_format,
    )

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]


docstrings.describe_all(
    (
        clip_grad_norm_,
        clip_grad_value_,
        clip_grads_with_norm_,
        get_total_norm,
        parameters_to_vector,
        vector_to_parameters,
    ),
    layers.FAMILIES,
    layers.SHARED_BY_UTILITIES,
)

MODULES = ("fusion", "init", "memory_format", "parametrizations", "parametrize", "prune", "stateless")
LATER = {
    "clip_grad": "clip_grad_norm",
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "init": "skip_init",
    "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
    "_spectral_norm": "remove_spectral_norm spectral_norm",
    "_weight_norm": "remove_weight_norm weight_norm",
}
"""The names by module of helpers that import modules, which in turn import this package: imported on first use."""


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"nbautograd.nn.utils.{name}")
    for place, names in LATER.items():
        if name in names.split():
            module = import_module(f"nbautograd.nn.utils.{place}")
            globals()[name] = getattr(module, name)
            docstrings.describe_all([globals()[name]], layers.FAMILIES, layers.SHARED_BY_UTILITIES)
            return globals()[name]
    return absent.fail("nn.utils", name)
