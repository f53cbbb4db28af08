"""o: pictures of graphs: time to the first one and to the animation, and their size, next to torchviz; and the layout.

    python benchmarks/pictures.py [--rounds N] [--deadline SECONDS] [--layout | --budgets | --calls]

The graph is a loop in which every step uses one shared weight, or random operations on the last twelve results. Time is
processor time from the tensor to the SVG, without imports, the least of some rounds; torchviz hands its drawing to the
program ``dot``, so each of its cells runs in a process of its own, ended after the deadline.

``--budgets`` measures the player in Chromium (with Playwright) beside what it may take:

- the first frame of a pass of 30 operations, from the end of the cell: the data and its JSON in Python, then in the
  browser from the text until the frame is painted;
- a step where 300 boxes are drawn: the time of the scripts alone, without layout and paint;
- the bytes of a saved page of a pass of 100 operations;
- the graph of 10,000 operations, built, laid out and drawn.

``--calls`` counts the calls that ``%backward y`` and its output make inside the package, the second time in a process,
those from one file into another, and the files.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import random
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from queue import Empty
from typing import Any

import nbautograd
from nbautograd import viz
from nbautograd.viz.draw.boxes import measure
from nbautograd.viz.draw.layout import layout
from nbautograd.viz.draw.svg import draw
from nbautograd.viz.read.builder import build

SIZES = (10, 100, 1000, 10_000)


def chain(T: Any, operations: int) -> Any:
    w, y = T.tensor(1.0, requires_grad=True), T.tensor(1.0)
    for i in range(operations):
        y = y * w if i % 2 else y + w
    return y


def random_operations(T: Any, operations: int) -> Any:
    choose = random.Random(0)
    made = [T.tensor(1.0, requires_grad=True) for _ in range(4)]
    for _ in range(operations):
        a, b = choose.choice(made[-12:]), choose.choice(made[-12:])
        made.append(a + b if choose.random() < 0.5 else a * b)
    return made[-1]


GRAPHS: dict[str, Callable[[Any, int], Any]] = {"loop with one weight": chain, "random operations": random_operations}


def spent() -> float:
    """Return the processor time of this process and of its child processes."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def ours(make: Callable[[Any, int], Any], operations: int, rounds: int) -> tuple[float, int, int]:
    """(seconds, bytes of SVG, boxes that are drawn)"""
    root = make(nbautograd, operations)
    best = float("inf")
    for _ in range(rounds):
        begun = spent()
        model = build(root, {"y": root})
        svg = draw(model, layout(model, measure(model)))
        best = min(best, spent() - begun)
    return best, len(svg.encode()), len(model.nodes)


def animated(make: Callable[[Any, int], Any], operations: int, rounds: int) -> tuple[float, int]:
    """(seconds, bytes of the page that plays it) of a backward pass, recorded and written."""
    best, size = float("inf"), 0
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "pass.html")
        for _ in range(rounds):
            root = make(nbautograd, operations)
            begun = spent()
            viz.animate(root).save(page)
            best, size = min(best, spent() - begun), page.stat().st_size
    return best, size


def torchviz(graph: str, operations: int, answer: Any) -> None:
    """In a separate process: put (seconds, bytes) or the error into the queue."""
    try:
        import torch
        from torchviz import make_dot

        root = GRAPHS[graph](torch, operations)
        begun = spent()
        svg = make_dot(root, params={}).pipe(format="svg")
        answer.put((spent() - begun, len(svg)))
    except BaseException as error:
        answer.put(f"{type(error).__name__}")


