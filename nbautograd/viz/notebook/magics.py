"""The magics, from ``%graph`` to ``%autograd``; what ``%load_ext`` does."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import traitlets
from IPython.core.error import UsageError
from IPython.core.getipython import get_ipython
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display
from IPython.utils.strdispatch import StrDispatch

from nbautograd import protocol
from nbautograd._engine.core import grad_mode, tracing
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import is_pytorchs, kind_of
from nbautograd.protocol import SourceLocator
from nbautograd.viz.language import say
from nbautograd.viz.notebook import api, mixing, tables
from nbautograd.viz.notebook.display import Locator, TensorFormatter, TorchCells, autograd
from nbautograd.viz.notebook.in_place import noted, of_magic, seen
from nbautograd.viz.notebook.magic_line import QUESTIONS, one_tensor, parsed, question_magic, tensor_names, tensors
from nbautograd.viz.notebook.recording import Animation
from nbautograd.viz.notebook.tracebacks import UserFrames, show_failed_forward
from nbautograd.viz.settings import NAMES, choices, settings

__all__ = ["AutogradMagics", "load", "unload"]

OF_QUESTIONS = [name for name, *_ in QUESTIONS]
LINE = ("graph", "backward", "code", "grads", "zero_grads", "practice", *OF_QUESTIONS, "autograd")
CELL = ("autograd",)
FOLD: Any = argument("--fold", "-f", action="store_true",
                     help="draw loops and layers as one box each, which a click opens")  # fmt: skip
TENSOR: Any = argument("expression", nargs="*", help="a tensor, or an expression that gives one")
LEAVES: Any = argument("expression", nargs="*",
                       help="leaves, modules, optimizers, or results with leaves; none for all leaves")  # fmt: skip
MODES: tuple[Any, ...] = (grad_mode.grad_enabled, grad_mode.inference, protocol.observers, protocol.scopes)


@magics_class
class AutogradMagics(Magics):
    """Pictures of the expressions of a notebook."""

    shell: Any

    @magic_arguments()
    @argument("--top-to-bottom", "-t", action="store_true", help="draw from top to bottom instead of left to right")
    @argument("--no-values", action="store_true", help="leave the numbers out")
    @argument("--depth", "-d", type=int, help="draw only nodes within this many operations of the result")
    @FOLD
    @argument("--no-fold", action="store_true", help="fold nothing, not even layers, unless the graph is large")
    @argument(
        "--open", "-o", action="append", help="a layer that stays open, by its name or its group's id; may repeat"
    )
    @argument("--dot", action="store_true", help="let Graphviz lay the graph out, where it is installed")
    @argument("expression", nargs="*", help="a tensor, or an expression that gives one or several")
    @line_magic
    def graph(self, line: str) -> Any:
        """Draw the graph that computed a tensor: ``%graph y`` or ``%graph (x * w).sum()``.

        ``p = %graph y`` keeps the picture for later; ``%graph y;`` shows nothing.
        """
        options, silent = parsed(self.graph, line)
        if options.depth is not None and options.depth < 0:
            raise UsageError(f"%graph --depth must not be negative, got {options.depth}")
        if options.fold and options.no_fold:
            raise UsageError("%graph --fold and --no-fold exclude each other; give one of them")
        picture = api.graph(
            *tensors(self.shell, "graph", " ".join(options.expression)), namespace=self.shell.user_ns,
            direction="TB" if options.top_to_bottom else None, values=False if options.no_values else None,
            depth=options.depth, fold=True if options.fold else False if options.no_fold else None,
            opened=tuple(options.open or ()), engine="dot" if options.dot else "own",
        )  # fmt: skip
        return of_magic(picture, silent)

    @magic_arguments()
    @argument("--gradient", "-g", help="the gradient of the tensor, needed unless it has one element")
    @argument("--retain-graph", action="store_true", help="keep the saved tensors, so that backward can run again")
    @argument("--create-graph", action="store_true", help="record the pass itself, for second derivatives")
    @FOLD
    @argument("--ask", "-a", action="store_true", help="type each gradient before it is shown: predict, then see")
    @argument("--inputs", help="accumulate into these tensors only: names, separated by commas")
    @TENSOR
    @line_magic
    def backward(self, line: str) -> Any:
        """Run ``backward()`` of a tensor and play it step by step: ``%backward loss``.

        ``p = %backward loss`` keeps the player for later; ``%backward loss;`` runs it and shows nothing.
        """
        options, silent = parsed(self.backward, line)
        tensor = one_tensor(self.shell, "backward", options.expression, not (options.gradient or options.inputs))
        inputs = None
        if options.inputs is not None:
            inputs = list(tensors(self.shell, "backward --inputs", options.inputs + ","))
        try:
            animation = api.animate(
                tensor, self._gradient("backward", options.gradient), retain_graph=options.retain_graph or None,
                create_graph=options.create_graph, inputs=inputs, namespace=self.shell.user_ns, fold=options.fold,
                ask=options.ask,
            )  # fmt: skip
        except Exception as error:
            self._show_failed(error)
            raise
        return of_magic(animation, silent)

    @magic_arguments()
    @argument("--gradient", "-g", help="the gradient of the tensor, needed unless it has one element")
    @argument(
        "--in", dest="library", choices=["numpy", "torch"], default="numpy", help="write NumPy, or tensors of torch"
    )
    @argument("--flat", action="store_true", help="one straight line, however long")
    @argument("--fold", "-f", action="store_true", help="modules as functions, equal steps as loops, however short")
    @TENSOR
    @line_magic
    def code(self, line: str) -> Any:
        """Write the forward and the backward pass of a tensor as a program: ``%code y``, ``%code --in torch y``."""
        options, silent = parsed(self.code, line)
        if options.flat and options.fold:
            raise UsageError("%code --flat and --fold exclude each other; give one of them")
        tensor = one_tensor(self.shell, "code", options.expression, not options.gradient)
        if is_pytorchs(tensor):
            raise UsageError(f"%code writes programs of nbautograd's tensors, but got {kind_of(tensor)}")
        from nbautograd.viz.notebook.code import code

        flat = True if options.flat else False if options.fold else None
        start = self._gradient("code", options.gradient)
        program = code(tensor, start, library=options.library, flat=flat, namespace=self.shell.user_ns)
        return of_magic(program, silent)

    @magic_arguments()
    @LEAVES
    @line_magic
    def grads(self, line: str) -> Any:
        """Return a table of leaves: gradient at the last look, change, current value, number of passes, norm."""
        options, silent = parsed(self.grads, line)
        return of_magic(tables.table_of(self._leaves("grads", options.expression)), silent)

    @magic_arguments()
    @argument("--zeros", "-z", action="store_true", help="fill with zeros instead of setting to None")
    @LEAVES
    @line_magic
    def zero_grads(self, line: str) -> Any:
        """Set the gradients of leaves to None: ``%zero_grads`` for all, ``%zero_grads w, b`` for some.

        In a cell's last line it shows the former gradients; in a loop it shows nothing.
        """
        options, silent = parsed(self.zero_grads, line)
        leaves = self._leaves("zero_grads", options.expression)
        table = tables.zero(leaves, set_to_none=not options.zeros)
        return None if silent else table

    @magic_arguments()
    @argument("--level", "-l", type=int, help="from 1 to 4: begin a series at this level")
    @argument("--seed", "-s", type=int, help="begin the series of this number, the same for everybody")
    @argument("--show", action="store_true", help="open the answer to the current question")
    @argument("expression", nargs="*", help="your answer to the current question; none for the next question")
    @line_magic
    def practice(self, line: str) -> Any:
        """Ask about a small random program: ``%practice``. ``%practice 6`` answers, ``%practice --show`` opens.

        Questions are about gradients, accumulation, leaves and the line that fails. Every level is harder.
        """
        from nbautograd.viz.notebook import practice

        options, silent = parsed(self.practice, line)
        try:
            shown = practice.turn(" ".join(options.expression).strip(), options.level, options.seed, options.show)
        except ValueError as error:
            raise UsageError(f"%{error}") from None
        return of_magic(shown, silent)

    @magic_arguments()
    @argument("--theme", help="auto, light or dark")
    @argument("--direction", help="auto, LR or TB")
    @argument("--values", help="on, or off for shapes only")
    @argument("--depth", help="how many operations from the result are drawn; 0 for all")
    @argument("--language", help="en (English) or zh (中文)")
    @argument("--tracing", help="on or off: whether operations note their line and values")
    @argument("--torch", help="on or off: whether PyTorch's operations are watched")
    @argument("--tensors", help="what a tensor shows as a cell's value: graph, card or text")
    @argument("--errors", help="on: below an operation's error, the graph so far with that operation in red; or off")
    @argument("--stop", help="nan, or inf for infinities, too: stop at the operation that made the first; or off")
    @argument("--widget", help="on, or off for still pictures only")
    @argument("--image", help="none, or svg or png beside each picture's HTML, for PDF by way of LaTeX")
    @argument("--embed", help="on: outputs hold whole players, for pages without a kernel; or off")
    @argument("words", nargs="*", help=argparse.SUPPRESS)
    @line_cell_magic
    def autograd(self, line: str, cell: str | None = None) -> Any:
        """Show the settings, or change some; ``%%autograd`` runs a cell and shows its passes and last value's graph.

        At the start of a cell, the settings apply to that cell only. ``%autograd torch`` makes ``import torch`` work:
        it returns PyTorch if installed, with watched operations, else nbautograd; ``%autograd torch nbautograd`` makes
        it return nbautograd in any case, and ``%autograd torch off`` ends both.
        """
        given, silent = parsed(self.autograd, line)
        options = vars(given)
        words = options.pop("words")
        if words:
            word = " ".join(words[1:])
            if words[0] != "torch" or word not in mixing.CHOICES:
                raise UsageError(f"%autograd {_meant(words, options)}")
            options["torch"] = "off" if word == "off" else "on"
            if told := mixing.choose(word):
                print(told)
        new = {name: value for name, value in options.items() if value is not None}
        try:
            block = autograd(**new)
        except traitlets.TraitError as error:
            raise UsageError(f"%autograd --{_unfit(str(error), new)}") from None
        if cell is not None:
            return self._run(cell, block)
        return None if new else of_magic(block, silent)

    memory, cost, why, path, diff = (question_magic(*each) for each in QUESTIONS)

    def _run(self, cell: str, block: Any) -> Any:
        """Run a cell, then show each of its backward passes and its results, both with the block's settings.

        Passes that the cell's own lines have shown, all of them, are not shown again.
        """
        recording, value, drawn = None, None, None
        with block.held(), noted() as shown:
            try:
                with block.recorded(self.shell.user_ns) as recording:
                    value = self._execute(cell)
                    if isinstance(value, Tensor) and value.grad_fn is not None and settings.tensors == "graph":
                        drawn = api.graph(value, namespace=self.shell.user_ns)
            except Exception as error:
                show_failed_forward(error, self.shell)
                raise
            finally:
                own = sum(isinstance(each, Animation) for each in (*shown, value))
                frames = () if recording is None else recording.timeline.frames
                if sum(frame.kind == "start" for frame in frames) > own:
                    display(recording)
            if drawn is not None:
                display({"text/plain": repr(value)}, raw=True)
                display(drawn)
                return None
            if isinstance(value, Tensor) and settings.tensors != "graph":
                display(value)
                return None
        if value is None and not len(recording) and not shown:
            print(say("nothing_recorded"))
        return value

    def _execute(self, cell: str) -> Any:
        """Run the code of a cell magic's body so that its lines are known; returns the last expression's value."""
        shell = self.shell
        code = "\n" + shell.transform_cell(cell)  # the first line is the magic's own line
        name = shell.compile.cache(code, shell.execution_count, raw_code=cell)
        if isinstance(SourceLocator.locate, Locator):
            SourceLocator.locate.part_of_cell(name)
        tree = ast.parse(code, name)
        for transformer in shell.ast_transformers:
            tree = transformer.visit(tree)
        is_shown = tree.body and isinstance(tree.body[-1], ast.Expr) and not cell.rstrip().endswith(";")
        last = tree.body.pop() if is_shown else None
        exec(compile(tree, name, "exec"), shell.user_ns)
        return None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), shell.user_ns)

    def _show_failed(self, error: Exception) -> None:
        """The picture of a pass that failed, where pictures are shown."""
        animation = getattr(error, "animation", None)
        if animation is not None and "text/html" in self.shell.display_formatter.active_types:
            seen(animation)

    def _leaves(self, magic: str, expression: list[str]) -> dict[str, Any]:
        text = " ".join(expression)
        return tables.leaves_of(tensors(self.shell, magic, text) if text.strip() else (), self.shell.user_ns)

    def _gradient(self, magic: str, expression: str | None) -> Any:
        return None if expression is None else tensors(self.shell, f"{magic} --gradient", expression, 1)[0]


def _unfit(error: str, new: dict[str, Any]) -> str:
    """Return the option whose value does not fit, and why, from the message of the settings."""
    if error.startswith("image: "):  # an optional package is missing
        return error
    wrong = next((name for name in new if f"'{name}'" in error or error.startswith(name)), "")
    known = f"; {wrong} can be {', '.join(choices(wrong))}" if wrong else ""
    return f"{wrong}: {new.get(wrong)!r} does not fit{known}"


def _meant(words: Sequence[str], options: Iterable[str]) -> str:
    """Return what to write for words that ``%autograd`` does not know: an option's name or value without its dashes."""
    names = [name for name in options if name != "torch"]
    name, _, value = " ".join(words).replace(" ", "=", 1).partition("=")
    if name in names:
        return f"needs two dashes before an option: write %autograd --{name} {value or choices(name)[0]}"
    owners = [each for each in names if name in choices(each)]
    if len(owners) == 1 and not value:
        return f"needs the option of {name!r}: write %autograd --{owners[0]} {name}"
    known = ", ".join(f"%autograd torch {each}".strip() for each in mixing.CHOICES)
    return f"does not know {' '.join(words)!r}; write one of {known}; %autograd? lists the options"


