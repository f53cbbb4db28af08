"""Operations on each element: arithmetic, comparison, exponentials, rounding, special functions.

They do not depend on the other families.
"""
