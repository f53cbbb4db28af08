"""Disks that are full, places that cannot be written to: the old file stays as it was, and nothing half lies about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import nbautograd as nb
from nbautograd import viz
from tests import needs

ROOT = Path(nb.__file__).parent.parent

FULL = """
import resource, sys
import nbautograd as nb
from nbautograd import viz

from tests import needs

path = sys.argv[1]
w = nb.ones(50, 50, requires_grad=True)
picture = viz.graph((w * 2).sum(), namespace={"w": w})
if path.endswith(".dot"):
    picture.dot  # its library is loaded while there is room for compiled modules
write = {"pt": lambda: nb.save({"w": w}, path)}.get(path.rpartition(".")[2], lambda: picture.save(path))
if path.endswith(".safetensors"):
    write = lambda: nb.save({"w": w}, path)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    write()
except OSError as error:
    print(type(error).__name__, error.errno)
"""


@pytest.mark.parametrize("suffix", ["pt", "safetensors", "svg", "html", "dot", "txt"])
def test_a_full_disk(tmp_path: Path, suffix: str) -> None:
    """The file may not grow beyond 20 bytes, which the system answers as it does on a full disk: with an OSError."""
    needs.package("resource")
    if suffix == "dot":
        needs.package("graphviz")
    target = tmp_path / f"file.{suffix}"
    target.write_text("the old one", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-B", "-c", FULL, str(target)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stdout.startswith("OSError"), done.stdout + done.stderr
    assert target.read_text(encoding="utf-8") == "the old one"
    assert os.listdir(tmp_path) == [target.name]


OTHERS = {
    "torch.hub.download_url_to_file": "nb.hub.download_url_to_file(source.as_uri(), path)",
    "a score": "nb.exercises.score(file=path)",
    "a table of grades": "grade.run(folder, pathlib.Path(path), 60, 4096)",
    "a trace": "profile.export_chrome_trace(path)",
    "a packed trace": "profile.export_chrome_trace(path + '.gz')",
}
WRITES = """
import pathlib, resource, sys
import nbautograd as nb
import nbautograd.exercises
from nbautograd.cli import grade

source, path = pathlib.Path(sys.argv[1]), sys.argv[2]
folder = source.parent
with nb.autograd.profiler.profile() as profile:
    nb.ones(2).exp()
nb.exercises.score()
resource.setrlimit(resource.RLIMIT_FSIZE, (20, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    {}
except OSError as error:
    print("OSError", error.errno, file=sys.stderr)
"""


@pytest.mark.parametrize("name", OTHERS)
def test_other_files_on_a_full_disk(tmp_path: Path, name: str) -> None:
    needs.package("resource")
    if "grades" in name:
        needs.package("IPython")
    source, place = tmp_path / "source" / "score.json", tmp_path / "place"
    source.parent.mkdir()
    place.mkdir()
    source.write_text('{"nbautograd": "score", "notebook": "1", "states": {}}', encoding="utf-8")
    target = place / ("file.gz" if "packed" in name else "file")
    target.write_text("the old one", encoding="utf-8")
    command = [sys.executable, "-B", "-c", WRITES.format(OTHERS[name]), str(source), str(place / "file")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert "OSError" in done.stderr, done.stdout + done.stderr
    assert target.read_text(encoding="utf-8") == "the old one"
    assert os.listdir(place) == [target.name]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_while_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def fail(*_: object) -> None:
        raise error

    w = nb.ones(2, requires_grad=True)
    picture = viz.graph(w * 2, namespace={"w": w})
    nb.save(w, tmp_path / "a.pt")
    picture.save(tmp_path / "a.svg")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(error):
        nb.save(w * 3, tmp_path / "a.pt")
    with pytest.raises(error):
        viz.graph(w * 3, namespace={"w": w}).save(tmp_path / "a.svg")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("place", ["nowhere/a", "file/a", "/proc/a"])
@pytest.mark.parametrize("suffix", [".svg", ".pt", ".safetensors"])
def test_a_place_that_cannot_be_written_to(tmp_path: Path, place: str, suffix: str) -> None:
    """The error names the given path, not a temporary one."""
    (tmp_path / "file").touch()
    target = tmp_path / (place + suffix)
    w = nb.ones(2, requires_grad=True)
    with pytest.raises(OSError) as caught:
        if suffix == ".svg":
            viz.graph(w * 2).save(target)
        else:
            nb.save({"w": w}, target)
    assert str(target) in str(caught.value) and ".nbautograd-" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["-rf.svg", "a;b.svg", "$(touch x).svg", "`id`.svg", "a\nb.svg", "变量.svg", "a b.svg"]
)
def test_odd_names_are_names(tmp_path: Path, name: str) -> None:
    w = nb.ones(2, requires_grad=True)
    assert viz.graph(w * 2).save(tmp_path / name) == tmp_path / name
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("suffix", [".svg", ".pt"])
def test_a_link_stays_a_link(tmp_path: Path, suffix: str) -> None:
    real, link = tmp_path / f"real{suffix}", tmp_path / f"link{suffix}"
    real.write_text("old", encoding="utf-8")
    link.symlink_to(real)
    w = nb.ones(2, requires_grad=True)
    if suffix == ".svg":
        viz.graph(w * 2).save(link)
    else:
        nb.save(w, link)
    assert link.is_symlink() and real.read_bytes() != b"old"
