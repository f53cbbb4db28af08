"""Models and timelines drawn: layout, SVG, text, raster, DOT.

Layout comes first and is data, drawing comes second; what a user can name is escaped here. It must not know the
notebook.
"""
