"""The same training under both libraries."""
