"""Shared docstrings of the classes of ``nn``: parameters, formulas, inputs and results. Others are of functions."""

from __future__ import annotations

from nbautograd._names.docstrings.classes import Tables, alike

STATE = "shape (layers · directions, n, hidden_size)"
SEQUENCE = "shape (l, n, input_size); (n, l, input_size) with ``batch_first``; (l, input_size) without batch."
OUTPUT = "the outputs of all steps, shape (l, n, directions · hidden_size), and "
CELL = {
    "input": "shape (n, input_size) or (input_size,).",
    "hx": "the state, shape (n, hidden_size) or (hidden_size,); zeros by default.",
}
SOURCE = "shape (s, n, d_model); (n, s, d_model) with ``batch_first``."
TARGET = "shape (t, n, d_model); (n, t, d_model) with ``batch_first``."
PAD = {"1": "(..., l)", "2": "(..., h, w)", "3": "(..., d, h, w)"}
PADDINGS = ("Circular", "Constant", "Reflection", "Replication", "Zero")
PADS = " ".join(f"{kind}Pad{n}d" for kind in PADDINGS for n in "123")
UNINITIALIZED = "UninitializedBuffer UninitializedParameter"
RNN_NAMES = ["input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional"]
BATCH_NORMS = "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d"
INSTANCE_NORMS = BATCH_NORMS.replace("BatchNorm", "InstanceNorm")
TRANSFORMERS = "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer"
BOOK = "Goodfellow, Bengio and Courville, *Deep Learning*, 2016"
NORM = "``weight · (x - mean) / √(variance + eps) + bias``, mean and biased variance over "
ATTENTION = "``softmax(Q Kᵀ / √d) V`` with d = {d} (Vaswani et al., *Attention is all you need*, 2017)"
BLOCKS = "``x ← norm(x + attention(x))``, then ``x ← norm(x + w₂ · activation(w₁ · x))``"
ADAPTIVE = " ".join(f"Adaptive{kind}Pool{n}d" for kind in ("Avg", "Max") for n in "123")
TRANSPOSED = " ".join(f"{lazy}ConvTranspose{n}d" for lazy in ("", "Lazy") for n in "123")
FORMULAS = {
    "BCELoss": f"``-weight · (y · log(x) + (1 - y) · log(1 - x))``, logarithms cut off at -100 ({BOOK}, 6.2).",
    "BCEWithLogitsLoss": "``-weight · (pos_weight · y · log σ(x) + (1 - y) · log(1 - σ(x)))``, without overflow "
    f"({BOOK}, 6.2).",
    "NLLLoss NLLLoss2d": f"``-weight[y] · x[y]``; the mean divides by the sum of the weights ({BOOK}, 6.2).",
    "CrossEntropyLoss": "``-weight[y] · log(exp(x[y]) / Σⱼ exp(x[j]))``; the mean divides by the sum of the weights. "
    f"For probabilities it is ``-Σⱼ weight[j] · y[j] · log softmax(x)[j]`` ({BOOK}, 6.2).",
    "CTCLoss": "``-log Σₐ Πₜ exp(log_probs[t, aₜ])`` over all alignments a that spell the target; the mean divides "
    "each by the length of its target first.",
    "CosineEmbeddingLoss": "``1 - cos(x₁, x₂)`` for y = 1, ``max(0, cos(x₁, x₂) - margin)`` for y = -1.",
    "GaussianNLLLoss": "``½ (log v + (x - y)² / v)`` with ``v = max(var, eps)``; ``full`` adds ``½ log 2π``.",
    "HuberLoss": "``½ d²`` where ``|d| < delta``, else ``delta · (|d| - ½ delta)``, with ``d = x - y``.",
    "SmoothL1Loss": "``½ d² / beta`` where ``|d| < beta``, else ``|d| - ½ beta``, with ``d = x - y``.",
    "MultiLabelMarginLoss": "``Σᵢⱼ max(0, 1 - x[yⱼ] + x[i]) / c`` over right classes yⱼ and wrong ones i.",
    "MultiLabelSoftMarginLoss": "``-Σⱼ weight[j] · (y[j] · log σ(x[j]) + (1 - y[j]) · log σ(-x[j])) / c``.",
    "MultiMarginLoss": "``weight[y] · Σᵢ max(0, margin - x[y] + x[i])ᵖ / c`` over the classes i other than y.",
    "PoissonNLLLoss": "``exp(x) - y · x``, or ``x - y · log(x + eps)`` without ``log_input``; ``full`` adds Stirling's "
    "``y log y - y + ½ log 2πy`` for y > 1.",
    f"{BATCH_NORMS} SyncBatchNorm": NORM
    + "batch and positions; in evaluation mode the running ones, of which the variance is unbiased.",
    INSTANCE_NORMS: NORM + "the positions of a channel of a sample.",
    "GroupNorm": NORM + "the channels of a group and their positions.",
    "LayerNorm": NORM + "the last dimensions.",
    "RMSNorm": "``weight · x / √(mean(x²) + eps)``, the mean over the last dimensions.",
    "LocalResponseNorm CrossMapLRN2d": "``x / (k + alpha · mean(x²))ᵝ``, the mean over ``size`` neighboring channels.",
    "MultiheadAttention": "Each head computes " + ATTENTION.format(d="embed_dim / num_heads") + ".",
    TRANSFORMERS: f"{BLOCKS}, with " + ATTENTION.format(d="d_model / nhead") + ".",
    "LPPool1d LPPool2d LPPool3d": "``(Σ xᵖ)^(1/p)`` over the elements of a window.",
    "MaxPool1d MaxPool2d MaxPool3d": f"``max x[stride · i + dilation · a - padding]`` over a ({BOOK}, 9.3).",
    "AvgPool1d AvgPool2d AvgPool3d": f"The mean of ``x[stride · i + a - padding]`` over a ({BOOK}, 9.3).",
    ADAPTIVE: "Window i goes from ``⌊i · size / output_size⌋`` to ``⌈(i + 1) · size / output_size⌉``.",
    "Conv1d Conv2d Conv3d LazyConv1d LazyConv2d LazyConv3d": "``bias[o] + Σ weight[o, c, a] · x[c, stride · i + "
    f"dilation · a - padding]`` over channels c and places a in the window ({BOOK}, 9.1).",
    TRANSPOSED: "The linear map of a convolution, transposed (Dumoulin and Visin, 2016).",
    "Dropout": "``mask · x / (1 - p)`` while training, ``x`` in evaluation mode.",
    "Embedding": "``weight[input]``.",
}
"""Formulas by classes, with x for the input, y for the target and σ for the sigmoid, and their sources.

Those of losses are of one element or sample, before the reduction.
"""
EXAMPLES_BY_KIND = {
    "BatchNorm InstanceNorm": """
>>> torch.nn.{name}(3)(torch.randn(2, 3, {fours})).mean().abs() < 1e-6
tensor(True)""",
    "CircularPad ReflectionPad ReplicationPad ZeroPad": """
>>> torch.nn.{name}(1)(torch.tensor([[[[1., 2.], [3., 4.]]]]).expand(1, {twos})).shape
torch.Size([1, {fours}])""",
    "Conv": """
>>> torch.nn.{name}(3, 8, 3, padding=1)(torch.ones(2, 3, {fours})).shape
torch.Size([2, 8, {fours}])""",
    "ConvTranspose": """
>>> torch.nn.{name}(3, 8, 2, stride=2)(torch.ones(2, 3, {fours})).shape
torch.Size([2, 8, {eights}])""",
    "LazyBatchNorm LazyInstanceNorm": """
>>> layer = torch.nn.{name}()
>>> _ = layer(torch.randn(2, 3, {fours}))
>>> layer.num_features
3""",
    "LazyConv": """
>>> layer = torch.nn.{name}(8, 3)
>>> _ = layer(torch.ones(2, 3, {fours}))
>>> layer.weight.shape
torch.Size([8, 3, {threes}])""",
    "LazyConvTranspose": """
>>> layer = torch.nn.{name}(8, 2)
>>> _ = layer(torch.ones(2, 3, {fours}))
>>> layer.weight.shape
torch.Size([3, 8, {twos}])""",
    "MaxUnpool": """
>>> pool = torch.nn.MaxPool{n}d(2, return_indices=True)
>>> values, places = pool(torch.arange({elements}.).reshape(1, 1, {fours}))
>>> torch.nn.{name}(2)(values, places).count_nonzero()
tensor({windows})""",
}
"""Examples that layers of one, two and three dimensions share, by the names without the number of dimensions; a class
with an example of its own, or of its function, has that."""

