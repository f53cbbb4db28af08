"""The exported page in a real browser: it plays without a network, by buttons and by keys, in both themes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs

needs.package("playwright")
from playwright import sync_api as playwright
from playwright.sync_api import expect

import nbautograd as nb
from nbautograd import viz
from nbautograd.core import tracing
from nbautograd.viz.capture.recorder import Recorder
from nbautograd.viz.notebook import export
from nbautograd.viz.notebook.api import Picture, Recording
from nbautograd.viz.read import fold
from nbautograd.viz.read.builder import build

from .fake_graph import HOSTILE, Seed

FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"
pytestmark = [pytest.mark.browser, needs.chromium]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as api:
        browser = api.chromium.launch(executable_path=needs.CHROMIUM, headless=True, args=FLAGS.split())
        yield browser
        browser.close()


def recording(passes: int = 1, names: dict[str, str] | None = None) -> Recording:
    seed = Seed()
    shown = {(names or {}).get(name, name): value for name, value in seed.names.items()}
    recorder = Recorder(build(seed.y, shown, resolve=seed.resolve))
    for _ in range(passes):
        for event in seed.events():
            recorder(event)
        seed.finish()
    return Recording(recorder.timeline())


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    contexts = []

    def open_(shown: Recording, **options: Any) -> Any:
        context = browser.new_context(
            **{"reduced_motion": "reduce", "viewport": {"width": 1000, "height": 800}} | options
        )
        contexts.append(context)
        page = context.new_page()
        page.troubles, page.requests = [], []
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on("console", lambda m: page.troubles.append(m.text) if m.type in ("error", "warning") else None)
        page.on("request", lambda request: page.requests.append(request.url))
        path = shown.save(tmp_path / "page.html")
        page.goto(path.as_uri())
        expect(page.locator(".nb-player")).to_be_visible()
        return page

    yield open_
    for context in contexts:
        context.close()


def step_of(page: Any) -> int:
    return int(page.locator(".nb-player").get_attribute("data-step"))


def leaf(page: Any, name: str) -> Any:
    has = page.locator(".nb-name", has_text=re.compile(f"^{name}$"))
    return page.locator(".nb-leaf").filter(has=has)


def test_stepping_with_buttons(open_page: Any) -> None:
    page = open_page(recording())
    assert step_of(page) == 0
    expect(page.locator(".nb-node.nb-active")).to_have_count(0)
    page.click(".nb-forward")
    page.click(".nb-forward")
    expect(page.locator(".nb-node.nb-active .nb-sub")).to_have_text("MulBackward0")
    expect(page.locator(".nb-flow.nb-active")).to_have_count(3)  # one comes, two go
    expect(page.locator(".nb-label.nb-active")).to_have_text(["1.", "2.", "3."])
    expect(page.locator(".nb-numbers")).to_have_text(["1. · 2. = 2.", "1. · 3. = 3."])
    page.click(".nb-forward")
    expect(leaf(page, "w").locator(".nb-in").first).to_have_text("⇠ 3.")
    expect(leaf(page, "w").locator(".nb-in").last).to_have_text("1 of 2")
    expect(page.locator(".nb-ledger tbody tr").first).to_have_text("wNone3. via b3. 1 of 2–")  # no more than has come
    page.click(".nb-forward")
    expect(leaf(page, "w").locator(".nb-in").first).to_have_text("⇠ 3. + 2. = 5.")
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad None")  # the buffer is not yet .grad
    page.click(".nb-forward")
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad 5.")
    page.click(".nb-back")
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad None")
    page.click(".nb-last")
    assert step_of(page) == 6
    expect(page.locator(".nb-ledger tbody tr").first).to_contain_text("3. via b + 2. via a")
    page.click(".nb-first")
    assert step_of(page) == 0
    expect(page.locator(".nb-done")).to_have_count(0)
    assert page.troubles == []
    assert [url for url in page.requests if not url.startswith("data:")] == [page.url]


def test_stepping_with_keys(open_page: Any) -> None:
    page = open_page(recording())
    page.evaluate("window.heard = 0; document.addEventListener('keydown', () => { window.heard += 1; })")
    page.focus(".nb-player")
    for key, step in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 6), ("Home", 0)):
        page.keyboard.press(key)
        assert step_of(page) == step
    expect(page.locator(".nb-caption")).to_have_text("Before the backward pass.")
    assert page.evaluate("window.heard") == 0  # the notebook does not hear these keys
    assert page.locator(".nb-player").get_attribute("data-lm-suppress-shortcuts") == "true"


def test_space_plays_to_the_end_and_pauses(open_page: Any) -> None:
    page = open_page(recording(), reduced_motion="no-preference")
    page.select_option(".nb-speed", "4")
    page.focus(".nb-player")
    page.keyboard.press("Space")
    expect(page.locator(".nb-play")).to_have_attribute("aria-label", "Pause (space)")
    expect(page.locator(".nb-token").first).to_be_attached(timeout=5000)  # a number is on its way
    expect(page.locator(".nb-player")).to_have_attribute("data-step", "6", timeout=10_000)
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad 5.")
    expect(page.locator(".nb-play")).to_have_attribute("aria-label", "Play (space)", timeout=5000)
    expect(page.locator(".nb-token")).to_have_count(0)


def test_the_slider_and_what_is_read_aloud(open_page: Any) -> None:
    page = open_page(recording())
    page.locator(".nb-slider").fill("4")
    assert step_of(page) == 4
    shown = page.locator(".nb-slider").get_attribute("aria-valuetext")
    assert shown == "step 4 of 6: AddBackward0, a = w + x, receives ∂y/∂a = 2. and sends w ← 2., x ← 2."
    assert page.locator(".nb-caption").get_attribute("aria-live") == "polite"


def test_nothing_moves_for_who_asks_for_rest(open_page: Any) -> None:
    page = open_page(recording())
    page.click(".nb-forward")
    page.click(".nb-forward")
    assert page.locator(".nb-token").count() == 0
    assert page.locator(".nb-flow.nb-active").count() == 3


def test_a_click_on_a_node_tells_about_it(open_page: Any) -> None:
    page = open_page(recording())
    leaf(page, "w").locator(".nb-shape").click()
    expect(page.locator(".nb-side .nb-title")).to_have_text("w")
    expect(page.locator(".nb-selected")).to_have_count(1)
    page.click(".nb-close")
    expect(page.locator(".nb-selected")).to_have_count(0)
    leaf(page, "w").locator(".nb-shape").click()
    page.click(".nb-forward")
    expect(page.locator(".nb-selected")).to_have_count(0)


def test_hover_lights_what_belongs_together(open_page: Any) -> None:
    page = open_page(recording())
    page.click(".nb-forward")
    page.click(".nb-forward")
    page.locator(".nb-equation").first.hover()
    expect(page.locator(".nb-node.nb-near")).to_have_count(2)
    expect(page.locator(".nb-edge.nb-near")).to_have_count(1)
    page.locator(".nb-op .nb-symbol").first.hover()
    expect(page.locator(".nb-code li.nb-near code")).to_have_text("y = torch.mul(a, b)")
    page.locator(".nb-code li").first.hover()
    expect(page.locator(".nb-node.nb-near .nb-sub")).to_have_text("AddBackward0")


def test_search_finds_nodes_by_name_operation_and_value(open_page: Any) -> None:
    page = open_page(recording())
    page.focus(".nb-player")
    page.keyboard.press("/")
    page.keyboard.type("add")
    expect(page.locator(".nb-matches")).to_have_text("1 of 2")
    expect(page.locator(".nb-found")).to_have_count(2)
    page.keyboard.press("Enter")
    expect(page.locator(".nb-selected .nb-sub")).to_have_text("AddBackward0")
    page.keyboard.press("Enter")
    expect(page.locator(".nb-matches")).to_have_text("2 of 2")
    page.locator(".nb-search").fill("6.")
    expect(page.locator(".nb-found .nb-name")).to_have_text("y")
    page.locator(".nb-search").fill("<img src=x onerror=alert(1)>")
    expect(page.locator(".nb-matches")).to_have_text("nothing found")
    page.keyboard.press("Escape")
    expect(page.locator(".nb-found")).to_have_count(0)
    assert step_of(page) == 0 and page.troubles == []


def test_what_a_node_is_made_from_folds_and_unfolds(open_page: Any) -> None:
    page = open_page(recording())
    page.locator(".nb-op .nb-symbol").first.click()  # the product
    page.keyboard.press("c")
    expect(page.locator(".nb-node.nb-away")).to_have_count(7)
    expect(page.locator(".nb-fold text")).to_have_text("▸ 7")
    expect(page.locator(".nb-caption")).to_have_text("folded: 7")
    page.locator(".nb-fold").click()
    expect(page.locator(".nb-away")).to_have_count(0)


def test_zoom_keys_and_fit(open_page: Any) -> None:
    page = open_page(recording())
    page.focus(".nb-player")
    view = page.locator(".nb-stage > svg")
    before = view.get_attribute("viewBox")
    page.keyboard.press("+")
    assert view.get_attribute("viewBox") != before
    page.keyboard.press("f")
    assert view.get_attribute("viewBox") == before


def test_saved_tensors_are_full_and_then_hollow(open_page: Any) -> None:
    page = open_page(recording())
    saved = page.locator(".nb-node:has(.nb-saved)")
    expect(saved).to_have_count(1)
    expect(page.locator(".nb-saved")).to_have_count(2)
    expect(page.locator(".nb-saved title").first).to_have_text("input (1,) 4 B")
    expect(saved).not_to_have_class(re.compile("nb-freed"))
    page.click(".nb-last")
    expect(saved).to_have_class(re.compile("nb-freed"))


def test_sizes_of_gradients_as_colours(open_page: Any) -> None:
    page = open_page(recording())
    page.click(".nb-last")
    assert page.locator(".nb-flow[data-size]").count() == 0
    page.keyboard.press("m")
    expect(page.locator(".nb-legend")).to_be_visible()
    assert page.locator(".nb-flow[data-size]").count() == page.locator(".nb-flow.nb-done, .nb-flow.nb-active").count()
    assert page.locator(".nb-scale").get_attribute("aria-pressed") == "true"


def test_loop_begins_again(open_page: Any) -> None:
    page = open_page(recording())
    page.select_option(".nb-speed", "4")
    page.click(".nb-loop")
    page.locator(".nb-slider").fill("5")
    page.evaluate("""() => {
        const player = document.querySelector('.nb-player');
        window.steps = [];
        new MutationObserver(() => window.steps.push(player.dataset.step)).observe(player, { attributes: true });
    }""")
    page.click(".nb-play")
    for _ in range(60):
        page.wait_for_timeout(100)
        steps = page.evaluate("window.steps")
        if "0" in steps:
            break
    assert "6" in steps and "0" in steps[steps.index("6") :]
    expect(page.locator(".nb-play")).to_have_attribute("aria-label", "Pause (space)")


def test_nothing_plays_by_itself(open_page: Any) -> None:
    page = open_page(recording())
    page.wait_for_timeout(600)
    assert step_of(page) == 0


def test_jump_to_a_pass(open_page: Any) -> None:
    page = open_page(recording(3))
    page.select_option(".nb-jump", label="pass 3")
    expect(page.locator(".nb-title")).to_have_text("pass 3")
    assert step_of(page) == 13


def loop(steps: int) -> Picture:
    with tracing.traced():
        w = nb.tensor(0.5, requires_grad=True)
        h = w
        for _ in range(steps):
            h = nb.tanh(h * w)
    return viz.graph(h, namespace={"w": w, "h": h})


def test_a_graph_is_walked_with_the_keys(open_page: Any) -> None:
    page = open_page(loop(2))
    expect(page.locator(".nb-ledger, .nb-transport, .nb-slider")).to_have_count(0)
    page.focus(".nb-player")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".nb-side .nb-title")).to_have_text("h")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".nb-side .nb-title")).to_have_text("TanhBackward0")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".nb-caption")).to_contain_text("h · output")
    page.keyboard.press("Escape")
    expect(page.locator(".nb-selected")).to_have_count(0)
    assert page.troubles == [] and [u for u in page.requests if not u.startswith("data:")] == [page.url]


def test_groups_fold_and_open_without_a_kernel(open_page: Any) -> None:
    page = open_page(loop(8))
    drawn = page.locator(".nb-node").count()
    page.focus(".nb-player")
    page.keyboard.press("r")
    assert page.locator(".nb-node").count() < drawn
    expect(page.locator(".nb-node.nb-group")).to_have_count(1)
    page.keyboard.press("r")
    assert page.locator(".nb-node").count() == drawn
    page.keyboard.press("r")
    page.locator(".nb-node.nb-group .nb-symbol").click()
    expect(page.locator(".nb-node.nb-group")).to_have_count(6)  # the steps
    page.click(".nb-closer")
    expect(page.locator(".nb-node.nb-group")).to_have_count(1)
    assert page.troubles == []


def long_pass(steps: int) -> Recording:
    with tracing.traced():
        w = nb.tensor(0.5, requires_grad=True)
        h = w
        for _ in range(steps):
            h = nb.tanh(h * w)
    return viz.animate(h, namespace={"w": w, "h": h}, fold=True)


def test_a_group_of_a_pass_is_one_step_and_opens(open_page: Any) -> None:
    page = open_page(long_pass(10))
    few = int(page.locator(".nb-slider").get_attribute("max"))
    assert few < 12
    page.click(".nb-last")
    page.locator(".nb-slider").fill(str(few - 3))
    expect(page.locator(".nb-side .nb-title")).to_have_text("×8")
    assert re.fullmatch(r"×8 \(.*\): 16 operations run\.", page.locator(".nb-caption").text_content())
    expect(page.locator(".nb-group.nb-active")).to_have_count(1)
    page.locator(".nb-group .nb-symbol").first.click()
    expect(page.locator(".nb-chips .nb-closer")).to_have_text(["×8 ×"])
    many = int(page.locator(".nb-slider").get_attribute("max"))
    assert many > few
    page.focus(".nb-player")
    page.keyboard.press("End")
    expect(leaf(page, "w").locator(".nb-in").last).to_have_text("11 of 11")
    page.click(".nb-closer")
    expect(page.locator(".nb-chips .nb-closer")).to_have_count(0)
    assert int(page.locator(".nb-slider").get_attribute("max")) == few
    assert step_of(page) == few
    assert page.troubles == []


def test_groups_open_with_the_keyboard(open_page: Any) -> None:
    page = open_page(loop(8))
    page.focus(".nb-player")
    page.keyboard.press("r")
    page.keyboard.press("/")
    page.keyboard.type("×6")
    page.keyboard.press("Enter")
    expect(page.locator(".nb-selected")).to_have_class(re.compile("nb-group"))
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.focus(".nb-player")
    for _ in range(12):
        page.keyboard.press("]")
        if page.locator(".nb-selected.nb-openable").count():
            break
    page.keyboard.press("Enter")
    expect(page.locator(".nb-node.nb-group")).to_have_count(6)  # the steps
    assert page.troubles == []


class FakeWidget:
    """What the kernel answers."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, content: Any) -> None:
        self.sent.append(content)


