"""A picture appears once, where its magic or call stands: in a real kernel, in a terminal's shell, in a script."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd.viz.notebook import in_place
from tests import needs

needs.package("IPython")
needs.package("jupyter_client")
needs.package("ipykernel")
from tests.product.soak.kernel import Kernel, kernel

BEGIN = """
import nbautograd as torch
from nbautograd import viz
%load_ext nbautograd
"""
FRESH = "w = torch.tensor([2.], requires_grad=True); y = w * 3\n"
KEPT = "p = %backward y\nq = viz.graph(y)"
VIEW = "application/vnd.jupyter.widget-view+json"

POSITIONS = {
    "last": ("%backward y", 1),
    "before a print, as the seeds are written": ("%backward y\nprint(w.grad)", 1),
    "twice": ("%graph y\nviz.graph(y)\nprint(1)", 2),
    "each kind": (
        "%graph y\n%code y\n%grads\n%autograd\n%backward y\nviz.code(w * 2)\nviz.grads(w)\n"
        "viz.animate(w * 2)\nviz.tangent(lambda x: x * x, (1., 2.))\nprint(1)", 9,
    ),
    "a loop": ("for _ in range(3):\n    %graph y", 3),
    "a loop that goes on": ("while True:\n    viz.graph(y)\n    break\nprint(1)", 1),
    "if and else": ("if y.requires_grad:\n    %graph y\nelse:\n    %backward y\nprint(1)", 1),
    "with": ("with torch.no_grad():\n    viz.graph(y)\nprint(1)", 1),
    "try": ("try:\n    %backward y\nfinally:\n    print(1)", 1),
    "a function": ("def f():\n    %graph y\n    viz.graph(y)\nf()\nprint(1)", 2),
    "a condition": ("viz.graph(y) if y.requires_grad else None\nTrue and viz.graph(y)\nprint(1)", 2),
    "one line": ("viz.graph(y); print(1)", 1),
    "a lambda's body": ("(lambda: viz.graph(y))()", 1),
    "await": ("import asyncio\nawait asyncio.sleep(0)\n%graph y\nprint(1)", 1),
    "a thread": ("import threading\nt = threading.Thread(target=viz.graph, args=[y])\nt.start(); t.join()", 1),
    "%%autograd": ("%%autograd\n%graph y\nprint(1)", 1),
    "%%autograd, one player of a pass": ("%%autograd\n%backward y\nprint(1)", 1),
    "%%autograd, one player of the last line's": ("%%autograd\n%backward y", 1),
    "%%autograd, passes of its own": ("%%autograd\ny.backward()\n(w * 2).backward()\nw * 2", 3),
    "%time": ("%time viz.graph(y)\n%time %graph y\nprint(1)", 2),
    "%time at the end": ("%time %backward y", 1),
    "%%time": ("%%time\n%graph y\nprint(1)", 1),
    "%%time at the end": ("%%time\n%graph y", 1),
    "%timeit": ("%timeit -n 2 -r 2 viz.graph(y)", 0),
    "%%capture": ("%%capture\n%graph y\nprint(1)", 0),
    "exec": ("exec('viz.graph(y)')\nprint(1)", 1),
    "a recording without a name": ("with viz.record():\n    y.backward()\nprint(1)", 1),
    "a recording with a name": ("with viz.record() as r:\n    y.backward()\nprint(1)", 0),
    "a recording of nothing": ("with viz.record():\n    pass", 0),
    "a recording inside of a block": ("with viz.autograd():\n    y.backward()", 0),
    "a monitor": ("with viz.monitor(w, live=False) as m:\n    m(1.)\nprint(1)", 1),
    "kept": (KEPT, 0),
    "kept, and shown later": (f"{KEPT}\ndisplay(p)\nq", 2),
    "displayed": ("display(viz.graph(y))\nprint(1)", 1),
    "saved": ("from pathlib import Path\nviz.graph(y).save(Path('y.txt'))\nprint(1)", 0),
    "returned": ("def f():\n    return viz.graph(y)\nf()\nr = f()\nprint(1)", 0),
    "listed": ("[viz.graph(y) for _ in range(2)]\nprint(1)", 0),
    "given": ("held = []\nheld.append(viz.graph(y))\nprint(len(held))", 0),
    "zeroed": ("for _ in range(3):\n    %zero_grads\nviz.zero_grads()\nprint(1)", 0),
    "silenced": ("%graph y;", 0),
    "silenced, with a remark": ("%backward y;  # and no picture", 0),
    "silenced before others": ("%graph y;\nviz.graph(y);  # no\nfor _ in range(2):\n    viz.graph(y);\nprint(1)", 0),
    "silenced at the end": ("print(1)\nviz.graph(y);", 0),
    "silenced in %%autograd": ("%%autograd\n%graph y;\nprint(1)\nviz.graph(y);", 0),
    "silenced tables": ("%grads w;\n%zero_grads w;\n%code y;", 0),
    "kept from a silent line": ("p = %graph y;\np", 1),
}  # fmt: skip


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with kernel(tmp_path_factory.mktemp("home")) as kernel_:
        assert kernel_.run(BEGIN).status == "ok"
        yield kernel_


@pytest.mark.sweep
@pytest.mark.parametrize("position", POSITIONS)
def test_in_a_kernel(running: Kernel, position: str) -> None:
    cell, pictures = POSITIONS[position]
    running.run(FRESH)
    ran = running.run(cell)
    assert (ran.status, len(ran.shown)) == ("ok", pictures), (ran.message, ran.text, ran.shown)


@pytest.mark.sweep
def test_the_seeds_cell_has_its_player_above_what_it_prints(running: Kernel) -> None:
    running.run(FRESH)
    ran = running.run("%backward y\nprint(w.grad)")
    shown = [kind for kind in ran.kinds if kind in ("display_data", "execute_result", "stream")]
    assert [kind for kind, _ in groupby(shown)] == ["display_data", "stream"]  # a kernel may send a print in parts
    assert VIEW in ran.shown[0] and "w.grad" in ran.shown[0]["text/plain"] and ran.text == "tensor([3.])\n"


HELD = """
import gc, weakref
class Large: pass
def f():
    held = Large()
    viz.graph(y)
    return weakref.ref(held)
