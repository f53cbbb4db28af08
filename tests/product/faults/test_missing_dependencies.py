"""Check missing, disconnected or read-only parts: a clear line instead, and everything else works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import nbautograd as nb

ROOT = Path(nb.__file__).parent.parent

HIDE = """
import sys
for name in {names!r}:
    sys.modules[name] = None
"""


def run(code: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, cwd=ROOT, check=False,
        env={**os.environ, **env},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


DRAW = """
import nbautograd as torch
from nbautograd import viz
w = torch.tensor([1.0], requires_grad=True)
y = (w * 2).sum()
"""


def test_without_anywidget_there_is_a_picture_and_a_line() -> None:
    shown = run(
        HIDE.format(names=["anywidget", "ipywidgets"])
        + DRAW
        + "bundle = viz.graph(y)._repr_mimebundle_()\nanimation = viz.animate(y)\n"
        "bundle2 = animation._repr_mimebundle_()\n"
        "print(sorted(bundle), sorted(bundle2), animation.widget)\n"
        "print(bundle['text/html'].count('pip install'), bundle2['text/html'].count('pip install'))\n"
        "print('<img' in bundle['text/html'], '<img' in bundle2['text/html'])\n"
    )
    assert shown.split("\n")[:3] == ["['text/html', 'text/plain'] ['text/html', 'text/plain'] None", "1 1", "True True"]


@pytest.mark.parametrize(
    ("hidden", "code", "message"),
    [
        (["graphviz"], "viz.graph(y).dot", "pip install graphviz"),
        (["ml_dtypes"], "torch.zeros(1, dtype=torch.bfloat16)", "pip install ml_dtypes"),
        (["cupy"], "torch.zeros(1, device='cuda')", "pip install"),
    ],
    ids=["graphviz", "ml_dtypes", "cupy"],
)
def test_what_is_not_installed_is_named(hidden: list[str], code: str, message: str) -> None:
    shown = run(HIDE.format(names=hidden) + DRAW + f"try:\n    {code}\nexcept Exception as error:\n    print(error)\n")
    assert message in shown


def test_everything_else_without_any_extra() -> None:
    hidden = [
        "anywidget",
        "ipywidgets",
        "graphviz",
        "ml_dtypes",
        "safetensors",
        "cupy",
        "torch",
        "resvg_py",
        "typst",
        "tqdm",
    ]
    shown = run(
        HIDE.format(names=hidden) + DRAW + "y.backward()\npicture = viz.graph(y)\n"
        "import tempfile, os\n"
        "with tempfile.TemporaryDirectory() as d:\n"
        "    for name in ('a.svg', 'a.html', 'a.txt'):\n"
        "        picture.save(os.path.join(d, name))\n"
        "    torch.save({'w': w}, os.path.join(d, 'a.pt'))\n"
        "    torch.save({'w': w}, os.path.join(d, 'a.safetensors'))\n"
        "    print(torch.load(os.path.join(d, 'a.safetensors')), sorted(os.listdir(d)))\n"
    )
    assert shown.startswith("{'w': tensor([1.])} ['a.html', 'a.pt', 'a.safetensors', 'a.svg', 'a.txt']")


SHELL = """
from traitlets.config import Config
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
"""


def test_nothing_is_fetched_and_no_program_started(tmp_path: Path) -> None:
    """Python reports every connection and every program before its start; the list stays empty."""
    shown = run(
        "import sys\n"
        "seen = []\n"
        "def hear(event, arguments):\n"
        "    if event.startswith(('socket.connect', 'socket.getaddrinfo', 'socket.gethost', 'urllib', 'http',\n"
        "                         'subprocess', 'os.system', 'os.exec', 'os.posix_spawn', 'os.fork', 'ftplib')):\n"
        "        seen.append((event, arguments))\n"
        "sys.addaudithook(hear)\n" + DRAW + "y.backward(retain_graph=True)\n"
        "picture, played = viz.graph(y), viz.animate(y)\n"
        "for shown in (picture, played):\n"
        "    shown.html(), shown.svg, shown.text, shown._repr_mimebundle_()\n"
        + SHELL
        + "begun = len(seen)  # a shell may look at its system\n"
        "shell.run_line_magic('load_ext', 'nbautograd')\n"
        "shell.run_cell('import nbautograd as torch')\n"
        "shell.run_cell('w = torch.ones(1, requires_grad=True)')\n"
        "assert shell.run_cell('%backward w * 2').success\n"
        "print('seen', [e for i, e in enumerate(seen) if i < begun and 'uname' not in str(e) or i >= begun])\n",
        IPYTHONDIR=str(tmp_path),
    )
    assert shown.rstrip().endswith("seen []")


def test_a_home_that_cannot_be_written_to(tmp_path: Path) -> None:
    """IPython itself needs its own folder; no other file is requested."""
    shown = run(
        DRAW + "y.backward()\n"
        + SHELL + "shell.run_line_magic('load_ext', 'nbautograd')\n"
        "shell.user_ns['w'] = w\n"
        "result = shell.run_cell('%backward (w * 2).sum()')\n"
        "print(result.success, w.grad)\n",
        HOME="/proc/nowhere", IPYTHONDIR=str(tmp_path), XDG_CACHE_HOME="/proc/nowhere", TMPDIR=str(tmp_path),
    )  # fmt: skip
    assert "True tensor([4.])" in shown
