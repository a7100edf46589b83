"""NSIP Search: the public database of the National Sheep Improvement Program, through its own client (N-FR-010)."""
