"""Misuse of nn.functional: the same exceptions as in PyTorch, with its key words."""

from __future__ import annotations

import pytest

from tests import oracle


def classes(T):
    return T.tensor([0, 3])


def attended(library, padding, **options):
    x = library.ones(3, 2, 4)
    return library.nn.MultiheadAttention(4, 2, **options)(x, x, x, key_padding_mask=padding)


# A call with either library, and words that both messages contain.
CALLS = {
    "leaky_relu of a list": (lambda T, F: F.leaky_relu([1.0]), "must be Tensor, not list"),
    "leaky_relu of ints": (lambda T, F: F.leaky_relu(T.ones(2, dtype=T.int64)), "not implemented for 'Long'"),
    "gelu": (lambda T, F: F.gelu(T.ones(2), approximate="sigmoid"), "approximate argument must be either none or tanh"),
    "hardtanh": (lambda T, F: F.hardtanh(T.ones(2), 2, 1), "min_val cannot be greater than max_val"),
    "glu": (lambda T, F: F.glu(T.ones(3)), "Halving dimension must be even"),
    "prelu": (lambda T, F: F.prelu(T.ones(2, 3), T.ones(2)), "Mismatch of parameter numbers and input channel size"),
    "softmax dim": (lambda T, F: F.softmax(T.ones(2), 1), "Dimension out of range"),
    "softmax of ints": (lambda T, F: F.softmax(T.ones(2, dtype=T.int64), 0), "not implemented for 'Long'"),
    "softshrink": (lambda T, F: F.softshrink(T.ones(2), -1.0), "lambda must be in range [0, "),
    "conv2d channels": (lambda T, F: F.conv2d(T.ones(1, 2, 4, 4), T.ones(1, 3, 2, 2)), "to have 3 channels, but got 2"),
    "conv2d kernel": (lambda T, F: F.conv2d(T.ones(1, 1, 2, 2), T.ones(1, 1, 3, 3)), "Kernel size can't be greater"),
    "conv2d stride": (lambda T, F: F.conv2d(T.ones(1, 1, 2, 2), T.ones(1, 1, 2, 2), stride=0), "non-positive stride"),
    "conv2d padding": (lambda T, F: F.conv2d(T.ones(1, 1, 2, 2), T.ones(1, 1, 2, 2), padding=-1), "negative padding"),
    "conv2d name": (
        lambda T, F: F.conv2d(T.ones(1, 1, 2, 2), T.ones(1, 1, 2, 2), padding="half"),
        "Invalid padding string",
    ),
    "conv2d same": (
        lambda T, F: F.conv2d(T.ones(1, 1, 2, 2), T.ones(1, 1, 2, 2), stride=2, padding="same"),
        "not supported for strided convolutions",
    ),
    "conv2d bias": (lambda T, F: F.conv2d(T.ones(1, 1, 2, 2), T.ones(1, 1, 2, 2), T.ones(2)), "expected bias to be"),
    "conv1d dims": (lambda T, F: F.conv1d(T.ones(2), T.ones(1, 1, 2)), "input to conv1d, but got input of size"),
    "conv_transpose2d": (
        lambda T, F: F.conv_transpose2d(T.ones(1, 1, 2, 2), T.ones(1, 1, 2, 2), output_padding=1),
        "output padding must be smaller than either stride or dilation",
    ),
    "fold": (lambda T, F: F.fold(T.ones(1, 5, 9), (4, 4), 2), "divisible by the product of kernel_size"),
    "linear": (lambda T, F: F.linear(T.ones(2, 3), T.ones(4, 2)), "cannot be multiplied"),
    "bilinear": (lambda T, F: F.bilinear(T.ones(2, 3), T.ones(2, 4), T.ones(5, 3, 3)), "size does not match weight"),
    "max_pool2d padding": (
        lambda T, F: F.max_pool2d(T.ones(1, 4, 4), 2, padding=2),
        "at most half of effective kernel",
    ),
    "max_pool2d size": (lambda T, F: F.max_pool2d(T.ones(1, 4, 4), 5), "Output size is too small"),
    "avg_pool2d": (lambda T, F: F.avg_pool2d(T.ones(1, 4, 4), 2, divisor_override=0), "divisor must be not zero"),
    "adaptive": (lambda T, F: F.adaptive_avg_pool2d(T.ones(4, 4), 2), "Expected 3D or 4D tensor"),
    "pad odd": (lambda T, F: F.pad(T.ones(4), (1,)), "Padding length must be divisible by 2"),
    "pad reflect": (lambda T, F: F.pad(T.ones(1, 2), (2, 0), "reflect"), "should be less than the corresponding input"),
    "pad mode": (lambda T, F: F.pad(T.ones(1, 2), (1, 0), "mirror"), "Unrecognised padding mode"),
    "batch_norm": (lambda T, F: F.batch_norm(T.ones(1, 3), None, None, training=True), "more than 1 value per channel"),
    "batch_norm stats": (lambda T, F: F.batch_norm(T.ones(2, 3), None, None), "must be defined in evaluation mode"),
    "layer_norm": (lambda T, F: F.layer_norm(T.ones(2, 3), (2,)), "expected input with shape"),
    "layer_norm of ints": (lambda T, F: F.layer_norm(T.ones(2, dtype=T.int64), (2,)), "not implemented for 'Long'"),
    "group_norm": (lambda T, F: F.group_norm(T.ones(2, 4), 3), "channels in input to be divisible by num_groups"),
    "nll_loss class": (lambda T, F: F.nll_loss(T.ones(2, 3), classes(T)), "Target 3 is out of bounds"),
    "nll_loss batch": (lambda T, F: F.nll_loss(T.ones(3, 3), classes(T)), "to match target batch_size"),
    "nll_loss dtype": (lambda T, F: F.nll_loss(T.ones(2, 3), T.ones(2)), "expected target dtype to be Long or Byte"),
    "nll_loss weight": (
        lambda T, F: F.nll_loss(T.ones(2, 4), classes(T), T.ones(3)),
        "either for all 4 classes",
    ),
    "cross_entropy": (
        lambda T, F: F.cross_entropy(T.ones(2, 4), classes(T), label_smoothing=2.0),
        "label_smoothing must be between 0.0 and 1.0",
    ),
    "reduction": (lambda T, F: F.mse_loss(T.ones(2), T.ones(2), reduction="avg"), "is not a valid value for reduction"),
    "bce range": (lambda T, F: F.binary_cross_entropy(T.ones(2) * 2, T.ones(2)), "should be between 0 and 1"),
    "bce shape": (lambda T, F: F.binary_cross_entropy(T.ones(2), T.ones(1)), "is deprecated. Please ensure"),
    "huber": (lambda T, F: F.huber_loss(T.ones(2), T.ones(2), delta=0.0), "does not support non-positive values"),
    "multi_margin": (
        lambda T, F: F.multi_margin_loss(T.ones(2, 4), classes(T), p=3),
        "only p == 1 and p == 2",
    ),
    "dropout": (lambda T, F: F.dropout(T.ones(2), 1.5), "dropout probability has to be between 0 and 1"),
    "dropout1d": (lambda T, F: F.dropout1d(T.ones(2)), "Expected 2D or 3D input, but received a 1D input"),
    "embedding": (lambda T, F: F.embedding(classes(T), T.ones(3, 2)), "index out of range in self"),
    "embedding dtype": (lambda T, F: F.embedding(T.ones(2), T.ones(3, 2)), "to have one of the following scalar types"),
    "embedding padding": (lambda T, F: F.embedding(classes(T), T.ones(4, 2), 4), "Padding_idx must be within"),
    "embedding_bag": (lambda T, F: F.embedding_bag(classes(T), T.ones(4, 2)), "offsets has to be a 1D Tensor"),
    "one_hot": (lambda T, F: F.one_hot(classes(T), 3), "Class values must be smaller than num_classes"),
    "interpolate": (lambda T, F: F.interpolate(T.ones(1, 1, 2)), "either size or scale_factor should be defined"),
    "interpolate mode": (
        lambda T, F: F.interpolate(T.ones(1, 1, 2), 3, mode="bilinear"),
        "Got 3D input, but bilinear mode needs 4D input",
    ),
    "interpolate antialias": (
        lambda T, F: F.interpolate(T.ones(1, 1, 2, 2), 3, antialias=True),
        "Anti-alias option is restricted to",
    ),
    "grid_sample": (
        lambda T, F: F.grid_sample(T.ones(1, 1, 2, 2), T.ones(1, 2, 2, 3), align_corners=True),
        "expected grid to have size 2 in last dimension",
    ),
    "pixel_shuffle": (lambda T, F: F.pixel_shuffle(T.ones(3, 2, 2), 2), "divisible by the square of upscale_factor"),
    "attention": (
        lambda T, F: F.scaled_dot_product_attention(*[T.ones(2, 3)] * 3, attn_mask=T.ones(2, 2), is_causal=True),
        "Explicit attn_mask should not be set when is_causal=True",
    ),
    "attention padding of another batch": (
        lambda T, F: attended(T, padding=T.zeros(3, 3).bool()),
        "Expected key_padded_mask.shape[0] to be 2, but got 3",
    ),
    "attention padding of one key": (
        lambda T, F: attended(T, padding=T.zeros(2, 1).bool()),
        "Expected key_padded_mask.shape[1] to be 3, but got 1",
    ),
    "attention padding after an added key": (
        lambda T, F: attended(T, padding=T.zeros(2, 5).bool(), add_zero_attn=True),
        "Expected key_padded_mask.shape[1] to be 4, but got 6",
    ),
    "ctc_loss": (
        lambda T, F: F.ctc_loss(T.zeros(4, 1, 3), T.tensor([[1]]), [5], [1]),
        "to have value at most 4",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_same_exception(name):
    call, words = CALLS[name]
    oracle.check_raises(lambda T: call(T, T.nn.functional), says=words)
