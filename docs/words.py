"""Count words that are hard to read, in Markdown, docstrings, comments, messages and notebooks.

python docs/words.py            # show what is left, and lower the counts in words.toml
python docs/words.py --check    # fail where there is more of a word than before
python docs/words.py other      # show where a pattern that contains this stands
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RULES = Path(__file__).with_name("words.toml")
FOLDERS = ("nbautograd", "tests", "docs", "notebooks", "benchmarks")
SKIPPED = (
    "tests/parity/guests/", "tests/stored/", "benchmarks/results/", "docs/reference.md", "docs/guests.md",
    "docs/modules.md", "docs/api/", "docs/course/",
)  # fmt: skip
"""Others' programs, stored answers, and pages that a script writes or copies."""
READ = (".py", ".md", ".ipynb", ".toml", ".js")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
REPLACED = re.compile(r"(?<!\{)\{(?!\{)(?:[^{}]|\{[^{}]*\})*\}")
FENCE = re.compile(r"^```.*?^```|`+[^`\n]+`+", re.DOTALL | re.MULTILINE)

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields of statements that hold statements."""
Text = tuple[str, int, str]
"""The kind of a text (docstring, comment, message or page), its first line, and the text."""


def files() -> Iterator[Path]:
    """Yield the files whose texts are read."""
    yield from sorted(ROOT.glob("*.md"))
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix in READ and path.name != RULES.name and not name.startswith(SKIPPED):
                yield path


def texts(path: Path) -> Iterator[Text]:
    """Yield the texts of a file that people read."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        for cell in json.loads(source)["cells"]:
            if cell["cell_type"] == "markdown":
                yield "page", 0, prose("".join(cell["source"]))
    elif path.suffix == ".py":
        yield from of_python(source, messages=not path.is_relative_to(ROOT / "tests"))
    elif path.suffix == ".js":
        for number, line in enumerate(source.splitlines(), 1):
            if "//" in line:
                yield "comment", number, line.partition("//")[2]
    else:
        yield "page", 1, prose(source)


def prose(text: str) -> str:
    """Return Markdown without code and examples, its lines kept."""
    text = re.sub(r"^ *(?:>>>|\.\.\.) .*$", "", text, flags=re.MULTILINE)
    return FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)


def of_python(source: str, messages: bool) -> Iterator[Text]:
    """Yield docstrings, comments and, if asked for, all other strings of several words, without the code in them."""
    documented = set()
    blocks: list[ast.AST] = [ast.parse(source)]
    for block in blocks:  # of statements only: most of a tree are expressions, which have no docstrings
        for statement in getattr(block, "body", ()):
            value = getattr(statement, "value", None)
            if isinstance(statement, ast.Expr) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                documented.add(value.lineno)
                yield "docstring", value.lineno, prose(value.value)
        blocks += [each for field in BLOCKS for each in getattr(block, field, ())]
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield "comment", token.start[0], token.string.lstrip("# ")
        elif messages and token.type == tokenize.STRING and token.start[0] not in documented and " " in token.string:
            yield "message", token.start[0], REPLACED.sub("", prose(token.string))


def found(rules: dict[str, list[dict[str, str]]]) -> dict[str, list[str]]:
    """Return where each pattern stands: ``file:line: the words around it``."""
    compiled = [
        (rule["pattern"], re.compile(rule["pattern"]), rule.get("where"), language)
        for language, each in rules.items()
        for rule in each
    ]
    places: dict[str, list[str]] = {pattern: [] for pattern, *_ in compiled}
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        for where, line, text in texts(path):
            language = "chinese" if CHINESE.search(text) else "english"
            for pattern, expression, only, spoken in compiled:
                if spoken == language and only in (None, where):
                    for match in expression.finditer(text):
                        number = line + text.count("\n", 0, match.start())
                        around = text[max(0, match.start() - 30) : match.end() + 30].replace("\n", " ")
                        places[pattern].append(f"{name}:{number}: {around}")
    return places


def main() -> None:
    """Check, show or lower the counts."""
    text = RULES.read_text(encoding="utf-8")
    rules = tomllib.loads(text)
    places = found(rules)
    arguments = sys.argv[1:]
    if arguments and arguments != ["--check"]:
        for pattern, where in places.items():
            if arguments[0] in pattern:
                print(*where, sep="\n")
        return
    worse = []
    for rule in (rule for each in rules.values() for rule in each):
        pattern, count, left = rule["pattern"], len(places[rule["pattern"]]), int(rule["left"])
        if not arguments:
            print(f"{count:5}  {pattern}  ->  {rule['instead']}")
            before = f"pattern = '{pattern}'\n"
            start = text.index(before)
            end = text.index("left = ", start)
            stop = text.find("\n", end)
            if count < left:
                text = text[:end] + f"left = {count}" + text[stop:]
        elif count > left:
            worse.append(f"{pattern}: {count}, and {left} stood there before. Write: {rule['instead']}")
            worse += places[pattern][-3:] if left else places[pattern][:20]
    if not arguments:
        RULES.write_text(text, encoding="utf-8")
    if worse:
        sys.exit("\n".join(worse) + "\npython docs/words.py PATTERN shows where each stands")


if __name__ == "__main__":
    main()
