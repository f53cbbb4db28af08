"""Shared docstrings of the functions of ``nn.functional``, by family: parameters, results and errors."""

from __future__ import annotations

import re

from nbautograd._names.docstrings import Family

SHARED = {
    "anchor": "vectors, shape (n, m).",
    "ceil_mode": "round the number of windows up, so that the last one may extend beyond the edge.",
    "count_include_pad": "include padded zeros in the mean.",
    "delta": "the error at which the square turns into the absolute value.",
    "dilation": "the step inside the window.",
    "dim": "the dimension, counted from the end if negative.",
    "divisor_override": "divide by this instead of the number of elements.",
    "dtype": "cast to this dtype first.",
    "eps": "a small number that keeps the divisor from being zero.",
    "groups": "the number of groups of channels.",
    "inplace": "write the result into ``input``.",
    "input": "a tensor of floating dtype.",
    "input1": "the first tensor.",
    "input2": "the second tensor, of the shape of the first.",
    "keepdim": "keep the dimension with length 1.",
    "kernel_size": "the size of the window, a number or one per dimension.",
    "lambd": "the bound.",
    "log_target": "True if ``target`` is also a logarithm.",
    "margin": "the margin.",
    "max_val": "the upper bound.",
    "min_val": "the lower bound.",
    "momentum": "the weight of the current batch in the running statistics.",
    "negative": "vectors, shape (n, m).",
    "negative_slope": "the slope below zero.",
    "norm_type": "the order of the norm.",
    "num_groups": "the number of groups of channels.",
    "out": "a tensor that gets the result.",
    "output_padding": "added to the sizes of the result, which the stride does not determine.",
    "output_ratio": "the size of the result as a part of the input's.",
    "output_size": "the sizes of the result, a number or one per dimension.",
    "padding": "elements added at both ends of each dimension.",
    "positive": "vectors, shape (n, m).",
    "reduce": "deprecated, as in PyTorch: use ``reduction``.",
    "reduction": '``"mean"``, ``"sum"`` or ``"none"`` for all losses.',
    "return_indices": "return the positions of the elements as well.",
    "running_mean": "shape (c,).",
    "running_var": "shape (c,).",
    "scale_grad_by_freq": "divide the gradient of a row by the number of its uses.",
    "size_average": "deprecated, as in PyTorch: use ``reduction``.",
    "stride": "the step of the window.",
    "swap": "use the distance of ``positive`` and ``negative`` if it is smaller.",
    "target": "the desired values, in the shape of ``input``.",
    "threshold": "the bound.",
    "training": "True while training; in evaluation nothing is drawn or updated.",
    "value": "the new value.",
    "x1": "vectors.",
    "x2": "vectors that broadcast with ``x1``.",
}
"""Default meanings of parameters, used if neither the function nor its family has one."""

INPUT = {"1": "(n, c, l) or (c, l)", "2": "(n, c, h, w) or (c, h, w)", "3": "(n, c, d, h, w) or (c, d, h, w)"}
RESULT = {"1": "(n, c, ol)", "2": "(n, c, oh, ow)", "3": "(n, c, od, oh, ow)"}
KERNEL = {"1": "kl", "2": "kh, kw", "3": "kd, kh, kw"}
WINDOWS = "; each size is ⌊(size + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1"
FAMILIES: dict[str, Family] = {}
"""By function: the meanings of its parameters, its result, and errors with their conditions."""


def family(names: str, returns: str, *raises: tuple[str, str], **parameters: str) -> None:
    """Describe functions; ``{x}``, ``{y}`` and ``{k}`` are the shapes of input, result and kernel of their rank."""
    for name in names.split():
        rank = re.search(r"([123])d", name)
        n = rank[1] if rank else "2"

        def put(text: str, n: str = n) -> str:
            return text.replace("{x}", INPUT[n]).replace("{y}", RESULT[n]).replace("{k}", KERNEL[n]).replace("{n}", n)

        FAMILIES[name] = (
            {parameter: put(text) for parameter, text in parameters.items()},
            put(returns),
            tuple((error, put(when)) for error, when in raises),
        )


SAME = "a tensor of the shape and dtype of ``input``."
DTYPE = ("RuntimeError", "the dtype is not floating")
SHAPES = ("RuntimeError", "shapes, dtypes or options do not match")
SIZES = ("RuntimeError", "the input has another number of dimensions, or is smaller than the window")
REDUCTION = ("ValueError", "another ``reduction``")
LOSS = 'a scalar for ``"mean"`` and ``"sum"``; with ``"none"`` a tensor of '

