"""Helpers for every wing: atomic files, installation advice, locations in user code."""
