"""The contrast of two colors, and the backgrounds on which a player may be."""

from __future__ import annotations

HOSTS = {
    "light": {"JupyterLab": "#ffffff", "VS Code Light+": "#ffffff", "VS Code Quiet Light": "#f5f5f5"},
    "dark": {
        "JupyterLab": "#111111", "VS Code Dark Modern": "#1f1f1f", "VS Code Dark+": "#1e1e1e",
        "VS Code high contrast": "#000000", "JupyterLab high contrast": "#000000",
    },
}  # fmt: skip


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """The contrast of two colors as WCAG defines it, from 1 to 21."""
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
