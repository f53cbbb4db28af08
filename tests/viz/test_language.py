"""English and Chinese: the same keys, the same places for numbers and names, and both in use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import nbautograd as nb
from nbautograd import tracing, viz
from nbautograd.viz import language, words

VIZ = Path(language.__file__).parent


@pytest.fixture
def chinese() -> Iterator[None]:
    before = viz.settings.language
    viz.settings.language = "中文"
    yield
    viz.settings.language = before


def test_both_languages_have_the_same_keys() -> None:
    assert set(words.ENGLISH) == set(words.CHINESE)
    assert all(words.ENGLISH.values()) and all(words.CHINESE.values())


@pytest.mark.parametrize("key", sorted(words.ENGLISH))
def test_both_languages_have_the_same_places(key: str) -> None:
    assert language.places(words.ENGLISH[key]) == language.places(words.CHINESE[key])


def test_what_is_chinese_is_chinese() -> None:
    same = {key for key in words.ENGLISH if words.ENGLISH[key] == words.CHINESE[key]}
    assert same == {"card_grad", "card_no_tracking", "grad_norm"}  # PyTorch's own words


def test_every_key_that_the_code_says_exists() -> None:
    python = "\n".join(path.read_text("utf-8") for path in VIZ.glob("*.py"))
    said = set(re.findall(r'say\(\s*"(\w+)"', python))
    player = "\n".join(path.read_text("utf-8") for path in (VIZ / "static").glob("*.js"))
    told = set(re.findall(r'\bt\("(\w+)"', player)) | set(re.findall(r"texts\.(\w+)", player))
    assert said <= set(words.ENGLISH)
    assert told - {"lang"} <= set(words.PLAYER)


def test_the_player_gets_its_language(chinese: None) -> None:
    texts = language.player_texts()
    assert texts["play_key"] == "播放（空格）" and texts["lang"] == "zh-Hans"
    assert set(texts) == {*words.PLAYER, "lang"}


def test_captions_follow_the_language(chinese: None) -> None:
    with tracing.traced():
        w = nb.tensor([1.0], requires_grad=True)
        y = w * 3
    animation = viz.animate(y, namespace={"w": w, "y": y})
    captions = [frame.caption for frame in animation.timeline.frames]
    assert captions[-1] == "w.grad 原为 None；加上 3.；现在是 3."
    assert all(re.search(r"[\u4e00-\u9fff]", caption) for caption in captions)
    assert "个叶子" in animation.label
    assert '"zh-Hans"' in animation.html()


@pytest.mark.parametrize("name", ["zh", "中文", "Chinese", "ZH-cn", "zh_CN"])
def test_names_of_a_language(name: str) -> None:
    assert language.language_of(name) == "zh"


def test_an_unknown_language_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no language 'tlh' here; there are en \(English\), zh \(中文\)"):
        language.use("tlh")
    assert language.current() == "en"
