"""JupyterLab as started by ``nbautograd lab``: its messages end with a line that names the next step."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["serve"]

DEFAULTS = Path(__file__).with_name("jupyter")
"""Defaults for JupyterLab's first screen: no question about news. The reader's own settings take precedence."""


def serve(arguments: Sequence[str]) -> int:
    """Run JupyterLab with these arguments until it is stopped; return its exit status.

    :raises ImportError: JupyterLab is not installed.
    """
    former = os.environ.get("JUPYTER_CONFIG_PATH")
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, (former, str(DEFAULTS))))
    try:
        with _folders():  # JupyterLab looks for its folders when it is imported
            from jupyterlab.labapp import LabApp

            LabApp.serverapp_class = _server()
            LabApp.launch_instance(list(arguments))
    except OSError as error:
        say(f"JupyterLab stopped: {error}")
        return 1
    return 0


def say(line: str, command: str = "lab") -> None:
    """Print a command's own line to stderr, at once, since other programs write there too."""
    print(f"nbautograd {command}: {line}", file=sys.stderr, flush=True)


def _server() -> Any:
    """Return the class of the server, created when JupyterLab is known to be installed."""
    from jupyter_server.serverapp import ServerApp

    class CourseServer(ServerApp):
        """Jupyter's server, which serves only this machine as root, and explains problems with ports and browsers."""

        def init_httpserver(self) -> None:
            asked = self.port
            running = served(self.root_dir, self.runtime_dir)
            if running:
                say(f"this folder is already served: {running} (or name another one: nbautograd lab FOLDER)")
                self.exit(0)
            try:
                super().init_httpserver()
            except SystemExit:
                say(
                    f"port {asked} is in use"
                    + (f", and {self.port_retries} others near it" if self.port_retries else "")
                    + ". Name another, or 0 for any free one: nbautograd lab -- --port=0"
                )
                raise
            except OSError as error:
                if not isinstance(error, socket.gaierror) and error.errno != errno.EADDRNOTAVAIL:
                    raise
                say(f"{self.ip} is not an address of this machine. Name another, or none for localhost ({error})")
                self.exit(1)
            if asked not in (0, self.port):
                say(f"port {asked} is in use, so this is on port {self.port}; --port-retries=0 makes it stop instead")

        def start_app(self) -> None:
            if is_root() and not self.allow_root:
                if self.sock or is_loopback(self.ip):
                    say(f"running as root, cells as well; only this machine can reach it ({self.sock or self.ip})")
                    self.allow_root = True
                else:
                    say(
                        f"as root this listens on {self.ip or 'every address'}, where other machines may reach it, "
                        "only on request. Add --allow-root after the --, or omit the address"
                    )
                    self.exit(1)
            super().start_app()

        def launch_browser(self) -> None:
            address = self.display_url.split()[-1]
            try:
                browser = webbrowser.get(self.browser or None) if self.browser or shows_windows() else None
            except webbrowser.Error:
                browser = None
            if browser is None:
                say(f"no browser was found. Open this address in one: {address}")
                return

            def open_it() -> None:
                if not browser.open(address, new=self.webbrowser_open_new):
                    say(f"the browser did not start. Open this address in one: {address}")

            threading.Thread(target=open_it, daemon=True).start()

    return CourseServer


def served(folder: str, notes: str) -> str:
    """Return the address at which a server of this user serves a folder; empty if none does.

    :param notes: the folder in which Jupyter's servers register.
    """
    from jupyter_server.serverapp import list_running_servers

    for server in list_running_servers(notes):
        if Path(server.get("root_dir", "")) == Path(folder) and _answers(server.get("port", 0)):
            token = f"?token={server['token']}" if server.get("token") else ""
            return f"{server['url']}lab{token}"
    return ""


def _answers(port: int) -> bool:
    """Return whether a server listens on a port of this machine: the entry of a killed server remains."""
    try:
        socket.create_connection(("localhost", port), timeout=2).close()
    except OSError:
        return False
    return True


def is_root() -> bool:
    """Return whether this process has all rights; False on Windows, where this is unknown."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address or, for a name, all of its addresses.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "*", "")]
    [True, True, True, False, False, False]
    """
    if host in ("", "*"):
        return False
    try:
        addresses = socket.getaddrinfo(host, None)
    except OSError:
        return False
    return all(ipaddress.ip_address(address[0]).is_loopback for *_, address in addresses)


def shows_windows() -> bool:
    """Return whether a browser with windows can be started; others cannot show JupyterLab."""
    return sys.platform in ("win32", "darwin") or any(map(os.environ.get, ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")))


@contextmanager
def _folders() -> Iterator[None]:
    """Move Jupyter's own files to a temporary folder if the home folder is not writable; OSError if neither is."""
    from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir, jupyter_runtime_dir

    if os.environ.get("HOME") == "":
        del os.environ["HOME"]  # then the user's entry in the system's list counts, not the root folder
    places = {
        "JUPYTER_CONFIG_DIR": jupyter_config_dir(),  # it may be read-only: existing settings
        "JUPYTER_DATA_DIR": jupyter_data_dir(),
        "JUPYTER_RUNTIME_DIR": jupyter_runtime_dir(),
        "IPYTHONDIR": os.environ.get("IPYTHONDIR") or "~/.ipython",
    }
    refused = [name for name, path in places.items() if not takes_files(path, read_only=name == "JUPYTER_CONFIG_DIR")]
    if not refused:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="nbautograd-lab-", ignore_cleanup_errors=True) as folder:
        say(f"{places[refused[0]]} cannot be written to: Jupyter's own files are in {folder} until it stops")
        os.environ.update({name: str(Path(folder, name.lower())) for name in refused})
        yield


def takes_files(folder: str, read_only: bool = False) -> bool:
    """Return whether files can be created in a folder, which is created if missing."""
    path = Path(os.path.expanduser(folder))
    try:
        if read_only and path.is_dir():
            return True
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(bytes(4096))
    except OSError:
        return False
    return True
