"""The texts themselves: a line per key, English first. ``language.py`` reads them."""

from __future__ import annotations

from nbautograd.viz.translations import kernel, large, paths, player, prediction, stories

__all__ = ["CHINESE", "ENGLISH", "PLAYER"]

_PLAYER = player.TEXTS | prediction.TEXTS | paths.PLAYER | large.PLAYER | stories.PLAYER
_TABLES = (_PLAYER, kernel.TEXTS, paths.PYTHON, large.PYTHON)
_ALL = {key: texts for table in _TABLES for key, texts in table.items()}


class Texts(dict[str, str]):
    """The texts of a language; those of questions and exercises are read when the first of them is asked for."""

    def __missing__(self, key: str) -> str:
        from nbautograd.viz.translations import exercises, practice, questions

        late = questions.TEXTS | exercises.TEXTS | practice.TEXTS
        if key not in late:
            raise KeyError(key)
        for table, which in ((ENGLISH, 0), (CHINESE, 1)):
            table.update({key: texts[which] for key, texts in late.items()})
        return self[key]


ENGLISH = Texts({key: english for key, (english, _) in _ALL.items()})
CHINESE = Texts({key: chinese for key, (_, chinese) in _ALL.items()})
PLAYER = tuple(_PLAYER)
