"""Tensor and node: the tape, views, in-place writes, and the modes.

A tensor is an array with a place in the graph. A node is one recorded operation; its edges lead to the nodes of its
inputs. Modes decide whether operations are recorded (``grad_mode``), traced (``tracing``) or dispatched to a function
of the mode (``dispatch_mode``). The package knows arrays; it must not know which operations there are, how they are
compiled, or how a backward pass runs.
"""
