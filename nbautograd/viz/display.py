"""What a notebook shows of a tensor, and where in the notebook a line of code is."""

from __future__ import annotations

import linecache
from typing import Any

from nbautograd import viz
from nbautograd.viz.escape import escape

__all__ = ["Locator", "TensorFormatter"]


class Locator:
    """Tells the cell of a line of code: called with a file name and a line number, answers ``("In [3]", text)``.

    The number is the shell's own. Where cells leave no history (as under nbval) that number stands still, and cells are
    counted from the one that loaded the extension; so if that is the first, a notebook run from top to bottom shows the
    same numbers everywhere.
    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.count = max(1, shell.execution_count - 1)
        self.uncounted: dict[str, int] = {}  # cells that left no history, by the file name of their code

    def before_cell(self, info: Any) -> None:
        """Note that a cell is about to run (IPython's event ``pre_run_cell``)."""
        if info.silent or info.store_history or info.raw_cell is None:
            return
        self.count += 1
        name_of = getattr(self.shell.compile, "get_code_name", None)
        if name_of is not None:
            code = getattr(info, "transformed_cell", None) or self.shell.transform_cell(info.raw_cell)
            self.uncounted[name_of(info.raw_cell, code, self.shell.execution_count)] = self.count

    def __call__(self, filename: str, lineno: int) -> tuple[str, str]:
        """What the cell is called, and the text of the line."""
        counted = getattr(self.shell.compile, "_filename_map", {})
        number = self.uncounted.get(filename) or counted.get(filename)
        label = filename.rpartition("/")[2] if number is None else f"In [{number}]"
        return label, linecache.getline(filename, lineno).strip()


class TensorFormatter:
    """The ``text/html`` of a computed tensor: its text and, below, its graph; None for others, which stay text.

    ``text/plain`` is left alone. A picture that cannot be drawn must not cost the reader the tensor, so any error gives
    a line that says so in the picture's place.
    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell

    def __call__(self, tensor: Any) -> str | None:
        """The HTML, or None for a tensor that has no graph."""
        if tensor.grad_fn is None:
            return None
        text = f"<pre>{escape(repr(tensor), limit=20_000)}</pre>"
        try:
            picture = viz.graph(tensor, namespace=self.shell.user_ns)
            drawn: str = picture._repr_mimebundle_().get("text/html", "")
            return text + drawn
        except Exception as error:  # any: see above
            return f"{text}<p>The graph cannot be drawn: {escape(type(error).__name__)}: {escape(str(error))}</p>"
