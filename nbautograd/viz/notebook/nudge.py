"""Answers to a player whose user nudges a leaf's value: a live kernel computes the pass again."""

from __future__ import annotations

import math
from typing import Any

from nbautograd.viz.capture.replay import Replay

__all__ = ["answer"]


def answer(replay: Replay | None, asked: Any) -> dict[str, Any] | None:
    """The message for the player; None where the question makes no sense.

    :param asked: ``{"leaf": id, "place": number of the element, "value": number, "serial": any number}``.
    """
    if not isinstance(asked, dict):
        return None
    leaf, place, value, serial = (asked.get(name) for name in ("leaf", "place", "value", "serial"))
    if not (isinstance(leaf, str) and isinstance(place, int) and isinstance(serial, int)):
        return None
    if not (isinstance(value, (int, float)) and math.isfinite(value)):
        return None
    outcome = replay.nudged(leaf, place, float(value)) if replay is not None else None
    told = {} if outcome is None else {"values": outcome.values, "grads": outcome.grads}
    return {"nudged": {"leaf": leaf, "place": place, "serial": serial, **told}}
