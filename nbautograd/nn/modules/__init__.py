"""The layers, and the base class of all modules."""

# ruff: noqa: F403

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbautograd._names import absent
from nbautograd.nn.modules import _files as _files  # registers the file format of modules
from nbautograd.nn.modules.activation import *
from nbautograd.nn.modules.container import *
from nbautograd.nn.modules.conv import *
from nbautograd.nn.modules.dropout import *
from nbautograd.nn.modules.linear import *
from nbautograd.nn.modules.loss import *
from nbautograd.nn.modules.module import *
from nbautograd.nn.modules.normalization import *
from nbautograd.nn.modules.normalization import (
    _BatchNorm as _BatchNorm,
    _InstanceNorm as _InstanceNorm,
    _NormBase as _NormBase,
)
from nbautograd.nn.modules.padding import *
from nbautograd.nn.modules.pooling import *
from nbautograd.nn.modules.rnn import *
from nbautograd.nn.modules.shaping import *
from nbautograd.nn.modules.sparse import *
from nbautograd.nn.modules.transformer import *

if TYPE_CHECKING:  # the names in LATER
    from nbautograd.nn.modules.adaptive import *
    from nbautograd.nn.modules.former import *
    from nbautograd.nn.modules.lazy_layers import *

LATER = {
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "former": "Container CrossMapLRN2d NLLLoss2d SyncBatchNorm",
    "lazy_layers": """
        LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d
        LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear""",
}
"""The names in modules that few programs use: these modules are imported on first use."""

_MODULES = """
    activation container conv dropout linear loss module normalization padding pooling rnn shaping sparse transformer"""
if not TYPE_CHECKING:  # type checkers read the imports above in place of a computed list
    __all__ = [name for each in _MODULES.split() for name in import_module(f"{__name__}.{each}").__all__]
    __all__ += " ".join(LATER.values()).split()


def __getattr__(name: str) -> Any:
    for place, names in LATER.items():
        if name in names.split():
            globals()[name] = getattr(import_module(f"{__name__}.{place}"), name)
            return globals()[name]
    return absent.fail("nn.modules", name)
