"""Maps of random variables, with their inverses and the determinants of their Jacobians."""

# ruff: noqa: F403

from __future__ import annotations

from typing import TYPE_CHECKING

from nbautograd.distributions import (
    joined_transforms as _joined,
    scalar_transforms as _scalar,
    transform_base as _base,
    vector_transforms as _vector,
)
from nbautograd.distributions.joined_transforms import *
from nbautograd.distributions.scalar_transforms import *
from nbautograd.distributions.transform_base import *
from nbautograd.distributions.transform_base import _InverseTransform as _InverseTransform
from nbautograd.distributions.vector_transforms import *

if not TYPE_CHECKING:  # type checkers read the imports above in place of a computed list
    __all__ = sorted([*_joined.__all__, *_scalar.__all__, *_base.__all__, *_vector.__all__])
