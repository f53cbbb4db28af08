"""The picture of a graph."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from nbautograd.viz.draw.boxes import graph_text, measure
from nbautograd.viz.draw.labels import Size
from nbautograd.viz.draw.layout import Layout
from nbautograd.viz.draw.svg import draw
from nbautograd.viz.language import say
from nbautograd.viz.notebook import export, output
from nbautograd.viz.notebook.arranging import Arrangements, arrange
from nbautograd.viz.notebook.figure import WINDOWS, Figure
from nbautograd.viz.read import fold
from nbautograd.viz.read.model import GraphModel

__all__ = ["Picture"]

BUDGETS = (100, 40)  # nodes of smaller pictures


class Picture(Figure):
    """A graph, drawn. A notebook shows it; ``save`` writes a file.

    :param model: the graph, as it was read.
    :param direction: as for :func:`graph`.
    :param engine: ``own``, or ``dot`` for Graphviz's layout.
    :param fold: as for :func:`graph`.
    :param opened: as for :func:`graph`.
    :returns: the picture.
    :raises ValueError: an unknown ``engine``.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = x * x
    >>> viz.graph(y, namespace={"x": x, "y": y})
    y → 1 leaf, 1 operation
    y = x × x  MulBackward0  4.  f32 ()
    ├─ x  leaf  2.  f32 ()  .grad None
    └─ x  see above
    """

    def __init__(
        self, model: GraphModel, direction: str | None = None, engine: str = "own", *, fold: bool | None = False,
        opened: Collection[str] = (),
    ) -> None:  # fmt: skip
        if engine not in ("own", "dot"):
            raise ValueError(f"engine must be 'own' or 'dot', got {engine!r}")
        super().__init__(direction, fold, opened)
        self.model, self.engine = model.plain(), engine
        self._arrangements: dict[int, tuple[GraphModel, Arrangements]] = {}

    @property
    def scenes(self) -> tuple[GraphModel, ...]:
        """The graph."""
        return (self.model,)

    @property
    def label(self) -> str:
        """Summarize it in one line."""
        return self.model.label

    def arranged(self, scene: int, model: GraphModel, windows: Sequence[Size]) -> list[Layout]:
        """The layout of a view for windows of these sizes."""
        if id(model) not in self._arrangements:
            self._arrangements[id(model)] = model, arrange(model, measure(model), self.direction)
        return [self._arrangements[id(model)][1].places(window) for window in windows]

    def drawings(self, scene: int, model: GraphModel, windows: Sequence[Size] = WINDOWS[:1]) -> list[str]:
        """The SVG of a view for windows of these sizes, without the colors that are set."""
        return self._drawn(model, windows, painted=False)

    def _drawn(self, model: GraphModel, windows: Sequence[Size] = WINDOWS[:1], painted: bool = True) -> list[str]:
        words = graph_text(model)
        return [draw(model, places, description=words, painted=painted) for places in self.places(0, model, windows)]

    @property
    def svg(self) -> str:
        """The drawing.

        :raises RuntimeError: ``engine="dot"`` and Graphviz is not installed, or fails.
        """
        if self.engine == "dot":
            from nbautograd.viz.draw.graphviz_dot import dot_svg

            return dot_svg(self.model, self.direction or "LR")
        return output.colored(self._drawn(self.whole(0))[0])

    def smaller(self) -> Iterator[str]:
        """Yield the picture with more and more of it folded."""
        for budget in BUDGETS if self.model.entire.tree is not None else ():
            yield output.colored(self._drawn(fold.view(self.model, budget, fold=True))[0])

    @property
    def text(self) -> str:
        """The graph in words."""
        return graph_text(self.model)

    def tables(self) -> list[str]:
        """Every node in a line."""
        return [output.details(say("as_table"), output.graph_table(self.model))]

    def html(self) -> str:
        """A page of its own, to be zoomed, searched and clicked without a kernel or a network."""
        if self.engine == "dot" or not self.drawable:
            return export.page(self.label, self.static_html())
        return super().html()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        if self.engine == "dot":
            return {"text/plain": self.text, **output.images(self.svg), "text/html": self.static_html()}
        return super()._repr_mimebundle_(include, exclude)
