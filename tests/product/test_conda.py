"""Test the conda recipe: it agrees with ``pyproject.toml``, and rattler-build accepts it, if installed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import nbautograd
from tests import needs

yaml = needs.package("yaml")
ROOT = Path(__file__).parents[2]
PATH = ROOT / "conda" / "recipe.yaml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OTHER_NAMES = {"graphviz": "python-graphviz"}
"""Packages of the index that conda-forge calls differently."""


def recipe() -> dict[str, Any]:
    return yaml.safe_load(PATH.read_text(encoding="utf-8"))


def split(requirement: str) -> tuple[str, str]:
    name, _, version = requirement.replace(">=", " >=").partition(" ")
    return OTHER_NAMES.get(name, name), version.strip()


def test_it_says_what_the_project_says() -> None:
    found = recipe()
    assert found["context"]["version"] == nbautograd.__version__
    assert f">={found['context']['python_min']}" == PROJECT["requires-python"]
    assert found["package"]["name"] == PROJECT["name"]
    about = found["about"]
    assert (about["license"], about["summary"]) == (PROJECT["license"], PROJECT["description"])
    assert [about["license_file"]] == PROJECT["license-files"] and (ROOT / about["license_file"]).is_file()
    entries = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert found["build"]["python"]["entry_points"] == entries and found["build"]["noarch"] == "python"


def test_it_requires_what_the_project_requires() -> None:
    python, *run = recipe()["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    assert {tuple(each.split(" ")) for each in run} == {split(each) for each in PROJECT["dependencies"]}
    host = recipe()["requirements"]["host"]
    assert {"pip", "hatchling"} <= {*host}


def test_its_tests_ask_for_files_of_the_extension(tmp_path: Path) -> None:
    from nbautograd.viz.notebook import export

    (files,) = (each["package_contents"]["files"] for each in recipe()["tests"] if "package_contents" in each)
    place = export.write_lab_extension(tmp_path, nbautograd.__version__)
    held = {
        f"share/jupyter/labextensions/nbautograd/{path.relative_to(place).as_posix()}" for path in place.rglob("*.*")
    }
    assert {*files} <= held


def test_rattler_build_renders_it() -> None:
    rattler_build = pytest.importorskip("rattler_build", reason="needs py-rattler-build: pip install py-rattler-build")
    (found,) = rattler_build.Stage0Recipe.from_file(str(PATH)).render(rattler_build.VariantConfig())
    shown = found.recipe.to_dict()
    assert shown["package"] == {"name": "nbautograd", "version": nbautograd.__version__}
    assert "python 3.11.*" in shown["requirements"]["host"] and len(shown["tests"]) == 3
