"""A JupyterLab for tests, of their own or of the process, on a free loopback port; pages do not leave the machine."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbautograd
from nbautograd.viz.notebook import export

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
WITHOUT_LANGUAGE_SERVERS = "--ServerApp.jpserver_extensions={'jupyter_lsp': False}"
"""Looking for them, the server starts npm."""
FOLDERS = {
    "HOME": "home",
    "IPYTHONDIR": "ipython",
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "run",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "spaces",
}


@contextmanager
def serve(
    home: Path,
    root: Path,
    app: str = "jupyterlab",
    *,
    options: tuple[str, ...] = (),
    **notebook_settings: Any,
) -> Iterator[tuple[str, str]]:
    """Run JupyterLab with our extension, that of this source, on the folder ``root``; gives its address and token.

    :param home: an empty folder for everything that Jupyter writes.
    :param app: the module that is run: ``notebook`` for Notebook 7.
    :param options: further options of the command.
    :param notebook_settings: settings of the notebook editor.
    """
    for folder in FOLDERS.values():
        (home / folder).mkdir(exist_ok=True)
    export.write_lab_extension(home / "data" / "labextensions" / "nbautograd", nbautograd.__version__)
    folders = {key: str(home / folder) for key, folder in FOLDERS.items()}
    env = {**os.environ, **folders, "JUPYTER_PREFER_ENV_PATH": "0"}

    def setting(plugin: str, **values: Any) -> None:
        path = home / "settings" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")

    every = {"windowingMode": "none"}  # the page has every output
    setting("@jupyterlab/notebook-extension/tracker", **every, **notebook_settings)
    setting(
        "@jupyterlab/apputils-extension/notification", fetchNews="false", checkForUpdates=False, doNotDisturbMode=True
    )
    token = secrets.token_hex(16)
    with open(home / "lab.log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", app, "--no-browser", "--allow-root", "--expose-app-in-browser",
             "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", f"--IdentityProvider.token={token}",
             f"--ServerApp.root_dir={root}", "--LabApp.news_url=None", "--LabApp.extension_manager=readonly",
             "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", WITHOUT_LANGUAGE_SERVERS, *options],
            env=env, stdout=log, stderr=log, cwd=root,
        )  # fmt: skip
        try:
            yield _address(home, server, token), token
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _address(home: Path, server: subprocess.Popen[bytes], token: str) -> str:
    """Return where the server listens, once it answers."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert server.poll() is None, (home / "lab.log").read_text(encoding="utf-8")
        for path in (home / "run").glob("jpserver-*.json"):
            try:
                url: str = json.loads(path.read_text(encoding="utf-8"))["url"]
                request = urllib.request.Request(url + "api", headers={"Authorization": f"token {token}"})
                urllib.request.urlopen(request, timeout=5).close()
                return url
            except (OSError, ValueError):
                pass
        time.sleep(0.2)
    raise AssertionError("JupyterLab did not start:\n" + (home / "lab.log").read_text(encoding="utf-8"))


@contextmanager
def browse(browser: Any) -> Iterator[Any]:
    """Open a page that has no cookies and no history; its list ``blocked`` has blocked requests, ``errors`` exceptions
    of its scripts.
    """
    page = opened(browser)
    try:
        yield page
    finally:
        page.context.close()


def opened(browser: Any) -> Any:
    """Open such a page, which stays open."""
    context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
    blocked: list[str] = []
    errors: list[str] = []

    context.on("request", lambda request: LOCAL.match(request.url) or blocked.append(request.url))
    page = context.new_page()
    page.blocked, page.errors = blocked, errors
    page.on("pageerror", lambda error: errors.append(str(error)))
    return page


SIZE: Any = {"width": 1280, "height": 1000}
LOADED = """async () => {
    if (window.jupyterapp === undefined) return false;
    await window.jupyterapp.restored;
    return window.jupyterapp.commands.hasCommand("docmanager:open");
}"""
INSTEAD = """async (path) => {
    const { commands, shell } = window.jupyterapp;
    for (const panel of [...shell.widgets("main")]) panel.dispose();
    await commands.execute("docmanager:open", { path });
}"""
EMPTY = """async () => {
    const { serviceManager, shell } = window.jupyterapp;
    for (const panel of [...shell.widgets("main")]) panel.dispose();
    await serviceManager.sessions.shutdownAll();
    return document.querySelector(".jp-Dialog") === null;
}"""


class JupyterLab:
    """The JupyterLab of this process, and a page that has loaded it: to start and to load it takes seconds."""

    def __init__(self, home: Path, url: str, token: str, chromium: Any) -> None:
        self.home, self.url, self.token, self.chromium = home, url, token, chromium
        self._page: Any = None
        self._paused: Any = None

    def folder(self, name: str) -> Path:
        """Return a new folder for the notebooks of a file of tests."""
        folder = self.home / "work" / name
        folder.mkdir()
        return folder

    def load(self, page: Any) -> None:
        """Load it into a page, with nothing open."""
        page.goto(f"{self.url}lab/workspaces/tests?token={self.token}&reset")  # other pages restore another workspace
        page.wait_for_function(LOADED, timeout=120_000)

    @contextmanager
    def page(self, fresh: bool = False) -> Iterator[Any]:
        """Give its page, in which nothing is open; the browser is in use.

        :param fresh: whether the page is loaded again, so that it holds nothing of former tests.
        """
        if self._page is None:
            self._page = opened(self.chromium.browser)
            self.chromium.kept.append(self._page.context)
            self.load(self._page)
        else:
            self._continue()
            if fresh:
                self.load(self._page)
        page = self._page
        page.set_viewport_size(SIZE)
        page.blocked.clear(), page.errors.clear()
        try:
            yield page
        finally:
            if page.evaluate(EMPTY):
                self._pause()
            else:  # a test has left it in a dialog
                self.chromium.kept.remove(page.context)
                page.context.close()
                self._page = None

    def _pause(self) -> None:
        """Hold what the page asks its server, as it does every ten seconds, until it is used again."""
        self._paused = self._page.context.new_cdp_session(self._page)
        self._paused.send("Fetch.enable")

    def _continue(self) -> None:
        self._paused.send("Fetch.disable")
        self._paused.detach()
