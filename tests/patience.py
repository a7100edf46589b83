"""How long a test waits for what takes a moment: a busy machine must not look like a program that hangs."""

PATIENCE = 60  # seconds
