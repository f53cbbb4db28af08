"""The operations, one module per family of PyTorch's reference."""
