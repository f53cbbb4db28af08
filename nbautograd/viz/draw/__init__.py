"""Models and timelines drawn: layout, SVG, text, raster, DOT.

Layout comes first and is data; drawing comes second and escapes all user text. This package must not know the notebook.
"""
