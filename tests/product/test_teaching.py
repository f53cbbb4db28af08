"""Test the teacher's kit: the key answers every open question, and the quiz's answers are its programs' outputs."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest

from nbautograd.cli import _parser
from tests import needs, oracle

ROOT = Path(__file__).parents[2]
QUIZZES = {"en": ROOT / "docs/guides/quiz.md", "zh": ROOT / "docs/zh/quiz.md"}
KEYS = {"notebooks": ROOT / "docs/guides/open_questions.md", "notebooks/zh": ROOT / "docs/zh/open_questions.md"}
COURSE = sorted(path.name for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))


def quiz(language: str) -> list[tuple[str, dict[str, str]]]:
    """Return the program and the options of each question."""
    text = QUIZZES[language].read_text(encoding="utf-8")
    found = re.findall(r"^## \d+\. [^\n]*\n\n```python\n(.*?)```\n\n((?:- [A-D]: [^\n]*\n)+)", text, re.M | re.S)
    return [(code, dict(re.findall(r"- ([A-D]): `?(.*?)`?$", options, re.M))) for code, options in found]


def key(language: str) -> list[str]:
    return re.findall(r"^\| \d+ \| ([A-D]) \|", QUIZZES[language].read_text(encoding="utf-8"), re.M)


def printed(torch: Any) -> list[str]:
    """Return the output of each program of the quiz under a library."""
    answers = []
    for code, _ in quiz("en"):
        said = io.StringIO()
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(said):
                warnings.simplefilter("ignore")
                exec(code, {"torch": torch})
            answers.append(said.getvalue().strip())
        except RuntimeError:
            answers.append("an error")
    return answers


def test_the_key_of_the_quiz_is_what_the_programs_print() -> None:
    answers = oracle.check(printed, exact=True)
    letters = key("en")
    assert len(answers) == len(letters) == 25
    for number, (answer, letter, (_, options)) in enumerate(zip(answers, letters, quiz("en"), strict=True), 1):
        assert [*options] == list("ABCD") and len({*options.values()}) == 4, number
        assert options[letter] == answer, number
    assert all(4 <= letters.count(letter) <= 9 for letter in "ABCD")


def test_both_languages_ask_the_same() -> None:
    chinese = [(code, {c: o.replace("报错", "an error") for c, o in options.items()}) for code, options in quiz("zh")]
    assert chinese == quiz("en") and key("zh") == key("en")


@pytest.mark.parametrize("folder", KEYS)
def test_the_key_answers_every_open_question(folder: str) -> None:
    asked = []
    for name in COURSE:
        for cell in json.loads((ROOT / folder / name).read_text(encoding="utf-8"))["cells"]:
            _, *parts = re.split("^## (?:To think about|想一想)$", "".join(cell["source"]), flags=re.M)
            asked += [question for part in parts for question in re.findall("^- (.*)$", part.split("\n## ")[0], re.M)]
    answered = re.findall(r"^> (.*)\n\n(.*)$", KEYS[folder].read_text(encoding="utf-8"), re.M)
    assert [question for question, _ in answered] == asked and len(asked) == 43
    assert all(len(answer) > 40 for _, answer in answered)


@pytest.mark.parametrize("page", ["docs/guides/syllabus.md", "docs/zh/syllabus.md"])
def test_the_plan_names_every_notebook_with_its_minutes(page: str) -> None:
    said = r"\| \[.*?\]\((?:\.\./course/(?:zh/)?)?(\d\w+\.ipynb)\).*\| (\d+) \|$"
    plan = (ROOT / page).read_text(encoding="utf-8")
    course = re.findall(rf"^\| \d\d[a-z]? {said}", (ROOT / "notebooks/README.md").read_text(encoding="utf-8"), re.M)
    assert re.findall(f"^{said}", plan, re.M) == course and [name for name, _ in course] == COURSE
    sessions = re.findall(r"^\| (\d) \|(.*)$", plan, re.M)
    assert [number for number, _ in sessions] == list("123456")
    for number, session in sessions:
        together = sum(map(int, re.findall(r"(\d+) (?:min|分钟)", session)))
        assert 55 <= together <= 85, (number, together)  # of 90 minutes: practice and a question take five each


def pyproject() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def test_images_install_what_the_project_asks_for() -> None:
    """The Dockerfile and ``binder/`` take the project itself, a Python that it supports, and no package of its own."""
    needs.package("packaging")
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    project, docker = pyproject(), (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (python,) = re.findall(r"^FROM python:([\d.]+)-slim$", docker, re.M)
    assert (ROOT / "binder/runtime.txt").read_text(encoding="utf-8") == f"python-{python}\n"
    assert python in SpecifierSet(project["requires-python"])
    assert f"Programming Language :: Python :: {python}" in project["classifiers"]
    own = {Requirement(each).name for part in project["optional-dependencies"].values() for each in part}
    (installed,) = re.findall(r"^RUN pip install --no-cache-dir (.*?) &&", docker, re.M)
    binder = (ROOT / "binder/requirements.txt").read_text(encoding="utf-8").splitlines()
    for line in (*re.findall('"(.*?)"', installed), *binder):
        extra = re.fullmatch(r"(?:/opt/nbautograd|\.)\[(\w+)\]", line)
        if extra:
            assert extra[1] in project["optional-dependencies"]
        else:
            hub = Requirement(line)
            assert hub.name not in own and hub.specifier, line
    assert re.findall(r"^(\w+) ", docker, re.M) == ["FROM", "RUN", "COPY", "RUN", "USER", "WORKDIR", "EXPOSE", "CMD"]


def test_images_start_with_commands_that_exist() -> None:
    post, docker = ROOT / "binder/postBuild", (ROOT / "Dockerfile").read_text(encoding="utf-8")
    start = json.loads(re.findall(r"^CMD (.*)$", docker, re.M)[0])
    assert start[:2] == ["sh", "-c"]
    for script, shell in ((post.read_text(encoding="utf-8"), "bash"), (start[2], "sh")):
        assert subprocess.run([shell, "-n", "-c", script], check=False).returncode == 0
        for command in re.findall(r"nbautograd ([\w ]+)", script.replace("#", "")):
            _parser().parse_args(command.split())
    assert os.access(post, os.X_OK)
