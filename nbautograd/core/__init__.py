"""Tensor and node: the tape, views, in-place writes, and the modes.

A tensor is an array with a place in a graph; a node is an operation that ran, and knows its inputs' nodes. Modes say
whether operations are recorded (``grad_mode``), traced (``tracing``) or handed to somebody else (``dispatch_mode``). It
knows arrays; it must not know how operations are compiled, which there are, or how a backward pass runs.
"""
