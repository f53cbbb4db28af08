"""The pages of the API: a page per family of ``pytorch_names.toml`` and one per package, with the docstrings' words."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import reference
from sphinx.application import Sphinx

PACKAGES = {
    "nn": "Layers",
    "nn.init": "Initialisation of parameters",
    "nn.utils": "Utilities for modules",
    "optim": "Optimisers",
    "optim.lr_scheduler": "Schedules of learning rates",
    "utils.data": "Data",
    "cuda": "CUDA",
    "random": "The state of random numbers",
    "serialization": "Saving and loading",
    "func": "Function transforms",
    "viz": "Pictures",
    "protocol": "What an observer sees",
}
"""Packages that list their own names."""
DATA = {"settings"}
"""What is neither a function nor a class, and is documented at its class."""


def slug(title: str) -> str:
    """A file name for a page."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower().removeprefix("torch: ").removeprefix("torch.")).strip("-")


def entry(path: str) -> str:
    """The directive that documents one name; of a layer or optimiser the class, of other classes the members, too."""
    if not isinstance(reference.find(path), type):
        return f".. autofunction:: {location(path)}"
    members = "" if path.startswith(("nn.", "optim.")) else "\n   :members:"
    return f".. autoclass:: {location(path)}{members}"


def location(path: str) -> str:
    """Where a name is imported from: ``torch.compiler`` has the name of a package of ours, and lies in ``compat``."""
    package = path.partition(".")[0]
    return f"nbautograd._compat.{path}" if package in ("compiler", "ops") else f"nbautograd.{path}"


class Pages:
    """The pages, and under which name each thing was documented first."""

    def __init__(self) -> None:
        self.texts = {"tensor": tensor()}
        self.names = {id(reference.find("Tensor")): "Tensor"}
        self.written = {"Tensor"}

    def add(self, name: str, title: str, lead: str, paths: Iterable[str]) -> None:
        """A page that documents these names; what another name has already is only mentioned."""
        entries = []
        for path in paths:
            found = reference.find(path)
            is_member = isinstance(reference.find(path.rpartition(".")[0]), type)  # documented with its class
            if not callable(found) or inspect.ismodule(found) or is_member:
                continue
            known = self.names.setdefault(id(found), path)
            if known != path:
                entries.append(f"``{path}`` is another name of ``{known}``.")
            elif path not in self.written:
                entries.append(entry(path))
            self.written.add(path)
        blocks = "\n\n".join(entries)
        self.texts[name] = f"# {title}\n\n{lead}\n\n```{{eval-rst}}\n{blocks}\n```\n"

    def add_families(self) -> None:
        """Pages of functions, by the families of PyTorch's documentation."""
        for family in reference.NAMES["family"]:
            below = f"{family['below']}." if family["below"] else ""
            if below != "Tensor.":
                lead = "Called as in PyTorch. In the examples, `torch` is `nbautograd`."
                title = family["title"].removeprefix("torch.")
                if title.startswith("torch: "):
                    title = title.removeprefix("torch: ").capitalize()
                paths = [below + name for name in family["names"].split()]
                self.add(slug(family["title"]), title, lead, paths)

    def add_packages(self) -> None:
        """Pages of packages, with the names of their ``__all__``."""
        for name, title in PACKAGES.items():
            module = importlib.import_module(f"nbautograd.{name}")
            names = getattr(module, "__all__", None) or [each for each in vars(module) if not each.startswith("_")]
            lead = f"`nbautograd.{name}`: {(inspect.getdoc(module) or '').partition(chr(10) * 2)[0]}"
            self.add(slug(name), title, lead, [f"{name}.{each}" for each in names if each not in DATA])


def tensor() -> str:
    """The page of tensors: what only they have. Methods that are functions, too, are on the functions' pages."""
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
            shared.append(f"`{name}`")
        else:
            kind = "autoproperty" if is_property else "automethod"
            own.append(f".. {kind}:: nbautograd.Tensor.{name}")
    return (
        "# Tensor\n\n```{eval-rst}\n.. autoclass:: nbautograd.Tensor\n```\n\n## Methods and attributes of its own\n\n"
        "```{eval-rst}\n" + "\n\n".join(own) + "\n```\n\n## Functions as methods\n\n"
        "The function's first argument is the tensor; a name that ends in an underscore works in place.\n\n"
        + ", ".join(shared)
        + "\n"
    )


def write(app: Sphinx) -> None:
    """Write the pages below the sources."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    pages = Pages()
    pages.add_families()
    pages.add_packages()
    listed = "\n".join(pages.texts)
    index = (
        f"# API\n\nSignatures, shapes, errors, examples and sources.\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    )
    texts = {f"{name}.md": text for name, text in {**pages.texts, "index": index}.items()}
    for page in folder.iterdir():
        if page.name not in texts:
            page.unlink()
    for name, text in texts.items():
        page = folder / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:  # what has not changed is not read again
            page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
