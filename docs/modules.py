"""Write the table of ``docs/modules.md``: the answers of PyTorch's modules for compilers, processes and devices.

python docs/modules.py           # write it
python docs/modules.py --check   # fail if it is out of date
"""

from __future__ import annotations

import argparse
import inspect
import sys
import types
from pathlib import Path

from nbautograd._names import absent, namespaces, refused, table

PAGE = Path(__file__).parent / "modules.md"
MODULES = """
    jit compiler _dynamo _inductor backends accelerator cpu mps xpu mtia distributed multiprocessing futures onnx hub
    library ops ao quantization package monitor quasirandom types utils.collect_env utils.deterministic utils.model_zoo
    utils.mobile_optimizer"""
"""In the order of the page."""


def row(path: str) -> str:
    """One module: its definitions, and why PyTorch's other names raise an error."""
    module = namespaces.module(path)
    names = [name for name in getattr(module, "__all__", ()) if not name.startswith("_")]
    answers = refused.answers(path)
    shown = ", ".join(f"`{name}`" for name in names)
    if path == "backends":
        shown = f"{shown}; by library: {', '.join(f'`{each}`' for each in libraries(module))}"
    by_answer: dict[str, list[str]] = {}
    for name, answer in answers.items():
        by_answer.setdefault(answer, []).append(f"`{name}`")
    shown = "; ".join(filter(None, [shown, *(f"{answer}: {', '.join(of)}" for answer, of in by_answer.items())]))
    says = "" if module.__doc__ is None or table.row(path).refuses and not names else summary(module.__doc__)
    return f"| `torch.{path}` | {says} | {shown} | {refusal(path)} |"


def summary(text: str) -> str:
    """Return the first line of a module's docstring without the module's name."""
    said = inspect.cleandoc(text).split("\n\n")[0].replace("\n", " ").partition(": ")[2].replace("``", "`")
    return said[:1].upper() + said[1:]


def libraries(module: types.ModuleType) -> list[str]:
    """The modules below ``torch.backends``."""
    return [path.rpartition(".")[2] for path in namespaces.children("backends")]


def refusal(path: str) -> str:
    """Return the number of names that only raise, in the module and below it, and the reason."""
    reason = refused.why(path)
    if reason is None:
        return ""
    below = [each for each in absent.modules() if f"{each}.".startswith(f"{path}.")]
    answers = len(refused.answers(path))
    count = sum(len(absent.names(each)) for each in below) - answers
    return f"{count}: {reason}"


def page() -> str:
    """The page, with the table between its marks."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition("<!-- modules -->\n")
    _, end, after = rest.partition("<!-- /modules -->")
    head = "| module | what it is here | what is there | names that raise |\n| --- | --- | --- | --- |\n"
    return before + begin + head + "".join(f"{row(path)}\n" for path in MODULES.split()) + end + after


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the page is out of date")
    text = page()
    if not parser.parse_args().check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    print("docs/modules.md is out of date: run python docs/modules.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
