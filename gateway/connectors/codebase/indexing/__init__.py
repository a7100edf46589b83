"""Keeps the index of each project up to date in the background."""
