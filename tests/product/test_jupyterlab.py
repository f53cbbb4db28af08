"""The tutorial in a real JupyterLab and browser: it runs, its backward pass plays, and nothing leaves the machine."""

from __future__ import annotations

import json
import re
import shutil
import urllib.request
from pathlib import Path

import pytest

from tests import needs

needs.package("jupyterlab")
nbformat = needs.package("nbformat")
playwright = needs.package("playwright.sync_api")

from nbformat.sign import NotebookNotary

import nbautograd as nb
from nbautograd import viz
from tests.shots import DRAWN, keep
from tests.waiting import wait_for_layout, wait_until

from .jupyterlab import INSTEAD, READY, RUN_ALL

pytestmark = [
    pytest.mark.browser,
    needs.chromium,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

NOTEBOOK = Path(__file__).with_name("tutorial.ipynb")


def write_embedded(root, data):
    """Two notebooks with an output that plays by itself: one that a server with this data trusts, and one not."""
    w = nb.tensor([1.0], requires_grad=True)
    y = (w + 2) * w
    with viz.autograd(embed=True):
        bundle = viz.animate(y, namespace={"w": w, "y": y})._repr_mimebundle_()
    output = nbformat.v4.new_output("execute_result", bundle, execution_count=1)
    cell = nbformat.v4.new_code_cell("%backward y", id="one", outputs=[output], execution_count=1)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel})
    nbformat.write(notebook, root / "untrusted.ipynb")
    cell.id = "another"
    nbformat.write(notebook, root / "trusted.ipynb")
    notary = NotebookNotary(data_dir=str(data))
    notary.sign(nbformat.read(root / "trusted.ipynb", 4))
    notary.store.close()


@pytest.fixture(scope="module")
def page(browser, jupyterlab):
    """The notebook without its outputs, opened and run from top to bottom."""
    root = jupyterlab.folder("tutorial")
    shutil.copy(NOTEBOOK, root / "saved.ipynb")
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    (root / NOTEBOOK.name).write_text(json.dumps(notebook), encoding="utf-8")
    write_embedded(root, jupyterlab.home / "data")
    with jupyterlab.page() as page:
        page.evaluate(INSTEAD, f"tutorial/{NOTEBOOK.name}")
        page.wait_for_function(READY, timeout=120_000)
        page.evaluate(RUN_ALL)
        page.wait_for_function("window.__ran", timeout=120_000)
        assert page.evaluate("window.__ran") == "ok"
        page.wait_for_selector(".nb-player .nb-stage > svg", timeout=60_000)
        yield page


def player(page):
    """The player of the backward pass of section 4."""
    found = page.locator(".nb-player:has(.nb-slider)").first
    found.scroll_into_view_if_needed()
    return found


def open_tab(widget, name):
    """Open the drawer at a tab."""
    if widget.locator(".nb-drawer").is_hidden():
        widget.locator(".nb-more").click()
    widget.locator(f"[data-tab={name}]").click()


def leaf(widget, name):
    """The box of a leaf in the drawing."""
    return widget.locator("[data-node]").filter(has_text=re.compile(rf"^\s*{name}\b")).first


def test_the_notebook_runs_and_shows_its_pictures(page):
    assert page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count() == 0  # nor errors
    assert page.locator(".nb-player:has(.nb-slider)").count() == 3  # passes
    assert page.locator(".nb-player:not(:has(.nb-slider))").count() == 2  # graphs
    assert not page.errors and not page.blocked


def test_stepping_changes_what_is_highlighted_until_the_leaf_has_5(page):
    widget = player(page)
    playwright.expect(widget).to_have_attribute("data-step", "0")
    assert widget.locator("[data-node].nb-active").count() == 0
    lit = []
    for step in range(1, 7):
        widget.get_by_role("button", name="Step forward").click()
        playwright.expect(widget).to_have_attribute("data-step", str(step))
        lit.append(tuple(widget.locator("[data-node].nb-active").evaluate_all("all => all.map(e => e.dataset.node)")))
    assert len(set(lit)) >= 5  # another node at (nearly) every step
    assert "5." in leaf(widget, "w").text_content() and "2." in leaf(widget, "x").text_content()
    playwright.expect(widget.locator(".nb-ledger tbody tr").first).to_contain_text("5.")
    widget.get_by_role("button", name="Step back").click()
    playwright.expect(widget).to_have_attribute("data-step", "5")
    widget.press("Home")
    playwright.expect(widget).to_have_attribute("data-step", "0")
    assert widget.locator("[data-node].nb-done").count() == 0


