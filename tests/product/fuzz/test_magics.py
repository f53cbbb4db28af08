"""The lines of the magics with any text: a result or a clear message, and nothing run but the expression typed."""

from __future__ import annotations

import contextlib
import io
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs

needs.package("IPython")
from hypothesis import given, strategies as st
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.testing.globalipapp import start_ipython

import nbautograd as nb
from nbautograd.viz import settings
from nbautograd.viz.notebook import magics
from nbautograd.viz.settings import NAMES

from .guard import DOCUMENTED, fuzzed

PACKAGE = str(Path(nb.__file__).parent)
WORDS = [
    *(
        "y",
        "x",
        "w",
        "(x * w).sum()",
        "y, x",
        "nothing",
        "5",
        "None",
        "'a'",
        "x +",
        "lambda: y",
        "[y]",
        "()",
        "y;",
        "=y",
    ),
    *(
        "--depth",
        "--depth=10**10",
        "--depth nan",
        "-d -1",
        "-d 2",
        "-t",
        "--no-values",
        "--dot",
        "--nonsense",
        "-",
        "--",
    ),
    *(
        "--gradient",
        "-g x",
        "--gradient nothing",
        "--retain-graph",
        "--create-graph",
        "--inputs",
        "--inputs x,,w",
        "-z",
    ),
    *(
        "--theme",
        "--theme dark",
        "--theme '",
        "--values on",
        "--values maybe",
        "--language 中文",
        "--language xx",
        "--tensors",
    ),
    *(
        "--direction LR",
        "--tracing off",
        "--widget off",
        "--tensors card",
        "--out=/etc/passwd",
        "$(touch x)",
        "`id`",
        "!ls",
    ),
    *(
        "\"; import os; os.system('touch x')",
        "__import__('os').system('true')",
        "{y}",
        "$y",
        "%graph",
        "?",
        "#",
        "\\",
        "\0",
    ),
    *(
        "\ud800",
        "'",
        '"',
        "\n",
        "a" * 500,
        "(" * 200,
        "x" + ".T" * 200,
        "9**9",
        "%s",
        "{",
        "]",
        "yield",
        "await x",
        ":=",
    ),
]
lines = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=8)), max_size=4).map(" ".join)
ERRORS = (*DOCUMENTED, UsageError, SyntaxError, NameError, AttributeError, ZeroDivisionError, KeyError, AssertionError)
"""The exceptions that an expression typed by the user may raise, too: it is Python."""


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    app = start_ipython() or InteractiveShell.instance()
    app.run_line_magic("load_ext", "nbautograd")
    yield app
    app.run_line_magic("unload_ext", "nbautograd")
    app.run_line_magic("reset", "-f")


def fresh(shell: Any) -> None:
    """The variables of a small program, and settings as they were."""
    settings.change(**{name: settings.traits()[name].default() for name in NAMES})
    w, x = (nb.tensor([value], requires_grad=True) for value in (1.0, 2.0))
    shell.user_ns.update(w=w, x=x, y=(w * x).sin())


def tried(shell: Any, magic: str, line: str, cell: str | None = None) -> Exception | None:
    """Run a magic and return its error, whose text must be for the user."""
    fresh(shell)
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            if cell is None:
                shown = shell.magics_manager.magics["line"][magic](line)
            else:
                shown = shell.magics_manager.magics["cell"][magic](line, cell)
            repr(shown)
    except ERRORS as error:
        assert str(error).strip() or isinstance(error, AssertionError), f"{type(error).__name__} without words"
        if not isinstance(error, UsageError):
            check_origin(error)
        return error
    assert "Traceback" not in said.getvalue()
    return None


def check_origin(error: Exception) -> None:
    """An error without our words comes from the expression, not from our own code."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    if last.filename.startswith(PACKAGE) and not isinstance(error, DOCUMENTED):
        told = str(error)
        assert told.startswith("%") or isinstance(error, SyntaxError), f"{type(error).__name__} from our code: {told}"


@pytest.mark.parametrize("magic", magics.LINE)
@fuzzed(60)
@given(line=lines)
def test_any_line(shell: Any, magic: str, line: str) -> None:
    tried(shell, magic, line)


@fuzzed(60)
@given(line=lines, cell=st.one_of(lines, st.sampled_from(["y.backward()\n", "raise ValueError('a')", "x = (", "y\n;"])))
def test_any_cell(shell: Any, line: str, cell: str) -> None:
    tried(shell, "autograd", line, cell)


@fuzzed(60)
@given(line=lines)
def test_completion_of_any_line(shell: Any, line: str) -> None:
    for magic in magics.LINE:
        event = type("Event", (), {"line": f"%{magic} {line}", "symbol": line[-1:], "command": f"%{magic}"})()
        assert all(isinstance(word, str) for word in magics._complete(shell, event))


@pytest.mark.parametrize("magic", magics.LINE)
@pytest.mark.parametrize(
    "text", ["mark()", "--depth mark()", "--theme mark()", "--language=mark()", "'mark()'", "{mark()}"]
)
def test_only_the_expression_is_evaluated(shell: Any, magic: str, text: str) -> None:
    """A call in place of the expression is the user's text; anywhere else it is only text."""
    called: list[int] = []
    shell.user_ns["mark"] = lambda: called.append(1)
    tried(shell, magic, text)
    expression = text in ("mark()", "{mark()}") and magic != "autograd"
    assert len(called) <= expression
