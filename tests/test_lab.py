"""The tutorial in a real JupyterLab and browser: it runs, its backward pass plays, and nothing leaves the machine."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("jupyterlab", reason="JupyterLab is not installed: pip install 'nbautograd[test]'")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="Playwright is not installed: pip install 'nbautograd[test]'"
)

CHROMIUM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: install it, or name it in the variable CHROMIUM"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "tensors_and_autograd.ipynb"
SHOTS = Path(os.environ.get("NBAUTOGRAD_SHOTS", Path(__file__).parent / "screenshots"))
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LOCAL = re.compile(r"(https?|wss?)://127\.0\.0\.1[:/]|file:|blob:|data:")
READY = """() => {
    const panel = window.jupyterapp?.shell?.currentWidget, kernel = panel?.sessionContext?.session?.kernel;
    return panel?.context?.isReady && panel.sessionContext.isReady
        && kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""
RUN_ALL = """() => {
    window.__ran = '';
    window.jupyterapp.commands.execute('notebook:run-all-cells').then(
        () => { window.__ran = 'ok'; }, (error) => { window.__ran = String(error); });
}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab of its own on a free loopback port, with a token, and the notebook without its outputs."""
    home = tmp_path_factory.mktemp("lab")
    root = home / "work"
    root.mkdir()
    shutil.copy(NOTEBOOK, root / "saved.ipynb")
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    (root / NOTEBOOK.name).write_text(json.dumps(notebook), encoding="utf-8")
    folders = {
        "HOME": "home",
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "run",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "spaces",
    }
    for folder in folders.values():
        (home / folder).mkdir()
    env = {**os.environ, **{key: str(home / folder) for key, folder in folders.items()}}

    def setting(plugin, **values):
        path = home / "settings" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")

    setting("@jupyterlab/notebook-extension/tracker", windowingMode="none")  # every output is in the page
    setting(
        "@jupyterlab/apputils-extension/notification", fetchNews="false", checkForUpdates=False, doNotDisturbMode=True
    )
    token = secrets.token_hex(16)
    with open(home / "lab.log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser",
             "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", f"--IdentityProvider.token={token}",
             f"--ServerApp.root_dir={root}", "--LabApp.news_url=None", "--LabApp.extension_manager=readonly",
             "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"],
            env=env, stdout=log, stderr=log, cwd=root,
        )  # fmt: skip
        try:
            yield address(home, server, token), token
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def address(home, server, token):
    """Where the server listens, once it answers."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert server.poll() is None, (home / "lab.log").read_text(encoding="utf-8")
        for path in (home / "run").glob("jpserver-*.json"):
            try:
                url = json.loads(path.read_text(encoding="utf-8"))["url"]
                request = urllib.request.Request(url + "api", headers={"Authorization": f"token {token}"})
                urllib.request.urlopen(request, timeout=5).close()
                return url
            except (OSError, ValueError):
                pass
        time.sleep(0.2)
    raise AssertionError("JupyterLab did not start:\n" + (home / "lab.log").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def page(lab, tmp_path_factory):
    """The notebook, opened and run from top to bottom."""
    url, token = lab
    SHOTS.mkdir(parents=True, exist_ok=True)
    with playwright.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("chromium")), executable_path=CHROMIUM, headless=True, args=ARGUMENTS,
            viewport={"width": 1280, "height": 1000}, reduced_motion="reduce",
        )  # fmt: skip
        blocked, errors = [], []

        def guard(route):
            if LOCAL.match(route.request.url):
                route.continue_()
            else:
                blocked.append(route.request.url)
                route.abort()

        context.route("**/*", guard)
        page = context.new_page()
        page.blocked, page.errors = blocked, errors
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{url}lab/workspaces/test/tree/{NOTEBOOK.name}?token={token}&reset")
        page.wait_for_function(READY, timeout=120_000)
        page.evaluate(RUN_ALL)
        page.wait_for_function("window.__ran", timeout=120_000)
        assert page.evaluate("window.__ran") == "ok"
        page.wait_for_selector(".nb-player svg", timeout=60_000)
        yield page
        context.close()


def player(page):
    """The player of the backward pass of section 4."""
    found = page.locator(".nb-player:has(.nb-slider)").first
    found.scroll_into_view_if_needed()
    return found


def leaf(widget, name):
    """The box of a leaf in the drawing."""
    return widget.locator("[data-node]").filter(has_text=re.compile(rf"^\s*{name}\b")).first


def test_the_notebook_runs_and_shows_its_pictures(page):
    assert page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    assert page.locator(".jp-OutputArea-output[data-mime-type*='error']").count() == 0
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
    widget.get_by_role("button", name="First step").click()
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
    slider = widget.get_by_role("slider")
    slider.fill("4")
    playwright.expect(widget).to_have_attribute("data-step", "4")
    playwright.expect(slider).to_have_attribute("aria-valuetext", re.compile("step 4 of 6: "))


def test_playing_and_pausing(page):
    widget = player(page)
    widget.get_by_role("slider").fill("0")
    widget.get_by_label("Speed").select_option("4")
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
    page.wait_for_timeout(400)  # what is clicked goes up at most eight times a second
    assert "MulBackward0" in ask(page, "print([o.selected.name for o in Out.values() if getattr(o, 'selected', None)])")
    graph.locator(".nb-folder").click()
    assert graph.locator(".nb-node.nb-away").count() > 4
    graph.focus()
    page.keyboard.press("c")
    playwright.expect(graph.locator(".nb-away")).to_have_count(0)


def ask(page, code):
    """What the notebook's kernel prints when it runs some code."""
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
    widget.get_by_role("button", name="Last step").click()
    page.wait_for_timeout(400)
    assert ask(page, "print(p.widget.index)").strip() == "6"


