"""A saved pass on a page that is not a notebook: the element, the module for hosts of anywidget, Mermaid."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd.cli import main
from nbautograd.viz.draw.graphviz_dot import to_mermaid
from nbautograd.viz.notebook import export
from tests import needs
from tests.files_server import served
from tests.shots import keep

EXAMPLES = Path(__file__).parents[3] / "docs" / "embedding"
HEAD = '<!doctype html><meta charset="utf-8"><title>t</title><script type="module" src="player.mjs"></script>'


def recorded(value: float = 3.0) -> Any:
    w = nb.tensor([value], requires_grad=True)
    y = (w + 2) * (w + 1)
    return viz.animate(y, namespace={"w": w, "y": y})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, list[str]]]:
    folder = tmp_path_factory.mktemp("site")
    assert main(["player", str(folder)]) == 0
    recorded().save(folder / "pass.json")
    with served(folder) as (address, asked):
        yield folder, address, asked


COVERED = """() => {
    const [key, ...buttons] = [...document.querySelectorAll(".nb-key, .nb-strip button")].sort(
        (one, other) => other.matches(".nb-key") - one.matches(".nb-key")).map((one) => one.getBoundingClientRect());
    return buttons.filter((one) => one.width && one.left < key.right && key.left < one.right
        && one.top < key.bottom && key.top < one.bottom).length;
}"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 660, 700, 1280])
def test_the_key_of_colors_lies_on_no_button(site: Any, browser: Any, width: int) -> None:
    folder, address, _ = site
    x = nb.ones(2, 2, requires_grad=True)
    viz.animate((x * x * 3).mean(), namespace={"x": x}).save(folder / "tiles.json")
    (folder / "tiles.html").write_text(HEAD + '<nb-player src="tiles.json"></nb-player>', encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(f"{address}/tiles.html")
    page.wait_for_selector(".nb-player[data-step] .nb-stage > svg")
    page.wait_for_selector(".nb-key.nb-some")
    assert page.evaluate(COVERED) == 0
    page.close()


@pytest.mark.browser
def test_a_page_of_thirty_players_loads_the_module_once(site: Any, browser: Any) -> None:
    folder, address, asked = site
    (folder / "many.html").write_text(HEAD + '<nb-player src="pass.json"></nb-player>' * 30, encoding="utf-8")
    asked.clear()
    page = browser.new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{address}/many.html")
    page.wait_for_function("document.querySelectorAll('.nb-player[data-step] .nb-stage > svg').length === 30")
    assert (asked.count("/player.mjs"), said) == (1, [])
    assert set(asked) - {"/favicon.ico"} == {"/many.html", "/player.mjs", "/pass.json"}
    second = page.locator(".nb-player").nth(1)
    second.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelectorAll('.nb-player')[1].dataset.step === '1'")
    steps = page.evaluate("[...document.querySelectorAll('.nb-player')].map((player) => player.dataset.step)")
    assert steps[1] == "1" and len({*steps}) == 2 and len({steps[0], *steps[2:]}) == 1
    page.close()


@pytest.mark.browser
def test_inside_and_removed_and_changed(site: Any, browser: Any) -> None:
    """Test a pass in the page: removing the element ends its player; another ``src`` is another pass."""
    folder, address, _ = site
    recorded(5.0).save(folder / "other.json")
    inside = export.json_for_script(json.loads((folder / "pass.json").read_text("utf-8")))
    text = f'<nb-player id="a"><script type="application/json">{inside}</script></nb-player>'
    (folder / "one.html").write_text(HEAD + text + '<nb-player id="b" src="pass.json"></nb-player>', encoding="utf-8")
    page = browser.new_page()
    page.goto(f"{address}/one.html")
    page.wait_for_selector("#a .nb-stage > svg")
    page.wait_for_selector("#b .nb-stage > svg")
    before = page.locator("#b .nb-stage").text_content()
    assert page.locator("#a .nb-stage").text_content() == before
    page.evaluate("document.getElementById('b').setAttribute('src', 'other.json')")
    page.wait_for_function("(before) => { const s = document.querySelector('#b .nb-stage > svg');"
                           " return s && s.parentElement.textContent !== before; }", arg=before)  # fmt: skip
    page.evaluate("const a = document.getElementById('a'); window.a = a; a.remove()")
    page.wait_for_function("window.a.querySelector('.nb-player') === null")
    page.evaluate("document.body.append(window.a)")
    page.wait_for_selector("#a .nb-stage > svg")
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "404"), ("{}", "no pass of nbautograd"), ('{"schema": "nbautograd.pass", "version": 99}', "version 99"),
     ("not JSON", "JSON")],
)  # fmt: skip
def test_what_is_no_pass_is_said(site: Any, browser: Any, content: str | None, says: str) -> None:
    folder, address, _ = site
    if content is not None:
        (folder / "bad.json").write_text(content, encoding="utf-8")
    name = "missing.json" if content is None else "bad.json"
    (folder / "bad.html").write_text(HEAD + f'<nb-player src="{name}"></nb-player>', encoding="utf-8")
    page = browser.new_page()
    page.goto(f"{address}/bad.html")
    page.wait_for_selector("nb-player [role=alert]")
    assert says in page.locator("[role=alert]").text_content()
    page.close()


