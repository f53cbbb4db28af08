"""The layers, and the base class of all modules."""

# ruff: noqa: F403

from __future__ import annotations

from nbautograd.nn.modules import (
    activation,
    container,
    conv,
    dropout,
    linear,
    loss,
    module,
    normalization,
    padding,
    pooling,
    rnn,
    shaping,
    sparse,
    transformer,
)
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

__all__ = [
    *activation.__all__,
    *container.__all__,
    *conv.__all__,
    *dropout.__all__,
    *linear.__all__,
    *loss.__all__,
    *module.__all__,
    *normalization.__all__,
    *padding.__all__,
    *pooling.__all__,
    *rnn.__all__,
    *shaping.__all__,
    *sparse.__all__,
    *transformer.__all__,
]
