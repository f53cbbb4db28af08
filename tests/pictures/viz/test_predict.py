"""Predict, then see, in a real browser: what is asked is hidden, answers are checked, wrong ones open hints."""

from __future__ import annotations

import json
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from tests import needs
from tests.waiting import expect_to_appear

from .player_pages import KEYS, layer, step_of

needs.package("playwright")
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, needs.chromium]


def scalar(**options: Any) -> Any:
    """A product of two results of one leaf: five gradients are asked."""
    with tracing.traced():
        w, x = (nb.tensor(value, requires_grad=True) for value in (3.0, 2.0))
        a = w + 0.5
        b = w * x
        y = a * b
    return viz.animate(y, namespace={"w": w, "x": x, "a": a, "b": b, "y": y}, **{"ask": True} | options)


def answer(page: Any, text: str) -> None:
    page.locator(".nb-answer").fill(text)
    page.keyboard.press("Enter")


def first_question(page: Any) -> None:
    page.focus(".nb-player")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".nb-answer")).to_be_focused()


def everything_said(page: Any) -> str:
    """All text and all attributes in which something is said to a screen reader or on hover."""
    said = page.evaluate("""() => {
        const root = document.querySelector('.nb-player');
        const names = ['aria-label', 'aria-valuetext', 'aria-description', 'title', 'alt'];
        const attributes = [root, ...root.querySelectorAll('*')].flatMap((e) => names.map((n) => e.getAttribute(n)));
        return [root.textContent, ...attributes.filter(Boolean), root.querySelector('.nb-answer').value].join(' ');
    }""")
    return str(said)


def test_a_pass_by_keyboard_alone(open_page: Any) -> None:
    page = open_page(scalar())
    page.evaluate("window.heard = 0; document.addEventListener('keydown', () => { window.heard += 1; })")
    expect(page.locator(".nb-caption")).to_contain_text("Predict, then see")
    first_question(page)
    expect(page.locator(".nb-caption")).to_have_text("What is ∂y/∂a?")
    page.keyboard.type("6")
    page.keyboard.press("Enter")
    expect(page.locator(".nb-caption")).to_have_text("What is ∂y/∂b?")
    expect(page.locator(".nb-feedback")).to_have_text("Right: ∂y/∂a = 6.")
    page.keyboard.type("7/2")
    page.keyboard.press("Enter")
    expect(page.locator(".nb-caption")).to_contain_text("Right: ∂y/∂b = 3.5.")
    expect(page.locator(".nb-label.nb-active")).to_have_text(["1.", "6.", "3.5"])
    expect(page.locator(".nb-edge-tab.nb-pressed")).to_have_text("for b")  # the equation of the answer
    page.keyboard.press("Enter")  # on
    asked = {"∂y/∂w (via b)": "3.5*2", "∂y/∂x": "3.5 × 3", "∂y/∂w (via a)": "6"}
    for _ in range(20):
        if page.locator(".nb-answer").count():
            name = page.locator(".nb-question b").inner_text().removesuffix(" =")
            page.keyboard.type(asked.pop(name))
        elif step_of(page) == page.evaluate("Number(document.querySelector('.nb-slider').max)"):
            break
        page.keyboard.press("Enter")
    assert asked == {}
    expect(page.locator(".nb-score")).to_have_attribute("aria-label", "5 of 5 at first try")
    expect(page.locator(".nb-equation-words")).to_contain_text("5 of 5 at first try")
    expect(page.locator(".nb-caption")).to_contain_text("5 of 5 at first try")
    assert page.evaluate("window.heard") == 0 and page.troubles == []
    page.click(".nb-again")
    assert step_of(page) == 0
    expect(page.locator(".nb-score")).to_have_text("0/0")


