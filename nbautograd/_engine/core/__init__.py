"""Tensor and node: the tape, views, in-place writes, and the modes.

A tensor is an array with a place in the graph. A node is one recorded operation; its edges lead to the nodes of its
inputs. Modes control whether operations are recorded (``grad_mode``), traced (``tracing``) or dispatched to a function
of the mode (``dispatch_mode``). This package depends on arrays, but not on the operations, their compilation, or the
backward pass.
"""
