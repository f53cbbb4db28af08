"""The contrast of two colors, mixtures of colors, and the backgrounds on which a player may be."""

from __future__ import annotations

from itertools import pairwise

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


def mixed(one: str, other: str, share: float) -> str:
    """A color between two."""
    lab = [a + (b - a) * share for a, b in zip(oklab(one), oklab(other), strict=True)]
    return "#" + "".join(f"{channel(part):02x}" for part in linear(*lab))


# B. Ottosson, "A perceptual color space for image processing", 2020.
TO_LMS = (
    (0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)  # fmt: skip
TO_LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)  # fmt: skip
FROM_LAB = (
    (1.0, 0.3963377774, 0.2158037573), (1.0, -0.1055613458, -0.0638541728), (1.0, -0.0894841775, -1.2914855480),
)  # fmt: skip
FROM_LMS = (
    (4.0767416621, -3.3077115913, 0.2309699292), (-1.2684380046, 2.6097574011, -0.3413193965),
    (-0.0041960863, -0.7034186147, 1.7076147010),
)  # fmt: skip


def times(matrix: tuple[tuple[float, ...], ...], vector: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def oklab(color: str) -> list[float]:
    parts = [int(color[a:b], 16) / 255 for a, b in pairwise(range(1, 8, 2))]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return times(TO_LAB, [max(v, 0.0) ** (1 / 3) for v in times(TO_LMS, linear)])


def linear(*lab: float) -> list[float]:
    return times(FROM_LMS, [v**3 for v in times(FROM_LAB, list(lab))])


def channel(linear: float) -> int:
    value = min(max(linear, 0.0), 1.0)
    return round(255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055))
