"""Show a tensor in a notebook, find a line of code in it, and trace and record a block."""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from itertools import dropwhile
from traceback import walk_stack
from typing import Any

from nbautograd._engine.core import tracing
from nbautograd.viz.capture.torch_watch import TorchWatch
from nbautograd.viz.escape import escape, escape_long
from nbautograd.viz.language import say
from nbautograd.viz.notebook import api, output, tables
from nbautograd.viz.notebook.in_place import callers_names, name_in
from nbautograd.viz.settings import settings

__all__ = ["Autograd", "Locator", "TensorFormatter", "TorchCells", "autograd", "watch"]

GENERATED = "get_ipython()"
_MAGIC = re.compile(r"\s*(?:[\w\s.,]+=\s*)?[%!?]")  # a line, perhaps an assignment, that is not Python


settings.observe(lambda change: tracing.switch(change.new), "tracing")


def _stop(change: Any) -> None:
    """Stop our operations at the first NaN, or no longer; those of PyTorch's that are watched ask the setting."""
    on = change.new != "off"
    library = import_module(__name__.partition(".")[0])
    library.autograd.set_detect_anomaly(on, check_forward=on, inf=change.new == "inf")


settings.observe(_stop, "stop")


class Locator:
    """Tells the cell of a line of code: called with a file name and a line number, answers ``("In [3]", text)``.

    The number is the shell's own. If cells leave no history (as under nbval), that number does not change, and cells
    are counted from the one that loaded the extension. So if that is the first cell, a notebook run from top to bottom
    shows the same numbers everywhere.
    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.count = max(1, shell.execution_count - 1)
        self.uncounted: dict[str, int] = {}  # cells without history, by the file name of their code
        self.typed: dict[int, str] = {}  # and their typed text, by number
        self.read: dict[str, tuple[list[str], str, list[str]]] = {}  # by file name: lines that ran, typed text, result

    def before_cell(self, info: Any) -> None:
        """Note that a cell is about to run (IPython's event ``pre_run_cell``)."""
        if info.silent or info.store_history or info.raw_cell is None:
            return
        self.count += 1
        self.typed[self.count] = info.raw_cell
        name_of = getattr(self.shell.compile, "get_code_name", None)
        if name_of is not None:
            code = getattr(info, "transformed_cell", None) or self.shell.transform_cell(info.raw_cell)
            self.uncounted[name_of(info.raw_cell, code, self.shell.execution_count)] = self.count

    def part_of_cell(self, filename: str) -> None:
        """Note that code of this file name is part of the running cell, which is the innermost one on the stack."""
        for frame, _ in walk_stack(sys._getframe(1)):
            number = self.number(frame.f_code.co_filename)
            if number is not None and frame.f_code.co_filename != filename:
                self.uncounted[filename] = number
                return

    def number(self, filename: str) -> int | None:
        """The number of the cell with this code, or None."""
        counted: dict[str, int] = getattr(self.shell.compile, "_filename_map", {})
        return self.uncounted.get(filename) or counted.get(filename)

    def earlier(self, filename: str) -> list[str]:
        """The file names of the cells that ran before the one of this file name, the last one first."""
        counted: dict[str, int] = {**getattr(self.shell.compile, "_filename_map", {}), **self.uncounted}
        now = counted.get(filename, self.shell.execution_count + 1)
        before = [(count, place, name) for place, (name, count) in enumerate(counted.items()) if name != filename]
        return [name for count, _, name in sorted(before, reverse=True) if count <= now]

    def lines(self, filename: str) -> list[str]:
        """The lines of a cell as they were typed; of a file as they are."""
        return self.known(filename)[1]

    def known(self, filename: str) -> tuple[int | None, list[str]]:
        """Return the number of a cell, and its lines."""
        ran, number = linecache.getlines(filename), self.number(filename)
        history = getattr(self.shell.history_manager, "input_hist_raw", ())
        typed = self.typed.get(number or 0) or "".join(history[number : number + 1] if number else ())
        if not typed:
            return number, ran
        read = self.read.get(filename)
        if read is None or read[0] is not ran or read[1] != typed:  # a long cell is asked for once per operation
            read = self.read[filename] = ran, typed, as_typed(ran, typed.splitlines())
        return number, read[2]

    def __call__(self, filename: str, lineno: int) -> tuple[str, str]:
        """Return the name of the cell, and the text of the line."""
        number, lines = self.known(filename)
        label = os.path.basename(filename) if number is None else f"In [{number}]"
        text = "".join(lines[lineno - 1 : lineno]) if lineno > 0 else ""
        return label, text.strip().partition("\n")[0]


def as_typed(ran: Sequence[str], typed: Sequence[str]) -> list[str]:
    r"""The lines that ran, where IPython has generated one with the text that it stands for.

    A magic typed on several lines runs as one line, so the line numbers stay those of errors.

    >>> as_typed(["y = x * 2\n", "get_ipython().run_line_magic('backward', 'y')\n"], ["y = x * 2", "%backward y"])
    ['y = x * 2\n', '%backward y\n']
    """
    body = ran[:1] == ["\n"] and "".join(typed[:1]).startswith("%%")  # of a cell that a magic ran itself
    if not body:
        if GENERATED not in "".join(ran):
            return list(ran)
        typed = list(dropwhile(lambda line: not line.strip(), typed))  # IPython drops leading empty lines
    whole = ["\n".join(typed).rstrip()] if len(ran) == 1 else list(_joined(typed))
    known = [*whole, *[""] * len(ran)]
    return [f"{text}\n" if (GENERATED in line or (body and not i)) and any(sign in text for sign in "%!?") else line
            for i, (line, text) in enumerate(zip(ran, known, strict=False))]  # fmt: skip


def _joined(typed: Iterable[str]) -> Iterator[str]:
    r"""The lines, a magic and the lines on which it goes on, behind a ``\``, as one."""
    before: list[str] = []
    for line in typed:
        before.append(line)
        if not (_MAGIC.match(before[0]) and line.rstrip().endswith("\\")):
            yield "\n".join(before)
            before = []
    if before:
        yield "\n".join(before)


def _is_text_alone(tensor: Any) -> bool:
    return settings.tensors == "text" or (settings.tensors == "graph" and tensor.grad_fn is None)


class TensorFormatter:
    """Shows tensors: with its text a tensor's graph or its card, as the settings say.

    A picture that cannot be drawn must not cost the reader the tensor, so any error gives a line that says so in the
    picture's place.
    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.ready: tuple[Any, str] | None = None  # a tensor, and its cached HTML

    def html(self, tensor: Any) -> str | None:
        """The ``text/html``, or None for a tensor of which only the text is shown."""
        ready, self.ready = self.ready, None
        if ready is not None and ready[0] is tensor:
            return ready[1]
        if _is_text_alone(tensor):
            return None
        text = f"<pre>{escape_long(repr(tensor), 20_000)}</pre>"
        try:
            return text + self.drawn(tensor)
        except Exception as error:  # any: see above
            what = f"{type(error).__name__}: {error}"
            return f"{text}<p>{escape(say('cannot_draw', error=what))}</p>"

    def drawn(self, tensor: Any) -> str:
        """Return the picture below the text."""
        if settings.tensors == "graph":
            picture = self.graph(tensor)
            return picture.static_html() if picture.drawable else ""
        shown = [output.image(self.card(tensor), repr(tensor))]
        if tensor.grad_fn is not None:
            picture = self.graph(tensor)
            if picture.drawable:
                shown.append(output.image(picture.svg, picture.label, ' height="150"'))
        return " ".join(shown)

    def card(self, tensor: Any) -> str:
        """Return the SVG of a tensor's values."""
        from nbautograd.viz.draw import tensor_card  # loaded when the first tensor is shown

        return output.colored(tensor_card.card_svg(tensor, name_in(self.shell.user_ns, tensor)))

    def graph(self, tensor: Any) -> api.Picture:
        """Return its graph. A still picture cannot be opened, so only the necessary parts are folded."""
        return api.graph(tensor, namespace=self.shell.user_ns, fold=False)

    def live(self, tensor: Any) -> Any:
        """The whole output by MIME types where widgets run: the text and, below, the graph to be clicked.

        If it is empty, each type's own formatter is asked. IPython asks for the HTML afterwards in any case, so that is
        prepared here.
        """
        wanted = settings.widget and settings.tensors == "graph" and not settings.embed
        kernel = getattr(self.shell, "kernel", None) is not None and output.has_front_end()
        if not (wanted and kernel and tensor.grad_fn is not None):
            return {}
        try:
            picture = self.graph(tensor)
            picture.head = repr(tensor)
            if not picture.drawable or picture.widget is None:
                return {}
            shown: dict[str, Any] = picture.widget._repr_mimebundle_()[0]
            text = f"<pre>{escape_long(picture.head, 20_000)}</pre>"
            self.ready = tensor, text + shown["text/html"]
            return shown | {"text/plain": picture.head}
        except Exception:  # any error: the formatter of the HTML reports it
            return {}

    def image(self, kind: str, tensor: Any) -> Any:
        """An image of this MIME type, where ``settings.image`` asks for that; otherwise None."""
        if settings.image == "none" or _is_text_alone(tensor):
            return None
        try:
            graph = settings.tensors == "graph"
            svg = self.graph(tensor).svg if graph else self.card(tensor)
            return output.images(svg).get(kind)
        except Exception:  # the HTML reports the error
            return None


class Autograd:
    """The result of :func:`autograd`: as the value of a cell the settings, as a ``with`` block a recording."""

    def __init__(self, **new: Any) -> None:
        self._before = settings.change(**new)
        self._stack = ExitStack()

    def __enter__(self) -> api.Recording:
        self._stack.enter_context(self.held())
        return self._stack.enter_context(self.recorded(callers_names()))

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block after which the settings are put back."""
        try:
            yield
        finally:
            settings.change(**self._before)

    @contextmanager
    def recorded(self, namespace: Mapping[str, Any]) -> Iterator[api.Recording]:
        """A block in which operations are traced and passes recorded."""
        with tracing.traced(), api.record(namespace=namespace) as recording:
            yield recording

    def __exit__(self, *exception: Any) -> None:
        self._stack.__exit__(*exception)

    def __repr__(self) -> str:
        return repr(tables.settings_table())

    def _repr_html_(self) -> str:
        return tables.settings_table()._repr_html_()


def autograd(**new: Any) -> Autograd:
    """Change settings; in a ``with`` block, for the block only, and trace and record everything in it.

    :param new: any of ``viz.settings``: theme, direction, values, depth, language, tracing, tensors, errors, stop,
        widget, image, embed.
    :returns: the recorded passes, as the target of the ``with`` block.
    :raises AttributeError: there is no such setting.
    :raises traitlets.TraitError: a value does not fit.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> with viz.autograd() as passes:
    ...     (w * 5).backward()
    >>> len(passes)
    3
    """
    return Autograd(**new)


# -- PyTorch's operations in cells -------------------------------------------------------------------------------------


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
