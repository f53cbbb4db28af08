"""Reading and writing by index: ``x[...]``, gather and scatter.

They know shapes.
"""
