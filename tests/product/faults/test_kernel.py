"""Test a real kernel: interrupted cells, nonsense from front ends, two kernels at once, closed players."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs

needs.package("jupyter_client")
needs.package("ipykernel")

from tests.product.soak.kernel import Kernel, kernel

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")

SETUP = """
import nbautograd as torch
from nbautograd import protocol, viz
import comm
%load_ext nbautograd
w = torch.tensor([1.0], requires_grad=True)
x = torch.tensor([2.0], requires_grad=True)
def comms(): return len(comm.get_comm_manager().comms)
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with kernel(tmp_path_factory.mktemp("kernel")) as started:
        assert started.run(SETUP).status == "ok"
        yield started


def said(running: Kernel, code: str) -> str:
    done = running.run(f"print({code})")
    assert done.status == "ok", done
    return done.text.strip()


LOOPS = {
    "backward": "while True:\n    (w * x).sum().backward()",
    "no_grad": "while True:\n    with torch.no_grad():\n        w * x",
    "inference": "while True:\n    with torch.inference_mode():\n        w * x",
    "recording": "while True:\n    with viz.record():\n        (w * x).sum().backward()",
    "modules": "layer = torch.nn.Linear(1, 1)\nwhile True:\n    layer(x).sum().backward()",
    "drawing": "while True:\n    viz.graph(w * x).svg",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_an_interrupt_leaves_no_mode_behind(running: Kernel, loop: str) -> None:
    modes = "torch.is_grad_enabled(), torch.is_inference_mode_enabled(), len(protocol.observers.get())"
    modes += ", protocol.current_scope()"
    # The modules of its first use are loaded before: an interrupt within Python's import machinery can leave the lock
    # of all imports held, and every other thread waits forever.
    assert running.run(LOOPS[loop].replace("while True:", "for _ in range(1):")).status == "ok"
    before = said(running, modes)
    for number in range(3):
        done = running.run(f"print('on')\n{LOOPS[loop]}", "loop", 0.003 * (number + 1))
        assert done.error == "KeyboardInterrupt"
        assert said(running, modes) == before
    assert running.run("(w * x).sum().backward()").status == "ok"


def test_modes_are_put_back_after_an_interrupt_only(running: Kernel) -> None:
    """As if an interrupt had come between the setting of a mode and the beginning of its block."""
    assert running.run("_ = torch.set_grad_enabled(False)\nraise KeyboardInterrupt").error == "KeyboardInterrupt"
    assert said(running, "torch.is_grad_enabled()") == "True"
    assert running.run("_ = torch.set_grad_enabled(False)\n1 / 0").error == "ZeroDivisionError"
    assert said(running, "torch.is_grad_enabled()") == "False"
    running.run("_ = torch.set_grad_enabled(True)")


def players(done: Any) -> list[str]:
    key = "application/vnd.jupyter.widget-view+json"
    return [data[key]["model_id"] for data in done.shown if key in data]


def test_a_cell_that_runs_again_closes_what_it_showed(running: Kernel) -> None:
    (first,) = players(running.run("%graph w * x", "cell A"))
    count = said(running, "comms()")
    done = running.run("%graph w * x", "cell A")
    (second,) = players(done)
    assert second != first and said(running, "comms()") == count
    assert first in [message["comm_id"] for message in done.comms if message["kind"] == "comm_close"]
    running.run("%graph w * x", "cell B")
    assert int(said(running, "comms()")) == int(count) + 2  # a player and its layout


def test_a_picture_that_two_cells_show_stays(running: Kernel) -> None:
    (one,) = players(running.run("picture = viz.graph(w * x)\npicture", "cell C"))
    assert players(running.run("picture", "cell D")) == [one]
    running.run("viz.graph(w + x)", "cell C")
    assert said(running, "picture.widget.comm is not None") == "True"
    running.run("viz.graph(w + x)", "cell D")
    assert said(running, "picture._widget.comm is None") == "True"
    (again,) = players(running.run("picture", "cell E"))
    assert again != one


NONSENSE: list[dict[str, Any]] = [
    {"method": "update", "state": {"index": "three"}, "buffer_paths": []},
    {"method": "update", "state": {"index": -5}, "buffer_paths": []},
    {"method": "update", "state": {"index": 10**12}, "buffer_paths": []},
    {"method": "update", "state": {"selected": "no such node"}, "buffer_paths": []},
    {"method": "update", "state": {"selected": {"a": 1}}, "buffer_paths": []},
    {"method": "update", "state": {"svgs": [], "timeline": {}, "views": {}}, "buffer_paths": []},
    {"method": "update", "state": {"timeline": 5, "opened": 7, "theme": None}, "buffer_paths": []},
    {"method": "update", "state": {"opened": ["x" * 1000] * 100}, "buffer_paths": []},
    {"method": "update", "state": {"_esm": "alert(1)", "unknown": 1}, "buffer_paths": []},
    {"method": "update", "state": {"index": 1}, "buffer_paths": [["index", 5, "a"]]},
    {"method": "custom", "content": {"open": ["no such group"]}},
    {"method": "custom", "content": 17},
    {"method": "custom"},
    {"method": "no such method"},
    {},
]


@pytest.mark.parametrize("message", NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_from_the_front_end(running: Kernel, message: dict[str, Any]) -> None:
    """The kernel continues, and Python's recording is unchanged."""
    (model,) = players(running.run("played = viz.animate((w * x).sum())\nplayed", "cell F"))
    before = said(running, "len(played), played.text, len(played.svg), len(played.html())")
    running.send("comm_msg", {"comm_id": model, "data": message})
    assert said(running, "len(played), played.text, len(played.svg), len(played.html())") == before
    assert "Error" not in said(running, "repr(played.selected)")
    assert running.run("played", "cell G").status == "ok"


WIDGETS = "len(__import__('ipywidgets').widgets.widget._instances)"


def test_players_that_the_page_closes_are_freed(running: Kernel) -> None:
    before = said(running, WIDGETS)
    code = "loss = (torch.ones(3, requires_grad=True) * 2).sum()\n%backward loss"
    made = [name for _ in range(3) for name in players(running.run(code))]
    for name in made:
        running.send("comm_close", {"comm_id": name, "data": {}})
    assert len(made) == 3
    assert said(running, WIDGETS) == before


def test_messages_to_players_that_are_gone(running: Kernel) -> None:
    running.send("comm_msg", {"comm_id": "nobody", "data": {"method": "update", "state": {}}})
    running.send("comm_close", {"comm_id": "nobody", "data": {}})
    (model,) = players(running.run("gone = viz.graph(w * x)\ngone", "cell H"))
    running.send("comm_close", {"comm_id": model, "data": {}})  # as when a page is closed
    assert players(running.run("gone", "cell I"))


def test_two_kernels_on_one_notebook(running: Kernel, tmp_path: Path) -> None:
    with kernel(tmp_path) as other:
        assert other.run(SETUP).status == "ok"
        for each in (running, other, running, other):
            each.run("w.grad = None")
            assert players(each.run("%backward (w * x).sum()", "the same cell"))
            assert said(each, "w.grad") == "tensor([2.])"


def test_loading_twice_unloading_and_reloading(running: Kernel) -> None:
    callbacks = "sum(map(len, get_ipython().events.callbacks.values())), len(get_ipython().configurables)"
    before = said(running, callbacks)
    for _ in range(3):
        assert running.run("%load_ext nbautograd").status == "ok"
        assert running.run("%reload_ext nbautograd").status == "ok"
        assert running.run("%unload_ext nbautograd\n%unload_ext nbautograd\n%load_ext nbautograd").status == "ok"
    assert said(running, callbacks) == before
    assert players(running.run("%graph w * x"))