# -- completion -----------------------------------------------------------------------


def _complete(shell: Any, event: Any) -> list[str]:
    """Complete the line of a magic: its options, a setting's choices, names of tensors."""
    words = event.line.split()
    magic = words[0].lstrip("%") if words else ""
    before = words[-1] if event.line.endswith(" ") else words[-2] if len(words) > 1 else ""
    if before.startswith("--") and before[2:] in NAMES and magic == "autograd":
        return choices(before[2:])
    parser = getattr(getattr(AutogradMagics, magic, None), "parser", None)
    actions = parser._actions if parser is not None else ()
    options = [option for action in actions for option in action.option_strings if option.startswith("--")]
    names = [] if magic == "autograd" else sorted(tensor_names(shell))
    return [*names, *options]


# -- loading -----------------------------------------------------------------------


class _Loaded:
    """The changes that loading the extension made in one shell, for undoing them."""

    def __init__(self, shell: Any) -> None:
        self.stack = ExitStack()  # undoes them
        shown, display_formatter = TensorFormatter(shell), shell.display_formatter
        for formatter, own in (
            (display_formatter.formatters["text/html"], shown.html),
            (display_formatter.formatters["image/svg+xml"], partial(shown.image, "image/svg+xml")),
            (display_formatter.formatters["image/png"], partial(shown.image, "image/png")),
            (display_formatter.mimebundle_formatter, shown.live),
        ):
            self._keep(formatter.type_printers, Tensor)
            formatter.for_type(Tensor, own)
        for kind, names in (("line", LINE), ("cell", CELL)):
            for name in names:
                self._keep(shell.magics_manager.magics[kind], name)
        shell.register_magics(AutogradMagics)
        self.stack.callback(tracing.switch, tracing.is_on())
        self.stack.callback(settings.change, **{name: getattr(settings, name) for name in NAMES})
        settings.tracing = True
        settings.update_config(shell.config)  # which may use other settings
        tracing.switch(settings.tracing)
        shell.configurables.append(settings)
        for name in ("locate", "earlier"):
            self.stack.callback(setattr, SourceLocator, name, staticmethod(getattr(SourceLocator, name)))
        locator = SourceLocator.locate = Locator(shell)
        SourceLocator.earlier = locator.earlier
        self.before: list[tuple[Any, Any]] = []  # the modes at the beginning of a cell
        libraries, cells = mixing.Mixing(shell), TorchCells(shell)
        self.stack.callback(mixing.stop)
        self.stack.callback(cells.after_cell, None)
        before = locator.before_cell, self.watch, libraries.before_cell, cells.before_cell
        after = self.unwatch, self.draw_failed, libraries.after_cell, cells.after_cell
        for name, callbacks in (("pre_run_cell", before), ("post_run_cell", after)):
            for callback in callbacks:
                shell.events.register(name, callback)
                self.stack.callback(shell.events.unregister, name, callback)
        tables.watch.counts = True
        self.stack.callback(UserFrames(shell).undo)
        self.completers = shell.strdispatchers.setdefault("complete_command", StrDispatch())
        self.completer = lambda _, event: _complete(shell, event)
        for name in self._completed():
            shell.set_hook("complete_command", self.completer, str_key=name)

    def _keep(self, table: dict[Any, Any], key: Any) -> None:
        """Note an entry of a table, to put it back."""
        if key in table:
            self.stack.callback(table.__setitem__, key, table[key])
        else:
            self.stack.callback(table.pop, key, None)

    @staticmethod
    def _completed() -> list[str]:
        return [f"%{name}" for name in LINE] + [f"%%{name}" for name in CELL]

    def watch(self, info: Any) -> None:
        """Count the passes of a cell (IPython's event ``pre_run_cell``), while operations are traced.

        An observed pass of a few small tensors takes about 0.1 ms longer.
        """
        self.before = [(mode, mode.get()) for mode in MODES]
        if tracing.is_on() and tables.watch not in protocol.observers.get():
            protocol.observers.set((*protocol.observers.get(), tables.watch))

    def unwatch(self, result: Any) -> None:
        """Stop counting (IPython's event ``post_run_cell``); after an interrupt, restore the blocks' settings.

        An interrupt may occur while Python enters or leaves a ``with`` block, so that the block's settings would stay.
        """
        if isinstance(getattr(result, "error_in_exec", None), KeyboardInterrupt):
            for mode, value in self.before:
                mode.set(value)
        protocol.observers.set(tuple(o for o in protocol.observers.get() if o is not tables.watch))

    @staticmethod
    def draw_failed(result: Any) -> None:
        """Below an operation's error, the graph so far (IPython's event ``post_run_cell``), where that is asked for."""
        error = getattr(result, "error_in_exec", None)
        if isinstance(error, Exception) and (settings.errors or hasattr(error, "bad")):
            show_failed_forward(error, get_ipython())

    def undo(self, shell: Any) -> None:
        """Put everything back."""
        settings.config = type(settings.config)()  # settings made by %config are reset
        self.stack.close()
        own = ("NBAutograd", "AutogradMagics")
        shell.configurables[:] = [c for c in shell.configurables if type(c).__name__ not in own]
        tables.watch.counts = False
        self.unwatch(None)
        shell.magics_manager.registry.pop("AutogradMagics", None)
        for name in self._completed():
            chain = self.completers.strs.get(name)
            if chain is not None:
                chain.chain[:] = [e for e in chain.chain if getattr(e[1], "__func__", e[1]) is not self.completer]
                if not chain.chain:
                    del self.completers.strs[name]


_loaded: WeakKeyDictionary[Any, _Loaded] = globals().get("_loaded", WeakKeyDictionary())  # survives a reload


def load(shell: Any) -> None:
    """Register the magics and the display of tensors, and trace operations from now on; a second call does nothing."""
    if shell not in _loaded:
        _loaded[shell] = _Loaded(shell)


def unload(shell: Any) -> None:
    """Undo :func:`load`; without it, nothing."""
    state = _loaded.pop(shell, None)
    if state is not None:
        state.undo(shell)
