"""PyTorch's operations are watched in each cell of a notebook, and in a block that asks for it.

PyTorch is never imported from here. A cell that imports it is watched from the end of the import on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from nbautograd.viz.capture.torch_watch import TorchWatch
from nbautograd.viz.notebook.in_place import callers_names
from nbautograd.viz.settings import settings

__all__ = ["TorchCells", "watch"]


class TorchCells:
    """Watches the cells of one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.watch = TorchWatch()
        self.finder: _AfterImport | None = None

    def before_cell(self, info: Any) -> None:
        """A cell is about to run (IPython's event ``pre_run_cell``)."""
        if not settings.torch:
            return
        self.watch = TorchWatch()
        code = getattr(info, "raw_cell", None) or ""
        if not self.watch.start() and "torch" in code and "torch" not in sys.modules:
            self.finder = _AfterImport(self.watch)
            sys.meta_path.insert(0, self.finder)

    def after_cell(self, result: Any) -> None:
        """A cell has ended, be it by an error (IPython's event ``post_run_cell``)."""
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)
        self.finder = None
        self.watch.stop(self.shell.user_ns)


class _AfterImport:
    """A finder that finds ``torch`` as usual, and starts a watch when it has been imported."""

    def __init__(self, watch: TorchWatch) -> None:
        self.watch = watch

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of ``torch``, with an extended loader; None for all other modules."""
        if name != "torch":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                self.watch.start()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


@contextmanager
def watch(budget: int = 2000, *, namespace: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Watch PyTorch's operations inside the ``with`` block, so that their pictures are as complete as nbautograd's.

    With the extension, a notebook watches each cell anyway; this is for scripts, for functions of long cells, and after
    ``%autograd torch off``. Nothing is kept alive: the notes are freed with the graph.

    :param budget: the number of operations to note.
    :param namespace: variables; by default those where this is called.
    :returns: a context manager.
    :raises ValueError: ``budget`` is less than 1.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> with viz.watch():  # without PyTorch, it does nothing
    ...     y = torch.ones(2) + 1
    """
    if budget < 1:
        raise ValueError(f"budget must be at least 1, got {budget}")
    names = namespace if namespace is not None else callers_names()
    watching = TorchWatch(budget)
    watching.start()
    try:
        yield
    finally:
        watching.stop(names)
