"""The player as a Jupyter widget. Importing this module needs anywidget; nothing else here does."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from nbautograd.viz import export

__all__ = ["BackwardPlayer"]


class BackwardPlayer(anywidget.AnyWidget):
    """Shows a graph and plays its recorded backward passes.

    ``index``, the step that is shown, and ``selected``, the id of the node that was clicked, can be read, set, observed
    and linked. The output also holds the picture at the end and the text, for where no widget runs.
    """

    _esm = export.player_js()
    _css = export.player_css()

    svgs = traitlets.List(traitlets.Unicode()).tag(sync=True)
    timeline = traitlets.Dict().tag(sync=True)
    label = traitlets.Unicode("autograd graph").tag(sync=True)
    texts = traitlets.Dict().tag(sync=True)
    theme = traitlets.Unicode("auto").tag(sync=True)
    index = traitlets.Int(0, min=0).tag(sync=True)
    views = traitlets.Dict().tag(sync=True)
    opened = traitlets.List(traitlets.Unicode()).tag(sync=True)
    selected = traitlets.Unicode("").tag(sync=True)

    def __init__(self, *, static: str = "", plain: str = "", **traits: Any) -> None:
        super().__init__(**traits)
        self._static, self._plain = static, plain

    def __repr__(self) -> str:
        return f"BackwardPlayer({self.label!r})"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        shown = super()._repr_mimebundle_(**options)
        bundle, metadata = shown if isinstance(shown, tuple) else (shown or {}, {})
        bundle = dict(bundle)
        bundle["text/plain"] = self._plain or repr(self)
        if self._static:
            bundle["text/html"] = self._static
        return bundle, metadata


class LiveView(anywidget.AnyWidget):
    """Shows a drawing that changes: the latest ``svg``, or nothing."""

    _esm = """
    export default { render({ model, el }) {
      const image = document.createElement("img");
      image.style.maxWidth = "100%";
      const show = () => {
        const svg = model.get("svg");
        image.hidden = !svg;
        image.alt = model.get("plain");
        if (svg) image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
      };
      show();
      el.append(image);
      model.on("change:svg", show);
      return () => model.off("change:svg", show);
    } };
    """

    svg = traitlets.Unicode("").tag(sync=True)
    plain = traitlets.Unicode("").tag(sync=True)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        shown = super()._repr_mimebundle_(**options)
        bundle, metadata = shown if isinstance(shown, tuple) else (shown or {}, {})
        return dict(bundle) | {"text/plain": self.plain}, metadata
