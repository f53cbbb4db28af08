"""Shared docstrings of the classes of ``nn``: parameters, inputs and results. Layers inherit others from functions."""

from __future__ import annotations

from nbautograd._names.docstrings.examples import EXAMPLES
from nbautograd._names.docstrings.formulas import FORMULAS
from nbautograd._names.docstrings.tables import Tables, alike

__all__ = ["TABLES"]

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
RNN_NAMES = ["input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional"]
TABLES = Tables(
    shared={
        "activation": 'between the two maps: ``"relu"``, ``"gelu"`` or a function.',
        "affine": "True for a trained weight and bias.",
        "bias": "True for a bias.",
        "batch_first": "True for shapes (n, l, size) instead of (l, n, size).",
        "custom_decoder": "a module to use as the decoder.",
        "custom_encoder": "a module to use as the encoder.",
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
        "mode": "how.",
        "modules": "the modules.",
        "momentum": "the share of the batch in the running statistics; None for the mean of all so far.",
        "nhead": "the number of heads, which divides ``d_model``.",
        "norm_first": "normalize before attention and maps instead of after.",
        "norm_type": "the order of the norm.",
        "num_channels": "the number of channels, c.",
        "num_decoder_layers": "the number of layers of the decoder.",
        "num_embeddings": "the number of rows of the table.",
        "num_encoder_layers": "the number of layers of the encoder.",
        "num_features": "the number of channels, c.",
        "num_groups": "the number of groups, which divides the channels.",
        "num_layers": "the number of layers.",
        "out_features": "the size of the result's last dimension.",
        "process_group": "accepted; there is one process.",
        "requires_grad": "True if it is trained.",
        "scale_grad_by_freq": "divide the gradient of a row by the number of its uses.",
        "sparse": "return a sparse gradient of the table.",
        "track_running_stats": "keep means and variances for evaluation.",
        "unflattened_size": "the sizes into which the dimension is split.",
    },
    words={
        "AdaptiveLogSoftmaxWithLoss": {"n_classes": "the number of classes."},
        "Buffer": {"data": "its value."},
        **{f"ConstantPad{n}d": {"value": "the new value."} for n in "123"},
        "Container": {"args": "none.", "kwargs": "modules by name."},
        "CrossMapLRN2d": {
            "size": "the number of neighboring channels.",
            "alpha": "the factor of the mean of their squares.",
            "beta": "the exponent.",
            "k": "added to the mean.",
        },
        "Hardtanh": {"min_value": "a former name of ``min_val``.", "max_value": "a former name of ``max_val``."},
        "Identity": {"args": "ignored.", "kwargs": "ignored."},
        "Module": {"args": "none; a subclass has its own.", "kwargs": "none; a subclass has its own."},
        "ModuleDict": {"modules": "modules by name, as a dict or pairs."},
        "MultiheadAttention": {"vdim": "the size of the values' elements; ``embed_dim`` by default."},
        "PairwiseDistance": {"p": "the order of the norm.", "eps": "added to each difference."},
        "ParameterDict": {"parameters": "parameters by name, as a dict or pairs."},
        "ParameterList": {"values": "parameters, or values that become parameters."},
        "Sequential": {"args": "modules, called one after the other; or one ordered dict of them.", "kwargs": "none."},
        **alike(
            "UninitializedBuffer UninitializedParameter", {"device": "its later device.", "dtype": "its later dtype."}
        ),
        "TransformerDecoder": {"decoder_layer": "a layer, which is copied.", "norm": "normalizes the result."},
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
        **{f"BatchNorm{n}d": "batch_norm" for n in "123"},
        **{f"LazyBatchNorm{n}d": "batch_norm" for n in "123"},
        **{f"InstanceNorm{n}d": "instance_norm" for n in "123"},
        **{f"LazyInstanceNorm{n}d": "instance_norm" for n in "123"},
        **{
            f"{kind}Pad{n}d": "pad"
            for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero")
            for n in "123"
        },
        "Bilinear": "bilinear",
        "CrossMapLRN2d": "local_response_norm",
        "Embedding": "embedding",
        "EmbeddingBag": "embedding_bag",
        "GroupNorm": "group_norm",
        "LayerNorm": "layer_norm",
        "LazyLinear": "linear",
        "Linear": "linear",
        "NonDynamicallyQuantizableLinear": "linear",
        "PReLU": "prelu",
        "PairwiseDistance": "pairwise_distance",
        "RMSNorm": "rms_norm",
        "Softmax2d": "softmax",
        "SyncBatchNorm": "batch_norm",
        "Upsample": "interpolate",
        "UpsamplingBilinear2d": "interpolate",
        "UpsamplingNearest2d": "interpolate",
    },
    inputs={
        **{
            f"{kind}Pad{n}d": {"input": f"shape {PAD[n]}."}
            for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero")
            for n in "123"
        },
        "AdaptiveLogSoftmaxWithLoss": {"input": "shape (n, in_features).", "target": "classes, shape (n,), int64."},
        "Bilinear": {"input1": "shape (..., in1_features).", "input2": "shape (..., in2_features)."},
        "DataParallel": {"inputs": "the inputs of the module."},
        "Embedding": {"input": "indices of any shape, int64 or int32."},
        "EmbeddingBag": {
            "input": "indices, shape (bags, size), or (n,) with ``offsets``.",
            "offsets": "the start of each bag, shape (bags,).",
            "per_sample_weights": "a factor for each row, with the shape of ``input``.",
        },
        "GRU": {"input": SEQUENCE, "hx": f"the first state, {STATE}; zeros by default."},
        "GRUCell": CELL,
        "Identity": {"input": "anything."},
        "LSTM": {"input": SEQUENCE, "hx": f"the first state and cell, a pair of {STATE}; zeros by default."},
        "LSTMCell": {**CELL, "hx": "the state and the cell, a pair of shape (n, hidden_size); zeros by default."},
        "LazyLinear": {"input": "shape (..., in_features)."},
        "Linear": {"input": "shape (..., in_features)."},
        "MultiheadAttention": {
            "query": "shape (l, n, embed_dim); (n, l, embed_dim) with ``batch_first``.",
            "key": "shape (s, n, kdim).",
            "value": "shape (s, n, vdim).",
        },
        "PairwiseDistance": {"x1": "vectors, shape (n, m) or (m,).", "x2": "vectors that broadcast with ``x1``."},
        "RNN": {"input": SEQUENCE, "hx": f"the first state, {STATE}; zeros by default."},
        "RNNBase": {"input": SEQUENCE, "hx": f"the first state, {STATE}; zeros by default."},
        "RNNCell": CELL,
        "RNNCellBase": CELL,
        "Sequential": {"input": "the inputs of the first module."},
        "Softmax2d": {"input": "shape (n, c, h, w) or (c, h, w)."},
        "Transformer": {"src": SOURCE, "tgt": TARGET},
        "TransformerDecoder": {"tgt": TARGET, "memory": SOURCE},
        "TransformerDecoderLayer": {"tgt": TARGET, "memory": SOURCE},
        "TransformerEncoder": {"src": SOURCE},
        "TransformerEncoderLayer": {"src": SOURCE},
        "Unflatten": {"input": "a tensor."},
        "Upsample": {"input": "shape (n, c, l), (n, c, h, w) or (n, c, d, h, w)."},
        "UpsamplingBilinear2d": {"input": "shape (n, c, h, w)."},
        "UpsamplingNearest2d": {"input": "shape (n, c, h, w)."},
    },
    examples=EXAMPLES,
    formulas=FORMULAS,
    results={
        **{
            f"{kind}Pad{n}d": "the input's shape, larger by the padding."
            for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero")
            for n in "123"
        },
        "AdaptiveLogSoftmaxWithLoss": "the log probability of each target, shape (n,), and the loss, a scalar.",
        "Bilinear": "shape (..., out_features).",
        "Buffer": "a tensor of the shape of ``data``.",
        "Container": "nothing: a subclass defines ``forward``.",
        "DataParallel": "the result of the module.",
        "Embedding": "shape (..., embedding_dim).",
        "EmbeddingBag": "shape (bags, embedding_dim).",
        "GRU": f"{OUTPUT}the last state, {STATE}.",
        "GRUCell": "the new state, shape (n, hidden_size) or (hidden_size,).",
        "Identity": "its input, of the same shape.",
        "LSTM": f"{OUTPUT}the last state and cell, a pair of {STATE}.",
        "LSTMCell": "the new state and cell, each of shape (n, hidden_size) or (hidden_size,).",
        "LazyLinear": "shape (..., out_features).",
        "Linear": "shape (..., out_features).",
        "Module": "the result of ``forward``, of any shape.",
        "ModuleDict": "nothing: it is not called.",
        "ModuleList": "nothing: it is not called.",
        "MultiheadAttention": "shape (l, n, embed_dim), and the weights, shape (n, l, s), or None.",
        "PairwiseDistance": "shape (n,), or a scalar for vectors; (n, 1) with ``keepdim``.",
        "Parameter": "a tensor of the shape of ``data``.",
        "ParameterDict": "nothing: it is not called.",
        "ParameterList": "nothing: it is not called.",
        "RNN": f"{OUTPUT}the last state, {STATE}.",
        "RNNBase": f"{OUTPUT}the last state, {STATE}.",
        "RNNCell": "the new state, shape (n, hidden_size) or (hidden_size,).",
        "RNNCellBase": "the new state, shape (n, hidden_size) or (hidden_size,).",
        "Sequential": "the result of the last module.",
        "Softmax2d": "the input's shape.",
        "Transformer": "shape as ``tgt``.",
        "TransformerDecoder": "shape as ``tgt``.",
        "TransformerDecoderLayer": "shape as ``tgt``.",
        "TransformerEncoder": "shape as ``src``.",
        "TransformerEncoderLayer": "shape as ``src``.",
        "Unflatten": "the input with ``unflattened_size`` in place of one size of its shape.",
        "UninitializedBuffer": "a tensor without shape until it is materialized.",
        "UninitializedParameter": "a tensor without shape until it is materialized.",
    },
    raises={
        **alike(
            "GRUCell LSTMCell RNNCell RNNCellBase",
            {"RuntimeError": "the sizes of input, state and weights do not match."},
        ),
        **alike(
            "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer",
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
        "UninitializedBuffer": {"ValueError": "its values are accessed before it is materialized."},
        "UninitializedParameter": {"ValueError": "its values are accessed before it is materialized."},
    },
)
