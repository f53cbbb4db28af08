"""Check the identity of nbautograd when it replaces PyTorch: names of classes, versions, pickles."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nbautograd
from nbautograd.errors import is_pytorchs
from tests import oracle

PATHS = """
    nn nn.modules nn.parameter nn.utils.rnn optim optim.lr_scheduler optim.swa_utils utils.data utils.data.sampler
    autograd autograd.function autograd.graph autograd.forward_ad utils.hooks utils.checkpoint cuda random storage"""


def classes(library: Any, paths: list[str]) -> dict[tuple[str, str], str]:
    """The classes in modules of PyTorch's, by path and name, with their ``__module__``."""
    places = {}
    for path in paths:
        module = importlib.import_module(f"torch.{path}".rstrip("."))
        for name in dir(module):
            value = getattr(module, name, None)
            if isinstance(value, type) and not name.startswith("_") and value.__module__.startswith("torch"):
                places[path, name] = str(value.__module__)
    return places


def test_classes_say_that_they_are_pytorchs() -> None:
    paths = ["", *PATHS.split()]
    told = oracle.answer(lambda T: [[*key, place] for key, place in classes(T, paths).items()], exact=True)
    theirs = {(path, name): place for path, name, place in told}
    with nbautograd.standing_in():
        ours = classes(nbautograd, paths)
        assert repr(nbautograd.Tensor) == "<class 'torch.Tensor'>"
        assert repr(type(nbautograd.nn.Linear(1, 1))) == "<class 'torch.nn.modules.linear.Linear'>"
    assert len(ours) > 300 and {key: place for key, place in ours.items() if theirs.get(key, place) != place} == {}
    assert repr(nbautograd.Tensor) == "<class 'nbautograd.Tensor'>"
    assert repr(nbautograd.nn.Linear) == "<class 'nbautograd.nn.modules.linear.Linear'>"


def test_what_is_imported_later_is_renamed_too() -> None:
    code = """
import nbautograd
with nbautograd.standing_in():
    from torch.nn.utils.parametrize import ParametrizationList
    from torch.cuda import Event
    print(ParametrizationList.__module__, Event.__module__)
print(ParametrizationList.__module__, Event.__module__)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == [
        *("torch.nn.utils.parametrize", "torch.cuda.streams"),
        *("nbautograd.nn.utils.parametrize", "nbautograd.cuda.streams"),
    ]


def test_they_stay_the_same_classes() -> None:
    x, layer = nbautograd.ones(2), nbautograd.nn.Linear(2, 1)
    with nbautograd.standing_in():
        import torch

        assert isinstance(x, torch.Tensor) and isinstance(layer, torch.nn.Module) and not is_pytorchs(x)
        assert type(torch.ones(2)) is type(x) and x.__class__.__module__ == "torch"
        assert "def forward" in inspect.getsource(torch.nn.Linear)
        with pytest.raises(TypeError, match="must be Tensor, not str"):
            torch.sin("x")


class Derived(nbautograd.nn.Module):
    """A class of a user's own."""


def things() -> list[Any]:
    """Return the objects to pickle."""
    model = nbautograd.nn.Sequential(nbautograd.nn.Linear(2, 1), nbautograd.nn.ReLU())
    optimizer = nbautograd.optim.SGD(model.parameters(), lr=0.5)
    return [
        *(nbautograd.ones(2, requires_grad=True), model, optimizer, nbautograd.Size((2, 3)), nbautograd.float32),
        *(nbautograd.device("cpu"), nbautograd.nn.Parameter(nbautograd.ones(1)), Derived(), nbautograd.nn.Linear),
        *(nbautograd.Generator(), nbautograd.ones(2, 2).max(0), nbautograd.Tensor, nbautograd.strided),
    ]


@pytest.mark.parametrize("protocol", [4, 5])
def test_pickles_are_ours_wherever_they_are_written(protocol: int) -> None:
    with nbautograd.standing_in():
        written = [pickle.dumps(thing, protocol) for thing in things()]
        assert [type(pickle.loads(each)) for each in written] == [type(thing) for thing in things()]
        assert [type(copy.deepcopy(thing)) for thing in things()] == [type(thing) for thing in things()]
        slow = [pickle._dumps(thing, protocol) for thing in things()]  # type: ignore[attr-defined]
    for each in (*written, *slow):
        assert b"nbautograd" in each or b"tests" in each
        assert b"torch" not in each.replace(b"torch.return_types", b"")
    code = "import pickle, sys; print([type(pickle.loads(each)).__module__ for each in pickle.load(sys.stdin.buffer)])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(written),
        check=True,
        capture_output=True,
        cwd=Path(__file__).parents[2],
    )
    assert b"torch." not in done.stdout.replace(b"torch.return_types", b"") and b"nbautograd" in done.stdout


def test_the_version_is_pytorchs() -> None:
    before = nbautograd.__version__
    with nbautograd.standing_in():
        import torch
        import torch.version

        assert torch.__version__ == torch.version.__version__ == f"2.13.0+nbautograd.{before}"
        assert torch.__version__ >= "2.1" and torch.__version__ > (1, 9) and not torch.__version__ < "2.13"
        assert torch.__name__ == "torch" and torch.nn.__name__ == "nbautograd.nn"
        assert tuple(map(int, torch.__version__.split("+")[0].split("."))) == (2, 13, 0)
        assert torch.version.hip is None and (torch.version.cuda is None) == (not torch.cuda.is_available())
    assert nbautograd.__version__ == before and nbautograd.__name__ == "nbautograd"
    with nbautograd.standing_in("another_name"):
        assert nbautograd.__version__ == before and nbautograd.Tensor.__module__ == "nbautograd"


VERSIONS = """
    2.13.0 2.13.0+cpu 2.13 v2.13.0 2.13.0a0+git1234 2.13.0.dev20250101+cu128 2.9 2.14 1.9.1 2.13.0rc1 2.13.0.post1
    2.13.0+nbautograd.0.1.0 2.13.1 nightly"""


def test_versions_compare_as_pytorchs() -> None:
    def outcomes(T: Any) -> list[Any]:
        cls = importlib.import_module(f"{T.__name__}.torch_version").TorchVersion
        others = [*VERSIONS.split(), (2, 13), [2, 13, 0], (1, 9, 1)]
        names = ("__lt__", "__le__", "__eq__", "__gt__", "__ge__")  # PyTorch compares != by text
        return [
            [text, repr(other), name, repr(getattr(cls(text), name)(other))]
            for text in VERSIONS.split()
            for other in others
            for name in names
        ]

    oracle.check(outcomes, exact=True)
