"""What a notebook shows of a tensor, and where in the notebook a line of code is."""

from __future__ import annotations

import linecache
from typing import Any

from nbautograd import viz
from nbautograd.viz.escape import escape

__all__ = ["Locator", "TensorFormatter"]


class Locator:
    """Tells the cell of a line of code: called with a file name and a line number, answers ``("In [3]", text)``."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell

    def __call__(self, filename: str, lineno: int) -> tuple[str, str]:
        """What the cell is called, and the text of the line."""
        cells = getattr(getattr(self.shell, "compile", None), "_filename_map", {})
        number = cells.get(filename)
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
            picture = viz.graph(tensor, namespace=self.shell.user_ns, resolve=Locator(self.shell))
            drawn: str = picture._repr_mimebundle_().get("text/html", "")
            return text + drawn
        except Exception as error:  # any: see above
            return f"{text}<p>The graph cannot be drawn: {escape(type(error).__name__)}: {escape(str(error))}</p>"
