"""``@op``: from a declaration to compiled functions.

A declaration is a body over arrays and a formula per input; its data is an ``OpSchema`` (``schema``). At the first call
it is compiled (``op``): to a forward function (``forward``), to a node with its vjp over arrays and over tensors
(``backward``), and to the in-place method (``inplace``). On the way expressions are inlined (``expressions``) and
lowered to ufuncs (``elementwise``, ``lowering``); generated code calls the functions in ``runtime``. This package
depends on tensors, nodes and fusion, but not on any single operation: those register themselves (``schema``).
"""
