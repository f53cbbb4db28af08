"""PyTorch's random streams, bit for bit: the Mersenne Twister behind ``manual_seed``, and what is drawn from it.

It knows arrays and the tensor in which a generator's state is handed out; it must not know the operations that draw.
"""
