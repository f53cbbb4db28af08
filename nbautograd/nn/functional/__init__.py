"""Functions of neural networks: convolution, pooling, activations, normalization, losses, attention."""

from __future__ import annotations

from nbautograd._engine.compiler.argument_errors import with_argument_errors
from nbautograd._engine.ops.shape.padding import (
    pad,
)
from nbautograd._names import absent, docstrings
from nbautograd._names.docstrings import layers
from nbautograd.nn.functional.activation import (
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    softshrink,
    threshold,
    threshold_,
)
from nbautograd.nn.functional.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
)
from nbautograd.nn.functional.attention import (
    multi_head_attention_forward,
    scaled_dot_product_attention,
)
from nbautograd.nn.functional.classification import (
    cross_entropy,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
)
from nbautograd.nn.functional.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    fold,
    unfold,
)
from nbautograd.nn.functional.ctc import (
    ctc_loss,
)
from nbautograd.nn.functional.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from nbautograd.nn.functional.embedding import (
    embedding,
    embedding_bag,
    one_hot,
)
from nbautograd.nn.functional.fractional import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from nbautograd.nn.functional.grid import (
    affine_grid,
    grid_sample,
)
from nbautograd.nn.functional.likelihood_loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    gaussian_nll_loss,
    kl_div,
    poisson_nll_loss,
    soft_margin_loss,
)
from nbautograd.nn.functional.linear import (
    bilinear,
    cosine_similarity,
    linear,
    normalize,
    pairwise_distance,
    pdist,
)
from nbautograd.nn.functional.loss import huber_loss, l1_loss, mse_loss, smooth_l1_loss
from nbautograd.nn.functional.margin_loss import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from nbautograd.nn.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    rms_norm,
)
from nbautograd.nn.functional.pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from nbautograd.nn.functional.sampling import (
    channel_shuffle,
    interpolate,
    pixel_shuffle,
    pixel_unshuffle,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from nbautograd.nn.functional.smooth_activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    logsigmoid,
    mish,
    selu,
    selu_,
    sigmoid,
    silu,
    softplus,
    softsign,
    tanh,
    tanhshrink,
)
from nbautograd.nn.functional.softmax import gumbel_softmax, log_softmax, softmax, softmin
from nbautograd.nn.functional.unpooling import max_unpool1d, max_unpool2d, max_unpool3d

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

STRICT = ["adaptive_pooling", "convolution", "normalization", "unpooling"]
"""Modules of functions whose options PyTorch's own code takes, which looks at their types first; and further ones."""
for _name in __all__:
    _function = globals()[_name]
    if _function.__module__.rpartition(".")[2] in STRICT or _name in (
        *("avg_pool1d", "max_pool1d", "max_pool2d", "max_pool3d", "pad", "threshold"),
        *("scaled_dot_product_attention", "triplet_margin_loss", "kl_div", "embedding_bag", "grid_sample", "one_hot"),
        *("hinge_embedding_loss", "margin_ranking_loss", "cosine_embedding_loss", "huber_loss"),
        *("pairwise_distance", "softmin", "bilinear", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle"),
    ):
        globals()[_name] = _function = with_argument_errors(_function)
        _function.__module__ = __name__  # by which pickle finds it

docstrings.describe_all([globals()[name] for name in __all__], layers.FAMILIES, layers.SHARED)
absent.answer(__name__)
