"""Names and arguments of old tutorials: each does, and warns of, the same under both libraries."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import nbautograd
from tests import oracle

IDIOMS: dict[str, Callable[[Any, Any], Any]] = {
    "F.sigmoid": lambda torch, x: torch.nn.functional.sigmoid(x),
    "F.tanh": lambda torch, x: torch.nn.functional.tanh(x),
    "softmax without a dimension": lambda torch, x: torch.nn.functional.softmax(x),
    "log_softmax without a dimension": lambda torch, x: torch.nn.functional.log_softmax(x[0]),
    "a module of softmax": lambda torch, x: torch.nn.Softmax()(x),
    "clip_grad_norm": lambda torch, x: torch.nn.utils.clip_grad_norm([x], 1.0),
    "xavier_uniform": lambda torch, x: torch.nn.init.xavier_uniform(x).shape,
    "kaiming_normal": lambda torch, x: torch.nn.init.kaiming_normal(x).shape,
    "constant": lambda torch, x: torch.nn.init.constant(x, 3.0),
    "range": lambda torch, x: torch.range(0, 3),
    "upsample": lambda torch, x: torch.nn.functional.upsample(x[None, None], scale_factor=2),
    "upsample_nearest": lambda torch, x: torch.nn.functional.upsample_nearest(x[None, None], scale_factor=2),
    "volatile": lambda torch, x: torch.autograd.Variable(x, volatile=True),
    "a number by its index": lambda torch, x: x.sum().data[0],
    "a loss by its index": lambda torch, x: torch.nn.functional.mse_loss(x, x).data[0],
    "cpu as a context": lambda torch, x: _in_context(torch),
}
LOSSES = {
    "l1_loss": 0, "mse_loss": 0, "smooth_l1_loss": 0, "binary_cross_entropy": 0, "soft_margin_loss": 0,
    "binary_cross_entropy_with_logits": 0, "kl_div": 0, "poisson_nll_loss": 0, "multilabel_soft_margin_loss": 0,
    "nll_loss": 1, "cross_entropy": 1, "multi_margin_loss": 1, "hinge_embedding_loss": 0,
}  # fmt: skip
"""Losses that take ``size_average=`` and ``reduce=``, and whether their targets are classes."""
for _loss, _classes in LOSSES.items():
    for _options in ({"size_average": False}, {"reduce": False}, {"size_average": True}, {"reduce": True}):

        def _run(torch: Any, x: Any, loss: str = _loss, classes: int = _classes, options: Any = _options) -> Any:
            target = torch.tensor([0, 1]) if classes else torch.full_like(x, 0.25)
            return getattr(torch.nn.functional, loss)(torch.sigmoid(x), target, **options)

        IDIOMS[f"{_loss} {_options}"] = _run


def _in_context(torch: Any) -> str:
    with torch.device("cpu"):
        return str(torch.zeros(2).device)


def result(library: Any, name: str) -> tuple[Any, set[Any]]:
    """Return the result of an idiom, or the beginning of its error, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = IDIOMS[name](library, library.arange(4.0).view(2, 2))
            value = value if hasattr(value, "tolist") else str(value)
        except Exception as error:
            value = type(error).__mro__[-3].__name__, str(error)[:60]
    return value, {(each.category.__name__, re.split(r"[:.\n]", str(each.message))[0][:40]) for each in caught}


@pytest.mark.parametrize("name", IDIOMS)
def test_old_names(name: str) -> None:
    def program(torch: Any) -> Any:
        torch.set_warn_always(True)
        try:
            return result(torch, name)
        finally:
            torch.set_warn_always(False)

    theirs, warned = oracle.answer(program).parts
    ours, said = result(nbautograd, name)
    assert {tuple(each.parts) for each in warned.parts} <= said
    oracle.close(ours, theirs)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        *(("gels", "linalg.lstsq"), ("gesv", "linalg.solve"), ("potrf", "linalg.cholesky"), ("symeig", "linalg.eigh")),
        *(("lstsq", "linalg.lstsq"), ("solve", "linalg.solve"), ("btrifact", "linalg.lu_factor")),
        ("eig", "linalg.eig"),
    ],
)
def test_removed_names_say_what_replaces_them(name: str, instead: str) -> None:
    of_tensors = name in ("symeig", "lstsq", "solve", "eig")  # names that PyTorch keeps to report their removal
    for owner in (nbautograd, nbautograd.ones(1)) if of_tensors else (nbautograd,):
        with pytest.raises(AttributeError, match=rf"PyTorch removed it; use torch\.{re.escape(instead)}$"):
            getattr(owner, name)


def test_async_is_called_non_blocking() -> None:
    x = nbautograd.ones(2)
    assert x.to("cpu", non_blocking=True) is x
    with pytest.raises(TypeError):
        x.cuda(**{"async": True})


def test_tensors_of_pytorch_become_ours_without_a_warning() -> None:
    theirs = oracle.live().ones(2, 2)
    for make in (nbautograd.tensor, nbautograd.as_tensor, nbautograd.asarray):
        assert make(theirs).tolist() == [[1, 1], [1, 1]]
