"""The pages at /telemetry/."""
