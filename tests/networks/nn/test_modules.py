"""Every layer against PyTorch's: text, state under the same seed, values and gradients, in training and evaluation."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import nbautograd
from tests import oracle

Shape = tuple[int, ...]


@dataclass
class Case:
    """A layer, and inputs: shapes of normal numbers, or arrays."""

    text: str
    inputs: Sequence[Any]
    options: dict[str, Any]

    def make(self, T: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(self.text, {"nn": T.nn, "T": T, "inf": float("inf")})


def case(text: str, *inputs: Any, **options: Any) -> Any:
    return pytest.param(Case(text, inputs, options), id=text)


def ints(*values: Any) -> np.ndarray[Any, Any]:
    return np.array(values if len(values) != 1 else values[0], np.int64)


def chances(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(7).random(shape) * 0.8 + 0.1


def signs(*shape: int) -> np.ndarray[Any, Any]:
    return np.sign(np.random.default_rng(8).normal(size=shape))


def bools(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(9).random(shape) < 0.3


LAST = np.array([[False] * 4, [False, False, True, True], [False, False, False, True]])  # padding at the end

ACTIVATIONS = [
    *("ReLU()", "ReLU(inplace=True)", "ReLU(True)", "Threshold(0.1, 20)", "Threshold(0.1, 20, True)", "RReLU()"),
    *("RReLU(0.1, 0.4, inplace=True)", "Hardtanh()", "Hardtanh(-2, 0.5, True)", "ReLU6()", "ReLU6(True)", "Sigmoid()"),
    *("Hardsigmoid()", "Hardsigmoid(True)", "Tanh()", "SiLU()", "SiLU(inplace=True)", "Mish()", "Mish(True)"),
    *("Hardswish()", "Hardswish(True)", "ELU()", "ELU(2.0, True)", "CELU()", "CELU(0.5, True)", "SELU()", "SELU(True)"),
    *("GLU()", "GLU(0)", "GELU()", "GELU('tanh')", "Hardshrink()", "Hardshrink(0.3)", "LeakyReLU()"),
    *("LeakyReLU(0.2, inplace=True)", "LogSigmoid()", "Softplus()", "Softplus(2, 1.5)", "Softshrink()"),
    *("Softshrink(0.2)", "Softsign()", "Tanhshrink()", "Softmin(1)", "Softmin(dim=0)", "Softmax(-1)", "Softmax(dim=0)"),
    *("LogSoftmax(1)", "PReLU()", "PReLU(6)", "PReLU(init=0.1)", "Identity(3, x=4)", "Flatten()", "Flatten(0, 1)"),
    *("Dropout()", "Dropout(0.2, True)", "Dropout(p=1)", "AlphaDropout(0.3)", "Unflatten(1, (2, 3))"),
    *("LayerNorm(6)", "LayerNorm((4, 6))", "LayerNorm(6, elementwise_affine=False)", "LayerNorm(6, bias=False)"),
    *("LayerNorm([6], eps=0.1)", "RMSNorm(6)", "RMSNorm((4, 6), 0.1)", "RMSNorm(6, elementwise_affine=False)"),
    *("BatchNorm1d(6)", "BatchNorm1d(6, 0.1, None)", "BatchNorm1d(6, affine=False, track_running_stats=False)"),
    *("BatchNorm1d(6, bias=False)", "GroupNorm(2, 6)", "GroupNorm(3, 6, 0.1, affine=False)"),
    *("GroupNorm(3, 6, bias=False)", "Linear(6, 5)", "Linear(6, 5, bias=False)", "ModuleList()", "ModuleDict()"),
    "Sequential(nn.Linear(6, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 2)))",
]


def layer(text: str) -> str:
    return text if text.startswith("nn.") else "nn." + text


CASES = [
    *(case(layer(text), (4, 6)) for text in ACTIVATIONS if not text.startswith("Module")),
    case("nn.Softmax2d()", (2, 3, 4, 5)),
    case("nn.Bilinear(3, 4, 5)", (2, 3), (2, 4)),
    case("nn.Bilinear(3, 4, 5, bias=False)", (2, 3), (2, 4)),
    # convolutions
    case("nn.Conv1d(4, 6, 3)", (2, 4, 9)),
    case("nn.Conv1d(4, 6, 3, 2, 1, 2, 2, False)", (2, 4, 9)),
    case("nn.Conv1d(4, 6, 3, padding='same', padding_mode='circular')", (2, 4, 9)),
    case("nn.Conv2d(4, 6, 3)", (2, 4, 6, 7)),
    case("nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), bias=False)", (4, 6, 7)),
    case("nn.Conv2d(4, 6, 3, padding=1, padding_mode='reflect')", (2, 4, 6, 7)),
    case("nn.Conv2d(4, 6, (2, 4), padding='same', dilation=2, padding_mode='replicate')", (2, 4, 6, 7)),
    case("nn.Conv2d(4, 6, 2, padding='valid')", (2, 4, 6, 7)),
    case("nn.Conv3d(2, 4, 2, padding=1, groups=2)", (1, 2, 3, 4, 3)),
    case("nn.ConvTranspose1d(4, 6, 3)", (2, 4, 5)),
    case("nn.ConvTranspose1d(4, 6, 3, 2, 1, 1, 2, False, 2)", (2, 4, 5)),
    case("nn.ConvTranspose2d(4, 6, (3, 2), 2, 1, output_padding=1)", (2, 4, 5, 4)),
    case("nn.ConvTranspose3d(2, 4, 2, groups=2)", (1, 2, 3, 2, 3)),
    case("nn.Unfold(2)", (2, 3, 4, 5)),
    case("nn.Unfold((2, 3), padding=1, stride=2)", (2, 3, 4, 5)),
    case("nn.Fold((4, 5), 2)", (2, 12, 12)),
    # pooling
    case("nn.MaxPool1d(2)", (2, 3, 9)),
    case("nn.MaxPool1d(3, 2, 1, 2, True, True)", (2, 3, 9)),
    case("nn.MaxPool2d(2)", (2, 3, 6, 7)),
    case("nn.MaxPool2d((3, 2), stride=(2, 1), padding=(0, 1), ceil_mode=True)", (2, 3, 6, 7)),
    case("nn.MaxPool3d(2, 1, return_indices=True)", (2, 3, 3, 4, 3)),
    case("nn.AvgPool1d(2)", (2, 3, 9)),
    case("nn.AvgPool1d(3, 2, 1, True, False)", (2, 3, 9)),
    case("nn.AvgPool2d(2)", (2, 3, 6, 7)),
    case("nn.AvgPool2d((3, 2), 2, (1, 0), divisor_override=5)", (2, 3, 6, 7)),
    case("nn.AvgPool3d(2, 1)", (2, 3, 3, 4, 3)),
    case("nn.LPPool1d(2, 3)", (2, 3, 9)),
    case("nn.LPPool2d(3.0, (2, 3), stride=1)", (2, 3, 6, 7)),
    case("nn.LPPool3d(1, 2, 1, True)", (2, 3, 3, 4, 3)),
    case("nn.AdaptiveAvgPool1d(4)", (2, 3, 9)),
    case("nn.AdaptiveAvgPool2d((3, None))", (2, 3, 6, 7)),
    case("nn.AdaptiveAvgPool3d(2)", (2, 3, 3, 4, 3)),
    case("nn.AdaptiveMaxPool1d(4)", (2, 3, 9)),
    case("nn.AdaptiveMaxPool2d((3, None), True)", (2, 3, 6, 7)),
    case("nn.AdaptiveMaxPool3d((2, 1, 2))", (2, 3, 3, 4, 3)),
    case("nn.MaxUnpool1d(2)", (1, 2, 2), ints([[[1, 2], [0, 3]]])),
    case("nn.MaxUnpool2d(2, 1)", (1, 1, 2, 2), ints([[[[0, 1], [5, 8]]]])),
    case("nn.MaxUnpool3d((1, 2, 2))", (1, 1, 1, 1, 2), ints([[[[[0, 6]]]]])),
    case("nn.FractionalMaxPool2d(2, output_size=(3, 4))", (2, 3, 7, 8)),
    case("nn.FractionalMaxPool2d((2, 3), output_ratio=0.5)", (2, 3, 7, 8)),
    case("nn.FractionalMaxPool3d(2, output_size=2, return_indices=True)", (2, 1, 4, 5, 4)),
    # padding
    *(
        case(f"nn.{kind}Pad{n}d({padding}{', 2.5' if kind == 'Constant' else ''})", (2, 3, *(4, 5, 4)[:n]))
        for kind in ("Constant", "Zero", "Reflection", "Replication", "Circular")
        for n in (1, 2, 3)
        for padding in (1, tuple(range(2 * n)) if kind not in ("Reflection", "Circular") else (2, 1) * n)
    ),
    # normalization
    *(case(f"nn.BatchNorm{n}d(3)", (4, 3, *(4, 5, 2)[:n])) for n in (1, 2, 3)),
    *(case(f"nn.InstanceNorm{n}d(3)", (4, 3, *(4, 5, 2)[:n])) for n in (1, 2, 3)),
    case("nn.InstanceNorm1d(3, 0.1, 0.3, True, True)", (4, 3, 5)),
    case("nn.InstanceNorm2d(3, affine=True, bias=False)", (3, 4, 5)),
    case("nn.GroupNorm(2, 4)", (3, 4, 2, 3)),
    case("nn.LocalResponseNorm(2)", (2, 5, 4)),
    case("nn.LocalResponseNorm(3, 0.1, 0.5, 2.0)", (2, 5, 4, 3)),
    *(case(f"nn.Dropout{n}d(0.4)", (4, 3, *(4, 5, 2)[:n])) for n in (1, 2, 3)),
    case("nn.FeatureAlphaDropout(0.4)", (4, 3, 4)),
    # shapes and distances
    case("nn.PixelShuffle(2)", (1, 8, 2, 3)),
    case("nn.PixelUnshuffle(2)", (1, 2, 4, 6)),
    case("nn.ChannelShuffle(2)", (1, 4, 2, 3)),
    case("nn.Upsample(scale_factor=2)", (1, 2, 3)),
    case("nn.Upsample((5, 4), mode='bilinear', align_corners=False)", (1, 2, 3, 3)),
    case("nn.Upsample(scale_factor=(2, 1.5), mode='bicubic')", (1, 2, 3, 4)),
    case("nn.UpsamplingNearest2d(scale_factor=2)", (1, 2, 3, 3)),
    case("nn.UpsamplingBilinear2d(size=(4, 5))", (1, 2, 3, 3)),
    case("nn.CosineSimilarity()", (3, 4), (3, 4)),
    case("nn.CosineSimilarity(0, 1e-3)", (3, 4), (3, 4)),
    case("nn.PairwiseDistance()", (3, 4), (3, 4)),
    case("nn.PairwiseDistance(1.0, keepdim=True)", (3, 4), (3, 4)),
    # embeddings
    case("nn.Embedding(5, 3)", ints([[0, 4, 2], [1, 1, 0]])),
    case("nn.Embedding(5, 3, padding_idx=-4, scale_grad_by_freq=True)", ints([[0, 4, 2], [1, 1, 0]])),
    case("nn.Embedding(5, 3, max_norm=1.0, norm_type=1.0)", ints([0, 4, 2])),
    case("nn.Embedding.from_pretrained(T.ones(2, 3), padding_idx=0)", ints([0, 1, 0])),
    case("nn.EmbeddingBag(5, 3)", ints([[0, 4, 2], [1, 1, 0]])),
    case("nn.EmbeddingBag(5, 3, mode='sum', padding_idx=1)", ints(0, 4, 2, 1, 1), ints(0, 3)),
    case("nn.EmbeddingBag(5, 3, 1.0, mode='max', include_last_offset=True)", ints(0, 4, 2, 1, 1), ints(0, 3, 5)),
    # losses
    *(case(f"nn.{name}Loss()", (3, 4), (3, 4)) for name in ("L1", "MSE", "SmoothL1", "Huber", "KLDiv")),
    case("nn.L1Loss(reduction='sum')", (3, 4), (3, 4)),
    case("nn.MSELoss(reduction='none')", (3, 4), (3, 4)),
    case("nn.MSELoss(size_average=False)", (3, 4), (3, 4)),
    case("nn.SmoothL1Loss(beta=0.3)", (3, 4), (3, 4)),
    case("nn.HuberLoss('sum', 0.3)", (3, 4), (3, 4)),
    case("nn.KLDivLoss(reduction='batchmean', log_target=True)", (3, 4), (3, 4)),
    case("nn.BCELoss()", chances(3, 4), chances(3, 4)),
    case("nn.BCELoss(T.ones(4) * 2)", chances(3, 4), chances(3, 4)),
    case("nn.BCEWithLogitsLoss()", (3, 4), chances(3, 4)),
    case("nn.BCEWithLogitsLoss(T.ones(4) * 2, pos_weight=T.ones(4) * 3)", (3, 4), chances(3, 4)),
    case("nn.NLLLoss()", (3, 4), ints(0, 3, 1)),
    case("nn.NLLLoss(T.arange(4.0), ignore_index=1)", (3, 4, 2), ints([[0, 3], [1, 1], [2, 2]])),
    case("nn.CrossEntropyLoss()", (3, 4), ints(0, 3, 1)),
    case("nn.CrossEntropyLoss(T.arange(4.0), ignore_index=1, label_smoothing=0.1)", (3, 4), ints(0, 3, 1)),
    case("nn.CrossEntropyLoss(reduction='sum')", (3, 4), chances(3, 4)),
    case("nn.PoissonNLLLoss()", (3, 4), chances(3, 4)),
    case("nn.PoissonNLLLoss(False, True)", chances(3, 4), chances(3, 4)),
    case("nn.GaussianNLLLoss(full=True)", (3, 4), (3, 4), chances(3, 4)),
    case("nn.HingeEmbeddingLoss(0.5)", (3, 4), signs(3, 4)),
    case("nn.SoftMarginLoss()", (3, 4), signs(3, 4)),
    case("nn.CosineEmbeddingLoss(0.1)", (3, 4), (3, 4), signs(3)),
    case("nn.MarginRankingLoss(0.1)", (3,), (3,), signs(3)),
    case("nn.MultiLabelMarginLoss()", (2, 4), ints([[3, 0, -1, 1], [1, -1, 0, 2]])),
    case("nn.MultiLabelSoftMarginLoss(T.arange(4.0))", (2, 4), chances(2, 4)),
    case("nn.MultiMarginLoss(2, 0.5, T.arange(4.0))", (3, 4), ints(0, 3, 1)),
    case("nn.TripletMarginLoss(0.5, swap=True)", (3, 4), (3, 4), (3, 4)),
    case("nn.TripletMarginWithDistanceLoss(margin=0.5)", (3, 4), (3, 4), (3, 4)),
    case("nn.CTCLoss()", (6, 2, 4), ints([[1, 2], [3, 3]]), ints(6, 5), ints(2, 1)),
    # recurrent
    *(
        case(text, (5, 3, 4))
        for text in (
            *("nn.RNN(4, 6)", "nn.RNN(4, 6, 2, 'relu', bidirectional=True)", "nn.RNN(4, 6, nonlinearity='relu')"),
            *("nn.LSTM(4, 6)", "nn.LSTM(4, 6, 2, bias=False, bidirectional=True)", "nn.GRU(4, 6, 2)"),
            *("nn.LSTM(4, 6, num_layers=2, dropout=0.5, proj_size=3, bidirectional=True)", "nn.GRU(4, 6, dropout=0.2)"),
            *("nn.GRU(4, 6, 2, batch_first=True, dropout=0.3)", "nn.LSTM(4, 6, batch_first=True)"),
        )
    ),
    case("nn.GRU(4, 6, bidirectional=True)", (5, 3, 4), (2, 3, 6)),
    case("nn.RNN(4, 6)", (5, 4), (1, 6)),
    case("nn.LSTM(4, 6)", (5, 4)),
    case("nn.RNNCell(4, 6)", (3, 4)),
    case("nn.RNNCell(4, 6, False, 'relu')", (3, 4), (3, 6)),
    case("nn.LSTMCell(4, 6)", (3, 4)),
    case("nn.GRUCell(4, 6, bias=False)", (4,), (6,)),
    # attention
    case("nn.MultiheadAttention(8, 2)", (5, 3, 8), (4, 3, 8), (4, 3, 8)),
    case("nn.MultiheadAttention(8, 2, bias=False, kdim=3, vdim=5)", (5, 3, 8), (4, 3, 3), (4, 3, 5)),
    case("nn.MultiheadAttention(8, 2, 0.0, True, True, True)", (5, 8), (4, 8), (4, 8)),
    case("nn.MultiheadAttention(8, 2, batch_first=True)", (3, 5, 8), (3, 4, 8), (3, 4, 8), key_padding_mask=LAST),
    case("nn.MultiheadAttention(8, 2)", (4, 1, 8), (4, 1, 8), (4, 1, 8), attn_mask=np.triu(np.ones((4, 4)), 1) > 0),
    case("nn.TransformerEncoderLayer(8, 2, 6, 0.0)", (4, 3, 8)),
    case("nn.TransformerEncoderLayer(8, 2, 6, 0.0, 'gelu', 0.1, True, True, False)", (3, 4, 8)),
    case("nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 6, 0.0), 2, nn.LayerNorm(8))", (4, 3, 8)),
    case("nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 6, 0.0, batch_first=True), 2)", (3, 4, 8),
         src_key_padding_mask=LAST),
    case("nn.TransformerDecoderLayer(8, 2, 6, 0.0)", (4, 3, 8), (5, 3, 8)),
    case("nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 6, 0.0), 2)", (4, 3, 8), (5, 3, 8)),
    case("nn.Transformer(8, 2, 2, 1, 6, 0.0)", (4, 3, 8), (5, 3, 8)),
    case("nn.Transformer(8, 2, 1, 2, 6, 0.0, batch_first=True, norm_first=True)", (3, 4, 8), (3, 5, 8)),
]  # fmt: skip
ONLY_TEXT = [
    "nn.ModuleList()", "nn.ModuleDict()", "nn.Sequential()", "nn.ParameterList()",
    "nn.ModuleList([nn.Linear(1, 2), nn.Linear(1, 2), nn.ReLU(), nn.Sequential(nn.ReLU(), nn.ReLU())])",
    "nn.ModuleDict({'a': nn.ReLU(), 'b': nn.ModuleList([nn.ReLU()])})",
    "nn.ParameterList([T.ones(2, 3), 3, nn.Parameter(T.tensor(1.0))])",
    "nn.ParameterDict({'w': T.ones(2, 3), 'n': 3, 'a': T.ones(1, dtype=T.float64)})",
    "nn.Parameter(T.ones(2))", "nn.Parameter(T.ones(2), requires_grad=False)", "nn.Buffer(T.ones(2))",
    "nn.Linear(2, 3, dtype=T.float64).weight.dtype", "nn.Parameter()",
]  # fmt: skip


IN_FLOAT32 = ("nn.Hardsigmoid()", "nn.Hardsigmoid(True)")
"""Layers that PyTorch computes with a constant, 1/6, in float32: so their gradients are not exact in float64."""


def tensors(T: Any, value: Any, numbers: np.random.Generator, dtype: Any) -> Any:
    if isinstance(value, np.ndarray):
        return T.tensor(value.tolist(), dtype=dtype if value.dtype == np.float64 else None)
    return T.tensor(numbers.normal(size=value).tolist(), dtype=dtype)


def flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [t for part in value for t in flat(part)]
    return [] if value is None else [value]


def run(T: Any, module: Any, given: Case) -> tuple[list[Any], list[Any]]:
    """Outputs; and gradients of inputs and parameters."""
    numbers = np.random.default_rng(3)
    dtype = T.float32 if given.text in IN_FLOAT32 else T.float64
    inputs = [tensors(T, value, numbers, dtype) for value in given.inputs]
    options = {name: tensors(T, value, numbers, dtype) for name, value in given.options.items()}
    leaves = [x for x, value in zip(inputs, given.inputs, strict=True) if not isinstance(value, np.ndarray)]
    if T.is_grad_enabled():
        for leaf in leaves:
            leaf.requires_grad_()
    # A leaf cannot be written to in place, so layers get a tensor computed from it.
    passed = [x + 0.0 if x.requires_grad else x for x in inputs]
    T.manual_seed(6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = flat(module(*passed, **options))
        if any(y.requires_grad for y in outputs):
            weights = [
                T.tensor(numbers.normal(size=tuple(y.shape)).tolist(), dtype=y.dtype)
                for y in outputs
                if y.requires_grad
            ]
            sum((y * w).sum() for y, w in zip([y for y in outputs if y.requires_grad], weights, strict=True)).backward()
    gradients = [x.grad for x in leaves] + [p.grad for _, p in module.named_parameters()]
    return [y.detach() for y in outputs], gradients


def begun(T: Any, given: Case) -> Any:
    """The layer as it begins after the same seed."""
    T.manual_seed(5)
    return given.make(T)


def described(T: Any, given: Case) -> list[Any]:
    layer = begun(T, given)
    return [layer, layer.state_dict(), [name for name, _ in layer.named_modules()]]


def used(T: Any, given: Case) -> list[Any]:
    """Return the results in training, in evaluation and without a graph, and the final state."""
    layer = begun(T, given)
    if given.text not in IN_FLOAT32:
        layer.double()
    found = []
    for step in ("train", "eval", "no_grad"):
        if step == "eval":
            layer.eval()
        layer.zero_grad()
        with T.set_grad_enabled(step != "no_grad"):
            found.append(run(T, layer, given))
    return [*found, layer.state_dict()]


@pytest.mark.parametrize("given", CASES)
def test_layer(given: Case) -> None:
    oracle.check(described, given, exact=True)
    oracle.check(used, given)


@pytest.mark.parametrize("text", ONLY_TEXT)
def test_text(text: str) -> None:
    oracle.check(lambda T: repr(begun(T, Case(text, (), {}))))


ABSENT = {"LinearCrossEntropyLoss"}


@pytest.mark.parametrize("name", sorted(n for n in dir(nbautograd.nn) if n[0].isupper() and "Uninit" not in n))
def test_arguments_are_pytorchs(name: str) -> None:
    """Names, order, kinds and defaults."""

    def arguments(T: Any) -> list[Any]:
        parameters = inspect.signature(getattr(T.nn, name)).parameters.values()
        return [(p.name, p.kind.name, "" if callable(p.default) else repr(p.default)) for p in parameters]

    theirs = oracle.answer(arguments)
    if [p.parts[0] for p in theirs] != ["args", "kwargs"]:  # PyTorch's layers that reject all arguments
        oracle.same(arguments(nbautograd), theirs)


def test_every_layer_is_here_and_tested() -> None:
    def layers(T: Any) -> list[str]:
        classes = {name: getattr(T.nn, name) for name in dir(T.nn) if isinstance(getattr(T.nn, name), type)}
        return [n for n, cls in classes.items() if issubclass(cls, T.nn.Module) and not n.startswith("Lazy")]

    theirs = {*oracle.answer(layers)}
    assert {n for n in theirs if not hasattr(nbautograd.nn, n)} == ABSENT
    tested = " ".join([*(c.values[0].text for c in CASES), *ONLY_TEXT])
    bases = {"Module", "RNNBase", "RNNCellBase"}
    bases |= {
        "AdaptiveLogSoftmaxWithLoss",
        "Container",
        "CrossMapLRN2d",
        "DataParallel",
        "NLLLoss2d",
        "SyncBatchNorm",
    }  # in differences
    assert {n for n in theirs - ABSENT - bases if f"nn.{n}(" not in tested and f"nn.{n}." not in tested} == set()
