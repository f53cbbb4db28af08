"""The texts themselves, by key: English, and behind or below it Chinese. ``language.py`` reads them."""

from __future__ import annotations

from functools import cache

from nbautograd.viz.translations import kernel, player

__all__ = ["CHINESE", "ENGLISH", "player_keys"]

_PLAYER = player.TEXTS | player.PATHS | player.STORIES
_TABLES = (_PLAYER, kernel.TEXTS)
_ALL = {key: texts for table in _TABLES for key, texts in table.items()}


class Texts(dict[str, str]):
    """The texts of a language; those of large graphs, predictions, questions and exercises are read at first use."""

    def __missing__(self, key: str) -> str:
        from nbautograd.viz.translations import later, questions

        late = later.PREDICTION | later.LARGE | later.PYTHON | questions.TEXTS
        if key not in late:
            raise KeyError(key)
        _add(late)
        return self[key]


ENGLISH = Texts({key: english for key, (english, _) in _ALL.items()})
CHINESE = Texts({key: chinese for key, (_, chinese) in _ALL.items()})


def _add(late: dict[str, tuple[str, str]]) -> None:
    for table, which in ((ENGLISH, 0), (CHINESE, 1)):
        table.update({key: texts[which] for key, texts in late.items()})


@cache
def player_keys() -> tuple[str, ...]:
    """Return the keys of the texts of a player."""
    from nbautograd.viz.translations import later  # not before there is a player

    _add(later.PREDICTION | later.LARGE)  # the other late texts are of modules that need NumPy, and a build has none
    return (*player.TEXTS, *later.PREDICTION, *player.PATHS, *later.LARGE, *player.STORIES)
