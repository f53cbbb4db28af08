"""Test the workflows for tests, pages and releases: each step runs existing commands with minimal rights."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

import nbautograd
from tests import needs

yaml = needs.package("yaml")
ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAY_WRITE = {("site.yml", "publish"): {"pages", "id-token"}, ("release.yml", "publish"): {"id-token"}}


def read(path: Path) -> dict[str, Any]:
    return yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)  # "on" stays a text


def jobs() -> list[Any]:
    return [
        pytest.param(path, job, id=f"{path.stem}-{name}")
        for path in WORKFLOWS
        for name, job in read(path)["jobs"].items()
    ]


def test_there_are_workflows_for_tests_site_and_release() -> None:
    assert [path.name for path in WORKFLOWS] == ["release.yml", "site.yml", "tests.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_rights(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        rights = {key for key, value in job.get("permissions", {}).items() if value == "write"}
        assert rights == MAY_WRITE.get((path.name, name), set())
        assert not rights or not any("run" in step for step in job["steps"]), "with a right to write, only actions run"
        assert 0 < int(job["timeout-minutes"]) <= 90


@pytest.mark.parametrize(("path", "job"), jobs())
def test_steps_run_what_exists(path: Path, job: dict[str, Any]) -> None:
    sessions = re.findall(r"@nox\.session\ndef (\w+)", (ROOT / "noxfile.py").read_text(encoding="utf-8"))
    for step in job["steps"]:
        assert {*step} <= {"id", "run", "uses", "with"}
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"])
            assert not step["uses"].startswith("actions/checkout") or step["with"]["persist-credentials"] == "false"
            continue
        assert "${{" not in step["run"], "text of others does not become a command"
        for command in step["run"].split("&&"):
            words = shlex.split(command)
            if "nox" in words:
                assert {*words[words.index("-s") + 1 :]} <= {*sessions}
            for extras in re.findall(r"\.\[([\w,]+)\]", command):
                assert {*extras.split(",")} <= {*PROJECT["optional-dependencies"]}
            if words[0] == "bash":
                assert (ROOT / words[1]).is_file()


def test_versions_of_python() -> None:
    matrix = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["quick"]["strategy"]["matrix"]
    named = {text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", text)}
    assert {*matrix["python"]} <= named
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_citation() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert (citation["version"], citation["license"]) == (nbautograd.__version__, PROJECT["license"])
    assert {"cff-version", "message", "title", "authors", "type"} <= {*citation}


def test_the_paper_cites_what_its_list_has() -> None:
    text = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(entries) == sorted({*re.findall(r"@(\w+\d{4})", text)})
    assert 500 < len(text.split()) < 1000, "two pages"
