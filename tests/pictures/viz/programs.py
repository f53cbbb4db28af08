"""All programs of these tests as recordings: of the gallery, of first sight, of stories, and of either library."""

from __future__ import annotations

from collections.abc import Callable

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.notebook.api import Recording

from .gallery import PROGRAMS
from .test_first_sight import attention, autoencoder, blocks, encoder, looked_up, recurrent
from .test_stories import OWN
from .torch_programs import PROGRAMS as EITHER, Program

__all__ = ["EVERY"]


def _told(name: str) -> Recording:
    nb.manual_seed(0)
    with tracing.traced():
        return viz.animate(OWN[name](), fold=True)


def _either(program: Program) -> Recording:
    with tracing.traced():
        names = program(nb)
    y = names["y"]
    return viz.animate(y, None if y.numel() == 1 else nb.ones_like(y), namespace=names, fold=True)


EVERY: dict[str, Callable[[], Recording]] = {
    **PROGRAMS,
    **{f"sight_{make.__name__}": make for make in (attention, autoencoder, blocks, encoder, looked_up, recurrent)},
    **{f"told_{name}": lambda name=name: _told(name) for name in OWN},  # type: ignore[misc]
    **{f"either_{one.__name__}": lambda one=one: _either(one) for one in EITHER},  # type: ignore[misc]
}
"""Each by its name; small ones are drawn whole, others with their groups closed."""
