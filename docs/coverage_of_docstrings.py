"""Count the parts of public docstrings: parameters, result, errors, and an example that runs.

python docs/coverage_of_docstrings.py          # a table by family
python docs/coverage_of_docstrings.py nn       # and what each name of these families lacks

The names are those of ``pytorch_names.toml`` that exist, and those of the packages that have pages of their own.
``tests/product/test_docstrings.py`` holds the counts.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "extensions")]

import reference  # noqa: E402
from api import DATA, PACKAGES  # noqa: E402

from nbautograd._names.docstrings.classes import parameters  # noqa: E402

KINDS = ("parameters", "result", "raises", "example")
WITHOUT_SHAPES = (
    "optim",
    "optim.lr_scheduler",
    "utils.data",
    "torch.distributions",
    "torch.distributions.constraints",
    "torch.distributions.constraint_registry",
)
"""Families whose classes return no tensors when they are called."""
IN_PLACE = re.compile(r"In-place version of ``(\w+)``")


def names() -> dict[str, str]:
    """The public names, with the family of each."""
    families = {}
    for family in reference.NAMES["family"]:
        below = family["below"] + "." if family["below"] else ""
        for name in family["names"].split():
            families.setdefault(below + name, family["title"])
    for package in PACKAGES:
        module = importlib.import_module(f"nbautograd.{package}")
        for name in getattr(module, "__all__", None) or [each for each in vars(module) if not each.startswith("_")]:
            if name not in DATA:
                families.setdefault(f"{package}.{name}", package)
    return families


def documented() -> dict[str, tuple[str, Any]]:
    """By name the family and the function or class; without second names of an object, and without what is Python's."""
    objects: dict[str, tuple[str, Any]] = {}
    seen = set()
    for path, family in names().items():
        value = reference.find(path)
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if value is None or value is Ellipsis or inspect.ismodule(value) or not callable(value) or id(value) in seen:
            continue
        if (getattr(value, "__module__", None) or "").partition(".")[0] in sys.stdlib_module_names:
            continue
        seen.add(id(value))
        objects[path] = family, value
    return objects


def options(value: Any) -> list[str]:
    """The names of the parameters, where they can be known."""
    if isinstance(value, type):
        found = parameters(value)
    else:
        try:
            found = list(inspect.signature(value).parameters)
        except (TypeError, ValueError):
            found = []
    return [name for name in found if name not in ("self", "cls") and not name.startswith("_")]


def lacks(family: str, value: Any) -> list[str]:
    """Return the parts that a docstring lacks; that of an in-place method names the function, whose docstring has
    them.
    """
    doc = inspect.getdoc(value) or ""
    if IN_PLACE.match(doc):
        return []
    said = {
        name.strip("*") for field in re.findall(r"^:param ([^:]*):", doc, re.MULTILINE) for name in field.split(", ")
    }
    missing = ["parameters"] * bool({*options(value)} - said)
    is_class = isinstance(value, type)
    if ":returns:" not in doc and "shape" not in doc and "it returns" not in doc and "and returns" not in doc:
        missing += ["result"] * (not (is_class and family in WITHOUT_SHAPES))
    missing += ["raises"] * (":raises" not in doc and bool(options(value)))
    return missing + ["example"] * (">>> " not in doc)


def counts() -> dict[str, Counter[str]]:
    """By family, the number of names, and the number without each part."""
    found: dict[str, Counter[str]] = {}
    for family, value in documented().values():
        found.setdefault(family, Counter())["names"] += 1
        found[family].update(lacks(family, value))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", help="say for each name of these what it lacks")
    wanted = parser.parse_args().families
    warnings.simplefilter("ignore")
    table = counts()
    total = sum(table.values(), Counter[str]())
    print(f"{'family':46} names  lacking {', '.join(KINDS)}")
    for family, row in [*table.items(), ("all", total)]:
        print(f"{family:46} {row['names']:5}  {' '.join(f'{row[kind]:5}' for kind in KINDS)}")
    for path, (family, value) in documented().items():
        if family in wanted and (missing := lacks(family, value)):
            print(path, *missing)
    return 0


if __name__ == "__main__":
    sys.exit(main())
