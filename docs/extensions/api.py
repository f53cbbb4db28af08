"""The pages of the API: one per family of functions and one per class, with the words of the docstrings.

A family of ``pytorch_names.toml``, or a package, has a page that lists its classes and documents its functions. A page
of more than 50 functions is divided by the modules that define them. The pages are reStructuredText, as docstrings are.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import reference
from sphinx.application import Sphinx

PACKAGES = {
    "nn": "Layers",
    "nn.init": "Initialization of parameters",
    "nn.utils": "Utilities for modules",
    "optim": "Optimizers",
    "optim.lr_scheduler": "Learning rate schedules",
    "utils.data": "Data",
    "cuda": "CUDA",
    "random": "Random number state",
    "serialization": "Saving and loading",
    "func": "Function transforms",
    "viz": "Pictures",
    "protocol": "Observers",
}
"""Packages that list their own names."""
DATA = {"settings"}
"""Names that are neither functions nor classes, and are documented at their class."""
FOLDED = {"xpu", "mps", "mtia", "onnx", "hub", "futures", "quantization", "package", "monitor", "quasirandom", "types"}
"""Pages of modules that exist so that programs can import them: the index lists them last."""
MANY = 50
"""A page of more functions is divided by the modules that define them."""
LEAD = "Called as in PyTorch. In the examples, ``torch`` is ``nbautograd``."


def slug(title: str) -> str:
    """Return a file name for a page."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower().removeprefix("torch: ").removeprefix("torch.")).strip("-")


def location(path: str) -> str:
    """Return where a name is imported from: ``torch.compiler`` is in ``_compat``, as we have a package of that name."""
    package = path.partition(".")[0]
    return f"nbautograd._compat.{path}" if package in ("compiler", "ops") else f"nbautograd.{path}"


def heading(title: str, line: str = "=") -> str:
    """Return a heading.

    >>> print(heading("Tensor"))
    Tensor
    ======
    """
    return f"{title}\n{line * len(title)}"


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of two columns."""
    cells = "".join(f"   * - {first}\n     - {second}\n" for first, second in rows)
    return f".. list-table::\n   :widths: 30 70\n\n{cells}"


def summary(found: Any) -> str:
    """Return the first sentence of a docstring, for a cell of a table."""
    text = (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[a-z)`]\.) ", text)[0]


def about(module: str) -> str:
    """Return the first line of a module's docstring as a title: without a full stop, up to a colon."""
    line = (sys.modules[module].__doc__ or module).splitlines()[0].replace("``", "") if module else ""
    return re.split(r"[:;(]", line)[0].strip(" .")


