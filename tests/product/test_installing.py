"""The command that installs what is missing: in a clone, from an archive, an address, an index; in a notebook."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import nbautograd
from nbautograd._engine.base import installing

ROOT = Path(nbautograd.__file__).parents[1]
INDEX = ["jupyterlab>=4", "resvg_py>=0.5", "no-such-package>=4"]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder in which a shell is that finds this environment's pip."""
    monkeypatch.setattr(shutil, "which", lambda name: str(Path(sys.executable).with_name(name)))
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, shell: Path) -> Any:
    """Make the package one that was installed from somewhere, as ``direct_url.json`` says."""
    sources = installing._is_clone

    def installed_(direct_url: dict[str, Any]) -> None:
        monkeypatch.setattr(installing, "_is_clone", lambda folder: folder != ROOT.resolve() and sources(folder))
        monkeypatch.setattr(installing, "_direct_url", lambda: direct_url)

    return installed_


def test_in_a_clone_it_names_the_clone(shell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shlex.split(installing.extra("lab")) == ["pip", "install", "-e", f"{ROOT.resolve()}[lab]"]
    monkeypatch.chdir(ROOT.resolve())
    assert installing.extra("lab") == "pip install -e '.[lab]'"


def test_from_a_folder_or_a_file_it_names_that(installed: Any, shell: Path) -> None:
    other = shell / "a clone"
    other.mkdir()
    (other / "pyproject.toml").write_text('name = "nbautograd"')
    installed({"url": other.as_uri(), "dir_info": {"editable": True}})
    assert installing.extra("lab") == "pip install -e 'a clone[lab]'"
    installed({"url": other.as_uri(), "dir_info": {}})
    assert installing.extra("lab") == "pip install 'a clone[lab]'"
    wheel = shell / "nbautograd-0.1.0-py3-none-any.whl"
    wheel.touch()
    installed({"url": wheel.as_uri(), "archive_info": {}})
    assert installing.extra("png") == f"pip install '.{os.sep}{wheel.name}[png]'"


def test_from_an_address_it_names_that(installed: Any) -> None:
    installed({"url": "https://host/nb.whl", "archive_info": {}})
    assert installing.extra("lab") == "pip install 'nbautograd[lab] @ https://host/nb.whl'"
    installed({"url": "https://host/nb", "vcs_info": {"vcs": "git", "commit_id": "abc"}})
    assert installing.extra("lab") == "pip install 'nbautograd[lab] @ git+https://host/nb@abc'"


@pytest.mark.parametrize("url", ["", "file:///gone/nbautograd-0.1.0-py3-none-any.whl"])
def test_from_an_index_it_names_the_missing_packages(installed: Any, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed({"url": url} if url else {})
    monkeypatch.setattr(installing, "requirements", lambda name: [*INDEX, "numpy>=2"])
    monkeypatch.setattr(installing, "_distribution", lambda name: name if name in ("numpy", "jupyterlab") else None)
    assert installing.extra("lab") == "pip install 'resvg_py>=0.5' 'no-such-package>=4'"


def test_where_another_pip_is_found_it_names_this_python(shell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "executable", str(shell / "my env" / "bin" / "python"))
    assert installing.command("tqdm") == "'my env/bin/python' -m pip install tqdm"


def test_in_a_notebook_it_is_a_magic(shell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class IPython:
        get_ipython = staticmethod(object)

    monkeypatch.setitem(sys.modules, "IPython", IPython)
    assert installing.command("ml_dtypes>=0.5") == "%pip install 'ml_dtypes>=0.5'"


def test_the_metadata_name_what_an_extra_brings() -> None:
    assert [each.partition(">")[0] for each in installing.requirements("lab")] == ["jupyterlab", "resvg-py", "tqdm"]
