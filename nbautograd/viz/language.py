"""Every text that a picture, a player or a magic shows, in English and in Chinese: one table, one way to read it.

``say("step", index=2, last=6)`` gives the text in the language that is set; the player gets the whole table of its
language as data. Numbers, names and PyTorch's own words (``.grad``, ``AccumulateGrad``) are not translated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

from nbautograd.viz import translations

__all__ = [
    "LANGUAGES", "NAMES", "current", "headings", "language_of", "once", "player_texts", "say", "tag", "texts", "use",
]  # fmt: skip

LANGUAGES = {"en": translations.ENGLISH, "zh": translations.CHINESE}
NAMES = {"en": "English", "zh": "中文"}
"""The name of each language in that language."""
_OTHER_NAMES = {
    "english": "en", "en-us": "en", "en-gb": "en", "chinese": "zh", "中文": "zh", "汉语": "zh", "zh-cn": "zh",
}  # fmt: skip

_current = "en"
T = TypeVar("T")


def language_of(name: object) -> str:
    """The code of a language, by its code or by its name.

    :raises ValueError: there is no such language here.

    >>> language_of("中文"), language_of("English"), language_of("zh_CN")
    ('zh', 'en', 'zh')
    """
    key = str(name).strip().lower().replace("_", "-")
    code = key if key in LANGUAGES else _OTHER_NAMES.get(key)
    if code is None:
        known = ", ".join(f"{code} ({own})" for code, own in NAMES.items())
        raise ValueError(f"no language {name!r} here; there are {known}")
    return code


def current() -> str:
    """The code of the language that is set."""
    return _current


def use(name: str) -> str:
    """Set the language and return the previous one.

    >>> before = use("中文")
    >>> say("play")
    '播放'
    >>> use(before)
    'zh'
    """
    global _current
    before, _current = _current, language_of(name)
    say.cache_clear()
    return before


def texts() -> dict[str, str]:
    """All texts in the current language, with their placeholders."""
    return LANGUAGES[_current]


@lru_cache(maxsize=1024, typed=True)  # most texts of a pass are in the next one, too
def say(key: str, /, **parts: str | float) -> str:
    """A text in the current language, with ``parts`` put in for its placeholders: texts and numbers.

    For a count of one (``n=1``), the text of ``key_1`` is used if it exists.

    :raises KeyError: there is no text of this key.

    >>> say("pass_n", n=2), say("op_count", n=1), say("op_count", n=2000)
    ('pass 2', '1 operation', '2,000 operations')
    """
    table = LANGUAGES[_current]
    text = table.get(f"{key}_1", table[key]) if parts.get("n") == 1 else table[key]
    return text.format(**parts) if parts else text


def headings(*keys: str) -> list[str]:
    """Return texts without placeholders."""
    return [LANGUAGES[_current][key] for key in keys]


def once(write: Callable[[Any], T]) -> Callable[[Any], T]:
    """Return a function that makes something in the current language once; what it is about keeps it in ``texts``."""
    kind = write.__name__

    @wraps(write)
    def written(about: Any) -> T:
        key, known = (kind, _current), about.texts
        if key not in known:
            known[key] = write(about)
        return known[key]  # type: ignore[no-any-return]

    return written


def tag() -> str:
    """Return HTML's tag of the current language."""
    return "zh-Hans" if _current == "zh" else "en"


def player_texts() -> dict[str, str]:
    """The texts that the player itself puts together, for its data."""
    return {key: LANGUAGES[_current][key] for key in translations.player_keys()} | {"lang": tag()}
