"""Screenshots of tests, in the folder NBAUTOGRAD_SHOTS or else tests/screenshots, and the texts of pages."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["DRAWN", "SHOTS"]

SHOTS = Path(os.environ.get("NBAUTOGRAD_SHOTS", Path(__file__).with_name("screenshots")))
SHOTS.mkdir(parents=True, exist_ok=True)

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
