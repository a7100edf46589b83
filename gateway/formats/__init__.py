"""The format of dates on pages (FORMAT_MODULE_PATH)."""