@pytest.mark.parametrize("make", [loop, long_pass], ids=["graph", "pass"])
def test_the_kernel_draws_what_the_page_does_not_hold(browser: Any, make: Any) -> None:
    shown = make(10)
    shown = Picture(fold.view(shown.model, fold=True), fold=True) if make is loop else shown
    widget, page = FakeWidget(), browser.new_page(viewport={"width": 900, "height": 700}, reduced_motion="reduce")
    script = export.player_js() + "\nwindow.mount = mount; window.asked = [];"
    page.set_content(f'<style>{export.player_css()}</style><main></main><script type="module">{script}</script>')
    page.wait_for_function("!!window.mount")
    page.evaluate(
        "data => { const onopen = (key) => asked.push(key);"
        " window.player = mount(document.querySelector('main'), data, { onopen }); }",
        shown.data(room=0),
    )
    expect(page.locator(".nb-openable")).to_have_count(1)
    page.locator(".nb-openable .nb-symbol").click()
    (key,) = page.evaluate("asked")
    expect(page.locator(".nb-caption")).to_have_text("…")
    shown._asked(widget, {"view": key}, [])
    page.evaluate("answer => player.add(answer)", widget.sent[0])
    expect(page.locator(".nb-chips .nb-closer")).to_have_count(1)
    assert page.locator(".nb-openable").count() >= 8  # the steps
    page.click(".nb-closer")
    expect(page.locator(".nb-openable")).to_have_count(1)
    assert page.evaluate("asked.length") == 1  # what it has drawn once it keeps
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_embedded_player_fits_its_page(browser: Any, scheme: str) -> None:
    """It is as high as what it shows, has the colours of the page around it, and asks nobody for anything."""
    with viz.autograd(embed=True):
        html = recording()._repr_mimebundle_()["text/html"]
    page = browser.new_page(viewport={"width": 900, "height": 700}, reduced_motion="reduce", color_scheme="light")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.set_content(f'<!doctype html><html data-theme="{scheme}"><body>{html}</body></html>')
    frame = page.frame_locator("iframe")
    frame.locator(".nb-forward").click()
    expect(frame.locator(".nb-player")).to_have_attribute("data-step", "1")
    expect(page.locator(".nb-still")).to_be_hidden()
    high = page.locator("iframe").bounding_box()["height"]
    assert abs(high - frame.locator(".nb-player").bounding_box()["height"]) < 3
    background = frame.locator(".nb-player").evaluate("e => getComputedStyle(e).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(17, 20, 24)")
    assert [url for url in requests if not url.startswith(("data:", "about:"))] == []
    page.close()


