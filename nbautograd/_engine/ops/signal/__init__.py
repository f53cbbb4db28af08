"""Fourier transforms, windows, convolution, pooling and interpolation.

They build on elementwise operations, reductions and shapes; the layers built from them are in ``nn``.
"""
