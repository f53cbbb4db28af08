"""Operations that make tensors: from data, ranges, random numbers, other dtypes and other libraries.

They know the generator; they must not know what is done with the tensors.
"""
