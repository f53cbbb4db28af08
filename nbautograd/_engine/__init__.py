"""The engine: arrays, tensors, operations and how they are compiled. What is public of it has PyTorch's names."""
