"""``torch.jit.trace``: a function recorded once on examples, and run as one compiled function after that.

``trace`` runs the function and checks; ``recorder`` writes down what its operations compute from what (``graph``), in
which writes in place become new values; ``interceptions`` sees what is no operation. From the graph come ``replay``,
which calls the operations again, one by one, and ``compilation``: one function over arrays forward and one backward,
from the same bodies and formulas as eager (``forward_code``, ``backward_code``), specialized for the shapes and layouts
of a call (``specialize``, ``memory``). ``script`` has what ``trace`` gives back; a call of it is one node of the tape
(``node``). The package may import everything but pictures, ``program`` and ``_compat``, whose ``jit`` shows its names.
"""
