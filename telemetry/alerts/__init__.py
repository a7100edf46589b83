"""Alerts: rules that beat evaluates, the states of what they watch, and the notifications about them.

    tasks.check_alerts ─► evaluation ─► readings ─► states ─► lifecycle ─► notifications ─► tasks.deliver_notification

`kinds` declares what can be watched, `states` is the pure state machine, `readings/` looks at the figures.
"""
