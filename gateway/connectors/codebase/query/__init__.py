"""Answers questions about a project: in words, or as structured queries."""
