"""``torch.jit.trace``: a function recorded once on examples, then run as one compiled function.

``trace`` runs the function and checks the recording; ``recorder`` records the operations as a ``graph``, in which
in-place writes become new values; ``interceptions`` handles calls other than operations. The steps of a graph can be
replayed, which calls the operations again, one by one. ``compilation`` makes of them one function over arrays forward
and one backward, from the same bodies and formulas as eager (``forward_code``, ``backward_code``), specialized for the
shapes and layouts of a call (``specialize``, ``memory``). ``script`` has the results of ``trace``; a call of one is one
node of the tape. The package may import all packages except pictures, ``program`` and ``_compat``, whose ``jit`` shows
its names.
"""
