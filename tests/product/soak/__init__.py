"""Long sessions in a real kernel."""
