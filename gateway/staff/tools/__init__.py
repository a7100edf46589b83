"""The page at /admin/tools/: every tool, on or off, with its cost and its use."""