def test_chinese(open_page: Any) -> None:
    before = viz.settings.language
    viz.settings.language = "zh"
    try:
        page = open_page(recording(2))
    finally:
        viz.settings.language = before
    expect(page.get_by_role("button", name="播放（空格）")).to_be_visible()
    page.click(".nb-last")
    assert page.locator(".nb-player").get_attribute("lang") == "zh-Hans"
    shown = page.locator(".nb-slider").get_attribute("aria-valuetext")
    assert shown == "第 12 步，共 12 步: x.grad 原为 2.；加上 2.；现在是 4."
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_users_theme_wins(open_page: Any) -> None:
    viz.settings.theme = "dark"
    try:
        page = open_page(recording(), color_scheme="light")
    finally:
        viz.settings.theme = "auto"
    assert page.locator(".nb-player").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(17, 20, 24)"


def test_print_is_light_and_has_no_buttons(open_page: Any) -> None:
    page = open_page(recording(), color_scheme="dark")
    page.click(".nb-last")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator(".nb-player").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"
    expect(page.locator(".nb-play")).to_be_hidden()
    expect(page.locator(".nb-ledger tbody tr")).to_have_count(2)


def test_several_passes(open_page: Any) -> None:
    page = open_page(recording(3))
    page.click(".nb-last")
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad 15.")
    expect(page.locator(".nb-ledger tbody tr").first).to_contain_text("5. → 10. → 15.")