gc.collect(); gc.disable(); there = f()(); gc.enable()
assert there is None
"""


@pytest.mark.sweep
def test_no_frame_is_kept(running: Kernel) -> None:
    running.run(FRESH)
    assert running.run(HELD).status == "ok"


@pytest.mark.sweep
def test_scripts_that_are_run_from_a_cell(running: Kernel, tmp_path: Path) -> None:
    python = FRESH + "for _ in range(2):\n    viz.graph(y)\nviz.animate(y)\np = viz.graph(y)\nviz.graph(y);\n"
    (tmp_path / "script.py").write_text(BEGIN.replace("%load", "# %load") + python, encoding="utf-8")
    (tmp_path / "script.ipy").write_text(FRESH + "%graph y\nif True:\n    %backward y\n", encoding="utf-8")
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source, "id": name}
             for name, source in (("a", FRESH + "%graph y"), ("b", "%backward y\nprint(w.grad)"))]  # fmt: skip
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "script.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    for name, pictures in (("script.py", 3), ("script.ipy", 2), ("script.ipynb", 2)):
        ran = running.run(f"%run {json.dumps(str(tmp_path / name))}")
        assert (ran.status, len(ran.shown)) == ("ok", pictures), (name, ran.message, ran.text)


# -- a terminal --------------------------------------------------------------------------------------------------------


@contextmanager
def loaded(app: Any) -> Iterator[Any]:
    app.run_cell(BEGIN).raise_error()
    try:
        yield app
    finally:
        app.run_line_magic("unload_ext", "nbautograd")


def test_in_a_terminal(app: Any) -> None:
    from IPython.utils.capture import capture_output

    with loaded(app) as shell:
        for name in ("before a print, as the seeds are written", "a loop", "kept", "silenced before others", "twice"):
            cell, pictures = POSITIONS[name]
            shell.run_cell(FRESH)
            with capture_output() as captured:
                shell.run_cell(cell).raise_error()
            assert len(captured.outputs) == pictures, name


def test_outside_of_cells_nothing_is_shown(app: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The shell of the fixture exists, but runs no cell."""
    w = nb.ones(1, requires_grad=True)
    viz.graph(w * 2)
    assert capsys.readouterr().out == "" and in_place.shows() is None


def test_a_script_shows_nothing(tmp_path: Path) -> None:
    script = "import nbautograd as torch\nfrom nbautograd import viz\n" + FRESH
    script += "viz.graph(y)\nviz.animate(y)\nwith viz.record():\n    (w * 2).backward()\n"
    script += "import sys\nassert 'IPython' not in sys.modules\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
