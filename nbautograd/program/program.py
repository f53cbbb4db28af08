"""A program as users get it: text, and a file that runs."""

from __future__ import annotations

import io
import itertools
import os
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._atomic_file import replacing
from nbautograd.program.bundle import Bundle
from nbautograd.program.graph import read
from nbautograd.program.lines import Line, text_of
from nbautograd.program.numpy_writer import NumpyWriter

__all__ = ["Program", "write"]

NUMPY = "import numpy as np"


class Program:
    """The forward and the backward pass of a graph as lines of code.

    :ivar lines: the statements, each with the node that it is of.
    :ivar stored: large arrays, by the names under which they are stored beside the program.
    :ivar results: for each leaf what it is called, and the variable that holds its gradient.
    """

    def __init__(
        self, name: str, lines: list[Line], bundle: Bundle, stored: dict[str, Any], results: list[tuple[str, str]]
    ) -> None:
        self.name, self.lines, self.stored, self.results = name, lines, stored, results
        self.imports = sorted({*bundle.imports.values()})
        self.helpers = bundle.source()
        self.needs_package = bundle.needs_package

    @property
    def body(self) -> str:
        """The lines."""
        return "\n".join(text_of(self.lines))

    @property
    def text(self) -> str:
        """The program: its lines, below what they import."""
        needed = ['data = np.load("backward.npz")            # save("backward.py") writes it'] if self.stored else []
        return "\n".join([NUMPY, *needed, "", self.body])

    def source(self, data: str = "") -> str:
        """A file that runs: the functions that the lines call, and the lines, as a function.

        :param data: the name of the file that has the large arrays, beside this one.
        """
        imports = [*self.imports, *(["from pathlib import Path"] if self.stored else []), NUMPY]
        title = f'"""The forward and the backward pass of {_plain(self.name)}, written by nbautograd. Needs NumPy alone."""'
        if self.needs_package:
            title = title.replace("NumPy alone", "NumPy and nbautograd, whose functions are imported where they have no source of their own")
        elif "scipy" in self.helpers:
            title = title.replace("NumPy alone", "NumPy and SciPy")
        parts = [title, "", *sorted(set(imports)), ""]
        if self.helpers:
            parts += ["# The functions of nbautograd that the program calls.", "", self.helpers, ""]
        results = ", ".join(f"{_plain(label)!r}: {variable}" for label, variable in self.results)
        load = f"data = np.load(Path(__file__).with_name({data!r}))\n" if self.stored else ""
        parts += [
            "",
            '@np.errstate(all="ignore")',
            "def backward():",
            '    """Return the gradients of the leaves, by name."""',
            textwrap.indent(f"{load}{self.body}\nreturn {{{results}}}", "    "),
            "",
            "",
            'if __name__ == "__main__":',
            "    for name, gradient in backward().items():",
            '        print(f"{name}.grad = {gradient}")',
            "",
        ]
        return "\n".join(parts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, and beside it an ``.npz`` of the large arrays, if there are any.

        :raises OSError: a file cannot be written.
        """
        path = os.fspath(path)
        data = os.path.splitext(os.path.basename(path))[0] + ".npz"
        if self.stored:
            buffer = io.BytesIO()
            np.savez(buffer, **self.stored)
            with replacing(os.path.join(os.path.dirname(path), data)) as file:
                file.write(buffer.getvalue())
        with replacing(path) as file:
            file.write(self.source(data).encode())

    def __str__(self) -> str:
        return self.text


def _plain(text: str) -> str:
    """A user's text on one line of a docstring or a string."""
    return " ".join("".join(c if c.isprintable() and c not in "\"\\" else " " for c in text).split())


def write(
    root: Any,
    gradient: Any = None,
    *,
    name_of: Callable[[Any, int], str] | None = None,
    tensor_name: Callable[[Any], str] | None = None,
    library: str = "numpy",
) -> Program:
    """The program of the graph that made ``root``.

    :param gradient: what the backward pass starts with; by default 1, for a result of one element.
    :param name_of: what an output of a node is to be called.
    :param tensor_name: what a leaf or a constant is to be called; nothing if it has no name.
    :param library: ``numpy``, or ``torch`` for tensors.
    :raises ProgramError: something in the graph cannot be written so that it would come to the same numbers.
    """
    counter = itertools.count(1)
    graph = read(
        root,
        name_of or (lambda node, index: "y" if node is root.grad_fn else f"t{next(counter)}"),
        tensor_name or (lambda tensor: ""),
    )
    graph.root.array = root._a
    writer = NumpyWriter(graph, None if gradient is None else getattr(gradient, "_a", gradient))
    writer.write()
    results = [(leaf.wanted, writer.results[leaf]) for leaf in graph.leaves if leaf in writer.results]
    return Program(graph.root.wanted, writer.lines, writer.bundle, writer.stored, results)
