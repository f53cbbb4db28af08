"""The GPU: our time next to PyTorch's on the same device in the same run, measured with CUDA events.

    python benchmarks/gpu.py [--rounds N] [--only TEXT]

A row is a piece of work. Both libraries run it in turn, in each round as often as fits into some milliseconds; the
table shows the median of the rounds' times and of their ratios, and the spread. "of best" is the share of what the
device can do: for elementwise chains that of the bandwidth of a device-to-device copy, counting what must be read and
written if every operation is a kernel of its own; for products that of cuBLAS through PyTorch. Kernels are compiled
before, and TF32 is off in both. Without a GPU, CuPy or a PyTorch with CUDA, it says so.
"""

from __future__ import annotations

import argparse
import platform
import statistics
from collections.abc import Callable
from typing import Any

import nbautograd as nb

Step = Callable[[], Any]


def chain(T: Any, x: Any) -> Any:
    """Eight elementwise operations: each reads an array or two of ``x``'s size and writes one."""
    return ((x * 2 + 1).sin() * x - x).exp().tanh() + x


READS_AND_WRITES = 8 * 2 + 3  # three of the eight read a second array


def elementwise(T: Any, n: int, grad: bool) -> Step:
    x = T.ones(n, device="cuda", requires_grad=grad)

    def forward() -> None:
        chain(T, x)

    def both() -> None:
        x.grad = None
        chain(T, x).sum().backward()

    return both if grad else forward


def products(T: Any, n: int, kind: str) -> Step:
    a = T.full((n, n), 1 / n, device="cuda", dtype=getattr(T, kind))

    def run() -> None:
        a @ a @ a

    return run


def perceptron(T: Any, batch: int) -> Step:
    nn = T.nn
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).to("cuda")
    optimiser = T.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    data = T.ones(batch, 784, device="cuda")
    classes = T.arange(batch, device="cuda") % 10

    def step() -> None:
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(data), classes).backward()
        optimiser.step()

    return step


def small(T: Any, grad: bool) -> Step:
    x = T.ones(100, device="cuda", requires_grad=grad)

    def run() -> None:
        y = x
        for _ in range(50):
            y = y * 1.01 + x
        if grad:
            x.grad = None
            y.sum().backward()

    return run


def convolution(T: Any, grad: bool) -> Step:
    x = T.ones(64, 64, 56, 56, device="cuda")
    w = T.full((64, 64, 3, 3), 0.01, device="cuda", requires_grad=grad)

    def run() -> None:
        y = T.nn.functional.conv2d(x, w, padding=1)
        if grad:
            w.grad = None
            y.sum().backward()

    return run


def rows(T: Any, name: str) -> Step:
    x = T.ones(8192, 1024, device="cuda", requires_grad=True)

    def run() -> None:
        x.grad = None
        F = T.nn.functional  # noqa: N806
        y = F.layer_norm(x, (1024,)) if name == "layer_norm" else F.softmax(x, -1)
        y.sum().backward()

    return run


WORK: list[tuple[str, Callable[[Any], Step], float]] = [
    ("elementwise chain, 10^8", lambda T: elementwise(T, 10**8, False), READS_AND_WRITES * 4e8),
    ("elementwise chain, 10^6", lambda T: elementwise(T, 10**6, False), READS_AND_WRITES * 4e6),
    ("elementwise chain, 10^7, backward", lambda T: elementwise(T, 10**7, True), 0),
    ("products 1024, float32", lambda T: products(T, 1024, "float32"), -1),
    ("products 4096, float32", lambda T: products(T, 4096, "float32"), -1),
    ("products 4096, float16", lambda T: products(T, 4096, "float16"), -1),
    ("MLP step, batch 256", lambda T: perceptron(T, 256), 0),
    ("MLP step, batch 8192", lambda T: perceptron(T, 8192), 0),
    ("100 small operations", lambda T: small(T, False), 0),
    ("100 small operations, backward", lambda T: small(T, True), 0),
    ("conv2d 64x64x56x56, 3x3", lambda T: convolution(T, False), 0),
    ("conv2d, backward", lambda T: convolution(T, True), 0),
    ("layer_norm, backward", lambda T: rows(T, "layer_norm"), 0),
    ("softmax, backward", lambda T: rows(T, "softmax"), 0),
]
"""Name, what makes the step, and the bytes that it moves (-1: to be compared with cuBLAS, 0: with neither)."""


def milliseconds(T: Any, step: Step, count: int) -> float:
    """One step's time by the device's clock."""
    start, end = T.cuda.Event(enable_timing=True), T.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(count):
        step()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / count


def measured(steps: list[tuple[Any, Step]], rounds: int) -> list[list[float]]:
    """The times of each step in each round, all of them in turn."""
    counts = []
    for library, step in steps:
        for _ in range(5):
            step()
        library.cuda.synchronize()
        counts.append(max(1, min(200, int(50 / max(milliseconds(library, step, 3), 1e-3)))))
    found: list[list[float]] = [[] for _ in steps]
    for _ in range(rounds):
        for times, (library, step), count in zip(found, steps, counts, strict=True):
            times.append(milliseconds(library, step, count))
    return found


def bandwidth(torch: Any, rounds: int) -> float:
    """Bytes per second of a copy from the device to itself, read and written."""
    a, b = torch.empty(2, 10**8, device="cuda").unbind()
    (times,) = measured([(torch, lambda: b.copy_(a))], rounds)
    return 8e8 / statistics.median(times) * 1e3


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--only", default="", help="rows whose name contains this")
    chosen = options.parse_args()
    why = nb.cuda.why_not()
    if why is not None:
        print(f"no GPU to measure: {why}")
        return
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("no PyTorch with CUDA to compare with")
        return
    import cupy

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    print(
        f"{nb.cuda.get_device_name()} · {platform.node()} · Python {platform.python_version()} · nbautograd "
        f"{nb.__version__} · CuPy {cupy.__version__} · PyTorch {torch.__version__} · {chosen.rounds} rounds"
    )
    copy = bandwidth(torch, chosen.rounds)
    print(f"device copy: {copy / 1e9:.0f} GB/s\n")
    print(f"{'':36}{'ours ms':>10}{'torch ms':>10}{'ratio':>8}{'spread':>16}{'of best':>9}")
    for name, make, moved in WORK:
        if chosen.only not in name:
            continue
        try:
            ours, theirs = measured([(nb, make(nb)), (torch, make(torch))], chosen.rounds)
        except Exception as error:  # one row that fails must not hide the others
            print(f"{name:36}{type(error).__name__}: {error}")
            continue
        ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
        time, ratio = statistics.median(ours), statistics.median(ratios)
        best = f"{moved / copy * 1e3 / time:9.0%}" if moved > 0 else f"{1 / ratio:9.0%}" if moved < 0 else ""
        print(
            f"{name:36}{time:10.3f}{statistics.median(theirs):10.3f}{ratio:8.2f}"
            f"{f'{ratios[0]:.2f} … {ratios[-1]:.2f}':>16}{best}"
        )
        nb.cuda.empty_cache()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
