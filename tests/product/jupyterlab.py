"""A JupyterLab of its own for a test, on a free loopback port; and a browser that does not leave the machine."""

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
    extension: bool = True,
    options: tuple[str, ...] = (),
    **notebook_settings: Any,
) -> Iterator[tuple[str, str]]:
    """Run JupyterLab on the folder ``root``; gives its address and token.

    :param home: an empty folder for everything that Jupyter writes.
    :param app: the module that is run: ``notebook`` for Notebook 7.
    :param extension: whether it has our extension: that of this source, not one that is installed.
    :param options: further options of the command.
    :param notebook_settings: settings of the notebook editor.
    """
    for folder in FOLDERS.values():
        (home / folder).mkdir(exist_ok=True)
    export.write_lab_extension(home / "data" / "labextensions" / "nbautograd", nbautograd.__version__)
    if not extension:
        (home / "config" / "labconfig").mkdir()
        disabled = {"disabledExtensions": {"nbautograd": True}}
        (home / "config" / "labconfig" / "page_config.json").write_text(json.dumps(disabled), encoding="utf-8")
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
    context = browser.new_context(viewport={"width": 1280, "height": 1000}, reduced_motion="reduce")
    blocked: list[str] = []
    errors: list[str] = []

    context.on("request", lambda request: LOCAL.match(request.url) or blocked.append(request.url))
    page = context.new_page()
    page.blocked, page.errors = blocked, errors
    page.on("pageerror", lambda error: errors.append(str(error)))
    try:
        yield page
    finally:
        context.close()
