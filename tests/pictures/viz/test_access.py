"""The player for everyone: it is reached by keys, fingers and screen readers, in Chinese, and without motion."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.shots import keep
from tests.waiting import wait_in_page

needs.package("playwright")
from playwright.sync_api import expect

import nbautograd as nb
from nbautograd import viz
from nbautograd.viz.notebook import export, scripts

from .gallery import PROGRAMS
from .player_pages import open_tab, press, recording, unfold

pytestmark = [pytest.mark.browser, needs.chromium]

HEIGHT = 720
GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "keys.md"
TARGET = 24  # pixels


def graph() -> Any:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    return viz.graph((x * x).sum(), namespace={"x": x})


# -- by keys ----------------------------------------------------------------------------------------------------------

AS_ARIA = {
    "←": "ArrowLeft", "→": "ArrowRight", "↑": "ArrowUp", "↓": "ArrowDown", "Esc": "Escape", "−": "-", "+": "Plus",
    "⇧E": "Shift+E",
}  # fmt: skip


def told_in_the_guide(*titles: str) -> dict[str, str]:
    """Compare keys and their effects with the guide's tables."""
    text = GUIDE.read_text(encoding="utf-8")
    rows = [
        row for title in titles for row in text.partition(f"\n{title}:\n")[2].lstrip().split("\n\n")[0].splitlines()[2:]
    ]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {" ".join(re.findall(r"`([^`]+)`", keys)): what for keys, what in cells}


@pytest.mark.parametrize("plays", [True, False])
def test_the_list_of_keys_is_whole_and_the_same_everywhere(window: Any, tmp_path: Path, plays: bool) -> None:
    path = (recording() if plays else graph()).save(tmp_path / "page.html")
    window.goto(path.as_uri())
    window.focus(".nb-player")
    press(window, "i")
    expect(window.locator(".nb-marks")).to_be_focused()
    rows = window.locator(".nb-keys > div").evaluate_all(
        "all => all.map((e) => [[...e.querySelectorAll('kbd')].map((k) => k.textContent).join(' '),"
        " e.querySelector('dd').textContent])"
    )
    told: dict[str, str] = dict(rows)
    assert told == told_in_the_guide("Where there is a backward pass" if plays else "A graph alone", "Both")
    heard = window.locator(".nb-player").get_attribute("aria-keyshortcuts").split()
    shown = [AS_ARIA.get(key, key) for keys in told for key in keys.split()]
    assert sorted(heard) == sorted([*shown, "="])  # the same key as +, without Shift
    press(window, "Escape")
    expect(window.locator(".nb-player")).to_be_focused()


FOCUSED = """() => {
    const element = document.activeElement, style = getComputedStyle(element);
    if (element === document.body) return null;
    const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1.5;
    return [element.getAttribute('aria-label') || element.textContent.trim().slice(0, 30), ring,
        !!element.closest('.nb-player'), element.getBoundingClientRect().height];
}"""


def tabbed(page: Any) -> list[Any]:
    """Return the elements that Tab reaches, from the player on."""
    page.focus(".nb-player")
    reached: list[Any] = []
    while (at := page.evaluate(FOCUSED)) and at not in reached:
        reached.append(at)
        press(page, "Tab")
    return reached


def test_tab_goes_through_all_that_can_be_pressed_and_it_is_seen_where_one_is(window: Any, saved: Any) -> None:
    window.set_viewport_size({"width": 1280, "height": HEIGHT})
    window.goto(saved(PROGRAMS["used_four_times"]).as_uri())
    open_tab(window, "tools")
    window.focus(".nb-player")
    press(window, "End", "ArrowLeft", "ArrowLeft", "]", "]")
    reached = tabbed(window)
    assert [at for at in reached if not at[1] or not at[2]] == []
    pressable = window.locator(".nb-player :is(button, input, select, summary, [role=slider], [role=tab])")
    expected = pressable.evaluate_all(
        "all => all.filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0)"
        ".map((e) => e.getAttribute('aria-label') || e.textContent.trim().slice(0, 30))"
    )
    names = [at[0] for at in reached]
    assert len(expected) > 20 and [name for name in expected if name not in names] == []
    assert [name for name in names if name in expected] == expected  # in the order of the page


