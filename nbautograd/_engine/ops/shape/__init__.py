"""Operations that move elements without computing: views, joining, slicing, padding, triangles.

They know nothing of what is computed with the elements.
"""
