"""Write ``docs/errors.md``: every error that a user can meet, with the message that an example raises, cause and cure.

python docs/errors.py           # run the examples of docs/errors.toml and write the page
python docs/errors.py --check   # fail if the page is out of date, or an example raises nothing
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import io
import linecache
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE / "errors.md"
TABLE = HERE / "errors.toml"
NAME = "example.py"
"""The file name of an example's text in messages, which quote its lines."""
HEAD = """<!-- Written by docs/errors.py, which runs every example; do not edit. -->

# Errors, their causes and their cures

In the examples `torch` is nbautograd, and every example has been run. Every
exception can be caught by the type that PyTorch raises in its place: `ShapeError`, for one, is a `RuntimeError`.
"""


def raised(example: str, setup: str = "") -> BaseException | None:
    """Return the exception of a piece of code, run as a cell if it has magics."""
    import nbautograd
    from nbautograd import viz

    names: dict[str, Any] = {"torch": nbautograd, "viz": viz, "__name__": "__main__", "__builtins__": builtins}
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with quiet[0], quiet[1], warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if any(line.startswith("%") for line in example.split("\n")):
            shell = ipython()
            shell.user_ns.update(names)
            result = shell.run_cell(example)
            return result.error_before_exec or result.error_in_exec
        exec(compile(setup, "<setup>", "exec"), names)
        linecache.cache[NAME] = (len(example), None, example.lstrip("\n").splitlines(keepends=True), NAME)
        try:
            exec(compile(example.lstrip("\n"), NAME, "exec"), names)
        except Exception as error:
            return error
    return None


def ipython() -> Any:
    """A shell without history, with the extension loaded."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config(HistoryManager={"enabled": False}, InteractiveShell={"xmode": "Minimal", "colors": "NoColor"})
    shell: Any = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "nbautograd")
    return shell


def portable(text: str) -> str:
    """A message as it reads in a clone whose environment is active: commands name folders of this machine."""
    said = re.sub(r"(?:'[^']*'|\S+) -m pip install|%pip install", "pip install", text)
    return said.replace(str(HERE.parent), ".")


def message(error: dict[str, Any]) -> str:
    """``Type: message`` of an example; where something has to be missing, run in an interpreter of its own."""
    if "hide" not in error:
        found = raised(error["example"], error.get("setup", ""))
        assert found is not None, f"{error['title']}: the example raises nothing"
        return portable(f"{type(found).__name__}: {found}")
    code = f"import sys\nfor name in {error['hide']!r}:\n    sys.modules[name] = None\n"
    code += f"sys.path.insert(0, {str(HERE)!r})\nfrom errors import raised\nfound = raised({error['example']!r})\n"
    code += "print(f'{type(found).__name__}: {found}')"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0 and "NoneType" not in done.stdout, f"{error['title']}: {done.stdout}{done.stderr}"
    return portable(done.stdout.rstrip("\n"))


def section(error: dict[str, Any]) -> str:
    """One error's part of the page."""
    said = message(error)
    parts = [f"### {error['title']}", fenced("python", error["example"]), fenced("text", said)]
    parts += [error["cause"], f"**Cure.** {error['cure']}"]
    if "instead" in error:
        wrong = raised(error["instead"])
        assert wrong is None, f"{error['title']}: the cure raises {wrong!r}"
        parts.append(fenced("python", error["instead"]))
    return "\n\n".join(parts)


def fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.strip()}\n```"


def page() -> str:
    """The whole page."""
    topics = tomllib.loads(TABLE.read_text(encoding="utf-8"))["topic"]
    parts, counted = [], 0
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # for the examples that write files
        try:
            for topic in topics:
                counted += len(topic["error"])
                parts += [f"## {topic['title']}", *map(section, topic["error"])]
        finally:
            os.chdir(here)
    return "\n\n".join([f"{HEAD}\n{counted} errors.", *parts]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the page is out of date")
    check = parser.parse_args().check
    text = page()
    if not check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
    if not current:
        print("docs/errors.md is out of date: run python docs/errors.py")
    return 0 if current else 1


if __name__ == "__main__":
    sys.exit(main())
