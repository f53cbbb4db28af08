"""Check that one script gives the same losses under both libraries, and that its state can be exchanged."""

from __future__ import annotations

import contextlib
import functools
import io
from typing import Any

import numpy as np
import pytest

import nbautograd
from tests import oracle
from tests.networks.training.scripts import SCRIPTS
from tests.oracle.answers import Measured

STEPS = 100
EARLY = 10
"""The number of steps after which the weights are compared."""
SAVED = 20
"""The number of steps after which the states of model, optimizer and scheduler are passed on."""


def in_steps(T: Any) -> Any:
    """PyTorch without oneDNN, whose fused recurrent layer has an unknown error."""
    return contextlib.nullcontext() if T is nbautograd else T.backends.mkldnn.flags(enabled=False)


def program(T: Any, script: str) -> Any:
    """The losses; the model and the optimizer after some steps, and a file of all states after some more."""
    with in_steps(T):
        return all_of(T, script)


def all_of(T: Any, script: str) -> Any:
    training = SCRIPTS[script](T)
    losses = training.run(EARLY)
    early = {name: value.clone() for name, value in training.model.state_dict().items()}
    early = early, repr(training.model), repr(training.optimizer)
    losses += training.run(SAVED - EARLY)
    return losses, early, saved(T, training), training.run(STEPS - SAVED)


def saved(T: Any, training: Any) -> bytes:
    file = io.BytesIO()
    T.save([part.state_dict() for part in training.parts()], file)
    return file.getvalue()


def gone_on(T: Any, script: str, file: bytes) -> list[float]:
    """Return the next losses after loading the states into a new model."""
    training = SCRIPTS[script](T)
    for _ in range(SAVED):
        next(training.batches)
    with T.no_grad():
        for p in training.model.parameters():
            p.zero_()
    for part, state in zip(training.parts(), T.load(io.BytesIO(file), weights_only=True), strict=True):
        part.load_state_dict(state)
    return training.run(15)


@functools.cache
def theirs(script: str) -> Any:
    return oracle.shared(script, program, script).parts


ours = functools.cache(functools.partial(program, nbautograd))


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_same_losses_for_a_hundred_steps(script: str) -> None:
    first, _, _, later = ours(script)
    oracle.close([first, later], [theirs(script)[0], theirs(script)[3]])
    assert np.mean(later[-10:]) < 0.7 * np.mean(first[:10])  # and its loss has fallen


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_same_model_after_a_few_steps(script: str) -> None:
    oracle.close(ours(script)[1], theirs(script)[1])


@pytest.mark.parametrize("script", SCRIPTS)
def test_pytorchs_state_goes_on_here_as_there(script: str) -> None:
    _, _, file, later = theirs(script)
    oracle.close(gone_on(nbautograd, script, file), later[:15])


@pytest.mark.parametrize("script", SCRIPTS)
def test_our_state_goes_on_in_pytorch_as_here(script: str) -> None:
    torch = oracle.live()  # reads the file written here
    _, _, file, later = ours(script)
    try:
        oracle.close(later[:15], [of_one_unit(loss) for loss in gone_on(torch, script, file)])
    except pytest.fail.Exception:  # to measure how much rounding may do takes a hundred times as long
        oracle.close(later[:15], oracle.ask(gone_on, script, file))


def of_one_unit(loss: float) -> Measured:
    """Return a loss with the least bound that measuring could give it."""
    number = Measured(loss)
    number.bound = float(np.finfo(np.float32).eps) * abs(loss)
    return number
