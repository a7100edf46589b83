"""Full text search over a project: best files first, then the lines in them. Knows no git and no Django."""