def test_keyboard_and_slider(page):
    widget = player(page)
    widget.focus()
    page.keyboard.press("ArrowRight")
    playwright.expect(widget).to_have_attribute("data-step", "1")
    page.keyboard.press("End")
    playwright.expect(widget).to_have_attribute("data-step", "6")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    playwright.expect(widget).to_have_attribute("data-step", "0")
    slider = widget.get_by_role("slider", name="Step of the backward pass")
    slider.fill("4")
    playwright.expect(widget).to_have_attribute("data-step", "4")
    playwright.expect(slider).to_have_attribute("aria-valuetext", re.compile("step 4 of 6: "))


def test_playing_and_pausing(page):
    widget = player(page)
    widget.get_by_role("slider", name="Step of the backward pass").fill("0")
    open_tab(widget, "tools")
    widget.get_by_label("Speed").select_option("4")
    widget.locator(".nb-more").click()
    widget.get_by_role("button", name="Play").click()
    at = "Number([...document.querySelectorAll('.nb-player')].find((e) => e.querySelector('.nb-slider')).dataset.step)"
    page.wait_for_function(f"{at} >= 2", timeout=20_000)
    widget.get_by_role("button", name="Pause").click()
    step = widget.get_attribute("data-step")
    page.wait_for_timeout(900)
    assert widget.get_attribute("data-step") == step


def test_a_graph_is_searched_folded_and_clicked_and_the_kernel_hears_of_it(page):
    graph = page.locator(".nb-player:not(:has(.nb-slider))").first
    graph.scroll_into_view_if_needed()
    graph.focus()
    page.keyboard.press("/")
    page.keyboard.type("mul")
    playwright.expect(graph.locator(".nb-found")).to_have_count(1)
    page.keyboard.press("Enter")
    playwright.expect(graph.locator(".nb-side .nb-title")).to_have_text("MulBackward0")
    playwright.expect(graph.locator(".nb-code li.nb-lit")).to_contain_text("y = torch.mul(a, b)")
    selected = "print([o.selected.name for o in Out.values() if getattr(o, 'selected', None)])"
    assert wait_until(lambda: "MulBackward0" in ask(page, selected))  # a click scrolls up some time later
    open_tab(graph, "step")
    graph.locator(".nb-folder").click()
    assert graph.locator(".nb-node.nb-away").count() > 4
    graph.focus()
    page.keyboard.press("c")
    playwright.expect(graph.locator(".nb-away")).to_have_count(0)


def ask(page, code):
    """Return the output of the notebook's kernel for some code."""
    return page.evaluate(ASK, code)


ASK = """code => new Promise((resolve) => {
    const future = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({ code });
    let text = '';
    future.onIOPub = (message) => { text += message.content.text || ''; };
    future.done.then(() => resolve(text));
    setTimeout(() => resolve('no answer: ' + text), 20000);
})"""


def test_what_the_kernel_sets_the_player_shows(page):
    widget = player(page)
    code = "p = next(o for o in Out.values() if type(o).__name__ == 'Animation'); p.widget.index = 3; p.widget.selected"
    ask(page, code)
    playwright.expect(widget).to_have_attribute("data-step", "3")
    widget.press("End")
    assert wait_until(lambda: ask(page, "print(p.widget.index)").strip() == "6")


def test_a_notebook_is_saved_with_pictures_that_need_no_widget(page):
    """Else JupyterLab, opening it again, would say that there is no such widget, and show nothing."""
    outputs = page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.context.model.toJSON().cells.flatMap((cell) => cell.outputs || [])"
    )
    pictures = [output["data"] for output in outputs if "text/html" in output.get("data", {})]
    assert len(pictures) == 5 and all("data:image/svg+xml" in str(data["text/html"]) for data in pictures)
    assert all("application/vnd.nbautograd.pass+json" in data for data in pictures)  # which our extension plays
    playwright.expect(player(page)).to_be_visible()  # it continues here


def test_a_page_that_nbconvert_makes_of_the_saved_notebook_has_its_pictures(page, jupyterlab, tmp_path):
    nbconvert = needs.package("nbconvert")
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    url, header = f"{jupyterlab.url}api/contents/tutorial/{NOTEBOOK.name}", f"token {jupyterlab.token}"
    read = urllib.request.Request(url, headers={"Authorization": header})
    with urllib.request.urlopen(read, timeout=20) as answer:
        saved = json.load(answer)["content"]
    html, _ = nbconvert.HTMLExporter().from_notebook_node(nbformat.from_dict(saved))
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    other = page.context.new_page()
    before = len(page.blocked)
    other.goto((tmp_path / "page.html").as_uri())
    sizes = other.evaluate(DRAWN)
    assert len(sizes) == 5 and all(width > 200 and colors > 50 for width, colors in sizes), sizes
    keep(other, "nbconvert-of-saved.png", full_page=True)
    other.close()
    blocked = page.blocked[before:]
    del page.blocked[before:]  # nbconvert's own
    assert [url for url in blocked if not url.startswith("https://cdnjs.cloudflare.com/ajax/libs/")] == []


