"""Define the programs of both sides: small ones by family, whose results are written to a file and compared.

``python -m tests.product.wasm.programs FILE`` writes the results of this Python. It needs NumPy and traitlets.
"""

from __future__ import annotations

import base64
import contextlib
import doctest
import gzip
import importlib
import io
import json
import pkgutil
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import nbautograd as nb
from nbautograd._engine.arrays import reference_count
from nbautograd._engine.fusion import tiling
from tests.engine.ops import cases
from tests.networks.training import scripts

__all__ = ["FAMILIES", "results"]

Results = Iterator[tuple[str, Callable[[], Any]]]

FAMILIES: dict[str, Callable[[], Results]] = {}
"""Each family's programs, by name."""


def family(function: Callable[[], Results]) -> Callable[[], Results]:
    """Declare a family."""
    FAMILIES[function.__name__] = function
    return function


# -- the families -----------------------------------------------------------------------------------------------------


@family
def operations() -> Results:
    """Every case of the operations' tests: the result, its gradients, and gradients of those."""
    for case in cases.CASES:
        yield case.name, lambda case=case: derivatives(case)


def derivatives(case: cases.Case) -> list[Any]:
    """The result of a case, its gradients with uneven cotangents, and those of a random combination of them."""
    inputs = [nb.tensor(a, requires_grad=True) for a in case.arrays()]
    out = case.call(nb, *inputs)
    rng = np.random.default_rng(1)
    cotangent = nb.tensor(rng.standard_normal(tuple(out.shape)).astype(str(out.dtype).removeprefix("torch.")))
    first = nb.autograd.grad(out, inputs, cotangent, create_graph=case.second, allow_unused=True)
    combined: Any = None
    for g in first if case.second else ():
        if g is not None and g.requires_grad:
            combined = (g * nb.tensor(rng.standard_normal(tuple(g.shape)))).sum() + (
                0 if combined is None else combined
            )
    second = None if combined is None else nb.autograd.grad(combined, inputs, allow_unused=True)
    return [out, first, second]


def seeded(seed: int, call: Callable[[], Any]) -> Any:
    """Return the result of a call after this seed."""
    nb.manual_seed(seed)
    return call()


@family
def indices() -> Results:
    """Return results that are indices, counts and sizes: int64 on every machine."""
    x = nb.tensor([[3.0, 1.0, 2.0, 1.0], [0.0, 5.0, 0.0, 7.0]])
    flat, whole = x.flatten(), nb.tensor([3, 1, 1, 0, 7, 3])
    calls: dict[str, Callable[[], Any]] = {
        "argmax": lambda: [x.argmax(), x.argmax(1), x.argmax(0, True), x.argmin(), x.argmin(1)],
        "max, min along": lambda: [x.max(1), x.min(0), x.median(1), x.mode(1), x.kthvalue(2, 1), x.nanmedian(0)],
        "cummax": lambda: [x.cummax(1), x.cummin(0)],
        "sort": lambda: [x.sort(), x.sort(0, descending=True), x.argsort(), nb.sort(whole), nb.sort(whole > 1)],
        "topk": lambda: [
            x.topk(2),
            flat.topk(1, largest=False),
            whole.topk(6),
            nb.ones(99).topk(5),
            (x / x).topk(1, 0),
        ],
        "nonzero": lambda: [x.nonzero(), x.nonzero(as_tuple=True), nb.argwhere(x), nb.where(x > 1), x.count_nonzero()],
        "nonzero_static": lambda: [nb.nonzero_static(x, size=3), nb.nonzero_static(x, size=9)],
        "unique": lambda: [
            nb.unique(whole, return_inverse=True, return_counts=True),
            nb.unique(x, dim=1, return_inverse=True, return_counts=True),
            nb.unique_consecutive(whole, return_inverse=True, return_counts=True),
        ],
        "bincount": lambda: [nb.bincount(whole), nb.bincount(whole, minlength=12), nb.bincount(whole[:0])],
        "searchsorted": lambda: [
            nb.searchsorted(nb.sort(flat)[0], x),
            nb.searchsorted(x.sort().values, x),
            nb.bucketize(x, nb.tensor([1.0, 2.5])),
            nb.searchsorted(nb.sort(flat)[0], x, out_int32=True),
        ],
        "triangles": lambda: [nb.tril_indices(3, 4), nb.triu_indices(4, 3, 1), nb.combinations(whole, 2)],
        "grids": lambda: [nb.arange(4), nb.cartesian_prod(whole, whole), nb.unravel_index(whole, (4, 4))],
        "repeat_interleave": lambda: [nb.repeat_interleave(whole.clamp(0, 2)), flat.repeat_interleave(2)],
        "sums": lambda: [
            whole.sum(),
            whole.prod(),
            whole.cumsum(0),
            (x > 1).sum(),
            (x > 1).cumsum(1),
            whole.int().sum(),
        ],
        "pooling": lambda: [
            nb.nn.functional.max_pool2d(x[None, None], 2, return_indices=True),
            nb.nn.functional.adaptive_max_pool1d(x[None], 2, return_indices=True),
            nb.nn.functional.fractional_max_pool2d(
                x[None, None], 2, (1, 2), return_indices=True, _random_samples=nb.full((1, 1, 2), 0.5)
            ),
        ],
        "embedding bag": lambda: nb.nn.functional.embedding_bag(whole.clamp(0, 1), x, nb.tensor([0, 2]), mode="max"),
        "rnn": lambda: nb.nn.utils.rnn.pack_padded_sequence(x[:, :, None], nb.tensor([2, 4]), True, False),
        "linalg": lambda: [nb.linalg.matrix_rank(x), nb.linalg.slogdet(x[:, :2]), nb.linalg.lu(x), nb.histc(x, 3)],
        "sparse": lambda: [x.to_sparse().indices(), x.to_sparse_csr().crow_indices(), x.to_sparse().values()],
        "numpy": lambda: [nb.tensor(3), nb.tensor([1, 2]), nb.tensor(True), nb.tensor(range(3)), nb.tensor(2**40)],
        "sizes": lambda: [list(x.shape), x.stride(), x.numel(), x.t().stride(), x[:, ::2].storage_offset()],
        "distributions": lambda: [nb.distributions.Categorical(x.softmax(1)).mode, nb.randperm(5), nb.randint(9, (3,))],
        "large numbers": lambda: [nb.arange(2**33, 2**33 + 3), nb.tensor([2**33]) * 3, nb.tensor([2**31]) + 2**31],
        "index with all kinds": lambda: [x[1, nb.tensor([0, 2])], x[x > 1], x[:, -1], x.gather(1, x.argsort(1))],
    }
    for name, call in calls.items():
        yield name, lambda call=call: seeded(0, call)


