"""PyTorch's names: their location, lazy loading, and the errors for missing names."""
