"""Reads a stored result by path, by search and by SQL."""