def test_a_step_does_not_lose_the_focus_and_pointing_does_not_take_it(open_page: Any) -> None:
    page = open_page(PROGRAMS["perceptron"], viewport={"width": 1600, "height": 900})
    focused = "document.activeElement.getAttribute('class')"
    unfold(page)  # all groups open
    for inside, keys in {
        ".nb-side": ("ArrowRight", "]"),
        ".nb-equation-bar": ("ArrowRight",) * 3,
        ".nb-ledger": ("End",),
    }.items():
        open_tab(page, "leaves" if inside == ".nb-ledger" else "step")
        page.focus(".nb-player")
        press(page, *keys)
        slider = page.locator(f"{inside} [role=slider]").first
        while not slider.is_visible():  # to a node, or a step, with a tile
            press(page, "]" if inside == ".nb-side" else "ArrowRight")
        slider.focus()
        press(page, "PageDown", "Home")
        assert "nb-player" in page.evaluate(focused), inside
        expect(page.locator(".nb-player")).to_have_attribute("data-step", "0")
    while page.locator(".nb-edge-tab").count() < 2:
        press(page, "ArrowRight")
    tab = page.locator(".nb-edge-tab").nth(1)
    tab.focus()
    press(page, "Enter")
    expect(page.locator(".nb-edge-tab").nth(1)).to_be_focused()
    page.evaluate("document.body.append(Object.assign(document.createElement('input'), { id: 'cell' }))")
    page.focus("#cell")
    for hit in page.locator("[data-hit]").all():
        hit.dispatch_event("pointerover", {"bubbles": True})
    expect(page.locator("#cell")).to_be_focused()


def test_cells_and_bars_are_sliders(open_page: Any) -> None:
    page = open_page(PROGRAMS["perceptron"], viewport={"width": 1600, "height": 900})
    page.focus(".nb-player")
    press(page, "ArrowRight", "ArrowRight", "ArrowRight")
    tile = page.locator(".nb-is-sent [role=slider]")
    tile.focus()
    press(page, "ArrowRight", "ArrowDown")
    value = tile.get_attribute("aria-valuetext")
    assert re.fullmatch(r"\[1, 0\]: −?[\d.e−]+", value), value
    assert tile.get_attribute("aria-valuenow") == "1" and tile.get_attribute("aria-valuemax") == "3"
    press(page, "Enter")
    press(page, "Shift+Tab")
    expect(page.locator(".nb-equation-element b")).to_have_text(value.partition(": ")[2])  # kept
    press(page, "End")
    open_tab(page, "leaves")
    bar = page.locator(".nb-ledger [role=slider]").first
    bar.focus()
    press(page, "ArrowRight")
    assert bar.get_attribute("aria-valuetext").startswith("pass 1: ")
    expect(page.locator(".nb-bucket-card")).to_be_visible()


def test_e_reads_operations_too_and_those_of_the_node_that_is_selected(open_page: Any) -> None:
    page = open_page(recording())
    page.focus(".nb-player")
    press(page, "ArrowRight", "ArrowRight")
    told = []
    for _ in range(4):
        press(page, "e")
        told.append(page.locator(".nb-sensitivity").inner_text())
    assert "local derivatives" in told[3] and len(set(told)) == 4
    press(page, "Escape", "End")
    while page.locator(".nb-side .nb-title").text_content() != "x":
        press(page, "]")
    press(page, "e")
    expect(page.locator(".nb-sensitivity b")).to_have_text("∂y/∂x = 2")
    press(page, "e")
    expect(page.locator(".nb-sensitivity b")).to_have_text("∂y/∂x = 2")  # its only edge


# -- by a screen reader -----------------------------------------------------------------------------------------------

ALONE = {"button", "slider", "tab", "tablist", "combobox", "searchbox", "textbox", "dialog", "table"}
NAMED = ALONE | {"img", "image", "math", "group", "columnheader", "rowheader", "heading"}


def tree(page: Any) -> list[tuple[str, str]]:
    """Role and name of all that a screen reader meets in the player, in order."""
    session = page.context.new_cdp_session(page)
    nodes = {node["nodeId"]: node for node in session.send("Accessibility.getFullAXTree")["nodes"]}
    session.detach()

    def walk(node: Any) -> Iterator[tuple[str, str]]:
        role, name = (node.get(key, {}).get("value", "") for key in ("role", "name"))
        if not node.get("ignored"):
            yield role, name
        for child in node.get("childIds", []):
            if child in nodes:
                yield from walk(nodes[child])

    (root,) = [node for node in nodes.values() if "parentId" not in node]
    return list(walk(root))


@pytest.mark.parametrize("name", ["first_seed", "used_four_times", "changed_in_place", "hooked", "folded_loop"])
def test_everything_has_a_name_of_its_own(window: Any, saved: Any, name: str) -> None:
    window.set_viewport_size({"width": 1280, "height": HEIGHT})
    window.goto(saved(PROGRAMS[name]).as_uri())
    window.focus(".nb-player")
    for keys in (("ArrowRight", "ArrowRight"), ("]", "]", "e"), ("Escape", "Escape", "End"), ("i",)):
        press(window, *keys)
        said = tree(window)
        assert [role for role, label in said if role in NAMED and not label.strip()] == []
        twice = Counter((role, label) for role, label in said if role in ALONE)
        assert [one for one, count in twice.items() if count > 1] == []
        assert max(len(label) for role, label in said if role not in ("StaticText", "InlineTextBox", "paragraph")) < 240