family(
    """elu elu_ celu celu_ selu selu_ gelu leaky_relu leaky_relu_ hardshrink hardsigmoid hardswish logsigmoid mish prelu
    rrelu rrelu_ silu softplus softshrink dropout""",
    SAME,
    DTYPE,
    alpha="the factor below zero.",
    lower="the smallest slope below zero.",
    upper="the largest slope below zero.",
    threshold="if ``beta · input`` exceeds it, the function is linear.",
    p="the probability of dropping an element.",
)
family("relu relu_ relu6 hardtanh hardtanh_ threshold threshold_", SAME, input="a tensor of any real dtype.")
family(
    "sigmoid tanh tanhshrink softsign alpha_dropout feature_alpha_dropout",
    "a tensor of the shape of ``input``.",
    input="a tensor.",
    p="the probability of dropping an element, or a whole channel.",
)
family("softmax softmin log_softmax gumbel_softmax normalize", SAME, DTYPE, logits="logarithms of probabilities.")
FAMILIES["normalize"][0]["p"] = "the order of the norm."  # type: ignore[index]
FAMILIES["gumbel_softmax"][0]["eps"] = "accepted without effect."  # type: ignore[index]
family("glu", "a tensor of the input's shape, half as long along ``dim``.")
family("dropout1d dropout2d dropout3d", SAME, DTYPE, p="the probability of dropping a channel.")
family(
    "conv1d conv2d conv3d",
    "shape {y} with c = o; see :func:`conv2d` for the sizes.",
    SHAPES,
    input="shape {x}.",
    bias="shape (o,); or None.",
    stride="the step of the window, a number or one per dimension.",
    padding='zeros added at both ends, a number or one per dimension; ``"same"`` or ``"valid"``.',
)
family(
    "conv_transpose1d conv_transpose2d conv_transpose3d",
    "shape {y} with c = o; see :func:`conv_transpose2d` for the sizes.",
    SHAPES,
    input="shape {x}.",
    weight="shape (c, o / groups, {k}).",
    bias="shape (o,); or None.",
    padding="the number of elements cut off at both ends of the result.",
)
family(
    """max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices""",
    "shape {y}" + WINDOWS + "; with ``return_indices`` also their positions (int64).",
    SIZES,
    input="shape {x}.",
    stride="the step of the window; ``kernel_size`` by default.",
    padding="the extent of windows beyond the edges, at most half of ``kernel_size``.",
)
family(
    "avg_pool1d avg_pool2d avg_pool3d",
    "shape {y}" + WINDOWS.replace("dilation (kernel_size - 1) - 1", "kernel_size") + ".",
    SIZES,
    input="shape {x}.",
    stride="the step of the window; ``kernel_size`` by default.",
    padding="zeros added at both ends.",
)
family(
    "lp_pool1d lp_pool2d lp_pool3d",
    "shape {y}; each size is ⌊(size - kernel_size) / stride⌋ + 1.",
    SIZES,
    input="shape {x}.",
    stride="the step of the window; ``kernel_size`` by default.",
)
family(
    """adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool3d adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices
    adaptive_max_pool3d_with_indices""",
    "a tensor of ``output_size`` in its last {n} dimensions.",
    ("RuntimeError", "the input has another number of dimensions, or a size is negative"),
    input="shape {x}.",
    output_size="the sizes of the result, a number or one per dimension; None keeps the input's.",
)
family(
    "fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices",
    "a tensor of ``output_size`` in its last {n} dimensions; with ``return_indices`` also the positions (int64).",
    ("ValueError", "neither ``output_size`` nor ``output_ratio`` is given, or both are"),
    ("RuntimeError", "the windows do not fit into the input"),
    input="shape {x}.",
)
family(
    "max_unpool1d max_unpool2d max_unpool3d",
    "a tensor of ``output_size`` in its last {n} dimensions.",
    ("ValueError", "``output_size`` does not fit"),
    ("RuntimeError", "the shapes do not fit"),
    input="shape {x}.",
    indices="the indices that :func:`max_pool{n}d` returned.",
    output_size="the size, where several sizes pool to the size of ``input``.",
)
for _name, (_own, *_) in FAMILIES.items():
    if _name.endswith(("max_pool1d", "max_pool2d", "max_pool3d")):  # not those that always return both
        _own["return_indices"] = "also return the indices of the maxima."  # type: ignore[index]
