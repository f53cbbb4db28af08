"""``%graph`` and ``%backward``, and what ``%load_ext nbautograd`` does and ``%unload_ext`` undoes."""

from __future__ import annotations

import difflib
from typing import Any
from weakref import WeakKeyDictionary

from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from nbautograd import tracing, viz
from nbautograd.protocol import Places
from nbautograd.tensor import Tensor
from nbautograd.viz.display import Locator, TensorFormatter

__all__ = ["AutogradMagics", "load", "unload"]


@magics_class
class AutogradMagics(Magics):
    """Pictures of the expressions of a notebook."""

    shell: Any

    @magic_arguments()
    @argument("--top-to-bottom", "-t", action="store_true", help="draw from top to bottom instead of left to right")
    @argument("--no-values", action="store_true", help="leave the numbers out")
    @argument("--dot", action="store_true", help="let Graphviz lay the graph out, where it is installed")
    @argument("expression", nargs="*", help="a tensor, or an expression that gives one or several")
    @line_magic
    def graph(self, line: str) -> Any:
        """Draw the graph that computed a tensor: ``%graph y`` or ``%graph (x * w).sum()``."""
        options = parse_argstring(self.graph, line)
        tensors = self._tensors("graph", " ".join(options.expression))
        return viz.graph(
            *tensors,
            namespace=self.shell.user_ns,
            direction="TB" if options.top_to_bottom else None,
            values=not options.no_values,
            engine="dot" if options.dot else "own",
        )

    @magic_arguments()
    @argument("--gradient", "-g", help="the gradient of the tensor, needed unless it has one element: a name")
    @argument("--retain-graph", action="store_true", help="keep the saved tensors, so that backward can run again")
    @argument("--create-graph", action="store_true", help="record the pass itself, for second derivatives")
    @argument("--inputs", help="accumulate into these tensors only: names, separated by commas")
    @argument("expression", nargs="*", help="a tensor, or an expression that gives one")
    @line_magic
    def backward(self, line: str) -> Any:
        """Run ``backward()`` of a tensor and play it step by step: ``%backward loss``."""
        options = parse_argstring(self.backward, line)
        (tensor,) = self._tensors("backward", " ".join(options.expression), most=1)
        gradient = None
        if options.gradient is not None:
            (gradient,) = self._tensors("backward --gradient", options.gradient, most=1)
        inputs = None
        if options.inputs is not None:
            inputs = list(self._tensors("backward --inputs", options.inputs + ","))
        return viz.animate(
            tensor,
            gradient,
            retain_graph=options.retain_graph or None,
            create_graph=options.create_graph,
            inputs=inputs,
            namespace=self.shell.user_ns,
        )

    def _tensors(self, magic: str, expression: str, most: int | None = None) -> tuple[Any, ...]:
        """The tensors that an expression typed by the user gives.

        :raises NameError: a name is not defined.
        :raises TypeError: the value is no tensor.
        """
        if not expression.strip(" ,"):
            raise TypeError(f"%{magic} needs a tensor: write for example %{magic.split()[0]} y")
        try:
            value = self.shell.ev(expression)
        except NameError as error:
            raise NameError(self._unknown(magic, error)) from None
        found = value if isinstance(value, (tuple, list)) else (value,)
        for item in found:
            if not (hasattr(item, "grad_fn") and hasattr(item, "requires_grad")):
                raise TypeError(f"%{magic} needs a tensor, but {expression.strip()!r} gives {type(item).__name__}")
        if not found or most is not None and len(found) > most:
            raise TypeError(f"%{magic} needs one tensor, but {expression.strip()!r} gives {len(found)}")
        return tuple(found)

    def _unknown(self, magic: str, error: NameError) -> str:
        name = getattr(error, "name", None) or str(error)
        known = [
            key for key, value in self.shell.user_ns.items() if hasattr(value, "grad_fn") and not key.startswith("_")
        ]
        close = difflib.get_close_matches(name, known, 1)
        hint = (
            f"; did you mean {close[0]!r}?" if close else f"; tensors here: {', '.join(sorted(known))}" if known else ""
        )
        return f"%{magic}: name {name!r} is not defined{hint}"


class _Loaded:
    """What loading the extension into one shell changed, so that it can be changed back."""

    def __init__(self, shell: Any) -> None:
        self.formatter = shell.display_formatter.formatters["text/html"]
        self.former = self.formatter.type_printers.get(Tensor)
        self.formatter.for_type(Tensor, TensorFormatter(shell))
        self.magics = {name: shell.magics_manager.magics["line"].get(name) for name in ("graph", "backward")}
        shell.register_magics(AutogradMagics)
        self.tracing = tracing.switch(True)
        self.former_places = Places.locate
        self.locator = Places.locate = Locator(shell)
        shell.events.register("pre_run_cell", self.locator.before_cell)

    def undo(self, shell: Any) -> None:
        """Put everything back."""
        tracing.switch(self.tracing)
        Places.locate = staticmethod(self.former_places)
        shell.events.unregister("pre_run_cell", self.locator.before_cell)
        self.formatter.pop(Tensor, None)
        if self.former is not None:
            self.formatter.for_type(Tensor, self.former)
        for name, former in self.magics.items():
            if former is None:
                shell.magics_manager.magics["line"].pop(name, None)
            else:
                shell.magics_manager.magics["line"][name] = former
        shell.magics_manager.registry.pop("AutogradMagics", None)


_loaded: WeakKeyDictionary[Any, _Loaded] = WeakKeyDictionary()


def load(shell: Any) -> None:
    """Register the magics and the display of tensors, and trace operations from now on; a second call does nothing."""
    if shell not in _loaded:
        _loaded[shell] = _Loaded(shell)


def unload(shell: Any) -> None:
    """Undo :func:`load`; without it, nothing."""
    state = _loaded.pop(shell, None)
    if state is not None:
        state.undo(shell)
