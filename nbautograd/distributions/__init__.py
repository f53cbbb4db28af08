"""``torch.distributions``: probability distributions, with samples that gradients flow through.

A distribution has parameters, ``sample`` or ``rsample``, ``log_prob``, moments and more. Constraints
describe its valid parameters; transforms map real numbers to valid ones. Divergences are in :mod:`kl`. Samples are
PyTorch's, bit for bit, after the same seed.
"""

# ruff: noqa: F403

from __future__ import annotations

from importlib import import_module

from nbautograd._names import docstrings, lazy
from nbautograd.distributions import (
    constraints as _constraints,
    kl_cross_family as _kl_cross_family,  # noqa: F401 - they register their formulas
    kl_same_family as _kl_same_family,  # noqa: F401
    utils as _utils,
)
from nbautograd.distributions.categorical_family import *
from nbautograd.distributions.constraint_registry import biject_to, transform_to
from nbautograd.distributions.counts import *
from nbautograd.distributions.distribution import *
from nbautograd.distributions.exp_family import *
from nbautograd.distributions.gamma_family import *
from nbautograd.distributions.independent import *
from nbautograd.distributions.kl import *
from nbautograd.distributions.location_scale import *
from nbautograd.distributions.mixture_same_family import *
from nbautograd.distributions.multivariate_normal import *
from nbautograd.distributions.random_matrices import *
from nbautograd.distributions.relaxed_bernoulli import RelaxedBernoulli
from nbautograd.distributions.relaxed_categorical import RelaxedOneHotCategorical
from nbautograd.distributions.transformed_distribution import *
from nbautograd.distributions.transformed_family import *
from nbautograd.distributions.transforms import *
from nbautograd.distributions.von_mises import *

MODULES = """
    categorical_family counts distribution exp_family gamma_family independent kl location_scale mixture_same_family
    multivariate_normal random_matrices transformed_distribution transformed_family transforms von_mises"""
__all__ = ["RelaxedBernoulli", "RelaxedOneHotCategorical", "biject_to", "transform_to"]
__all__ += [name for each in MODULES.split() for name in import_module(f"{__name__}.{each}").__all__]
__all__.sort()
docstrings.import_in_examples(globals()[name] for name in __all__)
docstrings.import_in_examples(vars(each)[name] for each in (_constraints, _utils) for name in each.__all__)
del MODULES, import_module

__getattr__, __dir__ = lazy.attributes(__name__, {})
