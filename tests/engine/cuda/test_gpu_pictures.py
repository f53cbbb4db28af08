"""On a GPU: pictures, players, summaries and printed tensors are those of the CPU, but for the name of the device."""

from __future__ import annotations

import re
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from tests import needs
from tests.engine.cuda.on_device import watched_copies

needs.cuda_device()
pytestmark = pytest.mark.cuda


def network(place: str) -> Any:
    w = nb.tensor([[0.5, -1.0], [2.0, 0.25]], device=place, requires_grad=True)
    b = nb.tensor([1.0, 2.0], device=place, requires_grad=True)
    x = nb.tensor([[1.0, 2.0]], device=place)
    return ((x @ w + b).tanh() * 2).sum()


def words(svg: str) -> list[str]:
    """The texts of a picture, without the name of the device."""
    return [
        text.replace(" cuda:0", "") for text in re.findall(r">([^<>]+)<", svg) if text.strip() not in ("", "cuda:0")
    ]


def bundle(shown: Any) -> dict[str, Any]:
    data = shown._repr_mimebundle_()
    return data[0] if isinstance(data, tuple) else data


def test_a_graph_is_drawn_as_on_the_cpu() -> None:
    ours, theirs = (viz.graph(network(place)) for place in ("cuda", "cpu"))
    assert set(bundle(ours)) == set(bundle(theirs))
    assert bundle(ours)["text/plain"] == bundle(theirs)["text/plain"]
    assert "cuda:0" in ours.svg and "cuda" not in theirs.svg
    assert words(ours.svg) == words(theirs.svg)


def test_a_recorded_pass_is_played() -> None:
    steps = []
    for place in ("cuda", "cpu"):
        with viz.record() as recording:
            network(place).backward()
        steps.append(recording)
    shown = [viz.animate(network(place)) for place in ("cuda", "cpu")]
    assert set(bundle(shown[0])) == set(bundle(shown[1]))


def test_only_summaries_are_copied() -> None:
    with watched_copies() as sizes:
        w = nb.rand(700, 700).cuda().requires_grad_()
        with viz.record():
            loss = ((w @ w).exp() * 1e-9).mean()
            loss.backward()
        bundle(viz.graph(((w * 2) @ w.T).mean()))
        repr(w)
        str(w.grad)
    assert sizes and max(sizes) <= 8192


@pytest.mark.parametrize(
    "make",
    [
        lambda d: nb.tensor([1.0, 2.5], device=d),
        lambda d: nb.tensor(3, device=d),
        lambda d: nb.tensor([], device=d),
        lambda d: nb.tensor([True, False], device=d),
        lambda d: nb.tensor([1e-8, 1e8, float("nan"), float("inf")], device=d),
        lambda d: nb.arange(10_000.0, device=d).reshape(100, 100),
        lambda d: nb.arange(8.0, device=d).reshape(2, 2, 2).mT,
        lambda d: nb.tensor([1 + 2j, -3j], device=d),
        lambda d: nb.ones(2, dtype=nb.float16, device=d, requires_grad=True),
        lambda d: nb.ones(2, device=d, requires_grad=True).exp(),
        lambda d: nb.nn.Parameter(nb.ones(2, device=d)),
    ],
)
def test_printing(make: Any) -> None:
    ours, theirs = repr(make("cuda")), repr(make("cpu"))
    assert "device='cuda:0'" in ours
    assert re.sub(r",\s+", ", ", ours).replace(", device='cuda:0'", "") == re.sub(r",\s+", ", ", theirs)


def test_modules_and_states_are_printed() -> None:
    model = nb.nn.Sequential(nb.nn.Linear(2, 3), nb.nn.ReLU()).cuda()
    assert repr(model) == repr(nb.nn.Sequential(nb.nn.Linear(2, 3), nb.nn.ReLU()))
    assert "cuda:0" in repr(model.state_dict())
    assert repr(nb.ones(1, device="cuda").device) == "device(type='cuda', index=0)"


def test_profiles() -> None:
    x = nb.eye(100).cuda()
    with nb.profiler.profile() as profile:
        (x @ x).sum()
    assert "aten::matmul" in profile.key_averages().table() or "aten::mm" in profile.key_averages().table()
    assert (x @ x).sum() == 100
