"""Matrix products, decompositions and solvers; ``torch.linalg`` and the functions at the top are made of these.

They know elementwise operations, reductions and shapes; LAPACK is called through the backend.
"""
