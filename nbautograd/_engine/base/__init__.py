"""Helpers that every wing may use: files written at once, advice on what to install, where users' code is."""
