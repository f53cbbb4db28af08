"""Reading and writing by index: ``x[...]``, gather and scatter.

They depend on shapes only.
"""
