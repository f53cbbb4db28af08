"""English and Chinese: the same keys, the same places for numbers and names, and both in use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz import language, translations

ENGLISH = translations.ENGLISH
VIZ = Path(language.__file__).parent
assert translations.ENGLISH["bad_at"]  # which loads the texts that are loaded late


@pytest.fixture
def chinese() -> Iterator[None]:
    before = viz.settings.language
    viz.settings.language = "中文"
    yield
    viz.settings.language = before


def test_no_key_stands_in_two_tables() -> None:
    """A repeated key would replace the earlier one."""
    assert len(translations._ALL) == sum(map(len, translations._TABLES))


def test_both_languages_have_the_same_keys() -> None:
    assert set(translations.ENGLISH) == set(translations.CHINESE)
    assert all(translations.ENGLISH.values()) and all(translations.CHINESE.values())


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("key", sorted(translations.ENGLISH))
def test_both_languages_have_the_same_places(key: str) -> None:
    assert places(translations.ENGLISH[key]) == places(translations.CHINESE[key])


def test_what_is_chinese_is_chinese() -> None:
    same = {key for key in translations.ENGLISH if translations.ENGLISH[key] == translations.CHINESE[key]}
    assert same == {"card_grad", "card_no_tracking", "grad_norm"}  # PyTorch's own words


def test_every_key_that_the_code_says_exists() -> None:
    python = "\n".join(path.read_text("utf-8") for path in VIZ.glob("*.py"))
    said = set(re.findall(r'say\(\s*"(\w+)"', python))
    player = "\n".join(path.read_text("utf-8") for path in (VIZ / "static").glob("*.js"))
    told = set(re.findall(r'\bt\("(\w+)"', player)) | set(re.findall(r"texts\.(\w+)", player))
    assert said <= set(translations.ENGLISH)
    assert told - {"lang"} <= set(translations.player_keys())


def test_the_player_gets_its_language(chinese: None) -> None:
    texts = language.player_texts()
    assert texts["play_key"] == "播放（空格）" and texts["lang"] == "zh-Hans"
    assert set(texts) == {*translations.player_keys(), "lang"}


def test_captions_follow_the_language(chinese: None) -> None:
    with tracing.traced():
        w = nb.tensor([1.0], requires_grad=True)
        y = w * 3
    animation = viz.animate(y, namespace={"w": w, "y": y})
    captions = [frame.caption for frame in animation.timeline.frames]
    assert captions[-1] == "w.grad 原为 None；加上 3.；现在是 3."
    assert all(re.search(r"[\u4e00-\u9fff]", caption) for caption in captions)
    assert "个叶子节点" in animation.label
    assert '"zh-Hans"' in animation.html()


def test_one_of_something_is_said_as_one() -> None:
    assert (language.say("op_count", n=1), language.say("op_count", n=2)) == ("1 operation", "2 operations")
    ones = {key.removesuffix("_1") for key in translations.ENGLISH if key.endswith("_1")}
    assert ones and ones <= set(translations.ENGLISH)


COUNTS = "n|count|of|size|storages|open|solved|points|rows|columns|ops|drawn|limit|budget|parameters|wrong|left"
SEVERAL = {  # which is said of two or more only
    "bad_count", "bead", "block_means", "card_every", "cut", "memory_checkpoint_steps", "memory_runs",
    "n_passes", "n_products", "n_terms", "not_shown", "not_zeroed", "one_way",
    "rest_paths", "rest_sum", "several_edges", "shortened", "smaller", "sum_of", "terms", "torch_partly",
    "vector_which", "vjp_note", "why_accumulated", "why_left_out", "why_line", "why_zero",
}  # fmt: skip


def test_every_text_with_a_count_has_one_for_a_count_of_one() -> None:
    """``say`` and the player's ``fill`` take ``key_1`` where ``n`` is 1: "1 operation runs"."""
    counted = {
        key: text
        for key, text in ENGLISH.items()
        if not key.endswith("_1")
        if re.search(rf"{{({COUNTS})(?::,)?}} (?:more |saved )?(?!is\b|mixes\b|pass\b)[a-z]+s\b", text)
    }
    assert len(counted) > 40 and counted.keys() >= SEVERAL
    assert {key: told for key, told in counted.items() if key not in SEVERAL and f"{key}_1" not in ENGLISH} == {}
    assert language.say("group_step", name="f", what="neg", n=1) == "f (neg): 1 operation runs."


def chinese_only(text: str, names: set[str]) -> set[str]:
    """The English words in a text that are neither names nor PyTorch's own words."""
    return (
        set(re.findall(r"[A-Za-z][a-z]{2,}", re.sub(r"\.?\w*(?:Backward0|AccumulateGrad|grad|Grad)\b", "", text)))
        - names
    )


def test_still_pictures_are_in_the_language(chinese: None) -> None:
    with tracing.traced():
        权重 = nb.ones(3, 4, requires_grad=True)
        h = nb.zeros(2, 3)
        for _ in range(12):
            h = nb.tanh(h @ 权重 @ nb.ones(4, 3))
        view = h[0]
        y = view.sum()
    names = {"权重": 权重, "h": h, "view": view, "y": y}
    own = {
        "tanh",
        "sum",
        "select",
        "nbautograd",
        "view",
        "zeros",
        "ones",
        "out",
        "range",
        "input",
        "mat",
        "None",
        "result",
    }
    for fold in (False, True):
        picture = viz.graph(y, namespace=names, fold=fold, resolve=lambda file, line: ("In [1]", "h = nb.tanh(h)"))
        assert chinese_only(picture.text, own) == set()
        texts = re.findall(r"<(?:text|title|tspan)[^>]*>([^<]+)<", picture.svg)
        assert len(texts) > 20 and chinese_only("\n".join(texts), own) == set()
        assert chinese_only(re.sub(r"<[^>]+>", " ", picture.static_html()), own) == set()
    passes = viz.animate(y, namespace=names, resolve=lambda file, line: ("In [1]", "h = nb.tanh(h)"))
    assert chinese_only(passes.text, own) == set()
    assert "反向" in passes.text and "12 步" not in picture.text


@pytest.mark.parametrize("name", ["zh", "中文", "Chinese", "ZH-cn", "zh_CN"])
def test_names_of_a_language(name: str) -> None:
    assert language.language_of(name) == "zh"


def test_an_unknown_language_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no language 'tlh' here; there are en \(English\), zh \(中文\)"):
        language.use("tlh")
    assert language.current() == "en"
