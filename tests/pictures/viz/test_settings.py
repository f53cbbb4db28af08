"""Settings: their errors, their effects, and that the colors of every theme can be read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
import traitlets

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.draw import theme
from nbautograd.viz.settings import NAMES, choices

from .colors import HOSTS, contrast


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = {name: getattr(viz.settings, name) for name in NAMES}
    yield
    viz.settings.change(**before)


@pytest.mark.parametrize(
    ("name", "value"),
    [("theme", "pink"), ("direction", "RL"), ("values", "perhaps"), ("depth", -1), ("depth", "deep"),
     ("language", "tlh"), ("tensors", "all"), ("tracing", None)],
)  # fmt: skip
def test_wrong_values_are_refused(name: str, value: object) -> None:
    before = getattr(viz.settings, name)
    with pytest.raises(traitlets.TraitError, match=name):
        viz.autograd(**{name: value})
    assert getattr(viz.settings, name) == before


def test_all_or_none() -> None:
    with pytest.raises(traitlets.TraitError):
        viz.autograd(theme="dark", depth=-1)
    assert viz.settings.theme == "auto"
    with pytest.raises(AttributeError, match="there is no setting 'color'; there are theme, direction"):
        viz.autograd(color="red")


def test_a_block_has_its_own_settings() -> None:
    assert not tracing.is_on()
    with viz.autograd(theme="dark", direction="TB"):
        assert viz.settings.theme == "dark" and tracing.is_on()
    assert viz.settings.theme == "auto" and viz.settings.direction == "auto" and not tracing.is_on()


def test_a_block_ends_also_with_an_error() -> None:
    with pytest.raises(KeyboardInterrupt), viz.autograd(theme="dark"):
        raise KeyboardInterrupt
    assert viz.settings.theme == "auto" and not tracing.is_on()


def test_tracing_is_switched() -> None:
    viz.settings.tracing = True
    assert tracing.is_on()
    viz.settings.tracing = False
    assert not tracing.is_on()


def test_settings_are_shown_as_a_table() -> None:
    shown = repr(viz.autograd())
    assert [line.split()[0] for line in shown.splitlines()[2:]] == list(NAMES)
    assert "English" in shown and "auto, light, dark" in shown
    assert all(choices(name) for name in NAMES)


def graph() -> tuple[nb.Tensor, dict[str, nb.Tensor]]:
    x = nb.tensor([3.0, 4.0], requires_grad=True)
    y = x
    for _ in range(4):
        y = y * x
    return y, {"x": x, "y": y}


def test_pictures_obey() -> None:
    y, names = graph()
    assert "3., 4." in viz.graph(y, namespace=names).text
    viz.settings.values = False
    assert "3., 4." not in viz.graph(y, namespace=names).text
    viz.settings.depth = 2
    ops = [node for node in viz.graph(y, namespace=names).model.nodes if node.kind == "op"]
    assert len(ops) == 2
    viz.settings.theme = "dark"
    svg = viz.graph(y, namespace=names).svg
    assert theme.DARK["bg"] in svg and theme.LIGHT["bg"] not in svg


def test_what_is_left_out_is_marked() -> None:
    y, names = graph()
    near = viz.graph(y, namespace=names, depth=1).model
    assert [node.name for node in near.nodes if node.kind == "constant"] == ["⋯"]


def test_direction() -> None:
    y, names = graph()
    across = viz.graph(y, namespace=names).svg
    viz.settings.direction = "TB"
    assert viz.graph(y, namespace=names).svg != across
    assert viz.graph(y, namespace=names, direction="LR").svg == across


# -- colors -------------------------------------------------------------------------------------------------------

TEXTS = ["fg", "muted", "leaf", "op", "out", "grad", "bad"]
LINES = ["wire", "done", "grad", "leaf", "out", "bad", "indigo", "size-0", "size-1", "size-2", "size-3", "size-4"]
SCHEMES = {"light": theme.LIGHT, "dark": theme.DARK}
GROUNDS = [
    (scheme, ground)
    for scheme, colors in SCHEMES.items()
    for ground in [colors["bg"], colors["panel"], *HOSTS[scheme].values()]
]


@pytest.mark.parametrize(("scheme", "ground"), GROUNDS)
def test_text_and_lines_stand_out_on_every_ground(scheme: str, ground: str) -> None:
    colors = SCHEMES[scheme]
    assert {name: contrast(colors[name], ground) for name in TEXTS if contrast(colors[name], ground) < 4.5} == {}
    assert {name: contrast(colors[name], ground) for name in LINES if contrast(colors[name], ground) < 3.0} == {}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_stands_out_in_its_box(scheme: str) -> None:
    colors = SCHEMES[scheme]
    pairs = [("leaf", "leaf-bg"), ("fg", "leaf-bg"), ("muted", "leaf-bg"), ("op", "op-bg"), ("muted", "op-bg"),
             ("out", "out-bg"), ("fg", "out-bg"), ("grad", "grad-bg"), ("fg", "grad-bg"), ("muted", "grad-bg"),
             ("bad", "bad-bg"), ("on-grad", "grad"), ("bg", "out"), ("fg", "op-bg")]  # fmt: skip
    assert {(a, b): contrast(colors[a], colors[b]) for a, b in pairs if contrast(colors[a], colors[b]) < 4.5} == {}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_sizes_of_gradients_differ_for_the_color_blind(scheme: str) -> None:
    """The classes at the two ends differ from the middle by lightness, and not only by red and green."""

    def seen(color: str) -> tuple[float, float]:  # blue against yellow, and brightness: what is left to deuteranopes
        red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
        yellow = 0.6 * red + 0.4 * green
        return blue - yellow, yellow

    classes = [seen(SCHEMES[scheme][f"size-{i}"]) for i in range(5)]
    for one, other in itertools.pairwise(classes):
        assert abs(one[0] - other[0]) + abs(one[1] - other[1]) > 40


def test_the_style_sheet_follows_its_hosts() -> None:
    css = theme.css()
    assert "var(--jp-layout-color0, var(--vscode-editor-background, #ffffff))" in css
    assert "body.vscode-dark .nb-player" in css and '[data-nb-theme="dark"] .nb-player' in css
    assert "@media print" in css
