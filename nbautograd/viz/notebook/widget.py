"""The player as a Jupyter widget. Only this module needs anywidget.

A kernel keeps a widget and its data until the widget is closed. So the widgets of a cell are closed when the next run
of the same cell shows something: by then the front end has cleared the cell's output.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import anywidget
import ipywidgets
import traitlets
from IPython.core.getipython import get_ipython

from nbautograd.viz import language
from nbautograd.viz.notebook import output, scripts
from nbautograd.viz.notebook.compact import packed_pass, pass_bundle

__all__ = ["BackwardPlayer"]

SHOWN = ("svgs", "timeline", "label", "theme", "views", "start", "ask", "head", "program")
_models: dict[str, _Shared] = {}  # by digest
_extended: dict[tuple[Any, ...], type] = {}  # by class and names: the class with the traits that AnyWidget adds
_shown: dict[str, tuple[str, list[_View]]] = {}  # by cell: the number of its run, and the outputs of that run


class _Shared(anywidget.AnyWidget):
    """The script, style sheet and texts of all widgets of a kind: sent to a page once, not with each widget."""

    _esm = "export default {}"

    packed = traitlets.Bytes().tag(sync=True)


def _shared(kind: str) -> tuple[str, str]:
    """Return the reference to the model that widgets of a kind share, and its digest; make it at the first use."""
    packed, digest = scripts.packed(kind, language.tag())
    if digest not in _models or _models[digest].comm is None:
        _models[digest] = _Shared(packed=packed)
    return f"IPY_MODEL_{_models[digest].model_id}", digest


class _LeanLayout(ipywidgets.Layout):  # type: ignore[misc]
    """A layout that sends only what it has: most of its 48 traits are None, the default of a page."""

    def get_state(self, *names: Any, **options: Any) -> dict[str, Any]:
        """Return the traits that are sent."""
        state: dict[str, Any] = super().get_state(*names, **options)
        return {name: value for name, value in state.items() if names or value is not None}


class _View(anywidget.AnyWidget):
    """A widget that is closed when no cell shows it any more."""

    _esm = scripts.loader_js()
    _kind = "player"

    shared = traitlets.Unicode("").tag(sync=True)  # the model that holds the packed data; empty if the data is here
    packed = traitlets.Bytes(b"").tag(sync=True)
    digest = traitlets.Unicode("").tag(sync=True)
    data = traitlets.Bytes(b"").tag(sync=True)  # what is shown, as a saved notebook keeps it

    def __init__(self, **traits: Any) -> None:
        marimo = sys.modules.get("marimo")
        if marimo is not None and marimo.running_in_notebook():  # a widget sees no other models
            traits["packed"], traits["digest"] = scripts.packed(self._kind, language.tag())
        else:
            traits["shared"], traits["digest"] = _shared(self._kind)
        super().__init__(**{"layout": _LeanLayout(), **traits})
        self._cells: set[str] = set()
        self._made_layout = self.layout
        self.comm.on_close(lambda message: self.close())  # by the page: ipywidgets would keep the widget

    def add_traits(self, **traits: Any) -> None:
        """Add traits to the widget, for which traitlets creates a class; AnyWidget adds the same ones to each."""
        key = type(self), *traits
        if key not in _extended:
            super().add_traits(**traits)
            _extended[key] = type(self)
            return
        self.__class__ = _extended[key]
        for name in traits:
            getattr(type(self), name).instance_init(self)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        shown = super()._repr_mimebundle_(**options)
        bundle, metadata = shown if isinstance(shown, tuple) else (shown or {}, {})
        self._note_cell()
        return dict(bundle) | pass_bundle(self._kept()), metadata

    def _kept(self) -> Iterable[Mapping[str, Any] | bytes]:
        """Return what a notebook may keep, to be played without a kernel, the fullest first."""
        return ()

    def _note_cell(self) -> None:
        """Note the cell of this output, and close the widgets of its former run."""
        shell = get_ipython()
        parent = {} if getattr(shell, "kernel", None) is None else output.request(shell)
        cell = str(parent.get("metadata", {}).get("cellId", ""))  # empty where the front end does not say
        run = str(parent.get("header", {}).get("msg_id", ""))
        if not cell:
            return
        former, views = _shown.setdefault(cell, (run, []))
        if former != run:
            _shown[cell] = run, [self]
            for view in views:
                view._cells.discard(cell)
                if not view._cells and view is not self:
                    view.close()
        elif self not in views:
            views.append(self)
        self._cells.add(cell)

    def close(self) -> None:
        """Close the widget, in the kernel and in the front end, and drop what is large in it."""
        super().close()
        for cell in self._cells:
            _shown[cell][1].remove(self)
        self._cells.clear()
        self._made_layout.close()
        values: dict[str, Any] = self._trait_values  # type: ignore[has-type]
        self._trait_values = {name: it for name, it in values.items() if not isinstance(it, list | dict | bytes)}


class BackwardPlayer(_View):
    """Shows a graph and plays its recorded backward passes.

    ``index``, the shown step, and ``selected``, the id of the clicked node, can be read, set, observed and linked. The
    other traits are sent together, compressed. The output also holds the final picture and the text, for front ends
    without widgets.
    """

    svgs = traitlets.List(traitlets.List(traitlets.Unicode()))
    timeline = traitlets.Dict()
    label = traitlets.Unicode("autograd graph")
    theme = traitlets.Unicode("auto")
    index = traitlets.Int(0, min=0).tag(sync=True)
    views = traitlets.Dict()
    start = traitlets.Int(0, min=0)
    ask = traitlets.Bool(False)
    head = traitlets.Unicode("")
    program = traitlets.Any([])  # lines; True: ask for them; False: no program has these numbers
    written = traitlets.Any(None).tag(sync=True)  # the program, once it was asked for
    selected = traitlets.Unicode("").tag(sync=True)

    def __init__(self, *, static: str = "", plain: str = "", **traits: Any) -> None:
        super().__init__(**traits)
        self._static, self._plain = static, plain
        self.observe(self._change, SHOWN)

    def __repr__(self) -> str:
        return f"BackwardPlayer({self.label!r})"

    def _change(self, change: Any) -> None:
        """Send what was changed: a program that was asked for alone, as players go on."""
        if change.name == "program":
            self.written = change.new
        else:
            self.data = packed_pass(self._shown())

    def _shown(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in SHOWN}

    def _kept(self) -> Iterable[Mapping[str, Any] | bytes]:
        return [self.data if self.written is None else self._shown()]

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle, metadata = super()._repr_mimebundle_(**options)
        bundle["text/plain"] = self._plain or repr(self)
        if self._static:
            bundle["text/html"] = self._static
        return bundle, metadata

    def close(self) -> None:
        """Close the widget, and drop its picture and text."""
        super().close()
        self._static = self._plain = ""


class LiveView(_View):
    """Shows a drawing that changes: the latest ``svg``, or nothing.

    A saved notebook keeps no trace of it: its text is empty.
    """

    _kind = "live"

    svg = traitlets.Unicode("").tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle, metadata = super()._repr_mimebundle_(**options)
        return bundle | {"text/plain": ""}, metadata


class LensView(_View):
    """Shows a training run, to be explored; its passes are asked for when they are wanted.

    The output that holds it also has the still picture and the text.
    """

    lens = traitlets.Dict()
    label = traitlets.Unicode("").tag(sync=True)

    def __init__(self, *, kept: Callable[[], Iterable[Mapping[str, Any]]], **traits: Any) -> None:
        super().__init__(**traits, data=packed_pass({"lens": traits["lens"]}))
        self._runs = kept

    def _kept(self) -> Iterable[Mapping[str, Any] | bytes]:
        return ({"lens": run} for run in self._runs())

    def close(self) -> None:
        """Close the widget, and drop the run."""
        super().close()
        self._runs = tuple
