"""The texts themselves: a line per key, English first. ``language.py`` reads them."""

from __future__ import annotations

from nbautograd.viz.translations import exercises, kernel, large, paths, player, practice, prediction, stories

__all__ = ["CHINESE", "ENGLISH", "PLAYER"]

_PLAYER = player.TEXTS | prediction.TEXTS | paths.PLAYER | large.PLAYER | stories.PLAYER
_TABLES = (_PLAYER, kernel.TEXTS, exercises.TEXTS, practice.TEXTS, paths.PYTHON, large.PYTHON)
_ALL = {key: texts for table in _TABLES for key, texts in table.items()}
ENGLISH = {key: english for key, (english, _) in _ALL.items()}
CHINESE = {key: chinese for key, (_, chinese) in _ALL.items()}
PLAYER = tuple(_PLAYER)