def test_wrong_answers_open_the_equation(open_page: Any) -> None:
    page = open_page(scalar())
    first_question(page)
    expect(page.locator(".nb-closed:not(.nb-is-sent)")).to_have_count(2)
    answer(page, "5")
    expect(page.locator(".nb-feedback")).to_have_text("Not 5. Try again.")
    expect(page.locator(".nb-closed:not(.nb-is-sent)")).to_have_count(1)
    expect(page.locator(".nb-is-upstream text")).to_have_text("1")
    expect(page.locator(".nb-is-factor text")).to_have_count(0)
    answer(page, "two")
    expect(page.locator(".nb-feedback")).to_contain_text("not a number")
    expect(page.locator(".nb-closed:not(.nb-is-sent)")).to_have_count(1)  # it did not count as a try
    answer(page, "-6")
    expect(page.locator(".nb-closed:not(.nb-is-sent)")).to_have_count(0)
    expect(page.locator(".nb-is-factor text")).to_have_text("6")
    answer(page, "1")
    expect(page.locator(".nb-feedback")).to_have_text("It is ∂y/∂a = 6.")
    expect(page.locator(".nb-caption")).to_have_text("What is ∂y/∂b?")
    answer(page, "3")
    answer(page, "3.5")  # right, but not on the first try
    expect(page.locator(".nb-score")).to_have_text("0/2")
    assert page.troubles == []


RIGHT = ("3.5", "7/2", "3,5", "２＋1.5", "2^2 − 0.5", "3.55", "3.45", "(1 + 6) ÷ 2", "-(-3.5)", "7 * cos(pi/3)",
         "35e-1")  # fmt: skip
WRONG = ("3.4", "3.6", "0", "-3.5", "inf", "nan", "3.5 +", "alert(1)", "constructor", "(")
ANSWERED = f"""(texts) => {{
    {KEYS}
    player.focus();
    return texts.map((text) => {{
        for (const key of ["ArrowRight", "ArrowRight"]) press(key);
        player.querySelector(".nb-skip").click();
        type(text);
        const said = [".nb-caption", ".nb-feedback"].map((name) => player.querySelector(name)?.innerText ?? "");
        if (player.querySelector(".nb-answer")) document.activeElement.value = "";
        for (const key of ["?", "Home", "?"]) press(key); // from the beginning again
        return said;
    }});
}}"""
"""Gives each answer to the second question, and returns what is said of it."""


def test_what_counts_as_right(open_page: Any) -> None:
    page = open_page(scalar())
    said = page.evaluate(ANSWERED, RIGHT)
    wrong = [text for text, (caption, _) in zip(RIGHT, said, strict=True) if "Right: ∂y/∂b = 3.5." not in caption]
    assert wrong == [] and page.troubles == []


def test_what_does_not(open_page: Any) -> None:
    page = open_page(scalar())
    said = page.evaluate(ANSWERED, WRONG)
    assert [caption for caption, _ in said] == ["What is ∂y/∂b?"] * len(WRONG)
    assert all(feedback for _, feedback in said) and page.troubles == []


def test_nothing_is_said_before(open_page: Any) -> None:
    page = open_page(scalar())
    first_question(page)
    leaks = ("10.5", "13.", "7.0", "∂y/∂b = 3", "∂y/∂a = 6")  # the remaining questions
    for act in (lambda: None, lambda: page.hover(".nb-node >> nth=0"), lambda: page.keyboard.press("Escape"),
                lambda: page.locator(".nb-node").first.click(), lambda: page.press(".nb-player", "End"),
                lambda: page.locator(".nb-slider").fill("6")):  # fmt: skip
        act()
        said = everything_said(page)
        assert [leak for leak in leaks if leak in said] == []
        assert step_of(page) == 2
        expect(page.locator(".nb-ledger tbody td.nb-sum")).to_have_text(["–", "–"])
    assert page.locator(".nb-label", has_text="?").count() == 7  # all but that of the seed


def test_switching_it_off_shows_everything(open_page: Any) -> None:
    page = open_page(scalar())
    first_question(page)
    page.press(".nb-player", "?")
    expect(page.locator(".nb-label.nb-active")).to_have_text(["1.", "6.", "3.5"])
    expect(page.locator(".nb-answer")).to_have_count(0)
    page.press(".nb-player", "End")
    page.keyboard.press("?")  # at the end: from the start
    assert step_of(page) == 0
    expect(page.locator(".nb-ask")).to_have_attribute("aria-pressed", "true")


def test_what_was_seen_is_not_asked(open_page: Any) -> None:
    page = open_page(scalar(ask=False))
    expect(page.locator(".nb-ask")).to_have_attribute("aria-pressed", "false")
    page.focus(".nb-player")
    for key in ("ArrowRight", "ArrowRight", "?", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator(".nb-answer")).to_have_count(0)
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert step_of(page) == 3
    expect(page.locator(".nb-answer")).to_be_focused()


