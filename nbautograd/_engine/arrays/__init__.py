"""NumPy and CuPy arrays: device, memory layout and summation.

Device, dtype, shape and strides; memory reuse, the counter of in-place writes, the thread pool. ``backend`` is the only
module that names CuPy. This package works on arrays: it uses the errors, but no tensors, graphs or operations.
"""