family(
    "fold unfold",
    "",
    SHAPES,
    kernel_size="the size of the windows, a number or (kh, kw).",
    padding="zeros added at both ends.",
)
family("pixel_shuffle", "shape (..., c / r², h r, w r).", SHAPES, input="shape (..., c, h, w).", upscale_factor="r.")
family(
    "pixel_unshuffle", "shape (..., c r², h / r, w / r).", SHAPES, input="shape (..., c, h, w).", downscale_factor="r."
)
family("channel_shuffle", "a tensor of the input's shape.", SHAPES)
family(
    "interpolate upsample upsample_nearest upsample_bilinear",
    "a tensor with other sizes after batch and channels.",
    ("ValueError", "neither ``size`` nor ``scale_factor`` is given, or both are"),
    ("NotImplementedError", "``mode`` does not support this number of dimensions"),
    input="shape (n, c, l), (n, c, h, w) or (n, c, d, h, w).",
    size="the sizes of the result after batch and channels.",
    scale_factor="the factor of the sizes instead, a number or one per dimension.",
    mode='``"nearest"``, ``"linear"``, ``"bilinear"``, ``"bicubic"`` or ``"trilinear"``.',
    align_corners="True if the elements at the corners keep their values.",
)
family("grid_sample affine_grid", "", SHAPES)
family(
    "batch_norm instance_norm group_norm local_response_norm",
    SAME,
    SHAPES,
    input="shape (n, c, ...).",
    weight="a factor for each channel, shape (c,); None for 1.",
    bias="added to each channel, shape (c,); None for 0.",
    training="normalize by the batch and update the running statistics; else by the running statistics.",
    eps="added to the variance.",
    size="the number of neighboring channels.",
    alpha="the factor of the mean of their squares.",
    beta="the exponent.",
    k="added to the mean.",
)
family(
    "layer_norm rms_norm",
    SAME,
    SHAPES,
    weight="a factor for each element, shape ``normalized_shape``; None for 1.",
    bias="added, shape ``normalized_shape``; None for 0.",
)
family("linear bilinear", "", SHAPES)
family("embedding", "shape (..., m) for an input of shape (...).", norm_type="the order of the norm for ``max_norm``.")
family(
    "embedding_bag",
    "shape (bags, m).",
    weight="the table, shape (n, m).",
    max_norm="rows longer than this are scaled down to it in place when looked up.",
    norm_type="the order of the norm for ``max_norm``.",
    include_last_offset="True if the last of ``offsets`` is the end of the last bag.",
)
family("one_hot", "shape (..., classes), int64.")
family(
    "cosine_similarity pairwise_distance",
    "the operands' broadcast shape without the dimension of the vectors.",
    SHAPES,
    p="the order of the norm.",
    eps="keeps the divisor, or the difference, from being zero.",
)
family("pdist", "shape (n (n - 1) / 2,).", SHAPES, p="the order of the norm.")
family(
    "scaled_dot_product_attention multi_head_attention_forward",
    "",
    SHAPES,
    key="shape (s, n, e): the keys, which queries are compared with.",
    value="shape (s, n, e): the values, which are averaged.",
    embed_dim_to_check="the size of the queries' elements.",
    num_heads="heads, which divide that size.",
    in_proj_bias="the biases of the three maps before, shape (3 e,).",
    bias_v="a value that is added to the sequence, shape (1, 1, e).",
    dropout_p="the probability of dropping weights while training.",
    out_proj_weight="the weight of the map after, shape (e, e).",
    out_proj_bias="its bias, shape (e,).",
    use_separate_proj_weight="use the three weights below instead of ``in_proj_weight``.",
    q_proj_weight="of the queries, shape (e, e).",
    k_proj_weight="of the keys, shape (e, kdim).",
    v_proj_weight="of the values, shape (e, vdim).",
    static_v="values to use instead, shape (n heads, s, e / heads).",
)
family(
    """l1_loss mse_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy binary_cross_entropy_with_logits
    poisson_nll_loss gaussian_nll_loss hinge_embedding_loss soft_margin_loss margin_ranking_loss""",
    LOSS + "the inputs' shape.",
    REDUCTION,
    SHAPES,
    beta="below it errors are squared.",
    weight="a factor for each loss, of the input's shape.",
    log_input="True if ``input`` is the logarithm of the expected count.",
    eps="a small number inside the logarithm, or the minimum variance.",
)
family(
    "cross_entropy nll_loss",
    LOSS + "the shape of a target of classes: (), (n,) or (n, ...).",
    ("IndexError", "a target is not a class"),
    ("RuntimeError", "shapes or dtypes do not match"),
)
family(
    """multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss triplet_margin_loss
    triplet_margin_with_distance_loss cosine_embedding_loss""",
    LOSS + "shape (n,), or a scalar without batch.",
    REDUCTION,
    SHAPES,
    input="shape (n, c) or (c,).",
    p="the order of the norm.",
    eps="a small number added to the differences.",
    distance_function="a function that returns the distances of two batches of vectors; the Euclidean one by default.",
)
REDUCED = """
    binary_cross_entropy binary_cross_entropy_with_logits cross_entropy hinge_embedding_loss huber_loss l1_loss
    margin_ranking_loss mse_loss nll_loss smooth_l1_loss soft_margin_loss"""
