"""Screenshots of tests for whoever wants to look at them, and what a page draws."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

__all__ = ["DRAWN", "keep"]


def keep(shown: Any, name: str, **options: Any) -> None:
    """Take a screenshot of a page or an element, if the variable NBAUTOGRAD_SHOTS names a folder for it."""
    if folder := os.environ.get("NBAUTOGRAD_SHOTS"):
        shown.screenshot(path=Path(folder, name), **options)


DRAWN = """() => Promise.all([...document.querySelectorAll("img[src^='data:image/svg']")]
    .filter((image) => image.checkVisibility()).map(async (image) => {
        await image.decode();
        const [w, h] = [image.naturalWidth, image.naturalHeight];
        const paper = new OffscreenCanvas(w, h).getContext('2d');
        paper.drawImage(image, 0, 0);
        const { data } = paper.getImageData(0, 0, w, h), colors = new Set();
        for (let i = 0; i < data.length; i += 4) colors.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
        return [w, colors.size];
    }))"""
"""The width of each drawing that a page shows as an image, and its number of colors: a blank one has one."""