@family
def random() -> Results:
    """The random stream, for every sampler."""
    samplers = [
        "rand(3)", "randn(3)", "rand(20, dtype=nb.float64)", "randn(17)", "randn(5, dtype=nb.float64)", "randperm(10)",
        "randperm(100_000)[:5]", "randint(0, 10, (5,))", "randint(0, 2**40, (5,))", "bernoulli(nb.full((9,), 0.3))",
        "multinomial(nb.tensor([0.1, 0.2, 0.7]), 5, True)", "multinomial(nb.tensor([0.1, 0.2, 0.7]), 2)",
        "poisson(nb.full((5,), 3.0))", "empty(5).exponential_()", "empty(5).geometric_(0.3)", "empty(5).log_normal_()",
        "empty(5).cauchy_()", "empty(5).uniform_(-1, 1)", "empty(5).normal_(1, 2)", "empty(5).random_()",
        "nn.functional.dropout(nb.ones(20), 0.5)", "nn.functional.gumbel_softmax(nb.zeros(4))", "initial_seed()",
        "distributions.Gamma(2.0, 1.0).sample((3,))", "distributions.Dirichlet(nb.ones(3)).sample()",
        "distributions.Binomial(10, 0.3).sample((4,))", "distributions.StudentT(3.0).sample((3,))",
        "distributions.Beta(2.0, 3.0).sample((3,))", "distributions.VonMises(0.0, 1.0).sample((3,))",
    ]  # fmt: skip
    for text in samplers:
        yield text, lambda text=text: [seeded(7, lambda: eval(f"nb.{text}", {"nb": nb})), nb.rand(2)]


@family
def training() -> Results:
    """Scripts that train: an MLP, a CNN, a recurrent network, a transformer, with DataLoaders and schedules."""
    for name in ("mlp", "cnn", "char_rnn", "transformer"):
        yield name, lambda name=name: getattr(scripts, name)(nb).run(3)


@family
def memory() -> Results:
    """Gradients of arrays so large that their memory is used again if nothing else refers to it."""
    n = tiling.MIN_TILED_SIZE + 1000

    def chain(kept: bool) -> list[Any]:
        x = nb.linspace(-1.0, 1.0, n).requires_grad_()
        seen: list[Any] = []
        y = (x * 3).exp() + x.sin() * x
        if kept:
            y.register_hook(seen.append)
        z = (y.tanh() * y).relu() - y
        g = nb.linspace(0.0, 1.0, n)
        z.backward(g, retain_graph=True)
        z.backward(g)
        return [x.grad, g, z.detach(), *seen]

    def leaves() -> list[Any]:
        a, b = nb.ones(n, requires_grad=True), nb.full((n,), 2.0, requires_grad=True)
        first = nb.autograd.grad((a + b).sum() + (a + b).prod(), [a, b], retain_graph=True)
        (a + b).backward(nb.ones(n))
        a.grad.mul_(5)
        return [*first, a.grad, b.grad]

    def exchanged() -> list[Any]:
        x = nb.tensor(2.0, requires_grad=True)
        nodes = []
        for i in range(200):
            nodes.append(x * x)
            x.data = nb.tensor(float(i))
        return [*nb.autograd.grad(nb.stack(nodes).sum(), x), x._version]

    yield "a chain", lambda: chain(False)
    yield "a chain with a hook", lambda: chain(True)
    yield "two leaves with one gradient", leaves
    yield "data of a scalar", exchanged
    yield "counts are relied on", lambda: reference_count.HELD_ONCE > 0
    yield "a count that is wrong is not relied on", lambda: reference_count.measure(lambda thing: 5)[0] < 0


