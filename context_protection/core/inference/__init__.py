"""Infers fields and sections for records of an undeclared type."""
