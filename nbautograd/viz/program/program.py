"""A program as users get it: text, and a file that runs."""

from __future__ import annotations

import io
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.base.atomic_file import replacing
from nbautograd._engine.core import tracing
from nbautograd._engine.core.grad_mode import no_grad
from nbautograd.viz.program.folding import Folded, Segment, fold
from nbautograd.viz.program.graph import Tape, read
from nbautograd.viz.program.literals import same
from nbautograd.viz.program.numpy_writer import Choices, NumpyWriter, uncollected, written
from nbautograd.viz.program.statements import Line, with_headings
from nbautograd.viz.program.tensor_writer import VJP, TensorWriter, is_near

__all__ = ["Program", "write"]


class Program:
    """The forward and the backward pass of a graph as lines of code.

    :ivar name: the name of the result.
    :ivar lines: the statements, each with its node.
    :ivar imports: the import statements of the helpers.
    :ivar helpers: the functions that the lines call.
    :ivar stored: large arrays, by the names under which they are stored beside the program.
    :ivar results: for each leaf its name, and the expression of its gradient.
    :ivar library: ``numpy`` or ``torch``.
    :ivar folded: the same lines with functions and loops; None where the program is written as one straight line.
    """

    def __init__(
        self, name: str, lines: list[Line], *, imports: Iterable[str] = (), helpers: str = "", stored: dict[str, Any],
        results: list[tuple[str, str]], library: str = "numpy", needs: str = "NumPy alone",
        folded: Folded | None = None,
    ) -> None:  # fmt: skip
        self.name, self.stored, self.results, self.folded = name, stored, results, folded
        self.lines = [replace(line, origin=(), scope=_scope_of(line.node)) for line in lines]
        self.imports, self.helpers, self.library, self.needs = sorted({*imports}), helpers, library, needs

    @property
    def body(self) -> str:
        """The lines."""
        return "\n".join(with_headings(self.lines) if self.folded is None else self.folded.body())

    @property
    def definitions(self) -> str:
        """The functions that modules have become."""
        return "" if self.folded is None else "\n".join(self.folded.definitions()).strip()

    @property
    def text(self) -> str:
        """The program: its imports, followed by its lines."""
        needed = ['data = np.load("backward.npz")            # save("backward.py") writes it'] if self.stored else []
        functions = ["", self.definitions] if self.definitions else []
        return "\n".join([*self._libraries(), *needed, *functions, "", self.body])

    def _libraries(self) -> list[str]:
        uses_numpy = self.library == "numpy" or self.stored or re.search(r"\bnp\.", self.body)
        return ["import numpy as np"] * bool(uses_numpy) + ["import torch"] * (self.library == "torch")

    def source(self, data: str = "") -> str:
        """A file that runs: the functions that the lines call, and the lines, as a function.

        :param data: the name of the file that has the large arrays, beside this one.
        """
        imports = {*self.imports, *(["from pathlib import Path"] if self.stored else []), *self._libraries()}
        about = f"The forward and the backward pass of {_plain(self.name)}, written by nbautograd."
        parts = [f'"""{about}\n\nIt needs {self.needs}.\n"""', "", *sorted(imports, key=_order), ""]
        if self.helpers:
            parts += ["# The functions that the program calls.", "", self.helpers, ""]
        if self.definitions:
            parts += [self.definitions, ""]
        expressions = [gradient for _, gradient in self.results] if self.folded is None else self.folded.results
        pairs = zip(self.results, expressions, strict=True)
        results = ", ".join(f"{_plain(label)!r}: {gradient}" for (label, _), gradient in pairs)
        load = f"data = np.load(Path(__file__).with_name({data!r}))\n" if self.stored else ""
        parts += [
            "\n@torch.no_grad()" if self.library == "torch" else '\n@np.errstate(all="ignore")',
            'def backward():\n    """Return the gradients of the leaves, by name."""',
            textwrap.indent(f"{load}{self.body}\nreturn {{{results}}}", "    "),
            '\n\nif __name__ == "__main__":\n    for name, gradient in backward().items():',
            '        print(f"{name}.grad = {gradient}")\n',
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
    return " ".join("".join(c if c.isprintable() and c not in '"\\' else " " for c in text).split())


@uncollected()
def write(
    root: Any, gradient: Any = None, name_of: Callable[[Any, int], str] | None = None,
    tensor_name: Callable[[Any], str] | None = None, *, library: str = "numpy", tree: Segment | None = None,
    tape: Tape | None = None,
) -> Program:  # fmt: skip
    """The program of the graph that made ``root``.

    :param gradient: the start of the backward pass; by default 1, for a result of one element.
    :param name_of: returns the name of an output of a node.
    :param tensor_name: returns the name of a leaf or a constant, or an empty one.
    :param library: ``numpy``, or ``torch`` for tensors.
    :param tree: which operations are modules, and which are steps of a loop, as functions and loops are to be written;
        it counts the operations in the order in which they ran.
    :param tape: the nodes of the graph with their edges, if they have been read.
    :raises ProgramError: something in the graph cannot be written with the same numbers.
    """
    with tracing.traced():  # products are computed as they were recorded
        writer = written(read(root, name_of, tensor_name, tape), gradient, Choices())
        if tree is not None and writer.choices.changed:
            writer.choices.changed = False
            writer = written(read(root, name_of, tensor_name, tape), gradient, writer.choices)
    if library == "torch":
        tensors = TensorWriter(writer)
        tensors.write()
        results = [(leaf.name, f"{writer.variable[leaf]}.grad") for leaf in writer.results]
        return Program(
            writer.root.name, tensors.lines, helpers=VJP if tensors.uses_vjp else "", stored=writer.stored,
            results=results, library=library, needs="PyTorch, or nbautograd in its place",
            folded=_folded(writer, tensors.lines, results, tree, tensors.values, is_near),
        )  # fmt: skip
    functions = writer.bundle.source()
    needs = "NumPy and SciPy" if "scipy" in functions else "NumPy alone"
    if any(line.startswith("from nbautograd") for line in writer.bundle.imports.values()):
        needs = "NumPy and nbautograd, of which it imports functions that have no source of their own"
    results = [(leaf.name, gradient) for leaf, gradient in writer.results.items()]
    return Program(
        writer.root.name, writer.lines, imports=writer.bundle.imports.values(), helpers=functions, stored=writer.stored,
        results=results, needs=needs,
        folded=_folded(writer, writer.lines, results, tree, writer.expressions.scope, same),
    )  # fmt: skip


def _folded(
    writer: NumpyWriter, lines: list[Line], results: list[tuple[str, str]], tree: Segment | None,
    scope: Mapping[str, Any], alike: Callable[[Any, Any], bool],
) -> Folded | None:  # fmt: skip
    """Return the folded program; None if not requested, or if its gradients differ from the flat one's."""
    if tree is None:
        return None
    wanted = {name: value.name for value, name in writer.variable.items()}
    order = [call.node for call in writer.graph.steps]
    try:
        program = fold(lines, tree, order, [expression for _, expression in results], writer.names, wanted)
        with backend.quiet(), no_grad():
            gradients = program.computed({**scope, "data": writer.stored})
    except Exception:  # the flat program is known to be right
        return None
    expected = [writer.values[name] for name in writer.results.values()]
    return program if all(map(alike, gradients, expected)) else None


def _scope_of(node: Any) -> tuple[tuple[str, int], ...]:
    """The modules in which an operation ran."""
    trace = None if node is None else node.trace
    return () if trace is None else tuple(trace.scope)


def _order(statement: str) -> tuple[bool, str]:
    """The standard library first, as import statements are sorted."""
    return statement.split()[1] in ("numpy", "torch") or "nbautograd" in statement, statement
