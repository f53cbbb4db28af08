"""``torch.jit.trace``: a function recorded once on examples, and run as one compiled function after that.

``recorder`` runs the function and writes down what its operations compute from what (``graph``); writes in place become
new values. From the graph come ``replay``, which calls the operations again, one by one, and ``compilation``: one
function over arrays forward and one backward, from the same bodies and formulas as eager (``forward_code``,
``backward_code``). ``function`` and ``module`` are what ``trace`` gives back; a call of it is one node of the tape
(``node``). The package may import everything but pictures, ``program`` and ``compat``, whose ``jit`` shows its names.
"""
