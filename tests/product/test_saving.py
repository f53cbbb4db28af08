"""Check pictures in saved notebooks: opened again without a kernel, reloaded with one, untrusted, by two, elsewhere.

The tests with a shared document run where jupyter-collaboration is installed, those of Notebook 7 where that is.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests import needs

needs.package("jupyterlab")
nbformat = needs.package("nbformat")
playwright = needs.package("playwright.sync_api")

from tests.shots import keep
from tests.waiting import wait_in_page, wait_until

from .jupyterlab import INSTEAD, READY, RUN_ALL, browse, serve

pytestmark = [pytest.mark.browser, needs.chromium, pytest.mark.filterwarnings("ignore::ResourceWarning")]

VIEW, PASS = "application/vnd.jupyter.widget-view+json", "application/vnd.nbautograd.pass+json"
CELLS = [
    "import nbautograd as torch\nfrom nbautograd import viz\n%load_ext nbautograd",
    "w = torch.tensor([3.], requires_grad=True)\ny = (w + 2) * (w + 1)\np = viz.animate(y)\np",
    "with viz.monitor(w, live=True) as watch:\n    for _ in range(2):\n        loss = w * w\n"
    "        loss.backward()\n        watch(loss)",
]
TREES = {"jupyterlab": "lab/tree", "notebook": "notebooks"}
CELL = ".jp-Notebook .jp-Cell[data-windowed-list-index='1'] .jp-OutputArea-output"
PLAYER, STILL = f"{CELL} .nb-player", f"{CELL} img"
RUN = ".jp-OutputArea-output .nb-lens"
SAVE_STATE = "@jupyter-widgets/jupyterlab-manager:saveWidgetState"
MANAGER = "@jupyter-widgets/jupyterlab-manager/plugin"


def new_notebook(path: Path) -> None:
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


class Front:
    """A server of notebooks, those of these tests being in one folder; and browsers that open one."""

    def __init__(self, root: Path, app: str, url: str, token: str, prefix: str = "") -> None:
        self.root, self.app, self.url, self.token, self.prefix = root, app, url, token, prefix

    def open(self, page: Any, path: str) -> None:
        """Open a notebook; a page that has JupyterLab closes the one that it had."""
        if self.app == "jupyterlab" and page.url.startswith(self.url):
            page.evaluate(INSTEAD, self.prefix + path)
        else:
            page.goto(f"{self.url}{TREES[self.app]}/{self.prefix}{path}?token={self.token}&reset")
        page.wait_for_function(READY, timeout=120_000)
        page.errors.clear()  # Notebook's own, before ours load

    def run_and_save(self, page: Any) -> None:
        page.evaluate(RUN_ALL)
        page.wait_for_function("window.__ran", timeout=120_000)
        playwright.expect(page.locator(PLAYER)).to_have_count(1, timeout=60_000)
        page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")

    def stop_kernels(self, page: Any) -> None:
        page.evaluate("() => window.jupyterapp.serviceManager.sessions.shutdownAll()")


def installed() -> list[Any]:
    return [
        pytest.param(app, marks=pytest.mark.skipif(not find_spec(app), reason=needs.reason(app)))
        for app in ("jupyterlab", "notebook")
    ]


@pytest.fixture(scope="module", params=installed())
def front(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    if request.param == "jupyterlab":
        lab = request.getfixturevalue("jupyterlab")
        yield Front(lab.folder("saving"), request.param, lab.url, lab.token, "saving/")
        return
    home = tmp_path_factory.mktemp(request.param)
    root = home / "work"
    root.mkdir()
    with serve(home, root, request.param) as (url, token):
        yield Front(root, request.param, url, token)


@pytest.fixture(scope="module")
def author(request: Any, front: Front, browser: Any) -> Iterator[Any]:
    """A page in which notebooks are run."""
    lab = front.app == "jupyterlab"
    with request.getfixturevalue("jupyterlab").page() if lab else browse(browser) as page:
        yield page


@pytest.fixture(scope="module")
def saved(front: Front, author: Any) -> Path:
    """A notebook that was run and saved in a browser, and whose kernel has ended."""
    path = front.root / "pass.ipynb"
    new_notebook(path)
    sockets: list[str] = []
    author.on("websocket", lambda socket: sockets.append(socket.url))
    front.open(author, path.name)
    shared = front.app == "jupyterlab" and find_spec("jupyter_collaboration") is not None
    assert shared == any("/api/collaboration/room/json:notebook" in url for url in sockets)
    front.run_and_save(author)
    front.stop_kernels(author)
    assert author.errors == [] and author.blocked == []
    return path


@pytest.fixture(scope="module")
def page(saved: Path, browser: Any) -> Iterator[Any]:
    """A page in which nothing has run."""
    with browse(browser) as found:
        yield found


def plays(page: Any, steps: int = 1) -> None:
    """Require that the page has one pass, that it plays, and that nothing is said of a widget that is gone."""
    player = page.locator(PLAYER)
    playwright.expect(player).to_have_count(1, timeout=60_000)
    playwright.expect(player).to_be_visible()
    player.press("Home")
    for _ in range(steps):
        player.press("ArrowRight")
    playwright.expect(player).to_have_attribute("data-step", str(steps))
    assert page.get_by_text("Error displaying widget").count() == 0
    assert page.locator(STILL).count() == 0  # no still image beside it


def explores(page: Any) -> None:
    """Require that the page has one training run, whose steps are shown and whose passes play without a kernel."""
    run = page.locator(RUN)
    playwright.expect(run).to_have_count(1, timeout=60_000)
    run.press("Home")
    playwright.expect(run).to_have_attribute("data-step", "1")
    playwright.expect(run.locator(".nb-count").first).to_contain_text("step 1 of 2 · loss")
    run.press("Enter")
    player = run.locator(".nb-player")
    player.press("ArrowRight")
    playwright.expect(player).to_have_attribute("data-step", "1")
    run.press("End")
    playwright.expect(run).to_have_attribute("data-step", "2")


def index_in_kernel(page: Any) -> str:
    """Return the step that the kernel's widget has, by running code in it."""
    return page.evaluate(
        """() => new Promise((resolve) => {
            const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
            const future = kernel.requestExecute({ code: "print(p.widget.index)" });
            let text = "";
            future.onIOPub = (message) => { text += message.content.text || message.content.evalue || ""; };
            future.done.then(() => resolve(text.trim()));
        })"""
    )


