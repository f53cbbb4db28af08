"""Large elementwise expressions: fused, tiled, and computed by several threads.

A kernel is a sequence of ufuncs with ``out=`` (``kernel``); its operands are cut into tiles that fit the cache
(``tiling``); in a backward pass the kernels of a chain of nodes are fused (``lazy_gradient``). It knows arrays only; it
must not know tensors, operations, how they are compiled, or the engine.
"""
