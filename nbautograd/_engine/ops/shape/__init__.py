"""Operations that move elements without computing: views, joining, slicing, padding, triangles.

They do not depend on the operations that compute with the elements.
"""
