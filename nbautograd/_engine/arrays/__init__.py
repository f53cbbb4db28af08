"""NumPy and CuPy arrays: where they live, how they lie in memory, how they are summed.

Device, dtype, shape and strides; memory that is used again, the counter of in-place writes, the pool of threads.
``backend`` is the one module that names CuPy. What is here works on arrays: it knows the errors, and nothing of
tensors, graphs or operations.
"""