@pytest.mark.browser
def test_as_a_module_in_a_shadow_tree(site: Any, browser: Any) -> None:
    """As MyST renders the module: ``render({model, el})``, inside of a shadow tree."""
    folder, address, _ = site
    script = """
    import player from "./player.mjs";
    const host = document.getElementById("host"), el = document.createElement("div");
    host.attachShadow({ mode: "open" }).append(el);
    const values = { src: "pass.json" };
    window.end = await player.render({ model: { get: (name) => values[name] }, el });
    """
    body = f'<!doctype html><meta charset="utf-8"><div id="host"></div><script type="module">{script}</script>'
    (folder / "module.html").write_text(body, encoding="utf-8")
    page = browser.new_page(viewport={"width": 900, "height": 700})
    page.goto(f"{address}/module.html")
    page.wait_for_selector("#host .nb-stage > svg")
    assert page.locator("#host .nb-player").evaluate("(player) => getComputedStyle(player).borderRadius") != "0px"
    page.evaluate("window.end()")
    assert page.locator("#host .nb-player").count() == 0
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("name", "count"), [("page", 2), ("slides", 1)])
def test_an_example_plays(site: Any, browser: Any, name: str, count: int, theme: Any) -> None:
    folder, address, asked = site
    shutil.copy(EXAMPLES / f"{name}.html", folder)
    asked.clear()
    plays_on(browser, f"{address}/{name}.html", count, theme, name)
    assert asked.count("/player.mjs") == 1


def plays_on(browser: Any, address: str, count: int, theme: Any, name: str) -> None:
    """Require that a page plays each of its passes, in a theme, and asks no other host."""
    page = browser.new_page(color_scheme=theme)
    others: list[str] = []
    page.on("request", lambda request: request.url.startswith(address.rpartition("/")[0]) or others.append(request.url))
    page.goto(address)
    page.wait_for_function(f"document.querySelectorAll('.nb-player[data-step] .nb-stage > svg').length === {count}")
    for number in range(count):
        player = page.locator(".nb-player").nth(number)
        player.press("Home")
        player.press("ArrowRight")
        page.wait_for_function(f"document.querySelectorAll('.nb-player')[{number}].dataset.step === '1'")
    shade = page.locator(".nb-player").first.evaluate("(player) => getComputedStyle(player).colorScheme")
    keep(page, f"embedded-{name}-{theme}.png")
    assert (shade, others) == (theme, [])
    page.close()