def test_pictures_light_and_dark(page):
    widget = player(page)
    for theme in ("Dark", "Light"):
        page.evaluate(
            "name => { window.jupyterapp.commands.execute('apputils:change-theme', {theme: name}); }",
            f"JupyterLab {theme}",
        )
        page.wait_for_function(
            "light => document.body.dataset.jpThemeLight === light", arg="true" if theme == "Light" else "false"
        )
        wait_for_layout(page)
        widget.get_by_role("slider", name="Step of the backward pass").fill("4")
        widget.scroll_into_view_if_needed()
        keep(widget, f"player-{theme.lower()}.png")
        keep(page, f"lab-{theme.lower()}.png")
        assert len(widget.screenshot()) > 10_000


def test_on_a_laptop_all_of_a_player_is_seen_at_once(page):
    page.set_viewport_size({"width": 1280, "height": 720})
    wait_for_layout(page)
    widget = player(page)
    high, room = widget.evaluate(
        "e => [e.offsetHeight, e.closest('.jp-WindowedPanel-outer, .jp-Notebook').clientHeight]"
    )
    assert 200 < high <= room
    widget.evaluate("e => e.scrollIntoView()")
    keep(page, "lab-720.png")
    page.set_viewport_size({"width": 1280, "height": 1000})


def test_it_plays_on_while_the_kernel_restarts(page):
    widget = player(page)
    widget.get_by_role("slider", name="Step of the backward pass").fill("0")
    widget.get_by_role("button", name="Play").click()
    restarted = page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel().then(() => 'restarted')"
    )
    assert restarted == "restarted"
    playwright.expect(widget).to_have_attribute("data-step", "6", timeout=30_000)
    assert not page.errors and page.get_by_text("Error displaying widget").count() == 0
    assert ask(page, "print(1)").strip() == "1"


def test_it_plays_on_without_a_kernel(page):
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown().then(() => 'ended')")
    widget = player(page)
    widget.get_by_role("slider", name="Step of the backward pass").fill("2")
    widget.get_by_role("button", name="Step forward").click()
    playwright.expect(widget).to_have_attribute("data-step", "3")
    assert not page.errors and not page.blocked


def opened(page, name):
    """Open another notebook in the same JupyterLab, in front, and return its output."""
    name = f"tutorial/{name}"
    page.evaluate("path => { window.jupyterapp.commands.execute('docmanager:open', { path }); }", name)
    page.wait_for_function(
        "name => { const panel = window.jupyterapp.shell.currentWidget;"
        " return panel?.context?.path === name && panel.context.isReady; }",
        arg=name,
    )
    return page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")


def test_a_saved_notebook_shows_its_pictures_before_anything_runs(page):
    saved = opened(page, "saved.ipynb")
    images = saved.locator(".jp-OutputArea-output img[src^='data:image/svg']")
    playwright.expect(images).to_have_count(5)
    assert saved.get_by_text("Error displaying widget").count() == 0
    image = images.nth(1)
    image.scroll_into_view_if_needed()
    assert image.evaluate("image => image.naturalWidth") > 300 and image.get_attribute("alt")
    table = saved.locator(".jp-OutputArea-output details:has(table)").first
    table.locator("summary").click()
    playwright.expect(table.locator("tbody th").first).to_be_visible()  # untrusted, too
    keep(page, "saved.png")


def test_an_embedded_player_plays_in_a_reopened_notebook(page):
    trusted = opened(page, "trusted.ipynb")
    player = trusted.frame_locator("iframe").locator(".nb-player")
    player.get_by_role("button", name="Step forward").click()
    playwright.expect(player).to_have_attribute("data-step", "1")
    playwright.expect(trusted.locator(".nb-still img")).to_be_hidden()
    assert trusted.locator("iframe").bounding_box()["height"] > 250  # as high as its content


def test_of_an_embedded_player_an_untrusted_notebook_shows_the_picture(page):
    untrusted = opened(page, "untrusted.ipynb")
    playwright.expect(untrusted.locator(".nb-still img")).to_be_visible()
    assert untrusted.locator("iframe").count() == 0
    assert not page.errors and not page.blocked