def test_the_order_of_what_is_read(open_page: Any) -> None:
    page = open_page(recording())
    page.focus(".nb-player")
    press(page, "ArrowRight", "ArrowRight")
    open_tab(page, "leaves")
    said = tree(page)
    roles = [role for role, _ in said]
    assert {"toolbar", "complementary", "application"} & set(roles) == set()  # arrow keys are steps, also in the bar
    drawn = next(i for i, (role, label) in enumerate(said) if role == "group" and label.startswith("Autograd graph: y"))
    order = [drawn, said.index(("slider", "Nudge w")), said.index(("group", "Upstream × local = sent")),
             said.index(("slider", "Step of the backward pass")),
             said.index(("button", "Play (space)")), said.index(("tab", "Leaves")),
             said.index(("table", "What each leaf gets"))]  # fmt: skip
    assert order == sorted(order)
    live = page.locator(".nb-player :is([aria-live=polite], [role=status])")
    spoken = [element for element in live.all() if element.is_visible() and element.inner_text().strip()]
    assert len(spoken) == 1  # a step is announced once
    expect(page.locator(".nb-caption")).to_contain_text("y changes 2 times as fast as a")
    drawing = page.locator(".nb-stage > svg")
    title = page.locator(f"[id='{drawing.get_attribute('aria-labelledby')}']").text_content()
    words = page.locator(f"[id='{drawing.get_attribute('aria-describedby')}']").text_content()
    assert title.startswith("Autograd graph: y") and "├─" in words


# -- by fingers, in Chinese, without motion ---------------------------------------------------------------------------

LOW = """least => [...document.querySelectorAll(`.nb-player :is(button, input, select, summary, [role=slider], tbody tr,
        li[data-where], .nb-path, .nb-node, .nb-fold)`)]
    .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest('.nb-marks svg'))
    .map((e) => [e.getAttribute('class') || e.tagName, e.getBoundingClientRect()])
    .filter(([, box]) => box.width < least - 0.05 || box.height < least - 0.05)
    .map(([name, { width, height }]) => [name, width, height])"""


