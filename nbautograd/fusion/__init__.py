"""Large elementwise expressions: fused, tiled, and spread over threads.

An expression becomes a kernel, a sequence of ufuncs with ``out=`` (``kernel``); its operands are cut into tiles that
fit the cache (``tiling``); in a backward pass the gradients of a chain of nodes are computed together
(``lazy_gradient``). It knows arrays and what a body's source says; it must not know tensors' methods, single
operations, or the engine.
"""