def test_an_element_of_a_tensor_and_what_it_is_made_of(open_page: Any) -> None:
    page = open_page(layer(ask=True))
    first_question(page)
    expect(page.locator(".nb-caption")).to_contain_text("∂y/∂(h * h)[0, 0]")
    answer(page, "1/4")
    page.keyboard.press("Enter")
    expect(page.locator(".nb-caption")).to_have_text("What is ∂y/∂h[0, 1] (via h * h)?")
    answer(page, "9")
    answer(page, "9")
    for part in ("upstream", "factor"):
        expect(page.locator(f".nb-is-{part} rect.nb-lit")).to_have_attribute("data-cell", "1")
    page.hover(".nb-is-factor rect >> nth=2")
    expect(page.locator(".nb-equation-words")).not_to_contain_text("changes by")


HEIGHTS = f"""async () => {{
    {KEYS}
    const heights = [player.getBoundingClientRect().height];
    player.focus();
    while (heights.length <= 60) {{
        if (player.querySelector(".nb-answer")) type("1e9");
        else press("Enter");
        await laidOut();
        heights.push(player.getBoundingClientRect().height);
    }}
    return heights;
}}"""
"""The height of the player before and after each of many wrong answers."""


@pytest.mark.parametrize("width", [400, 700, 1280])
def test_the_height_stays(open_page: Any, width: int) -> None:
    page = open_page(layer(ask=True), viewport={"width": width, "height": 900})
    heights = page.evaluate(HEIGHTS)
    assert step_of(page) == 8
    expect(page.locator(".nb-equation-words")).to_contain_text("0 of ")
    assert len(heights) == 61 and len(set(heights)) == 1, heights
    assert page.locator(".nb-answer").count() == 0 and page.troubles == []


def test_it_plays_on_after_an_answer(open_page: Any) -> None:
    page = open_page(scalar(), reduced_motion="no-preference")
    page.select_option(".nb-speed", "4", force=True)
    page.focus(".nb-player")
    page.keyboard.press("Space")
    page.wait_for_selector(".nb-answer")
    expect(page.locator(".nb-play")).to_have_attribute("aria-label", "Play (space)")
    page.select_option(".nb-speed", "0.25", force=True)
    with expect_to_appear(page, ".nb-token"):  # the answer moves along its edge
        answer(page, "6")
    page.select_option(".nb-speed", "4", force=True)
    answer(page, "3.5")
    expect(page.locator(".nb-player")).to_have_attribute("data-step", "3", timeout=10_000)
    expect(page.locator(".nb-answer")).to_be_visible()
    assert page.troubles == []


def test_in_chinese(open_page: Any) -> None:
    with viz.autograd(language="zh"):
        page = open_page(scalar())
    first_question(page)
    expect(page.locator(".nb-caption")).to_have_text("∂y/∂a 是多少？")
    answer(page, "５")
    expect(page.locator(".nb-feedback")).to_contain_text("再试一次")


def test_a_recording_of_several_passes_has_a_score_for_each(open_page: Any) -> None:
    with tracing.traced():
        x = nb.tensor(2.0, requires_grad=True)
        with viz.record(namespace={"x": x}) as passes:
            for _ in range(2):
                (x * 3).backward()
    page = open_page(passes)
    page.press(".nb-player", "?")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    answer(page, "3")
    page.keyboard.press("Enter")
    expect(page.locator(".nb-equation-words")).to_contain_text("1 of 1 at first try")
    page.keyboard.press("Enter")
    expect(page.locator(".nb-score")).to_have_text("0/0")


def test_the_data_says_whether_to_ask() -> None:
    assert scalar().data()["ask"] is True and scalar(ask=False).data()["ask"] is False
    assert json.dumps(scalar().data())


def test_what_happens_in_a_folded_group_is_not_asked(open_page: Any) -> None:
    with tracing.traced():
        w = nb.tensor(0.5, requires_grad=True)
        h = w
        for _ in range(60):
            h = nb.tanh(h * w)
    page = open_page(viz.animate(h, namespace={"w": w, "h": h}, fold=True, ask=True))
    page.evaluate(f"""() => {{
        {KEYS}
        player.focus();
        for (let turn = 0; turn < 30; turn++) {{
            player.querySelector(".nb-skip")?.click();
            press("ArrowRight");
        }}
    }}""")
    last = int(page.locator(".nb-slider").get_attribute("max"))
    assert step_of(page) == last < 60
    asked = int(page.locator(".nb-score").inner_text().partition("/")[2])
    assert 0 < asked < 20 and page.troubles == []
