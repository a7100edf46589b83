"""The ids by which a call is found elsewhere: its request id, its trace, and its spans if OpenTelemetry is on."""
