"""Test files: every kind, whole or not at all, and clear messages if a program is missing."""

from __future__ import annotations

import base64
import functools
import os
import re
import stat
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd.viz.draw import graphviz_dot, raster
from nbautograd.viz.notebook import output
from tests import needs


@pytest.fixture
def picture() -> Any:
    w = nb.tensor([1.0, 2.0], requires_grad=True)
    y = (w * w).sum()
    return viz.graph(y, namespace={"w": w, "变量": w, "y": y})


HEADS = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<svg", ".html": b"<!doctype html>", ".txt": b"y "}


@pytest.mark.parametrize("suffix", HEADS)
def test_every_kind_begins_as_it_should(suffix: str, picture: Any, tmp_path: Path) -> None:
    if suffix in raster.KINDS:
        can_draw(suffix)
    path = picture.save(tmp_path / f"graph{suffix}")
    plain = tmp_path.with_name("plain")
    plain.touch()
    assert path.read_bytes().startswith(HEADS[suffix]) and os.listdir(tmp_path) == [f"graph{suffix}"]
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)  # like any new file


def test_a_png_has_twice_the_drawing_s_size_within_limits(picture: Any, tmp_path: Path) -> None:
    can_draw(".png")
    width, height = raster._size(picture.svg)
    data = picture.save(tmp_path / "a.png").read_bytes()
    assert struct.unpack(">II", data[16:24]) == (pytest.approx(2 * width, abs=1), pytest.approx(2 * height, abs=1))
    long = picture.svg.replace(f'width="{width:g}"', 'width="32000"', 1)
    assert struct.unpack(">I", raster.raster(long, ".png")[16:20]) == (16_000,)


def test_a_png_shows_the_gradients_on_the_edges() -> None:
    """They lie upon their halo, not below it."""
    can_draw(".png")
    w = nb.tensor([1.0, 2.0], requires_grad=True)
    svg = viz.animate((w * w).sum()).svg
    (halo,) = re.findall(r'<g [^>]*stroke="([^"]*)" [^>]*paint-order', svg)
    halos, labels = re.subn(r'(<text class="nb-label"[^>]* fill=")[^"]*"', rf'\1{halo}"', svg)
    assert labels > 1 and raster.raster(svg, ".png") != raster.raster(halos, ".png")


def can_draw(suffix: str) -> None:
    module = {".png": "resvg_py", ".pdf": "typst"}[suffix]
    needs.package(module)
    if suffix == ".png":
        try:
            raster.raster(viz.graph(nb.ones(1, requires_grad=True) * 2).svg, suffix)
        except RuntimeError as error:
            pytest.skip(str(error))


def test_a_system_without_fonts_is_told(picture: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resvg = needs.package("resvg_py")

    class Without:
        svg_to_bytes = staticmethod(functools.partial(resvg.svg_to_bytes, skip_system_fonts=True))

    monkeypatch.setattr(raster, "import_module", lambda name: Without)
    with pytest.raises(RuntimeError, match=r"needs fonts, and this system has none: apt install"):
        picture.save(tmp_path / "a.png")
    assert os.listdir(tmp_path) == []


def without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(raster, "import_module", missing)


def test_without_the_libraries_graphviz_draws_it(picture: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs.package("graphviz")
    if graphviz_dot.program() is None:
        pytest.skip(needs.reason("Graphviz"))
    without_libraries(monkeypatch)
    assert picture.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert picture.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


def test_without_both_it_says_what_to_install(picture: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_libraries(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        RuntimeError,
        match=r"a \.png file needs resvg_py \(.*pip install -e .*\[png\]'\) or Graphviz .*; \.svg and \.html need",
    ):
        picture.save(tmp_path / "a.png")
    with pytest.raises(RuntimeError, match="Graphviz is not installed"):
        viz.graph(nb.ones(1, requires_grad=True) * 2, engine="dot").svg  # noqa: B018
    assert os.listdir(tmp_path) == []


def test_a_slow_graphviz_is_stopped(picture: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs.package("graphviz")
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(0o755)
    monkeypatch.setattr(graphviz_dot, "program", lambda: str(program))
    monkeypatch.setattr(graphviz_dot, "MAX_DOT_SECONDS", 0.3)
    begun = time.monotonic()
    with pytest.raises(RuntimeError, match="Graphviz took longer than"):
        graphviz_dot.dot_svg(picture.model)
    assert time.monotonic() - begun < 300


def test_a_full_disk_leaves_the_old_file(picture: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.svg"
    path.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        picture.save(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.svg"]


def test_a_folder_that_is_not_there(picture: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        picture.save(tmp_path / "nowhere" / "a.svg")


def test_what_is_too_large_to_be_shown_says_so() -> None:
    assert output.within([lambda: "<img>"], "y", "words") == "<img>"
    shown = output.within([lambda: "x" * 2_000_001], "y <b>", "a & b")
    assert shown == (
        "<p>y &lt;b&gt;: the drawing takes 2,000,001 bytes; more than 2,000,000 are not shown. "
        "Save it as a file to see it.</p><pre>a &amp; b</pre>"
    )


def test_a_picture_too_large_for_an_output_is_folded_until_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    w = nb.tensor(1.0, requires_grad=True)
    y = w
    for _ in range(150):
        y = y * w
    picture = viz.graph(y, namespace={"w": w, "y": y})
    whole = picture.static_html()
    assert whole.count("<tr>") == len(picture.model.nodes) + 1  # the table: a head, and a line for every node
    monkeypatch.setattr(output, "MAX_OUTPUT_BYTES", 20_000)
    small = output.within(picture._attempts(picture.label, picture.text), picture.label, picture.text, 20_000)
    assert len(small) <= 20_200 and small.startswith(f"<p>The whole output takes {len(whole.encode()):,} bytes")
    image = base64.b64decode(small.partition("base64,")[2].partition('"')[0]).decode()
    assert "×149" in image and image.startswith("<svg")


def test_images_beside_the_html_where_they_are_asked_for(picture: Any) -> None:
    assert set(output.images(picture.svg)) == set()
    with viz.autograd(image="svg"):
        assert picture._repr_mimebundle_()["image/svg+xml"] == picture.svg
    can_draw(".png")
    with viz.autograd(image="png"):
        bundle = picture._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG") and "image/svg+xml" not in bundle


def test_what_draws_files_is_imported_only_when_used() -> None:
    code = "import sys, nbautograd.viz.draw.raster; print({'resvg_py', 'typst'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
