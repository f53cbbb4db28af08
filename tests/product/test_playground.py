"""The playground: its programs play, their leaves move, links hold programs, and nothing of a link runs by itself."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.files_server import served
from tests.shots import keep

needs.package("myst_nb")
playwright = needs.package("playwright.sync_api")

ROOT = Path(__file__).parents[2]
PROGRAMS = tomllib.loads((ROOT / "docs/playground.toml").read_text(encoding="utf-8"))
CONF = """
import sys
sys.path.insert(0, {path!r})
extensions = ["myst_parser", "playground"]
myst_enable_extensions = ["attrs_inline"]
course_lite = {lite!r}
suppress_warnings = ["myst.xref_missing"]
def setup(app):
    app.add_config_value("course_lite", "", "env", str)
"""
WORKER = """
onmessage = async ({ data }) => {
  const { programs } = await (await fetch(new URL("en.json", import.meta.url))).json();
  if (data.code === "fail") postMessage({ error: "NameError: name 'fail' is not defined" });
  else postMessage({ pass: JSON.stringify({ ...programs[1].pass, label: data.code + data.site }) });
};
"""
STATUS = ".nb-playground > [role=status]"
FOREIGN = "<img src=x onerror='window.ran = true'>\n</textarea><script>window.ran = true</script>"


BUILD = """
import functools, sys
sys.path.insert(0, sys.argv[1])
import playground
from sphinx.cmd.build import build_main
playground.passes = functools.cache(playground.passes)
for source in sys.argv[2:]:
    if status := build_main(["-q", source, source + "-site"]):
        sys.exit(status)
"""
"""A program that builds sites, all with the same passes, which take longest."""


def write_source(source: Path, lite: str) -> None:
    (source / "zh").mkdir(parents=True)
    for page in ("playground.md", "zh/playground.md"):
        shutil.copy(ROOT / "docs" / page, source / page)
    (source / "index.md").write_text("# t\n\n```{toctree}\nplayground\nzh/playground\n```\n", encoding="utf-8")
    (source / "conf.py").write_text(CONF.format(path=str(ROOT / "docs/extensions"), lite=lite), encoding="utf-8")


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of a site without Python, and of one with."""
    folder = tmp_path_factory.mktemp("playground")
    for name, lite in (("static", ""), ("live", "lite")):
        write_source(folder / name, lite)
    command = [sys.executable, "-c", BUILD, str(ROOT / "docs/extensions"), str(folder / "static"), str(folder / "live")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: folder / f"{name}-site" for name in ("static", "live")}


@pytest.fixture(scope="module")
def site(sites: dict[str, Path]) -> Iterator[str]:
    with served(sites["static"]) as (address, _):
        yield address


@pytest.fixture(scope="module")
def live(sites: dict[str, Path]) -> Iterator[str]:
    """A site with Python, of which a stand-in answers: the package index of the tests has no NumPy for Pyodide."""
    (sites["live"] / "playground" / "playground_worker.mjs").write_text(WORKER, encoding="utf-8")
    with served(sites["live"]) as (address, _):
        yield address


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    found = browser.new_page(viewport={"width": 1366, "height": 900}, reduced_motion="reduce")
    found.said, found.workers_seen = [], []
    found.on("pageerror", lambda error: found.said.append(str(error)))
    found.on("worker", lambda worker: found.workers_seen.append(worker.url))
    yield found
    assert found.said == []
    found.close()


def opened(page: Any, address: str) -> Any:
    page.goto(address)
    player = page.locator(".nb-playground .nb-player")
    playwright.expect(page.locator(STATUS)).not_to_be_empty()
    return player


def link(code: str) -> str:
    return "#code=" + base64.urlsafe_b64encode(code.encode("utf-8")).decode("ascii").rstrip("=")


def test_there_are_two_dozen_programs() -> None:
    assert len(PROGRAMS) >= 24 and all(len(each) == 3 for each in PROGRAMS.values())


