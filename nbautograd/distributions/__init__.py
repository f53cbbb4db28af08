"""``torch.distributions``: probability distributions, with samples that gradients flow through.

A distribution has parameters, ``sample`` or ``rsample``, ``log_prob``, moments and more. Constraints
describe its valid parameters; transforms map real numbers to valid ones. Divergences are in :mod:`kl`. Samples are
PyTorch's, bit for bit, after the same seed.
"""

from __future__ import annotations

from nbautograd._names import lazy
from nbautograd.distributions import (
    kl_cross_family as _kl_cross_family,  # noqa: F401 - they register their formulas
    kl_same_family as _kl_same_family,  # noqa: F401
)
from nbautograd.distributions.categorical_family import (
    Categorical,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from nbautograd.distributions.constraint_registry import biject_to, transform_to
from nbautograd.distributions.counts import (
    Bernoulli,
    Binomial,
    ContinuousBernoulli,
    Geometric,
    NegativeBinomial,
    Poisson,
)
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.exp_family import ExponentialFamily
from nbautograd.distributions.gamma_family import Beta, Chi2, Dirichlet, Exponential, FisherSnedecor, Gamma
from nbautograd.distributions.independent import Independent
from nbautograd.distributions.kl import kl_divergence, register_kl
from nbautograd.distributions.location_scale import Cauchy, GeneralizedPareto, Laplace, Normal, StudentT, Uniform
from nbautograd.distributions.mixture_same_family import MixtureSameFamily
from nbautograd.distributions.multivariate_normal import LowRankMultivariateNormal, MultivariateNormal
from nbautograd.distributions.random_matrices import LKJCholesky, Wishart
from nbautograd.distributions.relaxed_bernoulli import RelaxedBernoulli
from nbautograd.distributions.relaxed_categorical import RelaxedOneHotCategorical
from nbautograd.distributions.transformed_distribution import TransformedDistribution
from nbautograd.distributions.transformed_family import (
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    Pareto,
    Weibull,
)
from nbautograd.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from nbautograd.distributions.von_mises import VonMises

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
]

__getattr__, __dir__ = lazy.attributes(__name__, {})
