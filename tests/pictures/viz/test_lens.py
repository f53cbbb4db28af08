"""Test the view of a training run: measurements, memory, arguments, and the view in a browser."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import protocol, viz
from nbautograd.viz.language import use
from nbautograd.viz.notebook import compact, training
from nbautograd.viz.notebook.monitor import Monitor
from tests import needs, oracle

needs.package("playwright")
from playwright.sync_api import expect


def net(layers: int = 2, seed: int = 0) -> Any:
    nb.manual_seed(seed)
    parts: list[Any] = []
    for _ in range(layers - 1):
        parts += [nb.nn.Linear(3, 3), nb.nn.Tanh()]
    return nb.nn.Sequential(*parts, nb.nn.Linear(3, 1))


def train(steps: int, rate: float = 0.1, given: Callable[[Any], Any] = lambda model: model, **options: Any) -> Monitor:
    model, x = net(), nb.ones(4, 3)
    optimizer = nb.optim.SGD(model.parameters(), lr=rate)
    with viz.monitor(given(model), namespace={"model": model}, **options) as watch:
        for _ in range(steps):
            optimizer.zero_grad()
            loss = ((model(x) - 2) ** 2).mean()
            loss.backward()
            watch(loss)
            optimizer.step()
    return watch


browser_test = [pytest.mark.browser, needs.chromium]
NAMES = ["model.0.weight", "model.0.bias", "model.2.weight", "model.2.bias"]


@pytest.mark.parametrize("given", [
    lambda model: model,
    lambda model: model.parameters(),
    lambda model: list(model.parameters()),
    lambda model: [tuple(model.parameters())],
], ids=["module", "iterable", "list", "nested"])  # fmt: skip
def test_what_may_be_given(given: Callable[[Any], Any]) -> None:
    assert list(train(1, given=given).leaves) == NAMES


def test_names_that_are_given_stay() -> None:
    own = [name.removeprefix("model.") for name in NAMES]
    assert list(train(1, given=lambda model: model.named_parameters()).leaves) == own
    assert list(train(1, given=lambda model: dict(model.named_parameters())).leaves) == own
    w = nb.ones(2, requires_grad=True)
    assert list(viz.monitor({"net": net(), "w": w}, namespace={}).leaves) == [*(f"net.{name}" for name in own), "w"]
    assert list(viz.monitor({"a": w, "b": w}, namespace={}).leaves) == ["a"]  # each once


def test_nothing_given_means_the_callers_variables() -> None:
    model = net()
    watch = viz.monitor()
    assert list(watch.leaves) == NAMES and watch.leaves["model.0.weight"] is model[0].weight


def test_modules_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    model[0].bias.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with viz.monitor(model, namespace={}) as watch:
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            watch(loss)
            optimizer.step()
    assert list(watch.leaves) == ["0.weight", "2.weight", "2.bias"] and {*watch.recordings} <= {1, 2, 3}
    assert 1 in watch.recordings  # the first is always recorded
    assert watch.norms["0.weight"][-1] >= 0 and watch.losses[0] > watch.losses[-1]
    assert watch.run.steps[1].leaves[0].ratio > 0


@pytest.mark.parametrize("thing", ["w", 3, None, ["w"], {"w": 3}])
def test_what_may_not_be_given(thing: Any) -> None:
    with pytest.raises(TypeError, match="monitor needs tensors, but was given"):
        viz.monitor(thing, namespace={})


def test_of_many_leaves_some_from_the_first_to_the_last() -> None:
    watch = viz.monitor({f"layer{i}.{kind}": nb.ones(1, requires_grad=True)
                         for i in range(40) for kind in ("weight", "bias")})  # fmt: skip
    names = list(watch.leaves)
    assert len(names) == 32 and names[0] == "layer0.weight" and names[-1] == "layer39.weight"


# -- what is measured ------------------------------------------------------------------------------------------------


def of_net(weights: tuple[Any, ...]) -> Any:
    """The usual model with weights of its own, in their precision."""
    model = net().to(nb.float64 if weights[0].dtype == np.float64 else nb.float32)
    with nb.no_grad():
        for p, values in zip(model.parameters(), weights, strict=True):
            p.copy_(nb.tensor(values))
    return model


def descend(model: Any, see: Callable[[Any], Any]) -> None:
    """Take four steps; the observer is called between a backward pass and its update."""
    for _ in range(4):
        model.zero_grad()
        loss = ((model(nb.ones(4, 3, dtype=model[0].weight.dtype)) - 2) ** 2).mean()
        loss.backward()
        see(loss)
        with nb.no_grad():
            for p in model.parameters():
                p -= 0.05 * p.grad


def test_norms_and_updates_are_right() -> None:
    def by_monitor(*weights: Any) -> Any:
        model = of_net(weights)
        watch = viz.monitor(model, namespace={"model": model})
        descend(model, watch)
        first, *later = [(step.leaves[0].norm, step.leaves[0].ratio) for step in watch.run.steps]
        assert math.isnan(first[1])
        return nb.tensor([first[0], *(number for pair in later for number in pair)], dtype=nb.float32)

    def by_numpy(*weights: Any) -> Any:
        model, norms, values = of_net(weights), [], []

        def see(loss: Any) -> None:
            values.append(model[0].weight.detach().numpy().copy())
            norms.append(np.linalg.norm(model[0].weight.grad.numpy()))

        descend(model, see)
        moved = [np.linalg.norm(b - a) / np.linalg.norm(a) for a, b in itertools.pairwise(values)]
        pairs = zip(norms[1:], moved, strict=True)
        return nb.tensor([norms[0], *(number for pair in pairs for number in pair)], dtype=nb.float32)

    oracle.agree(by_monitor, by_numpy, *(p.detach().numpy().copy() for p in net().parameters()))


def test_bins_are_two_binary_orders_of_magnitude() -> None:
    grad = nb.tensor([0.0, 1.0, 3.9, -4.0, 2.0**-60, 2.0**30, 0.0, 1.0])
    step = training._leaf_step(grad, math.nan)
    first = training.LOWEST_LOG2
    places = {1.0: (1 - first) // 2, 3.9: (2 - first) // 2, -4.0: (3 - first) // 2}
    counts = list(step.counts)
    assert len(counts) == training.BINS == 24 and max(counts) == 90
    assert counts[0] and counts[-1]  # smaller or larger values are in the outermost bins
    assert all(counts[place] for place in places.values()) and step.zeros == 0.25


def test_nan_and_infinity_are_counted() -> None:
    step = training._leaf_step(nb.tensor([1.0, math.nan, math.inf, -math.inf]), math.nan)
    assert (step.nan, step.inf) == (1, 2) and math.isnan(step.norm) and max(step.counts) == 90
    assert training._leaf_step(nb.tensor([3 * 2.0**100, 4 * 2.0**100]), math.nan).norm == 5 * 2.0**100
    assert training._leaf_step(nb.tensor([2.0**-100, 0.0]), math.nan).norm == 2.0**-100


def test_memory_does_not_grow() -> None:
    w = nb.ones(8, requires_grad=True)
    w.grad = nb.ones(8)
    watch = viz.monitor({"w": w}, namespace={})
    for i in range(10_000):
        watch(1000.0 if i == 3333 else 1.0 / (i + 1))
    steps = watch.steps
    assert len(steps) <= training.KEPT_STEPS and watch.step == 10_000
    assert steps[0] == 1 and steps[-200:] == list(range(9801, 10_001))
    assert 3334 in steps  # it stands out
    gaps = np.diff([step for step in steps if step < 10_000 - training.KEPT_STEPS and step != 3334])
    assert gaps.max() == gaps.min() > 1  # old steps are thinned out evenly
    assert len(watch.html()) < 1_500_000


def test_steps_that_stand_out() -> None:
    watch = Monitor({})
    for loss in (*np.linspace(2, 1, 20), 30.0, *np.linspace(1, 0.9, 10), math.nan, math.nan, 0.9):
        watch(loss)
    assert training.lens_data(watch.run, {}, "")["outstanding"] == [21, 32]


# -- the passes ------------------------------------------------------------------------------------------------------


def test_passes_are_recorded_by_their_step() -> None:
    watch = train(4, record=True)
    assert list(watch.recordings) == [1, 2, 3, 4]
    recording = watch.recordings[3]
    assert recording.scenes[0].leaves and max(frame.backward for frame in recording.timeline.frames) == 1
    (sent,) = (row.total for _, name, row in recording.timeline.ledger if name == "model.2.bias")
    assert sent.strip("[-]") == f"{watch.norms['model.2.bias'][2]:.4f}"
    assert protocol.observers.get() == ()


def test_no_pass_where_none_is_wanted_or_the_graph_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    assert train(3, record=False).recordings == {}
    assert train(3).recordings
    monkeypatch.setattr("nbautograd.viz.notebook.training.MAX_OPS", 3)
    assert train(3).recordings == {} and len(train(3, record=True).recordings) == 3


def test_recording_by_default_takes_little_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbautograd.viz.notebook.training.FREE_SECONDS", 0.0)
    monkeypatch.setattr("nbautograd.viz.notebook.training.MAX_TIME_SHARE", 0.0)
    assert len(train(6).recordings) <= 1


def test_an_error_in_the_loop_leaves_no_observer() -> None:
    w = nb.ones(1, requires_grad=True)
    watch = viz.monitor(w, namespace={"w": w}, record=True)
    with pytest.raises(KeyboardInterrupt), watch, viz.record(namespace={}):
        raise KeyboardInterrupt
    assert protocol.observers.get() == ()


def test_other_recordings_inside_of_the_loop() -> None:
    w = nb.ones(1, requires_grad=True)
    with viz.monitor(w, namespace={"w": w}, record=True) as watch:
        for _ in range(2):
            with viz.record(namespace={"w": w}) as passes:
                (w * 2).sum().backward()
                watch(1.0)
            assert len(passes) > 3
    assert len(watch.recordings) == 2 and protocol.observers.get() == ()


def test_files(tmp_path: Any) -> None:
    watch = train(3)
    for suffix, begin in ((".html", "<!doctype html>"), (".svg", "<svg"), (".txt", "training: step 3")):
        assert watch.save(tmp_path / f"run{suffix}").read_text("utf-8").startswith(begin)
    with pytest.raises(ValueError, match="cannot save as"):
        watch.save(tmp_path / "run.docx")


def test_the_widget_asks_for_passes() -> None:
    needs.package("anywidget")
    watch = train(3, record=True)
    widget = watch.widget
    assert widget.lens["recorded"] == [1, 2, 3] and widget.lens["passes"] == {}
    sent: list[Any] = []
    widget.send = sent.append
    for asked in ({"pass": 2}, {"pass": 99}, {"pass": "2"}, "x", None, {}):
        watch._asked(widget, asked, [])
    assert [answer["pass"] for answer in sent] == [2] and sent[0]["data"]["timeline"]["frames"]


@pytest.mark.sweep
def test_a_notebook_keeps_as_much_of_a_run_as_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    needs.package("anywidget")
    watch = train(60, record=True)
    full, run, *fewer = watch._kept()
    assert full["passes"] and full["steps"] == run["steps"] == watch.steps and run["passes"] == {}
    assert [len(each["steps"]) for each in fewer[:2]] == [31, 16] and fewer[0]["steps"][-1] == 60
    (bundle,) = compact.pass_bundle({"lens": each} for each in (full, run)).values()
    assert compact.pass_bundle([{"lens": full}]) == {compact.MIME: bundle}
    monkeypatch.setattr(compact, "MAX_PASS_BYTES", len(bundle["packed"]) - 1)
    (smaller,) = compact.pass_bundle({"lens": each} for each in (full, run)).values()
    assert 0 < len(smaller["packed"]) < len(bundle["packed"])
    monkeypatch.setattr(compact, "MAX_PASS_BYTES", 10)
    assert compact.pass_bundle({"lens": each} for each in watch._kept()) == compact.pass_bundle()


# -- in a browser ----------------------------------------------------------------------------------------------------


class TestInABrowser:
    pytestmark = browser_test

    def test_hover_click_and_play(self, open_page: Any) -> None:
        page = open_page(train(12, record=True), viewport={"width": 1280, "height": 900})
        lens_ = page.locator(".nb-lens")
        expect(lens_).to_have_attribute("data-step", "12")
        dot = page.locator('.nb-lens-marks circle[data-step="5"]').bounding_box()
        x = dot["x"] + dot["width"] / 2
        plot = page.locator(".nb-lens-plot").nth(1).bounding_box()
        page.mouse.move(x, plot["y"] + 60)
        expect(lens_).to_have_attribute("data-step", "5")
        expect(lens_.locator(".nb-count").first).to_contain_text("step 5 of 12 · loss")
        page.mouse.move(x, 5)
        expect(lens_).to_have_attribute("data-step", "12")  # it was only hovered
        page.mouse.click(x, plot["y"] + 60)
        expect(page.locator(".nb-lens-note")).to_have_text("The backward pass of step 5:")
        inner = page.locator(".nb-lens-pass .nb-player")
        inner.press("End")
        expect(inner.locator(".nb-ledger")).to_contain_text("model.2.bias")
        inner.focus()
        page.keyboard.press("ArrowLeft")
        expect(lens_).to_have_attribute("data-step", "5")  # the player handled the key
        assert page.troubles == []

    def test_by_keyboard(self, open_page: Any) -> None:
        page = open_page(train(10, record=True))
        lens_ = page.locator(".nb-lens")
        lens_.focus()
        for key, step in (
            ("ArrowLeft", 9),
            ("Home", 1),
            ("ArrowRight", 2),
            ("PageDown", 3),
            ("PageUp", 2),
            ("End", 10),
        ):
            page.keyboard.press(key)
            expect(lens_).to_have_attribute("data-step", str(step))
        expect(page.locator(".nb-lens-note")).to_have_text("The backward pass of step 10:")
        assert page.locator(".nb-lens .nb-slider").first.get_attribute("aria-valuetext").startswith("step 10 of 10")
        page.keyboard.press("]")
        page.keyboard.press("]")
        lit = page.locator(".nb-lens-plot >> nth=1").locator(".nb-lens-name.nb-lit")
        name = page.locator(".nb-lens-note").inner_text().split(" · ")[0]
        expect(lit.locator("title")).to_contain_text(name)
        page.set_viewport_size({"width": 600, "height": 800})
        expect(lit).to_have_count(1)  # drawn again
        page.keyboard.press("[")
        expect(page.locator(".nb-lens-note")).not_to_contain_text(name)
        heard = lens_.get_attribute("aria-keyshortcuts")
        assert heard.split() == [
            "ArrowLeft",
            "ArrowRight",
            "Home",
            "End",
            "PageUp",
            "PageDown",
            "[",
            "]",
            "Enter",
            "Escape",
            "Space",
        ]

    def test_a_pass_that_is_not_here_offers_the_nearest(self, open_page: Any) -> None:
        watch = train(6, record=True)
        watch._passes.last = type(watch._passes.last)([entry for entry in watch._passes.last if entry[0] in (1, 4)])
        page = open_page(watch)
        page.locator(".nb-lens").focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        expect(page.locator(".nb-lens-note")).to_contain_text("The pass of step 2 is not here. Play step 1")
        page.click(".nb-lens-note .nb-link")
        expect(page.locator(".nb-lens-note")).to_have_text("The backward pass of step 1:")

    def test_a_loss_that_is_not_finite(self, open_page: Any) -> None:
        page = open_page(train(40, rate=30.0), viewport={"width": 1280, "height": 900})
        assert page.locator(".nb-lens-plot").first.locator(".nb-lens-bad").count() > 3
        expect(page.locator(".nb-ridge-bad.nb-is-bad").first).to_contain_text(r"NaN")
        assert page.troubles == []

    def test_ticks(self, open_page: Any) -> None:
        page = open_page(train(2))
        texts = page.locator(".nb-lens-plot").nth(2).locator(".nb-lens-tick").all_text_contents()
        assert any("10⁻" in text for text in texts), texts

    @pytest.mark.parametrize("width", [400, 700, 1280, 1600])
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_it_fits_and_can_be_read(self, open_page: Any, width: int, scheme: str) -> None:
        page = open_page(train(5), viewport={"width": width, "height": 900}, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        sizes = page.evaluate("""() => [...document.querySelectorAll('.nb-lens svg text')].map((text) => {
            const scale = text.getScreenCTM().a;
            return scale * parseFloat(getComputedStyle(text).fontSize);
        })""")
        assert len(sizes) > 20 and min(sizes) >= 10.99
        outside = page.evaluate("""() => [...document.querySelectorAll('.nb-lens-name')].filter((name) =>
            name.style.display !== 'none' && name.getBoundingClientRect().right > innerWidth).length""")
        assert outside == 0 and page.troubles == []

    @pytest.mark.parametrize("language", ["en", "zh"])
    def test_no_word_is_cut_on_a_telephone(self, open_page: Any, language: str) -> None:
        """Neither long names with small gradients, nor the head with its buttons, which show without a pointer."""
        long = {f"encoder.layers.{i}.self_attention.in_projection": nb.full((3,), 1e-6, requires_grad=True)
                for i in range(3)}  # fmt: skip
        before = use(language)
        try:
            with viz.monitor(long, namespace={}) as watch:
                for factor in (1.14e-6, 0.987):
                    loss = sum((leaf * leaf).sum() for leaf in long.values()) * factor
                    loss.backward()
                    watch(loss)
            page = open_page(watch, viewport={"width": 400, "height": 900})
        finally:
            use(before)
        cut = page.evaluate("""() => {
            const words = document.querySelectorAll('.nb-lens :is(svg text, .nb-bar *, .nb-lens-head, .nb-lens-note)');
            return [...words].filter((word) => word.textContent.trim() && word.style.display !== 'none')
                .filter((word) => {
                    const place = word.closest('.nb-lens').getBoundingClientRect(), range = document.createRange();
                    range.selectNodeContents(word);
                    const box = range.getBoundingClientRect();
                    return box.left < place.left + 4 || box.right > place.right - 1;
                }).map((word) => word.textContent);
        }""")
        assert cut == []
        expect(page.locator(".nb-lens > .nb-bar .nb-slider")).to_have_css("opacity", "1")

    def test_nothing_moves_from_step_to_step(self, open_page: Any) -> None:
        page = open_page(train(8), viewport={"width": 1280, "height": 900})
        page.locator(".nb-lens").focus()
        places = set()
        for _ in range(6):
            page.keyboard.press("ArrowLeft")
            boxes = [name.bounding_box() for name in page.locator(".nb-lens-name").all()]
            places.add(tuple((box["x"], box["y"]) for box in boxes))
        assert len(places) == 1