SIZES = {"twos": "2", "threes": "3", "fours": "4", "eights": "8"}
EXAMPLES = {
    f"{kind}{n}d": text.lstrip().format(
        name=f"{kind}{n}d",
        n=n,
        elements=4**n,
        windows=2**n,
        **{name: ", ".join([size] * n) for name, size in SIZES.items()},
    )
    for kinds, text in EXAMPLES_BY_KIND.items()
    for kind in kinds.split()
    for n in (1, 2, 3)
}

TABLES = Tables(
    shared={
        "activation": 'between the two maps: ``"relu"``, ``"gelu"`` or a function.',
        "affine": "True for a trained weight and bias.",
        "bias": "True for a bias.",
        "batch_first": "True for shapes (n, l, size) instead of (l, n, size).",
        "custom_decoder": "a module to use as the decoder.",
        "d_model": "the size of each element of a sequence.",
        "device": "the device of the parameters.",
        "dim_feedforward": "the size between the two linear maps.",
        "dropout": "the probability of dropout.",
        "dtype": "the dtype of the parameters.",
        "elementwise_affine": "True for a trained weight and bias.",
        "embedding_dim": "the number of columns of the table.",
        "eps": "added to the variance.",
        "hidden_size": "the size of the state.",
        "in_features": "the size of the input's last dimension.",
        "in1_features": "the size of the first input's last dimension.",
        "in2_features": "the size of the second input's last dimension.",
        "input_size": "the size of each element of a sequence.",
        "layer_norm_eps": "added to the variances.",
        "max_norm": "rows longer than this are scaled down to it in place when looked up.",
        "modules": "the modules.",
        "nhead": "the number of heads, which divides ``d_model``.",
        "norm_first": "normalize before attention and maps instead of after.",
        "norm_type": "the order of the norm.",
        "num_channels": "the number of channels, c.",
        "num_decoder_layers": "the number of layers of the decoder.",
        "num_embeddings": "the number of rows of the table.",
        "num_groups": "the number of groups, which divides the channels.",
        "num_layers": "the number of layers.",
        "out_features": "the size of the result's last dimension.",
        "process_group": "accepted; there is one process.",
        "requires_grad": "True if it is trained.",
        "scale_grad_by_freq": "divide the gradient of a row by the number of its uses.",
        "sparse": "return a sparse gradient of the table.",
        "unflattened_size": "the sizes into which the dimension is split.",
    },
    words={
        "AdaptiveLogSoftmaxWithLoss": {"n_classes": "the number of classes."},
        **{f"ConstantPad{n}d": {"value": "the new value."} for n in "123"},
        "Container": {"kwargs": "modules by name."},
        "Hardtanh": {"min_value": "a former name of ``min_val``.", "max_value": "a former name of ``max_val``."},
        "Identity": {"args": "ignored.", "kwargs": "ignored."},
        "Module": {"args": "none; a subclass has its own.", "kwargs": "none; a subclass has its own."},
        "ModuleDict": {"modules": "modules by name, as a dict or pairs."},
        "MultiheadAttention": {"vdim": "the size of the values' elements; ``embed_dim`` by default."},
        "PairwiseDistance": {"p": "the order of the norm.", "eps": "added to each difference."},
        "ParameterDict": {"parameters": "parameters by name, as a dict or pairs."},
        "ParameterList": {"values": "parameters, or values that become parameters."},
        "Sequential": {"args": "modules, called one after the other; or one ordered dict of them."},
        **alike(UNINITIALIZED, {"device": "its later device.", "dtype": "its later dtype."}),
        "TransformerDecoder": {"decoder_layer": "a layer, which is copied."},
        "TransformerEncoder": {"encoder_layer": "a layer, which is copied."},
        "Unflatten": {"dim": "the dimension to split."},
    },
    names={
        "RNN": [*RNN_NAMES[:3], "nonlinearity", *RNN_NAMES[3:], "device", "dtype"],
        "LSTM": [*RNN_NAMES, "proj_size", "device", "dtype"],
        "GRU": [*RNN_NAMES, "device", "dtype"],
        "Softmax2d": [],
    },
    functions={
        **alike(f"{BATCH_NORMS} SyncBatchNorm", "batch_norm"),
        **alike(INSTANCE_NORMS, "instance_norm"),
        **alike(PADS, "pad"),
        **alike("LazyLinear Linear NonDynamicallyQuantizableLinear", "linear"),
        **alike("Upsample UpsamplingBilinear2d UpsamplingNearest2d", "interpolate"),
        "Bilinear": "bilinear",
        "CrossMapLRN2d": "local_response_norm",
        "Embedding": "embedding",
        "EmbeddingBag": "embedding_bag",
        "GroupNorm": "group_norm",
        "LayerNorm": "layer_norm",
        "PReLU": "prelu",
        "PairwiseDistance": "pairwise_distance",
        "RMSNorm": "rms_norm",
        "Softmax2d": "softmax",
    },
    inputs={
        **{name: {"input": f"shape {PAD[name[-2]]}."} for name in PADS.split()},
        "AdaptiveLogSoftmaxWithLoss": {"input": "shape (n, in_features).", "target": "classes, shape (n,), int64."},
        "Bilinear": {"input1": "shape (..., in1_features).", "input2": "shape (..., in2_features)."},
        "DataParallel": {"inputs": "the inputs of the module."},
        "Embedding": {"input": "indices of any shape, int64 or int32."},
        "EmbeddingBag": {
            "input": "indices, shape (bags, size), or (n,) with ``offsets``.",
            "offsets": "the start of each bag, shape (bags,).",
            "per_sample_weights": "a factor for each row, with the shape of ``input``.",
        },
        **alike("GRU RNN RNNBase", {"input": SEQUENCE, "hx": f"the first state, {STATE}; zeros by default."}),
        **alike("GRUCell RNNCell RNNCellBase", CELL),
        "Identity": {"input": "anything."},
        "LSTM": {"input": SEQUENCE, "hx": f"the first state and cell, a pair of {STATE}; zeros by default."},
        "LSTMCell": {**CELL, "hx": "the state and the cell, a pair of shape (n, hidden_size); zeros by default."},
        **alike("LazyLinear Linear", {"input": "shape (..., in_features)."}),
        "MultiheadAttention": {
            "query": "shape (l, n, embed_dim); (n, l, embed_dim) with ``batch_first``.",
            "key": "shape (s, n, kdim).",
            "value": "shape (s, n, vdim).",
        },
        "PairwiseDistance": {"x1": "vectors, shape (n, m) or (m,).", "x2": "vectors that broadcast with ``x1``."},
        "Sequential": {"input": "the inputs of the first module."},
        "Softmax2d": {"input": "shape (n, c, h, w) or (c, h, w)."},
        "Transformer": {"src": SOURCE, "tgt": TARGET},
        **alike("TransformerDecoder TransformerDecoderLayer", {"tgt": TARGET, "memory": SOURCE}),
        **alike("TransformerEncoder TransformerEncoderLayer", {"src": SOURCE}),
        "Unflatten": {"input": "a tensor."},
        "Upsample": {"input": "shape (n, c, l), (n, c, h, w) or (n, c, d, h, w)."},
        **alike("UpsamplingBilinear2d UpsamplingNearest2d", {"input": "shape (n, c, h, w)."}),
    },
    examples=EXAMPLES,
    formulas={name: text for names, text in FORMULAS.items() for name in names.split()},
    results={
        **alike(PADS, "the input's shape, larger by the padding."),
        "AdaptiveLogSoftmaxWithLoss": "the log probability of each target, shape (n,), and the loss, a scalar.",
        **alike("Bilinear LazyLinear Linear", "shape (..., out_features)."),
        **alike("Buffer Parameter", "a tensor of the shape of ``data``."),
        "Container": "nothing: a subclass defines ``forward``.",
        "DataParallel": "the result of the module.",
        "Embedding": "shape (..., embedding_dim).",
        "EmbeddingBag": "shape (bags, embedding_dim).",
        **alike("GRU RNN RNNBase", f"{OUTPUT}the last state, {STATE}."),
        **alike("GRUCell RNNCell RNNCellBase", "the new state, shape (n, hidden_size) or (hidden_size,)."),
        "Identity": "its input, of the same shape.",
        "LSTM": f"{OUTPUT}the last state and cell, a pair of {STATE}.",
        "LSTMCell": "the new state and cell, each of shape (n, hidden_size) or (hidden_size,).",
        "Module": "the result of ``forward``, of any shape.",
        **alike("ModuleDict ModuleList ParameterDict ParameterList", "nothing: it is not called."),
        "MultiheadAttention": "shape (l, n, embed_dim), and the weights, shape (n, l, s), or None.",
        "PairwiseDistance": "shape (n,), or a scalar for vectors; (n, 1) with ``keepdim``.",
        "Sequential": "the result of the last module.",
        "Softmax2d": "the input's shape.",
        **alike("Transformer TransformerDecoder TransformerDecoderLayer", "shape as ``tgt``."),
        **alike("TransformerEncoder TransformerEncoderLayer", "shape as ``src``."),
        "Unflatten": "the input with ``unflattened_size`` in place of one size of its shape.",
        **alike(UNINITIALIZED, "a tensor without shape until it is materialized."),
    },
    raises={
        **alike(
            "GRUCell LSTMCell RNNCell RNNCellBase",
            {"RuntimeError": "the sizes of input, state and weights do not match."},
        ),
        **alike(
            TRANSFORMERS,
            {
                "AssertionError": "the heads do not divide ``d_model``, or a sequence has another size.",
                "RuntimeError": "shapes do not match, or the activation is unknown.",
            },
        ),
        **alike("Container ModuleDict ModuleList Sequential", {"TypeError": "an item is not a module."}),
        "Buffer": {"AttributeError": "it is assigned before ``Module.__init__`` was called."},
        "DataParallel": {"RuntimeError": "the module's parameters are on another device."},
        "Module": {"NotImplementedError": "it is called, and its class does not define ``forward``."},
        "ParameterDict": {"TypeError": "the names are not strings, or no names are given."},
        "ParameterList": {"TypeError": "the argument is not iterable."},
        **alike(UNINITIALIZED, {"ValueError": "its values are accessed before it is materialized."}),
    },
)