class Pages:
    """The pages, and under which name each thing was documented first."""

    def __init__(self) -> None:
        self.texts = {"tensor": tensor()}
        self.listed = ["tensor"]
        self.names = {id(reference.find("Tensor")): "Tensor"}
        self.written = {"Tensor"}

    def add(self, name: str, title: str, lead: str, paths: Iterable[str]) -> None:
        """Add the page of a family; a thing that another name has already is only mentioned."""
        classes: list[str] = []
        functions: list[str] = []
        same: list[str] = []
        for path in paths:
            found = reference.find(path)
            is_member = isinstance(reference.find(path.rpartition(".")[0]), type)  # documented with its class
            if not callable(found) or inspect.ismodule(found) or is_member:
                continue
            known = self.names.setdefault(id(found), path)
            if known != path:
                same.append(f"``{path}`` is another name of ``{known}``.")
            elif path not in self.written:
                (classes if isinstance(found, type) else functions).append(path)
            self.written.add(path)
        parts = [heading(title), lead]
        if classes:
            parts += [self.tables(classes, name, title)]
        if len(functions) > MANY:
            parts += [self.divided(functions, name, title)]
        elif functions:
            parts += [heading("Functions", "-")] * bool(classes) + [directives(functions)]
        if name not in self.texts:
            self.texts[name] = "\n\n".join([*parts, *same]) + "\n"
            self.listed.append(name)

    def tables(self, classes: list[str], name: str, title: str) -> str:
        """Return the tables of classes, one per module that defines several, and add a page for each class."""
        by_module: dict[str, list[str]] = {}
        for path in classes:
            self.texts[path] = class_page(path, name, title)
            by_module.setdefault(reference.find(path).__module__, []).append(path)
        groups = by_module if len(classes) > MANY and len(by_module) > 2 else {"": classes}
        tables = []
        for module, paths in sorted(groups.items(), key=lambda group: about(group[0])):
            rows = [(f":doc:`{path.rpartition('.')[2]} <{path}>`", summary(reference.find(path))) for path in paths]
            tables += [heading(about(module), "-")] * bool(module) + [table(rows)]
        return "\n\n".join(tables)

    def divided(self, functions: list[str], name: str, title: str) -> str:
        """Return a table of pages, one per module that defines functions, and add these pages."""
        by_module: dict[str, list[str]] = {}
        for path in functions:
            by_module.setdefault(getattr(reference.find(path), "__module__", ""), []).append(path)
        several = {module: paths for module, paths in by_module.items() if len(paths) > 1 and module in sys.modules}
        others = [path for module, paths in by_module.items() if module not in several for path in paths]
        rows = []
        for module, paths in {**several, "others": others}.items():
            if paths:
                below = about(module) if paths is not others else "Other functions"
                page = f"{name}.{module.rpartition('.')[2]}"
                self.texts[page] = f"{orphan(name, title)}{heading(below)}\n\n{LEAD}\n\n{directives(paths)}\n"
                rows.append((f":doc:`{below} <{page}>`", ", ".join(f"``{path.rpartition('.')[2]}``" for path in paths)))
        return table(rows)

    def add_families(self) -> None:
        """Add the pages of functions, by the families of PyTorch's documentation."""
        for family in reference.NAMES["family"]:
            below = f"{family['below']}." if family["below"] else ""
            if below != "Tensor.":
                title = family["title"].removeprefix("torch.")
                if title.startswith("torch: "):
                    title = title.removeprefix("torch: ").capitalize()
                self.add(slug(family["title"]), title, LEAD, [below + name for name in family["names"].split()])

    def add_packages(self) -> None:
        """Add the pages of packages, with the names of their ``__all__``."""
        for name, title in PACKAGES.items():
            module = importlib.import_module(f"nbautograd.{name}")
            names = getattr(module, "__all__", None) or [each for each in vars(module) if not each.startswith("_")]
            lead = f"``nbautograd.{name}``: {(inspect.getdoc(module) or '').partition(chr(10) * 2)[0]}"
            self.add(slug(name), title, lead, [f"{name}.{each}" for each in names if each not in DATA])

    def index(self) -> tuple[str, str]:
        """Return the page that lists the pages of families, and that of modules for other machines."""
        modules = [name for name in self.listed if name in FOLDED]
        pages = "\n   ".join(name for name in self.listed if name not in FOLDED)
        folded = "\n   ".join(modules)
        return (
            f"{heading('API')}\n\nSignatures, shapes, errors, examples and sources. A class has a page of its own.\n\n"
            f".. toctree::\n   :maxdepth: 1\n\n   {pages}\n   other-modules\n",
            f"{heading('Modules for other machines')}\n\nThese modules exist so that programs can import them; "
            f":doc:`this page <../modules>` lists what each does.\n\n.. toctree::\n   :maxdepth: 1\n\n   {folded}\n",
        )


def orphan(name: str, title: str) -> str:
    """Return the head of a page that no menu lists, with the way back to its family."""
    return f":orphan:\n\n:doc:`API <index>` › :doc:`{title} <{name}>`\n\n"


def class_page(path: str, name: str, title: str) -> str:
    """Return the page of a class, with its members."""
    text = f"{orphan(name, title)}{heading(path.rpartition('.')[2])}\n\n"
    return f"{text}.. autoclass:: {location(path)}\n   :members:\n"


def directives(functions: Iterable[str]) -> str:
    """Return the directives that document functions."""
    return "\n\n".join(f".. autofunction:: {location(path)}" for path in functions)


def tensor() -> str:
    """Return the page of tensors, with their own methods only. Methods that are also functions are on the functions'
    pages.
    """
    families = reference.NAMES["family"]
    functions = {name for family in families if not family["below"] for name in family["names"].split()}
    methods = {name for family in families if family["below"] == "Tensor" for name in family["names"].split()}
    own, shared = [], []
    for name in sorted(methods):
        found = inspect.getattr_static(reference.find("Tensor"), name, None)
        is_property = isinstance(found, property)
        if name.startswith("_") or not inspect.getdoc(found) or not (is_property or inspect.isfunction(found)):
            continue
        plain = name.removesuffix("_")
        if name in functions or (plain in functions and name != plain):
            shared.append(f"``{name}``")
        else:
            kind = "autoproperty" if is_property else "automethod"
            own.append(f".. {kind}:: nbautograd.Tensor.{name}")
    return "\n\n".join(
        [
            heading("Tensor"),
            ".. autoclass:: nbautograd.Tensor",
            heading("Methods and attributes of its own", "-"),
            *own,
            heading("Functions as methods", "-"),
            "The function's first argument is the tensor; a name that ends in an underscore works in place.",
            ", ".join(shared) + "\n",
        ]
    )


def write(app: Sphinx) -> None:
    """Write the pages below the sources."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    pages = Pages()
    pages.add_families()
    pages.add_packages()
    index, modules = pages.index()
    texts = {f"{name}.rst": text for name, text in {**pages.texts, "index": index, "other-modules": modules}.items()}
    for page in folder.iterdir():
        if page.name not in texts:
            page.unlink()
    for name, text in texts.items():
        page = folder / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:  # unchanged pages are not read again
            page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
