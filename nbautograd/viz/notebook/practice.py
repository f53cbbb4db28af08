"""Questions without end about small programs: ``%practice``, and ``viz.practice()`` where there are no magics.

A question shows a program and its graph. The reader answers, gets an explanation of mistakes, and sees the passes
played.
"""

from __future__ import annotations

import re
import secrets
from typing import Any

from nbautograd import exercises
from nbautograd.exercises import same
from nbautograd.viz.escape import escape, escape_long
from nbautograd.viz.language import say
from nbautograd.viz.notebook.api import graph, record
from nbautograd.viz.notebook.in_place import at_once, shows
from nbautograd.viz.notebook.practice_questions import LEVELS, Question, library, question, run
from nbautograd.viz.read.values import is_tensor, number_text

__all__ = ["Practice", "Reply", "practice", "turn"]

IN_A_ROW = 3
"""Questions answered at the first try before the level rises."""
SEEDS = 10_000
NOTHING = ("none", "nothing", "no line", "无", "没有")
"""Words for an answer that is no number, no line and no name."""


class Reply:
    """An answer, checked or opened: a line of text, and the player of the program's passes once it is known.

    :param text: the line.
    :param right: whether the answer was right.
    :param picture: what is shown below, or None.

    >>> Reply("Right.", True)
    Right.
    """

    def __init__(self, text: str, right: bool, picture: Any = None) -> None:
        self.text, self.right, self.picture = text, right, picture

    def _ipython_display_(self) -> None:
        """Show the text, and the picture below it."""
        print(self.text)
        show = shows()
        if self.picture is not None and show is not None:
            show(self.picture)

    def __repr__(self) -> str:
        return self.text


class Practice:
    """A series of questions: the current one is shown in a notebook, and ``answer`` checks an answer to it.

    :param level: of the first question, from 1 to 4; after three right answers in a row the level rises.
    :param seed: of the questions: the same seed gives the same questions, on every machine.
    :returns: the series.
    :raises ValueError: there is no such level, or the seed is negative.
    :raises TypeError: level or seed is not an integer.

    >>> from nbautograd import viz
    >>> series = viz.practice(level=1, seed=1)
    >>> series
    Question 1 · level 1 · seed 1
      1  w = torch.tensor(4., requires_grad=True)
      2  x = torch.tensor(-1.)
      3  a = w + 3
      4  b = x * 4
    Which of these tensors are leaves? Give all names, for example: w, a
    >>> series.answer("w, x")
    Not yet. b is missing: it has no grad_fn.
    >>> series.answer("w, x, b")
    Right. The leaves are w, x, b.
    """

    def __init__(self, level: int, seed: int) -> None:
        for name, value in (("level", level), ("seed", seed)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"practice: {name} must be an integer, got {type(value).__name__}")
        if level not in LEVELS:
            raise ValueError(f"practice: level must be from {LEVELS[0]} to {LEVELS[-1]}, got {level}")
        if seed < 0:
            raise ValueError(f"practice: seed must not be negative, got {seed}")
        self.level, self.seed = level, seed
        self.number = self.asked = self.solved = self._row = 0
        self._begin()

    def _begin(self) -> None:
        self.question: Question = question(self.seed, self.level, self.number)
        self.is_open, self._tries = True, 0
        self.asked += 1

    def next(self) -> Practice:
        """Go on to the next question; an open one counts as not solved."""
        if self.is_open:
            self._row = 0
        self.number += 1
        self._begin()
        return self

    def answer(self, *given: Any) -> Reply:
        """Check an answer to the current question.

        :param given: a number, a list, None, names of tensors, or a text of these, such as ``"1/2"`` or ``"w, a"``.
        :returns: whether it is right, and what is wrong; for a right answer, the player.
        :raises TypeError: no answer is given.

        >>> from nbautograd import viz
        >>> viz.practice(level=1, seed=0).answer(-4).right
        False
        """
        if not given:
            raise TypeError(say("practice_no_answer"))
        value = given[0] if len(given) == 1 else list(given)
        fault = FAULTS[self.question.kind](self.question, value)
        if fault is not None:
            self._tries += self.is_open
            return Reply(say("practice_wrong", fault=fault), False)
        text = f"{say('practice_right')} {self._told()}"
        if self.is_open:
            self.is_open = False
            self.solved += 1
            self._row = self._row + 1 if not self._tries else 0
            if self._row >= IN_A_ROW and self.level < LEVELS[-1]:
                self.level, self._row = self.level + 1, 0
                text += " " + say("practice_risen", n=IN_A_ROW, level=self.level)
        return Reply(text, True, self._played())

    def show(self) -> Reply:
        """Open the answer to the current question: in words, and as the player."""
        if self.is_open:
            self.is_open, self._row = False, 0
        return Reply(self._told(), False, self._played())

    def _told(self) -> str:
        """Return the answer in words."""
        drawn = self.question
        if drawn.kind == "leaf":
            return say("practice_leaves", names=", ".join(drawn.answer))
        if drawn.asked:
            return say("practice_grad", name=drawn.asked, value=_text(drawn.answer))
        ran = run(drawn.lines)
        if not ran.line:
            return say("practice_no_line")
        error = f"{type(ran.error).__name__}: {str(ran.error).splitlines()[0]}"
        return say("practice_line", line=ran.line, error=error)

    def _played(self) -> Any:
        """Return the program's passes as a player; without a pass, the graph; None if nothing can be drawn."""
        drawn, names = self.question, library()
        with record(namespace=names) as passes:
            run(drawn.lines, drawn.file, names)
        return passes if len(passes) else self._graph(drawn.lines)

    def _graph(self, lines: Any) -> Any:
        """Return the picture of the last recorded tensor of a program, or None."""
        ran = run(lines, self.question.file)
        results = [tensor for tensor in ran.tensors().values() if tensor.grad_fn is not None]
        return graph(results[-1], namespace=ran.names) if results else None

    def _head(self) -> str:
        return say("practice_head", number=self.number + 1, level=self.question.level, seed=self.seed)

    def _ask(self) -> str:
        return say(f"practice_{self.question.kind}", name=self.question.asked)

    def _numbered(self) -> list[str]:
        text = "\n".join(self.question.lines).split("\n")
        return [f"{n:3}  {line}" for n, line in enumerate(text, 1)]

    def __repr__(self) -> str:
        return "\n".join([self._head(), *self._numbered(), self._ask()])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        asked = self.question.asked  # else the graph before the first pass would reveal the answer
        picture = self._graph(self.question.forward()) if asked else None
        still = picture.static_html() if picture is not None else ""
        program = escape_long("\n".join(self._numbered()), 5000)
        html = f"<p><b>{escape(self._head())}</b></p><pre><code>{program}</code></pre><p>{escape(self._ask())}</p>"
        how = f"<p><small>{escape_long(say('practice_how'), 500)}</small></p>"
        return {"text/plain": repr(self), "text/html": html + still + how}


