"""Set the style of pictures for the whole session: ``viz.settings``, ``%autograd`` and ``%config NBAutograd``.

Each setting is a trait, so setting a wrong value raises an error, and a notebook's configuration file can set it:
``c.NBAutograd.theme = "dark"``.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import traitlets
from traitlets.config import Configurable

from nbautograd._engine.base.installing import extra
from nbautograd.viz import language
from nbautograd.viz.translations import ENGLISH

__all__ = ["NBAutograd", "settings"]


class Language(traitlets.TraitType[str, str]):
    """A language by its code or name."""

    info_text = "one of en (English), zh (中文)"

    def validate(self, obj: Any, value: Any) -> str:
        """Its code."""
        try:
            return language.language_of(value)
        except ValueError as error:
            raise traitlets.TraitError(f"language: {error}") from None


class NBAutograd(Configurable):
    """The settings of the pictures.

    >>> from nbautograd import viz
    >>> viz.settings.direction
    'auto'
    >>> viz.settings.direction = "sideways"  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    traitlets.traitlets.TraitError: ... expected any of ['auto', 'LR', 'TB'], not the str 'sideways'.
    """

    theme = traitlets.Enum(["auto", "light", "dark"], "auto", help=ENGLISH["set_theme"]).tag(config=True)
    direction = traitlets.Enum(["auto", "LR", "TB"], "auto", help=ENGLISH["set_direction"]).tag(config=True)
    values = traitlets.Bool(True, help=ENGLISH["set_values"]).tag(config=True)
    depth = traitlets.Int(0, min=0, help=ENGLISH["set_depth"]).tag(config=True)
    language = Language("en", help=ENGLISH["set_language"]).tag(config=True)
    tracing = traitlets.Bool(False, help=ENGLISH["set_tracing"]).tag(config=True)
    torch = traitlets.Bool(True, help=ENGLISH["set_torch"]).tag(config=True)
    tensors = traitlets.Enum(["graph", "card", "text"], "graph", help=ENGLISH["set_tensors"]).tag(config=True)
    errors = traitlets.Bool(False, help=ENGLISH["set_errors"]).tag(config=True)
    stop = traitlets.Enum(["off", "nan", "inf"], "off", help=ENGLISH["set_stop"]).tag(config=True)
    widget = traitlets.Bool(True, help=ENGLISH["set_widget"]).tag(config=True)
    image = traitlets.Enum(["none", "svg", "png"], "none", help=ENGLISH["set_image"]).tag(config=True)
    embed = traitlets.Bool(False, help=ENGLISH["set_embed"]).tag(config=True)

    @traitlets.observe("language")
    def _speak(self, change: Any) -> None:
        language.use(change.new)

    @traitlets.validate("image")
    def _can_draw(self, proposal: Any) -> Any:
        if proposal.value == "png" and find_spec("resvg_py") is None:
            raise traitlets.TraitError(f"image: png needs resvg_py: {extra('png')}")
        return proposal.value

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """(name, value, choices, effect) of every setting, in order."""
        for name in NAMES:
            value = getattr(self, name)
            shown = language.NAMES[value] if name == "language" else written(value)
            known = [f"{c} ({language.NAMES[c]})" for c in choices(name)] if name == "language" else choices(name)
            yield name, shown, ", ".join(known), language.say(f"set_{name}")

    def change(self, **new: Any) -> dict[str, Any]:
        """Set several settings at once, all or none; return the former values.

        :raises AttributeError: there is no such setting.
        :raises traitlets.TraitError: a value does not fit.
        """
        for name in new:
            if name not in NAMES:
                raise AttributeError(f"there is no setting {name!r}; there are {', '.join(NAMES)}")
        before = {name: getattr(self, name) for name in new}
        try:
            for name, value in new.items():
                setattr(self, name, read(name, value))
        except BaseException:
            for name, value in before.items():
                setattr(self, name, value)
            raise
        return before

    def __repr__(self) -> str:
        return f"NBAutograd({', '.join(f'{name}={getattr(self, name)!r}' for name in NAMES)})"


NAMES = tuple(name for name, trait in vars(NBAutograd).items() if isinstance(trait, traitlets.TraitType))
_SWITCH = {"on": True, "off": False, "yes": True, "no": False, "true": True, "false": False, "1": True, "0": False}


def choices(name: str) -> list[str]:
    """Return the values of a setting, as words."""
    trait = NBAutograd.class_traits()[name]
    if isinstance(trait, traitlets.Enum):
        return [str(value) for value in trait.values or ()]
    if isinstance(trait, traitlets.Bool):
        return ["on", "off"]
    return list(language.NAMES) if name == "language" else ["0", "1", "2", "…"]


def written(value: Any) -> str:
    """A value as the user would type it."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def read(name: str, value: Any) -> Any:
    """A value that may have been typed: ``on`` and ``off``, numbers.

    >>> read("values", "off"), read("depth", "3"), read("theme", "dark")
    (False, 3, 'dark')
    """
    trait = NBAutograd.class_traits()[name]
    if not isinstance(value, str):
        return value
    if isinstance(trait, traitlets.Bool):
        return _SWITCH.get(value.lower(), value)
    if isinstance(trait, traitlets.Int):
        return int(value) if value.isdecimal() else value
    return value


settings = NBAutograd()
"""The settings of this session."""