@family
def pictures() -> Results:
    """Graphs and passes as text, SVG, Graphviz source and pages."""
    from nbautograd import viz
    from nbautograd._engine.core import tracing

    def seed() -> dict[str, Any]:
        w, x = nb.tensor(3.0, requires_grad=True), nb.tensor(2.0, requires_grad=True)
        a, b = w + x, w + 1
        return {"w": w, "x": x, "a": a, "b": b, "y": a * b}

    def layers() -> dict[str, Any]:
        nb.manual_seed(0)
        model = nb.nn.Sequential(nb.nn.Linear(3, 4), nb.nn.Tanh(), nb.nn.Linear(4, 2))
        x = nb.arange(6.0).reshape(2, 3) / 6
        return {"model": model, "x": x, "y": (model(x) * nb.tensor([1.0, -0.5])).sum()}

    def graph(make: Callable[[], dict[str, Any]]) -> list[str]:
        with tracing.traced():
            names = make()
        picture = viz.graph(names["y"], namespace=names)
        return [picture.svg, picture.dot, picture.text]

    def played(make: Callable[[], dict[str, Any]]) -> list[str]:
        with tracing.traced():
            names = make()
        recording = viz.animate(names["y"], namespace=names)
        return [recording.svg, recording.text, unpacked(recording.html())]

    for make in (seed, layers):
        yield f"graph of {make.__name__}", lambda make=make: graph(make)
        yield f"pass of {make.__name__}", lambda make=make: played(make)


def unpacked(page: str) -> str:
    """A page with unpacked data: the packed form depends on the version of zlib."""
    return re.sub(r'(?<=id="nb-data">)H4sI[^<]*', lambda m: gzip.decompress(base64.b64decode(m[0])).decode(), page)


@family
def files() -> Results:
    """Tensors and modules through files, in memory and in a folder."""

    def through(value: Any, **options: Any) -> Any:
        file = io.BytesIO()
        nb.save(value, file, **options)
        file.seek(0)
        return nb.load(file)

    model = nb.nn.Linear(3, 2)
    yield "tensors", lambda: through({"a": nb.arange(5), "b": [nb.ones(2, 3, dtype=nb.float64).t(), nb.tensor(True)]})
    yield "views", lambda: through((lambda x: [x, x[1], x.t()])(nb.arange(6.0).reshape(2, 3)))
    yield "state", lambda: model.load_state_dict(through(model.state_dict())) and None


@family
def examples() -> Results:
    """Run the examples in docstrings and return their outputs."""
    for name in modules():
        yield name, lambda name=name: run_examples(name)


WITHOUT = {
    "compat.futures": "threads", "compat.multiprocessing": "processes", "compat.hub": "a network", "cli": "processes",
    "__main__": "processes", "utils.tensorboard": "a package that writes TensorBoard's files", "viz": "IPython",
}  # fmt: skip
"""Modules whose examples need unavailable packages."""


def modules() -> list[str]:
    """All modules whose examples can run."""
    names = [info.name for info in pkgutil.walk_packages(nb.__path__, "nbautograd.", onerror=lambda name: None)]
    below = tuple(f"nbautograd.{name}" for name in WITHOUT)
    return [name for name in names if not name.startswith(below) and not name.endswith("__main__")]


def run_examples(name: str) -> dict[str, Any]:
    """Return the number of examples in a module, and the differing ones."""
    module, out = importlib.import_module(name), io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        runner.run(test, out=out.write)
    return {"tried": runner.tries, "failed": runner.failures, "said": out.getvalue()[:2000]}


# -- results as they are written ---------------------------------------------------------------------------------------


def results(families: list[str]) -> dict[str, Any]:
    """Return the result of every program, and the seconds of each family."""
    made: dict[str, Any] = {"seconds": {}}
    for name in families:
        begun, made[name] = time.perf_counter(), {}
        for title, program in FAMILIES[name]():
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                try:
                    made[name][title] = written(program())
                except Exception as error:
                    made[name][title] = {"raised": f"{type(error).__name__}: {error}"}
        made["seconds"][name] = round(time.perf_counter() - begun, 2)
    return made


def written(value: Any) -> Any:
    """A value as JSON: arrays with dtype and shape, their bytes in little-endian order."""
    if isinstance(value, nb.Tensor):
        array = np.ascontiguousarray(value.detach().resolve_conj().resolve_neg().cpu().numpy())
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        return {"dtype": str(value.dtype), "shape": list(value.shape), "data": base64.b64encode(data).decode()}
    if isinstance(value, dict) and not hasattr(value, "_fields"):
        return {str(key): written(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [written(each) for each in value]
    return value if isinstance(value, (str, bool, int, float, type(None))) else repr(value)


def main(file: str, *chosen: str) -> None:
    """Write the results of the families, by default of all."""
    made = results([*chosen] or [*FAMILIES])
    with open(file, "w", encoding="utf-8") as out:
        json.dump(made, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
