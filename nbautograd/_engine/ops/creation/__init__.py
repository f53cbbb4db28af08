"""Operations that create tensors: from data, ranges, random numbers, other dtypes and other libraries.

They may use the generator, but must not depend on the operations applied to the tensors.
"""