for _name in REDUCED.split():
    FAMILIES[_name][0]["reduction"] = '``"mean"``, ``"sum"`` or ``"none"``.'  # type: ignore[index]
family(
    "ctc_loss",
    LOSS + "shape (n,), or a scalar without batch.",
    REDUCTION,
    SHAPES,
    target_lengths="the length of each target, shape (n,).",
)
family("pad", "a tensor of the shape of ``input``, enlarged by the padding.", SHAPES)


EXAMPLES: dict[str, str] = {}
"""By function: an example that is the same for several functions but for names, brackets and sizes."""


def example(name: str, *lines: str) -> None:
    """Write an example for one, two and three dimensions: ``{a}`` and ``{b}`` are brackets, ``{w}`` a window."""
    for n in (1, 2, 3):
        function, window = name.format(n=n), ("2", "(1, 2)", "(1, 1, 2)")[n - 1]
        words = {"f": f"torch.nn.functional.{function}", "a": "[" * n, "b": "]" * n, "w": window}
        EXAMPLES[function] = "\n".join(lines).format(**words)


TRIPLE, PAIRS = "torch.tensor({a}[1., 2., 3.]{b}), {w}", "torch.tensor({a}[1., 3., 2., 0.]{b}), {w}"
example("adaptive_avg_pool{n}d", f">>> {{f}}({TRIPLE})", "tensor({a}[1.5000, 2.5000]{b})")
example("adaptive_max_pool{n}d", f">>> {{f}}({TRIPLE})", "tensor({a}[2., 3.]{b})")
example("adaptive_max_pool{n}d_with_indices", f">>> {{f}}({TRIPLE})[1]", "tensor({a}[1, 2]{b})")
example("lp_pool{n}d", ">>> {f}(torch.tensor({a}[3., 4.]{b}), 2, {w})", "tensor({a}[5.]{b})")
example("max_pool{n}d", f">>> {{f}}({PAIRS})", "tensor({a}[3., 2.]{b})")
example("max_pool{n}d_with_indices", f">>> {{f}}({PAIRS})[1]", "tensor({a}[1, 2]{b})")
example(
    "max_unpool{n}d",
    ">>> values, indices = torch.tensor({a}[3., 2.]{b}), torch.tensor({a}[1, 2]{b})",
    ">>> {f}(values, indices, {w})",
    "tensor({a}[0., 3., 2., 0.]{b})",
)