def theirs(graph: str, operations: int, deadline: float) -> str:
    """A cell of the table."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=torchviz, args=(graph, operations, answer))
    process.start()
    try:
        found = answer.get(timeout=deadline)
    except Empty:
        found = f"> {deadline:.0f} s"
    finally:
        end(process)
    return found if isinstance(found, str) else f"{found[0]:.3f} s, {found[1]:,} B"


def end(process: Any) -> None:
    """Stop a process and the ``dot`` that it may have started."""
    import subprocess

    if process.is_alive():
        subprocess.run(["pkill", "-P", str(process.pid)], check=False)
        process.terminate()
    process.join()


def measured(rounds: int = 3, deadline: float = 60.0) -> tuple[list[list[str]], dict[str, Any]]:
    """The rows of the table, and their figures."""
    rows, figures = [], {}
    for name, make in GRAPHS.items():
        for count in SIZES:
            seconds, size, boxes = ours(make, count, rounds)
            moving, page = animated(make, count, rounds)
            cells = [f"{seconds:.3f} s, {size / 1000:,.0f} kB", str(boxes), f"{moving:.3f} s, {page / 1000:,.0f} kB"]
            rows.append([name, f"{count:,}", *cells, theirs(name, count, deadline)])
            figures[f"{name}, {count}"] = dict(zip(HEADS[2:], rows[-1][2:], strict=True))
    return rows, figures


HEADS = ["graph", "operations", "picture", "boxes", "animation, as a page", "torchviz"]


def layouts(rounds: int) -> list[list[str]]:
    """The rows of the table for the layout alone, of unfolded graphs."""
    rows = []
    for name, make in GRAPHS.items():
        cells = []
        for count in SIZES[1:]:
            model = build(make(nbautograd, count), {}, budget=10 * count)
            sizes = {node.id: (76.0, 44.0) for node in model.nodes}
            best = float("inf")
            for _ in range(rounds):
                begun = time.process_time()
                layout(model, sizes)
                best = min(best, time.process_time() - begun)
            cells.append(f"{best * 1000:,.1f} ms")
        rows.append([name, *cells])
    return rows


# -- the player, in a browser -----------------------------------------------------------------------

FIRST = """async text => {
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  const begun = performance.now();
  window.mounted = mount(place, JSON.parse(text));
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - begun;
}"""
STEPS = """async () => {
  const player = document.querySelector(".nb-player"), forward = document.querySelector(".nb-forward"), times = [];
  for (let at = -1; at !== player.dataset.step && times.length < 400;) {
    at = player.dataset.step;
    const begun = performance.now();
    forward.click();
    times.push(performance.now() - begun);
    await new Promise(done => requestAnimationFrame(done));
  }
  return [times.slice(0, -1), document.querySelectorAll(".nb-node").length];
}"""


def boxes(T: Any) -> tuple[Any, dict[str, Any]]:
    """The result of a graph of which 300 boxes are drawn, since each result has a name; and those names."""
    w = T.tensor([0.5, -0.25], requires_grad=True)
    names = {"w": w, "h0": w}
    for i in range(148):
        names[f"h{i + 1}"] = T.tanh(names[f"h{i}"]) if i % 3 else names[f"h{i}"] * w
    names["y"] = names["h148"].sum()
    return names["y"], names


def in_browser(page: Any, recording: Any) -> tuple[float, float]:
    """Milliseconds in Python and in the browser until a player's first frame."""
    begun = time.perf_counter()
    text = json.dumps(recording.data())
    kernel = (time.perf_counter() - begun) * 1000
    return kernel, page.evaluate(FIRST, text)


def open_page(browser: Any) -> Any:
    """A page that has the player's code already, as a notebook has from its second player on."""
    from nbautograd.viz.notebook.scripts import PLAYER, bundle, player_css

    page = browser.new_context(reduced_motion="reduce", viewport={"width": 1280, "height": 720}).new_page()
    page.add_style_tag(content=player_css())
    page.add_script_tag(type="module", content=bundle(*PLAYER) + "\nwindow.mount = mount;")
    page.wait_for_function("() => window.mount")
    return page


