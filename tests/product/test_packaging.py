"""The package as others get it: a wheel and a source archive, installed into environments of their own.

Building needs the extra ``dev``; installing needs an index, and these tests skip without one.
"""

from __future__ import annotations

import email
import json
import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import nbautograd
from tests import needs, one_cpu

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OLDEST = ["numpy==2.0.*", "scipy==1.14.*"]
pytestmark = [
    pytest.mark.packaging,
    pytest.mark.skipif("NBAUTOGRAD_PACKAGING" not in os.environ, reason="takes minutes: set NBAUTOGRAD_PACKAGING=1"),
]

SMOKE = """
import json, sys
import nbautograd as torch
from nbautograd import viz
assert "site-packages" in torch.__file__, torch.__file__

w = torch.tensor([1.0], requires_grad=True)
x = torch.tensor([2.0], requires_grad=True)
y = (w + x) * (w + 1)
played = viz.animate(y)
assert w.grad.tolist() == [5.0] and x.grad.tolist() == [2.0]
assert "<svg" in played.svg and "mount(" in played.html() and len(played) == 6
bundle, _ = played.widget._repr_mimebundle_()
assert "application/vnd.jupyter.widget-view+json" in bundle

model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 3)).square().mean()
    loss.backward()
    optimizer.step()
assert torch.isfinite(loss)
assert torch.linalg.svd(torch.randn(3, 3)).S.shape == (3,) and torch.fft.fft(torch.ones(4)).shape == (4,)

from nbautograd.cli.lab import copy, course

new, kept = copy(course(), __import__("pathlib").Path(sys.argv[1]))
print(json.dumps({"version": torch.__version__, "notebooks": len(new), "numpy": __import__("numpy").__version__}))
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The source archive, and the wheel that is built from it."""
    needs.package("build")
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], folder)
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "archive": archive}


def run(command: list[str], folder: Path) -> str:
    # Another NumPy has other kernels: none are chosen for it.
    env = {key: value for key, value in one_cpu.given_environment().items() if key != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def tracked(folder: str, pattern: str) -> set[str]:
    found = (ROOT / folder).rglob(pattern)
    return {path.relative_to(ROOT).as_posix() for path in found if ".ipynb_checkpoints" not in path.parts}


def test_the_wheel_holds_all_that_runs_and_nothing_else(packages: dict[str, Path]) -> None:
    names = set(zipfile.ZipFile(packages["wheel"]).namelist())
    course = {name.replace("notebooks/", "nbautograd/course/") for name in tracked("notebooks", "*.ipynb")}
    wanted = tracked("nbautograd", "*.py") | tracked("nbautograd", "*.pyi") | {"nbautograd/py.typed"}
    wanted |= tracked("nbautograd/_names", "*.txt") | tracked("nbautograd/viz/static", "*.*") | course
    wanted |= tracked("nbautograd/cli/jupyter", "*.json") | tracked("nbautograd/exercises", "*.toml")
    extension = f"nbautograd-{nbautograd.__version__}.data/data/share/jupyter/labextensions/nbautograd"
    parts = ("remoteEntry.js", "lab.mjs", "player.en.bin", "player.zh-Hans.bin")
    wanted |= {
        f"{extension}/{name}" for name in ("package.json", "install.json", *(f"static/{part}" for part in parts))
    }
    assert {name for name in names if ".dist-info/" not in name} == wanted
    assert {"nbautograd/__init__.pyi", "nbautograd/_engine/core/_tensor_methods.pyi"} <= wanted  # for editors
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_source_archive_holds_what_tests_and_the_site_need(packages: dict[str, Path]) -> None:
    with tarfile.open(packages["archive"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = tracked("tests", "*.py") | tracked("docs", "*.toml")
    wanted |= tracked("tests/stored", "*.zip") | {"tests/oracle/unconverted.txt"}
    wanted |= {"docs/conf.py", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"}
    assert wanted <= names
    assert not [name for name in names if name.startswith(("docs/api/", "docs/course/", "build/", ".git/", ".venv/"))]


def test_the_metadata(packages: dict[str, Path]) -> None:
    with zipfile.ZipFile(packages["wheel"]) as wheel:
        (path,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_string(wheel.read(path).decode("utf-8"))
        (entries,) = [wheel.read(name).decode() for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert metadata["Name"] == "nbautograd" and metadata["Version"] in packages["wheel"].name
    assert metadata["Requires-Python"] == PROJECT["requires-python"] and metadata["License-Expression"] == "MIT"
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    assert "nbautograd = nbautograd.cli:main" in entries
    assert metadata["Description-Content-Type"] == "text/markdown"


@pytest.mark.parametrize("constraints", [OLDEST, []], ids=["oldest", "newest"])
def test_an_installed_wheel_works(packages: dict[str, Path], constraints: list[str], tmp_path: Path) -> None:
    python = fresh(tmp_path / "venv")
    try:
        run([python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(tmp_path), "anywidget"], tmp_path)
    except AssertionError as error:
        pytest.skip(f"no index to install from: {error}")
    run([python, "-m", "pip", "install", "--quiet", str(packages["wheel"]), *constraints], tmp_path)
    found = json.loads(run([python, "-W", "error", "-c", SMOKE, str(tmp_path / "course")], tmp_path))
    held = zipfile.ZipFile(packages["wheel"]).namelist()
    assert found["notebooks"] == sum(name.endswith(".ipynb") for name in held) > 0
    assert not constraints or found["numpy"].startswith("2.0.")
    assert run([str(Path(python).with_name("nbautograd")), "--version"], tmp_path).split()[1] == found["version"]
    run([python, "-m", "pip", "check"], tmp_path)


def fresh(folder: Path) -> str:
    venv.create(folder, with_pip=True)
    return str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
