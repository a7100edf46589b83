"""GET /api/v1/telemetry/…: the figures of the telemetry pages, from the same queries."""