@pytest.mark.parametrize("width", [1000, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off(open_page: Any, width: int, scheme: str) -> None:
    page = open_page(recording(), viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.click(".nb-last")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    side, main = page.locator(".nb-side").bounding_box(), page.locator(".nb-main").bounding_box()
    assert (side["y"] >= main["y"] + main["height"]) == (width == 400)
    for button in page.locator(".nb-button").all():
        box = button.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
    background = page.locator(".nb-player").evaluate("e => getComputedStyle(e).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(17, 20, 24)")


def test_jupyterlab_says_which_theme(open_page: Any) -> None:
    page = open_page(recording(), color_scheme="light")
    page.evaluate("document.body.setAttribute('data-jp-theme-light', 'false')")
    assert page.locator(".nb-player").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(17, 20, 24)"


def tall() -> nb.Tensor:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    with tracing.traced():
        for _ in range(9):
            x = x.sin() + 1
        return x.sum()


@pytest.mark.parametrize("make", [viz.animate, viz.graph], ids=["pass", "graph"])
def test_a_tall_graph_opens_where_the_pass_begins(open_page: Any, make: Any) -> None:
    page = open_page(make(tall(), namespace={}, direction="TB"))
    stage, root = page.locator(".nb-stage").bounding_box(), page.locator(".nb-output").bounding_box()
    assert stage["y"] < root["y"] and root["y"] + root["height"] < stage["y"] + stage["height"]
    expect(page.locator(".nb-rim:visible")).to_have_class("nb-rim nb-rim-top")
    expect(page.locator(".nb-cut-off")).to_contain_text("press F")
    page.focus(".nb-player")
    page.keyboard.press("f")
    expect(page.locator(".nb-rim:visible")).to_have_count(0)


def test_of_two_results_the_last_is_seen_first(open_page: Any) -> None:
    one = tall()
    with tracing.traced():
        two = one.exp()
        for _ in range(6):
            two = two.cos() + 1
    page = open_page(viz.graph(one, two, namespace={"one": one, "two": two}, direction="TB"))
    stage, root = page.locator(".nb-stage").bounding_box(), page.locator(".nb-output").last.bounding_box()
    expect(page.locator(".nb-output").last).to_contain_text("two")
    assert stage["y"] < root["y"] and root["y"] + root["height"] < stage["y"] + stage["height"]


def test_a_graph_that_is_a_little_higher_than_wide_is_seen_whole(open_page: Any) -> None:
    x = nb.ones(2, requires_grad=True)
    page = open_page(viz.graph((x * 2).sum(), namespace={}, direction="TB"))
    expect(page.locator(".nb-rim:visible, .nb-cut-off")).to_have_count(0)


def test_a_long_formula_goes_on_on_the_next_line(open_page: Any) -> None:
    weight = nb.tensor([-1.0, 0.0], requires_grad=True)
    name = "decoder.layers.self_attention.weight"
    page = open_page(viz.animate((weight * 2).sum(), namespace={name: weight}))
    page.click(".nb-last")
    over = page.locator(".nb-equation").evaluate_all("all => all.map(e => e.scrollWidth - e.clientWidth)")
    assert over and max(over) <= 0


def test_a_long_name_leaves_room_for_its_type(open_page: Any) -> None:
    names = ("attention.out_proj.bias", "M" * 40)
    leaves = {name: nb.ones(4, requires_grad=True) for name in names}
    page = open_page(viz.graph(sum(leaves.values()), namespace=leaves))
    gaps = page.locator(".nb-leaf").evaluate_all("""all => all.map(e => {
        const name = e.querySelector('.nb-name').getBBox();
        return e.querySelector('.nb-about').getBBox().x - name.x - name.width;
    })""")
    assert len(gaps) == 2 and min(gaps) > 4


def test_texts_fit_into_their_boxes(open_page: Any) -> None:
    page = open_page(recording(2))
    page.click(".nb-last")
    sticking_out = page.evaluate("""() => [...document.querySelectorAll('.nb-stage .nb-node')].flatMap(node => {
        const shape = node.querySelector('.nb-shape');
        if (!shape) return [];
        const box = shape.getBBox();
        return [...node.querySelectorAll('text')].filter(t => {
            const b = t.getBBox();
            return b.x < box.x || b.x + b.width > box.x + box.width || b.y + b.height > box.y + box.height + 2;
        }).map(t => t.textContent);
    })""")
    assert sticking_out == []


def test_hostile_names_do_nothing(open_page: Any) -> None:
    hostile = [n for n in HOSTILE if n and "\ud800" not in n and len(n) < 1000]
    for i in range(0, len(hostile), 4):
        page = open_page(recording(names=dict(zip("wxab", hostile[i : i + 4], strict=False))))
        for _ in range(6):
            page.click(".nb-forward")
        page.locator(".nb-symbol").first.click()
        page.locator(".nb-search").fill(hostile[i])
        assert page.evaluate("window.__pwn") is None
        assert page.locator("script").count() == 2 and page.locator(".nb-player :is(img, iframe, a)").count() == 0
        assert page.troubles == []
        page.context.close()


def test_ids_are_the_players_own(open_page: Any) -> None:
    page = open_page(recording())
    ids = page.evaluate("[...document.querySelectorAll('.nb-stage [id]')].map(e => e.id)")
    assert len(ids) == len(set(ids)) >= 5
    assert not any(i in recording().svg for i in ids)  # renamed, so that a second copy cannot clash
