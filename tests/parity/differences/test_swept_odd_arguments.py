"""Calls with arguments that are seldom what was meant, swept: what PyTorch takes, and what it refuses."""

from __future__ import annotations

import itertools
from typing import Any

from tests.parity.differences.both import agrees
from tests.parity.differences.test_swept_writes import outcomes

PLACES = ("T.tensor(True)", "T.tensor(False)", "True", "np.bool_(True)", "T.tensor(1, dtype=T.uint8)",
          "np.array(True)", "np.array(0)", "(T.tensor(True), 0)", "(None, True)")  # fmt: skip
ASSIGNED = ("5", "1j", "T.tensor(7)", "T.tensor([2.5]).double()", "T.tensor([2.5, 1, 4])", "x[0, 1]",
            "x[0, 1].double()")  # fmt: skip
HISTORY_OF_INTEGERS = (("T.ones(2, 3, dtype=T.int64)", "x[0, 1]"), ("T.ones(2, 3, dtype=T.int64)", "x[0, 1].double()"),
                       ("T.ones(1).bool()", "x[0, 1]"), ("T.ones(1).bool()", "x[0, 1].double()"))  # fmt: skip


@agrees
def test_values_assigned_at_what_stands_for_all(torch: Any) -> Any:
    """Beside a mask of no dimension a value of another dtype is refused, unlike beside others."""
    into = ("T.ones(3)", "T.ones(2, 3, dtype=T.int64)", "T.ones(1).bool()", "x * 2")
    swept = (place for place in itertools.product(into, PLACES, ASSIGNED) if place[::2] not in HISTORY_OF_INTEGERS)
    return outcomes(torch, (f"import numpy as np; y = {i}; y[{key}] = {value}; r = y" for i, key, value in swept))


@agrees
def test_what_stands_for_all_read(torch: Any) -> Any:
    return outcomes(torch, (f"import numpy as np; r = (x * 1)[{key}]" for key in PLACES))
