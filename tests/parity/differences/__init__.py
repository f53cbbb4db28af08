"""Run autograd programs under PyTorch and here: the same result, or a difference that ``docs`` names."""
