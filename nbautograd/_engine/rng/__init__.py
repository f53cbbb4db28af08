"""PyTorch's random streams, bit for bit: the Mersenne Twister behind ``manual_seed``, and the distributions.

It depends on arrays and the tensor that holds a generator's state, but not on the operations that draw.
"""
