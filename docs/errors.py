"""Write ``docs/errors.md`` and ``docs/zh/errors.md``: every error that a user can meet, its message, cause and cure.

python docs/errors.py           # run the examples of docs/errors.toml and write the pages
python docs/errors.py --check   # fail if a page is out of date, or an example raises nothing
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
PAGES = {"": HERE / "errors.md", "_zh": HERE / "zh" / "errors.md"}  # by the suffix of a language's keys in the table
TABLE = HERE / "errors.toml"
NAME = "example.py"
"""The file name of an example's text in messages, which quote its lines."""
WRITTEN = "<!-- Written by docs/errors.py, which runs every example; do not edit. -->"
HEADS = {
    "": f"""{WRITTEN}

# Errors, their causes and their cures

In the examples `torch` is nbautograd, and every example has been run. Every
exception can be caught by the type that PyTorch raises in its place: `ShapeError`, for one, is a `RuntimeError`.

{{count}} errors.""",
    "_zh": f"""{WRITTEN}

# 报错、原因及解决办法

例子中的 `torch` 是 nbautograd，每个例子都实际运行过。每种异常都可以按 PyTorch 在同一处抛出的类型捕获，例如
`ShapeError` 是一种 `RuntimeError`。报错的第一句是 PyTorch 的关键词，可以照原文搜索。[英文版](../errors.md)

共 {{count}} 种报错。""",
}
CURE = {"": "**Cure.** ", "_zh": "**解决办法**："}


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


def section(error: dict[str, Any]) -> dict[str, str]:
    """Return one error's part of each page; raise AssertionError if its example raises nothing, or its cure raises."""
    said = message(error)
    if "instead" in error:
        wrong = raised(error["instead"])
        assert wrong is None, f"{error['title']}: the cure raises {wrong!r}"
    written = {}
    for language in PAGES:
        title, cause, cure = (error[part + language] for part in ("title", "cause", "cure"))
        parts = [f"### {title}", fenced("python", error["example"]), fenced("text", said), cause, CURE[language] + cure]
        if "instead" in error:
            parts.append(fenced("python", error["instead"]))
        written[language] = "\n\n".join(parts)
    return written


def fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.strip()}\n```"


def pages() -> dict[str, str]:
    """Return the text of each page."""
    topics = tomllib.loads(TABLE.read_text(encoding="utf-8"))["topic"]
    parts: dict[str, list[str]] = {language: [] for language in PAGES}
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # for the examples that write files
        try:
            for topic in topics:
                sections = [section(error) for error in topic["error"]]
                for language, written in parts.items():
                    written += [f"## {topic['title' + language]}", *(each[language] for each in sections)]
        finally:
            os.chdir(here)
    count = sum(len(topic["error"]) for topic in topics)
    return {
        language: "\n\n".join([HEADS[language].format(count=count), *written]) + "\n"
        for language, written in parts.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a page is out of date")
    check = parser.parse_args().check
    stale = 0
    for language, text in pages().items():
        path = PAGES[language]
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"docs/{path.relative_to(HERE).as_posix()} is out of date: run python docs/errors.py")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
