"""PyTorch's names: where they lie here, when they are loaded, and what is said of those that are not here."""
