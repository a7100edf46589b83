"""Alerts: rules that beat evaluates, alerts with their states, and notifications.

    check_alerts ─► evaluation ─► readings ─► alert_states ─► lifecycle ─► notifications ─► deliver_notification

Celery beat starts the task check_alerts. Each queued notification starts the task deliver_notification.
telemetry/alert_kinds.py declares what can be watched, telemetry/alert_states.py is the state machine, without side
effects, and `readings/` reads the figures.
"""
