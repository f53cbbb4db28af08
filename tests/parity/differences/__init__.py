"""What autograd does under PyTorch and here, program by program: the same, or a difference that ``docs`` names."""
