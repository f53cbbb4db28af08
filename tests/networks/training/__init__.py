"""Run the same training under both libraries."""