@pytest.fixture(scope="module")
def sphinx_site(site: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, list[str]]]:
    needs.package("sphinx")
    source = tmp_path_factory.mktemp("source")
    shutil.copytree(EXAMPLES / "sphinx", source, dirs_exist_ok=True)
    shutil.copy(site[0] / "pass.json", source)
    (source / "without.rst").write_text(":orphan:\n\nNo pass\n=======\n", encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", str(source), str(source / "html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with served(source / "html") as (address, asked):
        yield source / "html", address, asked


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_of_sphinx_plays(sphinx_site: Any, browser: Any, theme: Any) -> None:
    _, address, asked = sphinx_site
    asked.clear()
    plays_on(browser, f"{address}/index.html", 2, theme, "sphinx")
    assert len([path for path in asked if "nb-player.mjs" in path]) == 1


@pytest.mark.sweep
def test_pages_of_sphinx_without_a_pass_load_no_player(sphinx_site: Any) -> None:
    pages = {name: (sphinx_site[0] / f"{name}.html").read_text(encoding="utf-8") for name in ("index", "without")}
    assert [text.count("nb-player.mjs") for text in pages.values()] == [1, 0]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("content", "says"), [("{}", "is no pass"), ("not JSON", "cannot read"), (None, "cannot read")]
)
def test_sphinx_names_what_is_no_pass(content: str | None, says: str, tmp_path: Path) -> None:
    needs.package("sphinx")
    shutil.copytree(EXAMPLES / "sphinx", tmp_path, dirs_exist_ok=True)
    if content is not None:
        (tmp_path / "pass.json").write_text(content, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", str(tmp_path), str(tmp_path / "html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "index.rst:4: ERROR: nb-player: " in done.stderr and says in done.stderr


@pytest.mark.parametrize("name", ["myst.md", "quarto.qmd"])
def test_other_examples_name_the_two_files(name: str) -> None:
    """Their programs are not at hand: MyST's theme comes from a network, Quarto from no package index."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    assert "player.mjs" in text and "pass.json" in text
    if name == "myst.md":
        (body,) = re.findall(r"```{anywidget} player\.mjs\n(.*)\n```", text)
        assert json.loads(body) == {"src": "pass.json"}


def test_the_form_of_a_file(tmp_path: Path) -> None:
    saved = json.loads(recorded().save(tmp_path / "pass.json").read_text("utf-8"))
    assert (saved["schema"], saved["version"]) == ("nbautograd.pass", 1)
    assert {"svgs", "timeline", "label", "texts", "theme", "views", "start", "ask", "head"} < {*saved}
    assert (tmp_path / "pass.json").stat().st_size < 60_000


def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["player", str(tmp_path / "file")]) == 2
    assert "cannot write" in capsys.readouterr().err


# -- Mermaid -----------------------------------------------------------------------------------------------------------

NODE = re.compile(r'  n\d+(\("[^"]*"\)|\["[^"]*"\]|\[\["[^"]*"\]\]|\(\["[^"]*"\]\))(:::\w+)?')


@pytest.mark.parametrize("name", ["w", 'a"b', "</script>", "`x`", "end", "a;b#c&d", "%%{init}%%", "重"])
def test_mermaid_labels_are_text(name: str, tmp_path: Path) -> None:
    w = nb.tensor([1.0], requires_grad=True)
    y = w * 2
    text = viz.graph(y, namespace={name: w, "y": y}).save(tmp_path / "graph.mmd").read_text("utf-8")
    first, *lines = text.splitlines()
    assert first == "flowchart LR"
    kinds = [bool(NODE.fullmatch(line)) + 2 * bool(re.fullmatch(r"  n\d+ --> n\d+", line)) for line in lines]
    assert kinds.count(1) >= 3 and kinds.count(2) >= 2
    assert all(kind or re.fullmatch(r"  classDef \w+ [\w:#,]+", line) for kind, line in zip(kinds, lines, strict=True))
    assert "<script" not in text and "`" not in text


def test_mermaid_has_the_graphs_nodes_and_edges() -> None:
    w = nb.tensor([1.0], requires_grad=True)
    model = viz.graph((w * w).sum()).model
    text = to_mermaid(model, "TB")
    assert text.startswith("flowchart TB\n") and text.count(" --> ") == len(model.edges)
    assert len(NODE.findall(text)) == len(model.nodes)
