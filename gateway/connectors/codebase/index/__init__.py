"""Full-text search over a project: it ranks files, then finds the best lines in them. Uses neither git nor Django."""
