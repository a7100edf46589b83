"""GET /api/v1/telemetry/…: the figures of the pages, by the same queries."""
