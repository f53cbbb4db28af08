"""What the player says of graphs that do not fit a window."""

from __future__ import annotations

__all__ = ["PLAYER"]

PLAYER: dict[str, tuple[str, str]] = {
    "overview": (
        "Overview map: drag the window, or move it by the arrow keys",
        "全图导航：拖动窗口，或用方向键移动",
    ),
    "overview_toggle": ("Overview map (O)", "全图导航（O）"),
}
