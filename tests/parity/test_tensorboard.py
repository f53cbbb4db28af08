"""``torch.utils.tensorboard`` uses the package that is installed; without one it says so."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbautograd as nb

NAME = "nbautograd.utils.tensorboard"
PACKAGES = ("tensorboardX", "tensorboard")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """As if neither package were installed; the module is imported again, and then dropped."""
    sys.modules.pop(NAME, None)
    for package in PACKAGES:
        monkeypatch.setitem(sys.modules, package, None)
    yield monkeypatch
    sys.modules.pop(NAME, None)


class Spy:
    """Stands for tensorboardX's writer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.made, self.calls = (args, kwargs), []

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self.calls.append((name, args, kwargs))


def spying(monkeypatch: pytest.MonkeyPatch) -> Any:
    package: Any = types.ModuleType("tensorboardX")
    package.SummaryWriter = Spy
    monkeypatch.setitem(sys.modules, "tensorboardX", package)
    return import_module(NAME).SummaryWriter


def test_without_a_package_it_cannot_be_imported(without: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModuleNotFoundError, match="pip install tensorboardX"):
        import_module(NAME)
    with nb.standing_in(), pytest.raises(ImportError):
        from torch.utils.tensorboard import SummaryWriter  # noqa: F401


def test_tensors_arrive_as_arrays(without: pytest.MonkeyPatch) -> None:
    writer = spying(without)("runs/one", purge_step=3, flush_secs=7)
    assert writer.get_logdir() == "runs/one" and writer._writer.made[0] == ("runs/one",)
    assert writer._writer.made[1] == {"purge_step": 3, "max_queue": 10, "flush_secs": 7, "filename_suffix": ""}
    writer.add_scalar("loss", nb.tensor(2.0, requires_grad=True), 3, new_style=True)
    writer.add_scalars("both", {"a": nb.tensor(1.0), "b": 2.0}, global_step=4)
    writer.add_image("image", nb.ones(3, 2, 2))
    (_, scalar, options), (_, both, _), (_, image, _) = writer._writer.calls
    assert scalar[1].__class__ is np.ndarray and scalar[1] == 2 and scalar[2] == 3 and options == {}
    assert both[1]["a"].__class__ is np.ndarray and both[1]["b"] == 2.0 and image[1].shape == (3, 2, 2)
    with writer:
        writer.flush()
    assert [name for name, _, _ in writer._writer.calls[-2:]] == ["flush", "close"]


def test_the_folder_is_named_by_the_time(without: pytest.MonkeyPatch) -> None:
    assert (
        spying(without)(comment="_lr").log_dir.startswith("runs")
        and spying(without)(comment="_lr").log_dir[-3:] == "_lr"
    )


def test_graphs_are_refused(without: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotImplementedError, match="viz"):
        spying(without)("runs").add_graph(nb.nn.Linear(1, 1), nb.ones(1, 1))


def test_what_tensorboard_reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with import_module(NAME).SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", nb.tensor(1.5), 3)
        writer.add_scalars("both", {"x": nb.tensor(1.0), "y": 2.0}, 1)
        writer.add_histogram("weights", nb.linspace(-1, 1, 101), 0)
        writer.add_text("notes", "hello", 1)
        writer.add_image("image", nb.rand(3, 4, 5), 1)
        with pytest.raises(AttributeError, match="tensorboardX"):
            writer.add_hparams({}, {})
    events = accumulator.EventAccumulator(str(tmp_path)).Reload()
    (scalar,), (histogram,) = events.Scalars("loss"), events.Histograms("weights")
    assert (scalar.step, scalar.value) == (3, 1.5) and histogram.histogram_value.num == 101
    assert sum(histogram.histogram_value.bucket) == 101
    assert events.Images("image")[0].width == 5 and {each.name for each in tmp_path.iterdir()} > {"both_x", "both_y"}
