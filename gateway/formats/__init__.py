"""How pages write dates (FORMAT_MODULE_PATH)."""
