"""Check the content of docstrings, and the truth of their common phrases."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pickle
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import nbautograd as nb
from nbautograd._engine.compiler.op import OPS, CompiledOp
from nbautograd._engine.compiler.schema import POINTWISE
from nbautograd._names.docstrings import layers
from nbautograd._names.docstrings.classes import Composed
from nbautograd._names.docstrings.methods import METHODS
from tests import needs
from tests.engine.cuda.fake_cupy import fake_cupy, present

DOCS = Path(__file__).parents[2] / "docs"
WHOLE = """
    torch: pointwise; torch: comparison; torch: spectral (without torch.fft); torch: other operations;
    torch: BLAS and LAPACK; torch.autograd.functional; torch.autograd.profiler; torch.fft; torch.special; torch.linalg;
    torch: sparse tensors; torch.masked; torch.signal.windows; torch.distributions.utils; torch.testing; torch.utils;
    torch.utils.benchmark; torch.utils.checkpoint; torch.utils.weak; torch.nn.parallel; torch.multiprocessing; nn.init;
    nn.utils; serialization; optim; optim.lr_scheduler; torch.autograd: gradcheck; torch.autograd.forward_ad;
    torch.autograd.graph; Tensor: sparse; protocol"""
"""Families of which every name has parameters, the result, errors and an example."""
EXCEPT = {
    "nn.Identity": "it takes anything",
    "distributions.biject_to": "a registry, whose class is described",
    "distributions.transform_to": "a registry, whose class is described",
    "distributions.identity_transform": "an object, whose class is described",
}
MOST = {"parameters": 31, "result": 57, "raises": 103, "example": 26}
"""The number of names of all families without these when first counted: it may only fall."""


@pytest.fixture(scope="module")
def coverage() -> Any:
    needs.package("sphinx")  # whose pages it counts for
    sys.path[:0] = [str(DOCS), str(DOCS / "extensions")]
    try:
        return importlib.import_module("coverage_of_docstrings")
    finally:
        del sys.path[:2]


def test_whole_families_are_described(coverage: Any) -> None:
    whole = {family.strip() for family in WHOLE.split(";")}
    whole |= {"nn", "torch.nn.functional", "torch.func", "torch.distributions"}
    lacking = {
        path: missing
        for path, (family, value) in coverage.documented().items()
        if family in whole and path not in EXCEPT and (missing := coverage.lacks(family, value))
    }
    assert lacking == {}


def test_no_family_loses_what_it_says(coverage: Any) -> None:
    total = sum(coverage.counts().values(), Counter())
    assert total["names"] > 1600
    assert {kind: total[kind] for kind in coverage.KINDS if total[kind] > MOST[kind]} == {}


def test_each_parameter_is_described_once(coverage: Any) -> None:
    for path, (_, value) in coverage.documented().items():
        doc = inspect.getdoc(value) or ""
        names = [name for field in re.findall(r"^:param ([^:]*):", doc, re.MULTILINE) for name in field.split(", ")]
        assert len(names) == len({*names}), path
        errors = re.findall(r"^:raises (\w+):", doc, re.MULTILINE)
        assert doc.count("\n:returns:") <= 1 and len(errors) == len({*errors}) or "raises" not in doc, path


def test_no_docstring_sends_the_reader_to_something_private(coverage: Any) -> None:
    private = {
        path: sent
        for path, (family, value) in coverage.documented().items()
        if family in ("nn", "optim", "torch.nn.functional", "utils.data")
        and (sent := re.findall(r"``_[A-Za-z]\w+``", inspect.getdoc(value) or ""))
    }
    assert private == {}


METHODS_BY_CLASS = [(name, method) for name, methods in METHODS.items() for method in methods]


@pytest.mark.parametrize(("name", "method"), METHODS_BY_CLASS, ids=[".".join(pair) for pair in METHODS_BY_CLASS])
def test_the_examples_of_methods_that_a_table_describes_run(name: str, method: str) -> None:
    owner = {"Tensor": nb.Tensor, "Node": nb.autograd.graph.Node, "Function": nb.autograd.Function}[name]
    doc = inspect.getdoc(getattr(owner, method)) or ""
    example = doctest.DocTestParser().get_doctest(doc, {}, method, None, 0)
    output: list[str] = []
    results = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=output.append)
    assert results.attempted > 1 and not results.failed, "".join(output)


# -- what tables and declarations say is so ----------------------------------------------------------------------------

DTYPES = {"bool": nb.bool, "integer": nb.int64, "floating": nb.float32, "complex": nb.complex64}
TAKEN = {"any": {*DTYPES}, "any real": {"bool", "integer", "floating"}, "any but bool": {*DTYPES} - {"bool"}}


def operations() -> list[Any]:
    declared = (each for each in OPS.values() if isinstance(each, CompiledOp))
    return [each.function for each in declared if each.kind == POINTWISE and ">>>" in (each.function.__doc__ or "")]


@pytest.mark.parametrize("function", operations(), ids=lambda function: function.__name__)
def test_an_elementwise_operation_takes_the_dtypes_that_it_says(function: Any) -> None:
    doc = inspect.getdoc(function)
    said = re.findall(r"^:param (\w+): a tensor(?: or a number,)? of (.*) dtype\.$", doc, re.MULTILINE)
    operands = [name for name, _ in said]
    assert operands, doc
    for kind, dtype in DTYPES.items():
        accepted = all(kind in TAKEN.get(words, words.split(" or ")) for _, words in said)
        options = {name: 1 for name in ("n", "p") if name in inspect.signature(function).parameters}
        try:
            result = function(**{name: nb.ones(2, dtype=dtype) for name in operands}, **options)
        except (RuntimeError, TypeError):
            assert not accepted or len(operands) > 2 or options, (kind, doc)
        else:
            assert accepted or len(operands) > 1, (kind, doc)
            assert result.shape == (2,)


def reducing() -> list[Any]:
    functions = {value for value in (getattr(nb, name, None) for name in dir(nb)) if inspect.isfunction(value)}
    return sorted(
        (f for f in functions if ":raises IndexError: ``dim`` is out of range" in (f.__doc__ or "")),
        key=lambda f: f.__name__,
    )


@pytest.mark.parametrize("function", reducing(), ids=lambda function: function.__name__)
def test_a_dimension_that_is_not_there_is_an_index_error(function: Any) -> None:
    x, index = nb.ones(2, 2), nb.zeros(2, 2, dtype=nb.int64)
    given: dict[str, Any] = dict.fromkeys(
        ("input", "src", "source", "other", "x", "y", "x1", "x2", "logits", "tensor"), x
    )
    given |= dict.fromkeys(("k", "length", "chunks", "split_size", "split_size_or_sections", "indices_or_sections"), 1)
    given |= {"index": index, "indices": index, "dim": 7, "tensors": [x, x], "start": 0, "sizes": (2,), "reduce": "sum"}
    given |= {"split_sizes": [1, 1], "repeats": 2, **dict.fromkeys(("p", "q", "value", "maxnorm", "spacing"), 0.5)}
    needed = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if name in ("dim", "repeats", "value")
        or parameter.default is parameter.empty
        and parameter.kind is not parameter.VAR_KEYWORD
    ]
    if function.__name__ in ("index_add", "index_copy", "index_fill", "index_reduce", "index_select"):
        given["index"] = nb.zeros(2, dtype=nb.int64)
    if function.__name__ == "select_scatter":
        given["index"] = 0
    with pytest.raises(IndexError):
        function(**{name: given[name] for name in needed})


@pytest.mark.parametrize(
    "name",
    [name for name, (_, _, raises) in layers.FAMILIES.items() if layers.DTYPE in raises and name[-2] not in "123"],
)
def test_a_function_that_wants_floating_dtypes_refuses_integers(name: str) -> None:
    function = getattr(nb.nn.functional, name)
    x = nb.ones(2, 3, dtype=nb.int64)
    options = {"dim": 0} if "soft" in name and "dim" in inspect.signature(function).parameters else {}
    with pytest.raises(RuntimeError):
        function(x, *([nb.ones(1)] if name == "prelu" else []), **options)


# -- composed docstrings ----------------------------------------------------------------------------------------------


def examples_run(coverage: Any, family: str) -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    for path, (its_family, value) in coverage.documented().items():
        if its_family == family:
            runner.run(parser.get_doctest(inspect.getdoc(value) or "", {}, path, None, None))
    assert runner.tries > 0 and runner.failures == 0


@pytest.mark.parametrize("package", ["backends.cuda", "backends.cudnn", "mps", "mtia", "onnx", "xpu"])
def test_examples_that_are_composed_run(coverage: Any, package: str) -> None:
    examples_run(coverage, f"torch.{package}")


@pytest.mark.parametrize("family", ["cuda", "torch.accelerator"])
def test_examples_for_a_device_run_where_there_seems_to_be_one(coverage: Any, family: str) -> None:
    with present(fake_cupy(2)):
        examples_run(coverage, family)


def test_the_docstring_of_a_layer_is_composed_when_it_is_read() -> None:
    own = vars(nb.nn.Conv2d)["__doc__"]
    assert isinstance(own, Composed) and ":param" not in own.own
    doc = inspect.getdoc(nb.nn.Conv2d)
    assert all(f":param {name}:" in doc for name in inspect.signature(nb.nn.Conv2d).parameters)
    assert "(n, c, h, w)" in doc and "- ``input``" in doc and ":raises ValueError:" in doc and ">>> " in doc
    assert nb.nn.Conv2d(1, 1, 1).__doc__ == nb.nn.Conv2d.__doc__


def test_classes_of_others_keep_their_docstrings() -> None:
    class Mine(nb.nn.Conv2d):
        """My own words."""

    class Silent(nb.nn.ReLU):
        pass

    assert Mine.__doc__ == "My own words." and Silent.__doc__ is None
    assert pickle.loads(pickle.dumps(nb.nn.Conv2d)) is nb.nn.Conv2d


def test_losses_tell_the_shape_of_each_reduction() -> None:
    losses = [getattr(nb.nn, name) for name in dir(nb.nn) if name.endswith("Loss") and not name.startswith("Adaptive")]
    assert len(losses) > 18
    for loss in losses:
        doc = inspect.getdoc(loss)
        assert '``"none"``' in doc and ("scalar" in doc), loss


class Early(nb.nn.Module):
    """Assigns before its base is made."""

    def __init__(self) -> None:
        self.b = nb.nn.Buffer(nb.ones(1))


WRONG: dict[str, Any] = {
    "RNNCell": lambda nn: nn.RNNCell(3, 4)(nb.ones(2, 5)),
    "LSTMCell": lambda nn: nn.LSTMCell(3, 4)(nb.ones(2, 5)),
    "GRUCell": lambda nn: nn.GRUCell(3, 4)(nb.ones(2, 5)),
    "Transformer": lambda nn: nn.Transformer(7, 2),
    "TransformerEncoderLayer": lambda nn: nn.TransformerEncoderLayer(8, 2, activation="nope"),
    "ModuleList": lambda nn: nn.ModuleList([1]),
    "ModuleDict": lambda nn: nn.ModuleDict({"a": 1}),
    "Sequential": lambda nn: nn.Sequential(1),
    "ParameterDict": lambda nn: nn.ParameterDict(3),
    "ParameterList": lambda nn: nn.ParameterList(3),
    "Buffer": lambda nn: Early(),
    "Module": lambda nn: nn.Module()(1),
    "UninitializedParameter": lambda nn: nn.UninitializedParameter() + 1,
    "Conv2d": lambda nn: nn.Conv2d(3, 4, 1, groups=2),
    "BatchNorm2d": lambda nn: nn.BatchNorm2d(3)(nb.ones(2, 3)),
    "Dropout": lambda nn: nn.Dropout(2.0),
    "CrossEntropyLoss": lambda nn: nn.CrossEntropyLoss()(nb.ones(2, 3), nb.tensor([0, 7])),
    "L1Loss": lambda nn: nn.L1Loss(reduction="most")(nb.ones(2), nb.ones(2)),
    "MaxPool2d": lambda nn: nn.MaxPool2d(9)(nb.ones(1, 1, 2, 2)),
}


@pytest.mark.parametrize("name", WRONG)
def test_layers_raise_what_their_docstrings_say(name: str) -> None:
    said = re.findall(r"^:raises (\w+):", inspect.getdoc(getattr(nb.nn, name)) or "", re.MULTILINE)
    with pytest.raises(Exception) as raised:
        WRONG[name](nb.nn)
    assert {kind.__name__ for kind in type(raised.value).__mro__} & set(said)


# -- formulas ---------------------------------------------------------------------------------------------------------

X, Y = nb.tensor([0.3, 2.5, -0.7]).double(), nb.tensor([0.8, 0.25, 0.5]).double()
P = nb.sigmoid(X)
BY_FORMULA: dict[str, tuple[Any, Any]] = {
    "BCELoss": ((P, Y), -(Y * P.log() + (1 - Y) * (1 - P).log())),
    "BCEWithLogitsLoss": ((X, Y), -(Y * P.log() + (1 - Y) * (1 - P).log())),
    "GaussianNLLLoss": ((X, Y, Y + 1), ((Y + 1).log() + (X - Y) ** 2 / (Y + 1)) / 2),
    "HuberLoss": ((X, Y), nb.where((X - Y).abs() < 1, (X - Y) ** 2 / 2, (X - Y).abs() - 0.5)),
    "SmoothL1Loss": ((X, Y), nb.where((X - Y).abs() < 1, (X - Y) ** 2 / 2, (X - Y).abs() - 0.5)),
    "PoissonNLLLoss": ((X, Y), X.exp() - Y * X),
    "L1Loss": ((X, Y), (X - Y).abs()),
    "MSELoss": ((X, Y), (X - Y) ** 2),
    "KLDivLoss": ((X, Y), Y * (Y.log() - X)),
    "SoftMarginLoss": ((X, Y), (1 + (-Y * X).exp()).log()),
    "CrossEntropyLoss": ((X, nb.tensor(1)), -(X.exp()[1] / X.exp().sum()).log()),
    "NLLLoss": ((X, nb.tensor(1)), -X[1]),
    "MultiMarginLoss": ((X, nb.tensor(1)), ((1 - X[1] + X[[0, 2]]).clamp(min=0)).sum() / 3),
    "MultiLabelMarginLoss": (
        (X, nb.tensor([0, 2, -1])),
        sum((1 - (X[y] - X[1])).clamp(min=0) for y in (0, 2)) / 3,
    ),
    "MultiLabelSoftMarginLoss": ((X, Y), -(Y * P.log() + (1 - Y) * nb.sigmoid(-X).log()).sum() / 3),
    "CosineEmbeddingLoss": (
        (X, Y, nb.tensor(1)),
        1 - (X @ Y) / (X @ X).sqrt() / (Y @ Y).sqrt(),
    ),
}


@pytest.mark.parametrize("name", BY_FORMULA)
def test_a_loss_is_what_its_formula_says(name: str) -> None:
    operands, expected = BY_FORMULA[name]
    nb.testing.assert_close(getattr(nb.nn, name)(reduction="none")(*operands), expected)


def test_a_norm_is_what_its_formula_says() -> None:
    x = nb.arange(24.0).reshape(2, 4, 3).sin()
    cases: dict[str, Any] = {
        "BatchNorm1d": (nb.nn.BatchNorm1d(4), (0, 2)),
        "InstanceNorm1d": (nb.nn.InstanceNorm1d(4), (2,)),
        "LayerNorm": (nb.nn.LayerNorm(3), (2,)),
    }
    for layer, dims in cases.values():
        mean, variance = x.mean(dims, keepdim=True), x.var(dims, correction=0, keepdim=True)
        nb.testing.assert_close(layer(x), (x - mean) / (variance + layer.eps).sqrt(), check_stride=False)
    rms = nb.nn.RMSNorm(3)
    nb.testing.assert_close(rms(x), x / ((x * x).mean(-1, keepdim=True) + nb.finfo(x.dtype).eps).sqrt())
