"""Programs of recorded graphs: the forward and the backward pass as straight-line code that runs by itself.

``graph`` reads which operations ran on what, ``numpy_writer`` writes them line by line, with the bodies and formulas of
their declarations, and ``bundle`` takes over the functions of this package that lines call, with all that they use.
Each line is computed as it is written, and compared with the recorded values: a program is right or rejected.
"""

from __future__ import annotations

from nbautograd.viz.program.numpy_writer import write_later
from nbautograd.viz.program.program import Program, write
from nbautograd.viz.program.statements import Line

__all__ = ["Line", "Program", "write", "write_later"]