def kernel_hears(page: Any, key: str) -> bool:
    """Press a key of the player; return whether the kernel then has the shown step."""
    page.locator(PLAYER).press(key)
    wait_in_page(page, 300)
    return index_in_kernel(page) == page.locator(PLAYER).get_attribute("data-step")


def test_the_file_is_as_jupyter_writes_it(saved: Path) -> None:
    outputs = [each for cell in nbformat.read(saved, 4).cells for each in cell.outputs]
    shown = next(each.data for each in outputs if "text/html" in each.get("data", {}))
    assert {*shown} == {"text/plain", "text/html", VIEW, PASS}
    assert "data:image/svg+xml" in shown["text/html"]  # the view of other programs
    assert len(json.dumps(shown[PASS])) < 10_000


def test_opened_again_it_plays_without_its_kernel(front: Front, saved: Path, page: Any) -> None:
    front.open(page, saved.name)
    plays(page, 2)
    explores(page)
    keep(page, f"reopened-{front.app}.png")
    assert page.errors == [] and page.blocked == []


def test_untrusted_it_plays_and_runs_nothing_of_the_file(front: Front, saved: Path, page: Any) -> None:
    notebook = nbformat.read(saved, 4)
    shown = next(each.data for cell in notebook.cells for each in cell.outputs if "text/html" in each.get("data", {}))
    shown["text/html"] += "<script>window.ran = true</script><img src=x onerror='window.ran = true'>"
    path = front.root / "untrusted.ipynb"
    nbformat.write(notebook, path)
    front.open(page, path.name)
    trusted = "() => window.jupyterapp.shell.currentWidget.content.widgets.every((cell) => cell.model.trusted)"
    assert not page.evaluate(trusted)
    plays(page)
    assert page.evaluate("() => window.ran") is None


def test_a_pass_that_does_not_unpack_leaves_the_picture(front: Front, saved: Path, page: Any) -> None:
    notebook = nbformat.read(saved, 4)
    shown = next(each.data for cell in notebook.cells for each in cell.outputs if "text/html" in each.get("data", {}))
    shown[PASS]["packed"] = "AAAA"
    path = front.root / "broken.ipynb"
    nbformat.write(notebook, path)
    front.open(page, path.name)
    playwright.expect(page.locator(STILL)).to_be_visible()
    assert page.get_by_text("Error displaying widget").count() == 0


def test_reloaded_it_is_the_kernels_widget_which_two_pages_share(
    front: Front, saved: Path, page: Any, author: Any
) -> None:
    path = front.root / "live.ipynb"
    shutil.copy(saved, path)
    front.open(page, path.name)
    front.run_and_save(page)
    plays(page)
    page.reload()
    page.wait_for_function(READY, timeout=120_000)
    page.errors.clear()
    plays(page)
    assert wait_until(lambda: kernel_hears(page, "End"))
    last = page.locator(PLAYER).get_attribute("data-step")
    assert last == index_in_kernel(page)
    front.open(author, path.name)
    plays(author)
    assert wait_until(lambda: kernel_hears(author, "Home"))
    playwright.expect(page.locator(PLAYER)).to_have_attribute("data-step", "0")
    assert author.errors == []
    front.stop_kernels(page)
    assert page.errors == [] and page.blocked == []


@pytest.fixture
def bare(jupyterlab: Any, page: Any) -> Iterator[Any]:
    """The page with JupyterLab without our extension; what is changed for it in the settings is put back."""

    def disable(value: bool) -> None:
        (folder / "page_config.json").write_text(json.dumps({"disabledExtensions": {"nbautograd": value}}), "utf-8")

    folder = jupyterlab.home / "config" / "labconfig"
    folder.mkdir(exist_ok=True)
    disable(True)
    jupyterlab.load(page)
    yield page
    disable(False)
    (jupyterlab.home / "settings" / f"{MANAGER}.jupyterlab-settings").unlink()
    page.goto("about:blank")


@pytest.mark.parametrize("front", ["jupyterlab"], indirect=True)
def test_without_our_extension_a_notebook_plays_by_the_saved_state_of_its_widgets(
    front: Front, jupyterlab: Any, bare: Any
) -> None:
    """Its author has switched on "Save Widget State Automatically"; without, it says that the model is not found."""
    path = front.root / "bare.ipynb"
    new_notebook(path)
    assert not bare.evaluate("() => window.jupyterapp.hasPlugin('nbautograd:player')")
    front.open(bare, path.name)
    bare.evaluate("(command) => window.jupyterapp.commands.execute(command)", SAVE_STATE)
    front.run_and_save(bare)
    front.stop_kernels(bare)
    jupyterlab.load(bare)
    front.open(bare, path.name)
    playwright.expect(bare.locator(RUN)).to_be_visible(timeout=60_000)
    plays(bare, 2)
