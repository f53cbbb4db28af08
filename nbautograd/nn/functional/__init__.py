"""Functions of neural networks: convolution, pooling, activations, normalization, losses, attention."""

# ruff: noqa: F403

from __future__ import annotations

from importlib import import_module

from nbautograd._engine.compiler.argument_errors import with_argument_errors
from nbautograd._engine.ops.shape.padding import pad as pad
from nbautograd._names import absent, docstrings
from nbautograd._names.docstrings import layers
from nbautograd.nn.functional.activation import *
from nbautograd.nn.functional.adaptive_pooling import *
from nbautograd.nn.functional.attention import *
from nbautograd.nn.functional.classification import *
from nbautograd.nn.functional.convolution import *
from nbautograd.nn.functional.ctc import *
from nbautograd.nn.functional.dropout import *
from nbautograd.nn.functional.embedding import *
from nbautograd.nn.functional.fractional import *
from nbautograd.nn.functional.grid import *
from nbautograd.nn.functional.likelihood_loss import *
from nbautograd.nn.functional.linear import *
from nbautograd.nn.functional.loss import *
from nbautograd.nn.functional.margin_loss import *
from nbautograd.nn.functional.normalization import *
from nbautograd.nn.functional.pooling import *
from nbautograd.nn.functional.sampling import *
from nbautograd.nn.functional.smooth_activation import *
from nbautograd.nn.functional.softmax import *

MODULES = """
    activation adaptive_pooling attention classification convolution ctc dropout embedding fractional grid
    likelihood_loss linear loss margin_loss normalization pooling sampling smooth_activation softmax"""
__all__ = sorted(["pad", *(name for each in MODULES.split() for name in import_module(f"{__name__}.{each}").__all__)])
del MODULES, import_module

STRICT = ["adaptive_pooling", "convolution", "normalization"]
"""Modules of functions whose options PyTorch's own code takes, which looks at their types first; and further ones."""
for _name in __all__:
    _function = globals()[_name]
    if ">>> " not in (_function.__doc__ or ">>> "):  # in place, it has the example of the function of a new result
        _plain = _name.rstrip("_")
        _, _mark, _example = globals()[_plain].__doc__.partition(">>> ")
        _example = (_mark + _example.rstrip()).replace(f"\n{docstrings.INDENT}", "\n")
        docstrings.add_example(_function, layers.EXAMPLES.get(_name, _example.replace(f".{_plain}(", f".{_name}(")))
    _function.__doc__ = docstrings.with_import(_function.__doc__ or "")  # before it is wrapped: doctest finds both
    if _function.__module__.rpartition(".")[2] in STRICT or _name in (
        *("affine_grid", "avg_pool1d", "max_pool1d", "max_pool2d", "max_pool3d", "pad", "threshold"),
        *("scaled_dot_product_attention", "triplet_margin_loss", "kl_div", "embedding_bag", "grid_sample", "one_hot"),
        *("hinge_embedding_loss", "margin_ranking_loss", "cosine_embedding_loss", "huber_loss", "poisson_nll_loss"),
        *("lp_pool1d", "lp_pool2d", "lp_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "rrelu", "glu"),
        *("pairwise_distance", "softmin", "bilinear", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle"),
    ):
        globals()[_name] = _function = with_argument_errors(_function)
        _function.__module__ = __name__  # by which pickle finds it

docstrings.describe_all([globals()[name] for name in __all__], layers.FAMILIES, layers.SHARED)
absent.answer(__name__)
