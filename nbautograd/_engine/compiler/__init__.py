"""``@op``: from a declaration to the functions that run.

A declaration is a body over arrays and a formula per input; its data is an ``OpSchema`` (``schema``). At the first call
it is compiled (``op``): to a forward function (``forward``), to a node with its vjp over arrays and over tensors
(``backward``), and to the method that writes in place (``inplace``). On the way expressions are inlined (``rewrite``)
and lowered to ufuncs (``elementwise``, ``lowering``); what generated code calls is in ``runtime``. It knows tensors,
nodes and fusion; it must not know any single operation: those register themselves (``registry``).
"""