@pytest.mark.browser
@needs.chromium
@pytest.mark.parametrize("language", ["", "zh/"])
def test_every_program_plays(page: Any, site: str, language: str) -> None:
    player = opened(page, f"{site}/{language}playground.html")
    for name, (_, _, code) in PROGRAMS.items():
        page.locator("[name=program]").select_option(name)
        playwright.expect(page.locator("[name=code]")).to_have_value(code)
        playwright.expect(player.locator(".nb-stage > svg")).to_be_visible()
        player.press("Home")
        player.press("ArrowRight")
        playwright.expect(player).to_have_attribute("data-step", "1")
    assert page.workers_seen == []


@pytest.mark.browser
@needs.chromium
def test_a_leaf_is_changed_in_the_page(page: Any, site: str) -> None:
    player = opened(page, f"{site}/playground.html#program=square")
    player.press("n")
    value = player.locator("input.nb-nudge-range")
    playwright.expect(value).to_be_visible()
    value.fill(str(float(value.get_attribute("value")) + float(value.get_attribute("step")) * 10))
    playwright.expect(player.locator("[data-node]").filter(has_text="y").first).not_to_contain_text("9.")
    keep(page, "playground.png")


@pytest.mark.browser
@needs.chromium
def test_a_shared_link_opens_in_a_fresh_browser(page: Any, site: str, browser: Any) -> None:
    opened(page, f"{site}/playground.html")
    page.locator("[name=program]").select_option("softmax")
    page.locator("[name=share]").click()
    page.wait_for_function("() => location.hash === '#program=softmax'")
    page.locator("[name=code]").fill("w = torch.tensor([2.], requires_grad=True)  # 中文\ny = w.exp()")
    page.locator("[name=share]").click()
    page.wait_for_function("() => location.hash.startsWith('#code=')")
    fresh = browser.new_context().new_page()
    fresh.goto(page.url)
    playwright.expect(fresh.locator("[name=code]")).to_have_value(page.locator("[name=code]").input_value())
    playwright.expect(fresh.locator(STATUS)).to_contain_text("copy the program into a notebook")
    fresh.context.close()


@pytest.mark.browser
@needs.chromium
@pytest.mark.parametrize("fragment", [link(FOREIGN), "#program=__proto__", "#code=%00%ff", "#code=" + "A" * 100_000])
def test_a_hostile_link_runs_nothing(page: Any, live: str, fragment: str) -> None:
    opened(page, f"{live}/playground.html{fragment}")
    assert page.evaluate("() => window.ran") is None and page.workers_seen == []
    if fragment == link(FOREIGN):
        assert page.locator("[name=code]").input_value() == FOREIGN
        playwright.expect(page.locator(STATUS)).to_contain_text("read it first")


@pytest.mark.browser
@needs.chromium
def test_a_program_runs_when_run_is_pressed(page: Any, live: str) -> None:
    player = opened(page, live + "/playground.html" + link("y = 1"))
    playwright.expect(player).to_have_count(0)
    assert page.workers_seen == []
    page.locator("[name=run]").click()
    playwright.expect(player.locator(".nb-stage > svg")).to_be_visible()
    assert [url.rpartition("/")[2] for url in page.workers_seen] == ["playground_worker.mjs"]
    page.locator("[name=code]").fill("fail")
    page.locator("[name=run]").click()
    playwright.expect(page.locator(STATUS)).to_contain_text("NameError")


def test_a_program_of_a_reader_is_recorded_as_those_of_the_site() -> None:
    sys.path.insert(0, str(ROOT / "docs/extensions"))
    try:
        from playground_pass import pass_of
    finally:
        sys.path.remove(str(ROOT / "docs/extensions"))
    data = pass_of("w = torch.tensor([3., 1.], requires_grad=True)\ny = w * w")
    assert json.loads(json.dumps(data))["svgs"]
    assert pass_of("w = torch.tensor(3., requires_grad=True)\n(w * w).backward()")["timeline"]["frames"]
    with pytest.raises(ValueError, match="requires_grad=True"):
        pass_of("y = torch.tensor(3.)")
