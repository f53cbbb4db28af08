"""Docstrings say what they should, and what they say in common words is true."""

from __future__ import annotations

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
from nbautograd.compiler.op import OPS, CompiledOp
from nbautograd.compiler.schema import POINTWISE
from nbautograd.docstrings import layers
from nbautograd.docstrings.classes import Composed

DOCS = Path(__file__).parents[1] / "docs"
WHOLE = """
    torch: pointwise; torch: comparison; torch: spectral (without torch.fft); torch: other operations;
    torch: BLAS and LAPACK; torch.autograd.functional; torch.fft; torch.special; torch.signal.windows; nn.init; optim;
    optim.lr_scheduler"""
"""Families of which every name has parameters, the result, errors and an example."""
DEPRECATED = {"nn.Container", "nn.NLLLoss2d", "nn.functional.upsample", "nn.functional.upsample_bilinear",
              "nn.functional.upsample_nearest"}  # fmt: skip
"""An example of these would warn."""
EXCEPT = {
    "nn.Identity": "it takes anything",
    "distributions.biject_to": "a registry, whose class is described",
    "distributions.transform_to": "a registry, whose class is described",
    "distributions.identity_transform": "an object, whose class is described",
}
MOST = {"parameters": 430, "result": 535, "raises": 330, "example": 430}
"""So many names of all families lacked these when the numbers were written down: they may only fall."""


@pytest.fixture(scope="module")
def coverage() -> Any:
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
        if family in whole and path not in DEPRECATED | EXCEPT.keys() and (missing := coverage.lacks(family, value))
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
    functions = {value for name, value in vars(nb).items() if inspect.isfunction(value)}
    return sorted(
        (f for f in functions if ":raises IndexError: ``dim`` is out of range" in (f.__doc__ or "")),
        key=lambda f: f.__name__,
    )


@pytest.mark.parametrize("function", reducing(), ids=lambda function: function.__name__)
def test_a_dimension_that_is_not_there_is_an_index_error(function: Any) -> None:
    x, index = nb.ones(2, 2), nb.zeros(2, 2, dtype=nb.int64)
    given: dict[str, Any] = dict.fromkeys(("input", "src", "source", "other", "x", "y", "logits", "tensor"), x)
    given |= dict.fromkeys(("k", "length", "chunks", "split_size", "split_size_or_sections", "indices_or_sections"), 1)
    given |= {"index": index, "indices": index, "dim": 7, "tensors": [x, x], "start": 0, "sizes": (2,), "reduce": "sum"}
    given |= {"split_sizes": [1, 1], "repeats": 2, **dict.fromkeys(("p", "q", "value", "maxnorm", "spacing"), 0.5)}
    needed = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if name == "dim" or parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    if function.__name__ in ("index_add", "index_copy", "index_fill", "index_reduce", "index_select"):
        given["index"] = nb.zeros(2, dtype=nb.int64)
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
