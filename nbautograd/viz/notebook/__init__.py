"""Show figures, players, tables, magics and exports in a notebook.

It knows everything of the pictures. IPython, anywidget and Graphviz are imported when they are used. Only the display
hook and the magics see more of the library than the protocol.
"""
