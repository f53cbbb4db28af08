"""Helpers for gradients, parameters and sequences."""

# ruff: noqa: F403

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbautograd._names import absent
from nbautograd._names.docstrings import describe_all, layers
from nbautograd.nn.utils import clip_grad, convert_parameters, rnn as rnn
from nbautograd.nn.utils.clip_grad import *
from nbautograd.nn.utils.convert_parameters import *

if TYPE_CHECKING:
    from nbautograd.nn.utils._spectral_norm import *
    from nbautograd.nn.utils._weight_norm import *
    from nbautograd.nn.utils.fusion import *
    from nbautograd.nn.utils.init import *
    from nbautograd.nn.utils.memory_format import *

DESCRIBED = (*clip_grad.__all__, *convert_parameters.__all__)
describe_all([globals()[name] for name in DESCRIBED], layers.FAMILIES, layers.SHARED_BY_UTILITIES)

MODULES = ("fusion", "init", "memory_format", "parametrizations", "parametrize", "prune", "stateless")
LATER = {
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "init": "skip_init",
    "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
    "_spectral_norm": "remove_spectral_norm spectral_norm",
    "_weight_norm": "remove_weight_norm weight_norm",
}
"""The names by module of helpers that import modules, which in turn import this package: imported on first use."""
__all__ = sorted(["rnn", *clip_grad.__all__, *convert_parameters.__all__, *" ".join(LATER.values()).split()])


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"nbautograd.nn.utils.{name}")
    for place, names in LATER.items():
        if name in names.split():
            globals()[name] = getattr(import_module(f"nbautograd.nn.utils.{place}"), name)
            describe_all([globals()[name]], layers.FAMILIES, layers.SHARED_BY_UTILITIES)
            return globals()[name]
    return absent.fail("nn.utils", name)