class Fingers:
    """Touches as a browser gets them from a screen."""

    def __init__(self, page: Any) -> None:
        self.page, self.session = page, page.context.new_cdp_session(page)

    def touch(self, kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def slide(self, *ways: tuple[tuple[float, float], tuple[float, float]], steps: int = 8) -> None:
        """Move each finger from one point to another."""
        for i in range(len(ways)):
            self.touch("touchStart", *(start for start, _ in ways[: i + 1]))
        for k in range(1, steps + 1):
            self.touch("touchMove", *((a + (c - a) * k / steps, b + (d - b) * k / steps) for (a, b), (c, d) in ways))
        self.touch("touchEnd")

    def hold(self, point: tuple[float, float]) -> None:
        self.touch("touchStart", point)
        wait_in_page(self.page, 600)
        self.touch("touchEnd")


def seen_part(page: Any) -> list[float]:
    return [float(number) for number in page.locator(".nb-stage > svg").get_attribute("viewBox").split()]


@pytest.mark.parametrize("width", [400, 1280])
def test_by_touch(open_page: Any, width: int) -> None:
    page = open_page(recording(2), has_touch=True, is_mobile=width == 400, viewport={"width": width, "height": 800})
    page.tap(".nb-more")
    for tapped in (".nb-forward", ".nb-forward", "[data-tab=tools]", ".nb-ask", ".nb-ask", ".nb-scale", ".nb-last",
                   "[data-tab=leaves]", "[data-tab=step]", ".nb-leaf"):  # fmt: skip
        page.locator(tapped).first.tap()
        assert page.evaluate(LOW, TARGET) == [], tapped
    expect(page.locator(".nb-side .nb-title")).to_have_text(page.locator(".nb-leaf .nb-name").first.text_content())
    page.tap("[data-tab=tools]")
    page.tap(".nb-marks-button")
    expect(page.locator(".nb-keys")).to_be_visible()
    keep(page, f"touch-{width}.png")
    page.tap(".nb-marks button")
    fingers, box = Fingers(page), page.locator(".nb-stage").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before, scrolled = seen_part(page), page.evaluate("scrollY")
    fingers.slide(((x - 30, y), (x - 60, y - 20)), ((x + 30, y), (x + 60, y - 20)))
    closer = seen_part(page)
    assert abs(closer[2] * 2 - before[2]) < 0.05 * before[2]  # twice the distance, twice the size
    assert page.evaluate("scrollY") == scrolled
    fingers.slide(((x, y), (x - 40, y)))
    moved = seen_part(page)
    assert moved[0] > closer[0] and moved[2] == closer[2]
    fingers.slide(((x - 60, y), (x - 30, y)), ((x + 60, y), (x + 30, y)))
    assert seen_part(page)[2] > moved[2]
    assert page.troubles == []


def test_a_long_touch_shows_a_card_and_selects_nothing(open_page: Any) -> None:
    page = open_page(recording(), has_touch=True)
    page.press(".nb-player", "End")
    box = page.locator(".nb-op").first.bounding_box()
    Fingers(page).hold((box["x"] + box["width"] / 2, box["y"] + 6))
    expect(page.locator(".nb-sensitivity")).to_contain_text("local derivatives")
    expect(page.locator(".nb-ring")).to_have_count(0)
    page.tap(".nb-op >> nth=0", position={"x": box["width"] / 2, "y": 6})
    expect(page.locator(".nb-ring")).to_have_count(1)


def test_in_chinese_every_word_is(open_page: Any) -> None:
    before = viz.settings.language
    viz.settings.language = "zh"
    try:
        page = open_page(recording(2), color_scheme="dark", viewport={"width": 700, "height": HEIGHT})
    finally:
        viz.settings.language = before
    page.focus(".nb-player")
    press(page, "End", "i")
    keep(page, "chinese-700-dark.png")
    own = {"backward", "w", "x", "a", "b", "y", "SVG"}
    labels = page.locator(
        ".nb-player :is([aria-label]:not([role=math]), button, .nb-marks :is(b, dd, li))"
    ).evaluate_all("all => all.map((e) => e.getAttribute('aria-label') || e.textContent)")
    english = [label for label in labels if re.search("[a-z]{4}", label) and not re.search("[\u4e00-\u9fff]", label)]
    assert len(labels) > 50 and [label for label in english if label not in own] == []


def test_without_motion_nothing_moves_by_itself(open_page: Any) -> None:
    page = open_page(recording())
    page.focus(".nb-player")
    press(page, "Home")
    moving = "document.getAnimations().length + document.querySelectorAll('.nb-tokens > *').length"
    for _ in range(8):
        press(page, "ArrowRight")
        assert page.evaluate(moving) == 0
    press(page, "Home", " ")
    expect(page.locator(".nb-player")).not_to_have_attribute("data-step", "0")  # it plays, step by step
    assert page.evaluate(moving) == 0


SHADOW = """
    const data = JSON.parse(document.getElementById('nb-data').textContent);
    const model = { get: (name) => ({ index: 0, selected: '' })[name], set() {}, save_changes() {}, on() {}, off() {},
      send() {} };
    const root = document.getElementById('host').attachShadow({ mode: 'open' });
    root.innerHTML = '<div id="place"></div>';
    root.prepend(document.getElementById('rules'));
    window.end = render(model, root.getElementById('place'), data.texts, data);
"""


def test_in_a_shadow_tree_it_follows_the_page_and_keeps_the_focus(browser: Any, tmp_path: Path) -> None:
    """marimo shows widgets this way: the page's style sheets and the player's do not see each other."""
    script = scripts.bundle(*scripts.PLAYER) + SHADOW
    payload = export.json_for_script(recording().data())
    (tmp_path / "page.html").write_text(
        f'<!doctype html><meta charset=utf-8><body data-theme="dark"><style id="rules">{scripts.player_css()}</style>'
        f'<div id="host"></div><script type="application/json" id="nb-data">{payload}</script>'
        f'<script type="module">{script}</script>',
        encoding="utf-8",
    )
    page = browser.new_page(reduced_motion="reduce", color_scheme="light")
    page.goto((tmp_path / "page.html").as_uri())
    player = page.locator(".nb-player")
    shade = "e => getComputedStyle(e).colorScheme"
    assert player.evaluate(shade) == "dark"
    page.evaluate("document.body.dataset.theme = 'light'")
    page.wait_for_function(
        "document.getElementById('host').shadowRoot.getElementById('place').dataset.nbTheme === 'light'"
    )
    assert player.evaluate(shade) == "light"
    player.focus()
    press(page, "ArrowRight", "ArrowRight")
    page.locator(".nb-edge-tab").nth(1).focus()
    press(page, "Enter")
    expect(page.locator(".nb-edge-tab").nth(1)).to_be_focused()
    press(page, "ArrowRight")
    expect(player).to_be_focused()
    page.evaluate("window.end()")
    page.close()
