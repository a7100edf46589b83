"""NSIP Search: the public database of the National Sheep Improvement Program, by its own client (N-FR-010)."""
