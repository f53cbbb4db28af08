"""Matrix products, decompositions and solvers: the basis of ``torch.linalg`` and of the top-level functions.

They build on elementwise operations, reductions and shapes; LAPACK is called through the backend.
"""