def test_pictures_light_and_dark(page):
    widget = player(page)
    for theme in ("Light", "Dark"):
        page.evaluate(
            "name => { window.jupyterapp.commands.execute('apputils:change-theme', {theme: name}); }",
            f"JupyterLab {theme}",
        )
        page.wait_for_function(
            "light => document.body.dataset.jpThemeLight === light", arg="true" if theme == "Light" else "false"
        )
        page.wait_for_timeout(500)
        widget.get_by_role("slider").fill("4")
        widget.scroll_into_view_if_needed()
        widget.screenshot(path=SHOTS / f"player-{theme.lower()}.png")
        page.screenshot(path=SHOTS / f"lab-{theme.lower()}.png")
        assert (SHOTS / f"player-{theme.lower()}.png").stat().st_size > 10_000


def test_it_plays_on_without_a_kernel(page):
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.sessionContext.shutdown(); }")
    page.wait_for_timeout(1000)
    widget = player(page)
    widget.get_by_role("slider").fill("2")
    widget.get_by_role("button", name="Step forward").click()
    playwright.expect(widget).to_have_attribute("data-step", "3")
    assert not page.errors and not page.blocked


def test_a_saved_notebook_shows_its_pictures_before_anything_runs(page, lab):
    url, token = lab
    saved = page.context.new_page()
    saved.goto(f"{url}lab/workspaces/saved/tree/saved.ipynb?token={token}&reset")
    saved.wait_for_selector(".jp-OutputArea-output img[src^='data:image/svg']", timeout=60_000)
    assert saved.locator(".jp-OutputArea-output img[src^='data:image/svg']").count() == 5
    assert saved.get_by_text("Error displaying widget").count() == 0
    image = saved.locator(".jp-OutputArea-output img[src^='data:image/svg']").nth(1)
    image.scroll_into_view_if_needed()
    assert image.evaluate("image => image.naturalWidth") > 300 and image.get_attribute("alt")
    assert not page.blocked
    saved.screenshot(path=SHOTS / "saved.png")
    saved.close()