def budgets(rounds: int) -> list[list[str]]:
    """The rows of the table of the player's times and sizes, and of their limits."""
    from playwright.sync_api import sync_playwright

    from nbautograd._engine.core import tracing

    with tracing.traced(), sync_playwright() as api:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = api.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=flags)
        page = open_page(browser)
        firsts = [in_browser(page, viz.animate(chain(nbautograd, 30))) for _ in range(rounds + 1)][1:]
        kernel, shown = (statistics.median(part) for part in zip(*firsts, strict=True))
        root, names = boxes(nbautograd)
        in_browser(page, viz.animate(root, namespace=names))
        times, count = page.evaluate(STEPS)
        browser.close()
        _, size = animated(chain, 100, 1)
        drawn = ours(chain, 10_000, rounds)[0]
    steps = sorted(times)
    first = f"{kernel + shown:.0f} ms: {kernel:.0f} in Python, {shown:.0f} in the browser"
    step = f"{steps[len(steps) // 2]:.1f} ms, of 100 the slowest {steps[int(len(steps) * 0.99)]:.1f} ms"
    return [
        ["first frame of a pass of 30 operations", first, "150 ms"],
        [f"a step of {len(times)}, {count} boxes drawn", step, "16 ms"],
        ["saved page of a pass of 100 operations", f"{size / 1000:,.0f} kB", "1,000 kB"],
        ["graph of 10,000 operations, drawn", f"{drawn:.2f} s", "as before"],
    ]


def prepared() -> Callable[[int], Any]:
    """A function that runs a chain of so many operations in a shell that has the extension, and returns the shell."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    if "backward" not in shell.magics_manager.magics["line"]:
        shell.run_line_magic("load_ext", "nbautograd")
    shell.run_cell("import nbautograd as torch")

    def run(operations: int) -> Any:
        shell.run_cell(
            "w = torch.tensor([1.5, -2.0], requires_grad=True)\ny = w * 3\n"
            f"for i in range({operations - 2}): y = torch.sin(y) if i % 2 else y ** 2\ny = y.sum()"
        )
        return shell

    return run


def kernel(counts: tuple[int, ...], rounds: int) -> tuple[float, dict[int, float]]:
    """Seconds of processor time of ``%backward y``: the first in this process, and medians of later ones by length."""
    run = prepared()
    times: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(rounds + 1):
        for count in counts:
            shell = run(count)
            begun = time.process_time()
            shell.display_formatter.format(shell.run_line_magic("backward", "y"))
            times[count].append(time.process_time() - begun)
    return times[counts[0]][0], {count: statistics.median(found[1:]) for count, found in times.items()}


def calls(operations: int) -> list[str]:
    """Count the calls of ``%backward y`` over a chain of so many operations, when it has run once before."""
    run, package = prepared(), str(Path(nbautograd.__file__).parent)
    counts, moves = Counter[str](), 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal moves
        own, caller = frame.f_code.co_filename, frame.f_back
        if event == "call" and own.startswith(package):
            counts[own] += 1
            former = caller.f_code.co_filename if caller is not None else ""
            moves += former != own and former.startswith(package)

    for count in (None, profile):
        shell = run(operations)
        sys.setprofile(count)
        shell.display_formatter.format(shell.run_line_magic("backward", "y"))
        sys.setprofile(None)
    return [f"{number:,}" for number in (operations, counts.total(), moves, len(counts))]


def processor() -> str:
    """Return the name of this computer's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> None:
    from measuring import table

    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--deadline", type=float, default=60.0)
    arguments.add_argument("--layout", action="store_true", help="only the times of the layout")
    arguments.add_argument("--budgets", action="store_true", help="only the player in a browser, beside its budgets")
    arguments.add_argument("--calls", action="store_true", help="only the calls of %%backward, with IPython")
    options = arguments.parse_args()
    print(f"{processor()}, Python {platform.python_version()}\n")
    if options.calls:
        print(table(["operations", "calls", "between files", "files"], [calls(n) for n in (3, 30, 300)]))
        return
    if options.budgets:
        print(table(["what", "takes", "may take"], budgets(options.rounds)))
        return
    if not options.layout:
        print(table(HEADS, measured(options.rounds, options.deadline)[0]), end="\n\n")
    print(table(["layout alone, not folded", *(f"{n:,}" for n in SIZES[1:])], layouts(options.rounds)))


if __name__ == "__main__":
    main()