ACTIVATIONS = {
    "celu": ("torch.tensor([-1., 2.])", "tensor([-0.6321,  2.0000])"),
    "elu": ("torch.tensor([-1., 2.])", "tensor([-0.6321,  2.0000])"),
    "glu": ("torch.tensor([1., 2., 0., 0.])", "tensor([0.5000, 1.0000])"),
    "hardsigmoid": ("torch.tensor([-4., 0., 1.5])", "tensor([0.0000, 0.5000, 0.7500])"),
    "hardswish": ("torch.tensor([-4., 3.])", "tensor([-0.,  3.])"),
    "hardtanh": ("torch.tensor([-3., 0.5])", "tensor([-1.0000,  0.5000])"),
    "leaky_relu": ("torch.tensor([-1., 2.]), 0.1", "tensor([-0.1000,  2.0000])"),
    "mish": ("torch.tensor([-1., 2.])", "tensor([-0.3034,  1.9440])"),
    "relu": ("torch.tensor([-1., 2.])", "tensor([0., 2.])"),
    "relu6": ("torch.tensor([-1., 2., 8.])", "tensor([0., 2., 6.])"),
    "rrelu": ("torch.tensor([-1., 2.]), 0.1, 0.3", "tensor([-0.2000,  2.0000])"),
    "selu": ("torch.tensor([-1., 2.])", "tensor([-1.1113,  2.1014])"),
    "silu": ("torch.tensor([-1., 2.])", "tensor([-0.2689,  1.7616])"),
    "softsign": ("torch.tensor([-1., 3.])", "tensor([-0.5000,  0.7500])"),
    "tanhshrink": ("torch.tensor([-1., 2.])", "tensor([-0.2384,  1.0360])"),
    "threshold": ("torch.tensor([-1., 2.]), 1, 20", "tensor([20.,  2.])"),
}
"""The arguments and the result of each example."""
for _name, (_arguments, _result) in ACTIVATIONS.items():
    EXAMPLES[_name] = f">>> torch.nn.functional.{_name}({_arguments})\n{_result}"


# -- initialization, and utilities of modules ------------------------------------------------------------------------

SHARED_BY_UTILITIES = {
    "a": "the lower bound.",
    "b": "the upper bound.",
    "bn": "the normalization, in evaluation mode.",
    "bn_b": "its bias, shape (c,); None for 0.",
    "bn_eps": "its addition to the variance.",
    "bn_rm": "its running mean, shape (c,).",
    "bn_rv": "its running variance, shape (c,).",
    "bn_w": "its weight, shape (c,); None for 1.",
    "clip_value": "the maximum absolute value after clipping.",
    "conv": "the convolution, in evaluation mode.",
    "conv_b": "its bias, shape (o,); None for 0.",
    "conv_w": "the weight of the convolution.",
    "dim": "the dimension of the outputs.",
    "eps": "a small number that keeps the divisor from being zero.",
    "error_if_nonfinite": "raise if the norm is infinite or nan.",
    "foreach": "a hint about speed, accepted.",
    "gain": "the factor of the standard deviation.",
    "generator": "the source of random numbers; the default generator if None.",
    "groups": "groups of channels, each with an identity of its own.",
    "linear": "the linear layer, in evaluation mode.",
    "linear_b": "its bias, shape (o,); None for 0.",
    "linear_w": "the weight of the linear layer.",
    "max_norm": "the maximum norm after clipping.",
    "mean": "the mean.",
    "memory_format": "the order of the dimensions in memory.",
    "mode": '``"fan_in"`` keeps the variance forward, ``"fan_out"`` backward.',
    "module": "the module.",
    "module_cls": "the class of the module.",
    "n_power_iterations": "iterations of the power method in each forward pass.",
    "name": "the name of the parameter.",
    "nonlinearity": "the function that follows, by its name in :mod:`nn.functional`.",
    "norm_type": "the order of the norm.",
    "parameters": "tensors, or one.",
    "sparsity": "the share of each column that is zero.",
    "std": "the standard deviation.",
    "tensor": "the tensor that is filled, and returned.",
    "tensors": "tensors, or one.",
    "total_norm": "the norm of all gradients together.",
    "transpose": "True if the convolution is transposed.",
    "val": "the number.",
    "vec": "a vector with all elements, one parameter after the other.",
}
FILLED = """
    constant_ dirac_ eye_ kaiming_normal_ kaiming_uniform_ normal_ ones_ orthogonal_ sparse_ trunc_normal_ uniform_
    xavier_normal_ xavier_uniform_ zeros_"""
family(FILLED, "the tensor itself, of the same shape.")
family("calculate_gain", "a number.")
family("clip_grad_norm clip_grad_norm_ get_total_norm", "the norm of all gradients together, a scalar.")
family("clip_grad_value_ clip_grads_with_norm_ vector_to_parameters", "None: gradients or parameters are changed.")
family("parameters_to_vector", "a vector.")
family(
    """spectral_norm remove_spectral_norm weight_norm remove_weight_norm convert_conv2d_weight_memory_format
    convert_conv3d_weight_memory_format""",
    "the module itself; the shapes of its parameters are unchanged.",
)
family("fuse_conv_bn_eval fuse_linear_bn_eval skip_init", "a module.")
family("fuse_conv_bn_weights fuse_linear_bn_weights", "the new weight and bias, of the shapes of the old ones.")
