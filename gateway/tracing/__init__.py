"""How a call is found again elsewhere: its request id, its trace, and its spans if OpenTelemetry is on."""
