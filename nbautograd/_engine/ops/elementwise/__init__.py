"""Operations on each element: arithmetic, comparison, exponentials, rounding, special functions.

They know nothing of the other families.
"""
