"""Training scripts in the style of PyTorch's first tutorials."""
