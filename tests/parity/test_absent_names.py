"""Check the messages about names that do not exist here."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest

import nbautograd
from nbautograd._names import absent, namespaces
from tests import oracle

PLACES = [
    path
    for path in namespaces.MODULES
    if path not in ("_tensor", "_tensor_str", "ops", "return_types", "utils.tensorboard")
]


@pytest.mark.parametrize("path", ["", *PLACES])
def test_a_name_that_nobody_has(path: str) -> None:
    module = namespaces.module(path)
    name = ".".join(["torch", *([path] if path else []), "what_nobody_has"])
    with pytest.raises(
        AttributeError, match=f"not part of nbautograd, and PyTorch documents no {re.escape(name)}$"
    ) as error:
        module.what_nobody_has  # noqa: B018
    assert error.value.name == "what_nobody_has" and not hasattr(module, "__what_nobody_has__")


@pytest.mark.parametrize(
    ("path", "name", "says"),
    [
        (
            "",
            "quantize_per_tensor",
            "torch.quantize_per_tensor is PyTorch's and not part of nbautograd; nothing is",
        ),
        ("", "float8_e5m2", "is PyTorch's and not part of nbautograd; its floats have 16 bits and more"),
        ("", "lstm", "use torch.nn.LSTM"),
        ("nn", "LinearCrossEntropyLoss", "torch.nn.LinearCrossEntropyLoss is PyTorch's and not part of nbautograd"),
        ("optim", "Adamm", "PyTorch documents no torch.optim.Adamm"),
    ],
)
def test_a_name_of_pytorchs(path: str, name: str, says: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(says)):
        getattr(namespaces.module(path), name)
    assert not hasattr(namespaces.module(path), name)


def test_the_list_is_of_pytorchs_names() -> None:
    def missing(torch: Any) -> Any:
        found = {}
        for path in absent.modules():
            module = (
                importlib.import_module(f"{torch.__name__}.{path}".rstrip(".")) if path != "Tensor" else torch.Tensor
            )
            found[path] = [name for name in sorted(absent.names(path)) if hasattr(module, name)]
        return found

    theirs = oracle.answer(missing, exact=True)
    assert dict(theirs.parts) == {path: sorted(absent.names(path)) for path in absent.modules()}
    assert len(absent.names("")) > 200


def test_imports_say_so_too() -> None:
    with nbautograd.standing_in(), pytest.raises(ImportError, match="cannot import name 'quantize_per_tensor'"):
        from torch import quantize_per_tensor  # noqa: F401
