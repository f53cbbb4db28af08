"""All texts of the player are large and dark enough (or light enough), in every width and both themes."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.shots import keep

needs.package("playwright")
from playwright.sync_api import expect

from .gallery import PROGRAMS
from .player_pages import press
from .test_lens import train

pytestmark = [pytest.mark.browser, needs.chromium]

WIDTHS, HEIGHT = (400, 700, 1280, 1600), 720
SMALLEST, CONTRAST = 11, 4.5

UNSEEN = """() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`.nb-player, .nb-player *, .nb-player ::placeholder { color: transparent !important; }
        .nb-player :is(text, tspan) { fill: transparent !important; stroke: none !important; }
        .nb-player :is(.nb-rim, .nb-overview) { display: none !important; }`);
    document.adoptedStyleSheets = [sheet];
}"""
"""Keep only the layers behind texts; layers over the drawing (a rim, the map) cover some."""

READ = """async (png) => {
    const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const paper = new OffscreenCanvas(image.width, image.height).getContext('2d', { willReadFrequently: true });
    paper.drawImage(image, 0, 0);
    document.adoptedStyleSheets = [];
    const spot = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true }), inks = new Map();
    const ink = (text) => {
        if (!inks.has(text)) {
            spot.clearRect(0, 0, 1, 1);
            spot.fillStyle = text;
            spot.fillRect(0, 0, 1, 1);
            inks.set(text, [...spot.getImageData(0, 0, 1, 1).data]);
        }
        return inks.get(text);
    };
    const linear = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const contrast = (a, b) => {
        const [bright, dark] = [light(a), light(b)].sort((x, y) => y - x);
        return (bright + 0.05) / (dark + 0.05);
    };
    // the part of a text that nothing cuts off, and how opaque it is
    const seen = (rect, element) => {
        let [left, top, right, low, opaque] = [rect.left, rect.top, rect.right, rect.bottom, 1];
        for (let e = element; e; e = e.parentElement) {
            const style = getComputedStyle(e);
            opaque *= Number(style.opacity);
            if (style.overflowX === 'visible' || e.tagName === 'BODY' || e.tagName === 'HTML') continue;
            const box = e.getBoundingClientRect();
            [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
            [right, low] = [Math.min(right, box.right), Math.min(low, box.bottom)];
        }
        return right - left > 2 && low - top > rect.height * 0.6 ? { left, top, right, low, opaque } : null;
    };
    // what most of the picture is behind it
    const behind = ({ left, top, right, low }) => {
        const [x, y] = [Math.round(left + scrollX), Math.round(top + scrollY)];
        const wide = Math.max(Math.round(right - left), 1), high = Math.max(Math.round(low - top), 1);
        const { data } = paper.getImageData(x, y, wide, high), counts = new Map();
        for (let i = 0; i < data.length; i += 4) {
            const key = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
            counts.set(key, (counts.get(key) || 0) + 1);
        }
        const [most] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
        return [most >> 16, (most >> 8) & 255, most & 255];
    };
    const failures = [], texts = document.createTreeWalker(document.querySelector('.nb-player'), NodeFilter.SHOW_TEXT);
    let count = 0;
    while (texts.nextNode()) {
        const node = texts.currentNode, element = node.parentElement, range = document.createRange();
        if (!node.data.trim() || /^(title|desc|option)$/i.test(element.tagName)) continue;
        if (element.closest('.nb-hidden') || !element.checkVisibility({ visibilityProperty: true })) continue;
        range.selectNodeContents(node);
        const rect = range.getBoundingClientRect(), part = seen(rect, element);
        // a card that lies over it covers it
        const top = part && document.elementFromPoint((part.left + part.right) / 2, (part.top + part.low) / 2);
        const card = top?.closest('.nb-marks');
        if (!part || (card && !card.contains(element))) continue;
        count += 1;
        const style = getComputedStyle(element), drawn = element.namespaceURI.endsWith('svg');
        const back = behind(part), [r, g, b, a] = ink(drawn ? style.fill : style.color);
        const share = (a / 255) * part.opaque, mixed = [r, g, b].map((v, i) => v * share + back[i] * (1 - share));
        const size = parseFloat(style.fontSize) * (drawn ? element.getScreenCTM().a : 1);
        if (contrast(mixed, back) >= CONTRAST - 0.005 && size >= SMALLEST - 0.005) continue;
        failures.push([node.data.trim(), element.getAttribute('class') || element.tagName,
            `${contrast(mixed, back).toFixed(2)} : 1`, `${size.toFixed(1)} px`, `on ${back}`].join(' · '));
    }
    return [count, failures];
}""".replace("CONTRAST", str(CONTRAST)).replace("SMALLEST", str(SMALLEST))
"""For each visible text: its contrast to the picture behind it, and its size on the screen."""


def unreadable(page: Any) -> list[str]:
    page.evaluate(UNSEEN)
    png = base64.b64encode(page.screenshot(full_page=True)).decode()
    count, failures = page.evaluate(READ, png)
    assert count > 15
    return [str(failure) for failure in failures]


MOMENTS: list[tuple[str, str, tuple[str, ...]]] = [
    ("first_seed", "paths", ("ArrowRight",) * 2 + ("]", "e")),
    ("perceptron", "step", ("ArrowRight",) * 4 + ("m",)),
    ("used_four_times", "forward", ("Home", "ArrowRight", "ArrowRight")),
    ("used_four_times", "compared", ("End", "g")),
    ("recurrent", "end", ("End",)),
    ("convolution", "node", ("ArrowRight",) * 3 + ("]", "]")),
    ("changed_in_place", "error", ("End",)),
    ("hooked", "asked", ("?", "ArrowRight", "ArrowRight")),
    ("second_seed", "marks", ("ArrowRight", "i")),
    ("training", "lens", ("ArrowLeft", "Enter", "]", "]")),
]
"""The checked moments of each program of the gallery and of a training run, and the keys that lead there."""


@pytest.mark.parametrize(("name", "what", "keys"), MOMENTS, ids=lambda part: part if isinstance(part, str) else "")
def test_every_text_can_be_read_in_both_themes_and_all_widths(
    window: Any, saved: Any, tmp_path: Path, name: str, what: str, keys: tuple[str, ...]
) -> None:
    """Every program is tested in every width; every width is tested in both themes."""
    path = train(6, record=True).save(tmp_path / "page.html") if name == "training" else saved(PROGRAMS[name])
    window.set_viewport_size({"width": 1280, "height": HEIGHT})
    window.goto(f"{path.as_uri()}?{what}")  # another address each: to load one again keeps the place in the page
    window.locator(".nb-player").first.focus()
    press(window, *keys)
    turn = MOMENTS.index((name, what, keys))
    for i, width in enumerate(WIDTHS):
        scheme = ("light", "dark")[(turn + i) % 2]
        window.emulate_media(color_scheme=scheme)
        window.set_viewport_size({"width": width, "height": HEIGHT})
        keep(window, f"{name}-{what}-{width}-{scheme}.png")
        assert unreadable(window) == [], (width, scheme)
        assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_leafs_bar_has_a_color_and_knows_nothing_of_passes_to_come(window: Any, saved: Any) -> None:
    window.goto(saved(PROGRAMS["used_four_times"]).as_uri())
    window.focus(".nb-player")
    press(window, "Home", "ArrowRight")
    expect(window.locator(".nb-bucket-pass")).to_have_count(0)
    press(window, "End")
    fills = window.locator(".nb-bucket-pass").evaluate_all("all => all.map((e) => getComputedStyle(e).fill)")
    assert len(set(fills)) == 3 and not {"rgb(0, 0, 0)", "none"} & set(fills)