@at_once
def practice(level: int = 1, seed: int | None = None) -> Practice:
    """Draw questions about gradients, accumulation, leaves and errors; ``answer`` of the result checks an answer.

    :param level: of the first question, from 1 to 4.
    :param seed: the same number gives the same questions; by default, one is drawn.
    :returns: the series, which a notebook shows as its current question.
    :raises ValueError: there is no such level, or the seed is negative.
    :raises TypeError: level or seed is not an integer.

    >>> from nbautograd import viz
    >>> viz.practice(level=2, seed=0).question.level
    2
    """
    _current[:] = [Practice(level, secrets.randbelow(SEEDS) if seed is None else seed)]
    return _current[0]


_current: list[Practice] = []
"""The series that ``%practice`` continues."""


def turn(answer: str, level: int | None, seed: int | None, show: bool) -> Any:
    """Return the object that ``%practice`` shows: a question, the judgement of an answer, or the opened answer.

    :raises ValueError: ``answer`` or ``show`` without a series, or no such level or seed.
    """
    series = _current[0] if _current else None
    if series is None or (level, seed) != (None, None):
        if answer or show:
            raise ValueError(f"practice: {say('practice_no_series')}")
        return practice(1 if level is None else level, seed)
    if show:
        return series.show()
    if answer:
        return series.answer(answer)
    if not series.is_open:
        series.next()
    return series


# -- mistakes --------------------------------------------------------------------------


def _of_gradient(drawn: Question, given: Any) -> str | None:
    """Return the mistake in an answer about ``.grad``, or None."""
    value = _read(given)
    if value is None:
        return None if drawn.answer is None else say("practice_arrived", name=drawn.asked)
    if drawn.answer is None:
        tensor = run(drawn.lines).names[drawn.asked]
        return say("practice_none" if tensor.is_leaf else "practice_no_leaf", name=drawn.asked)
    if same(value, drawn.answer):
        return None
    if isinstance(value, str):
        return say("practice_unread", given=value)
    if isinstance(drawn.answer, list) and not _is_list(value):
        return say("practice_length", name=drawn.asked, n=len(drawn.answer))
    key = next((key for key, wrong in drawn.wrong.items() if wrong is not None and same(value, wrong)), "other")
    return say(f"practice_is_{key}", given=_text(value), name=drawn.asked)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) or bool(getattr(value, "ndim", 0))


def _of_line(drawn: Question, given: Any) -> str | None:
    """Return what is wrong with an answer about the line that fails."""
    value = _read(re.sub(r"(?i)line|[第行]", "", given) if isinstance(given, str) else given)
    value = 0 if value is None else value
    if same(value, drawn.answer):
        return None
    if not any(same(value, line) for line in range(len("\n".join(drawn.lines).split("\n")) + 1)):
        return say("practice_unread_line", given=_text(value))
    if same(value, 0):
        return say("practice_one_fails")
    return say("practice_line_runs", line=_text(value))


def _of_leaves(drawn: Question, given: Any) -> str | None:
    """Return what is wrong with an answer about leaves: the first tensor that is missing, or too much."""
    tensors, names = run(drawn.lines).tensors(), _names(given)
    unknown = [name for name in names if name not in tensors]
    if unknown:
        return say("practice_no_name", given=_text(unknown[0]), names=", ".join(tensors))
    for name, tensor in tensors.items():
        if (name in names) != tensor.is_leaf:
            made = type(tensor.grad_fn).__name__ if tensor.grad_fn is not None else ""
            return say("practice_extra" if made else "practice_missing", name=name, node=made)
    return None


def _names(given: Any) -> list[Any]:
    """Return the names in an answer about leaves, a text or a collection, as they were given."""
    parts = re.split("[,，、]", given) if isinstance(given, str) else given
    parts = parts if isinstance(parts, list | tuple | set | frozenset) else [parts]
    names = [part.strip() if isinstance(part, str) else part for part in parts]
    return [name for name in names if name not in ("", *NOTHING)]


FAULTS = {"gradient": _of_gradient, "passes": _of_gradient, "fails": _of_line, "leaf": _of_leaves}


def _read(given: Any) -> Any:
    """Parse an answer: words such as "none" become None, and texts of numbers become numbers."""
    return None if isinstance(given, str) and given.strip().casefold() in NOTHING else exercises._read(given)


def _text(value: Any) -> str:
    """Return an answer as text: numbers as in pictures."""
    if is_tensor(value):
        value = value.detach().tolist()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    return number_text(value) if isinstance(value, float) else str(value)
