"""Alerts: rules that beat evaluates, the states of what they watch, and the notifications about them.

    check_alerts ─► evaluation ─► readings ─► alert_states ─► lifecycle ─► notifications ─► deliver_notification

Beat starts the first task, each queued notification the last. telemetry/alert_kinds.py declares what can be watched,
telemetry/alert_states.py is the pure state machine, `readings/` looks at the figures.
"""
