"""Large elementwise expressions: fused, tiled, and computed by several threads.

A kernel is a sequence of ufuncs with ``out=`` (``kernel``); its operands are cut into tiles that fit the cache
(``tiling``); in a backward pass the kernels of a chain of nodes are fused (``lazy_gradient``). This package depends on
arrays only, not on tensors, operations, the compiler or the engine.
"""
