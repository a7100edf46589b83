from django.db import migrations
from django.db.models import F

from telemetry.alerts import shipped_rules

STATES = {"open": "alerting", "cleared": "normal"}


def follow_rules(apps, schema_editor):
    """Gives the alerts of before the shipped rule of their kind, and their history what is known of it."""
    shipped_rules.create(schema_editor.connection.alias, apps)
    alerts = apps.get_model("telemetry", "Alert").objects.using(schema_editor.connection.alias)
    rules = apps.get_model("telemetry", "AlertRule").objects.using(schema_editor.connection.alias)
    transitions = apps.get_model("telemetry", "AlertTransition")
    for kind in alerts.order_by().values_list("kind", flat=True).distinct():
        alerts.filter(kind=kind).update(rule=rules.get(shipped_as=kind))
    alerts.update(fired_at=F("started_at"), told_at=F("started_at"), since=F("started_at"))
    alerts.exclude(ended_at=None).update(since=F("ended_at"))
    for before, after in STATES.items():
        alerts.filter(state=before).update(state=after)
    history = []
    for alert in alerts.iterator():
        fired = {"alert": alert, "value": alert.value, "limit": alert.limit}
        history.append(transitions(at=alert.started_at, before="normal", after="alerting", **fired))
        if alert.ended_at:
            history.append(
                transitions(alert=alert, at=alert.ended_at, before="alerting", after="normal", message=alert.message)
            )
    transitions.objects.using(schema_editor.connection.alias).bulk_create(history, batch_size=500)


def be_open_or_cleared(apps, schema_editor):
    """Backwards. Alerts of kinds that did not exist before are deleted."""
    alerts = apps.get_model("telemetry", "Alert").objects.using(schema_editor.connection.alias)
    alerts.exclude(rule__kind__in=("oversized_share", "token_drift")).delete()
    alerts.filter(fired_at=None).delete()
    for kind in ("oversized_share", "token_drift"):
        alerts.filter(rule__kind=kind).update(kind=kind)
    for alert in alerts.filter(ended_at=None).order_by("started_at"):  # one of a kind was open at a time
        alerts.filter(kind=alert.kind, ended_at=None).exclude(pk=alert.pk).delete()
    alerts.filter(ended_at=None).update(state="open")
    alerts.exclude(ended_at=None).update(state="cleared")
    alerts.filter(value=None).update(value=0)
    alerts.filter(peak=None).update(peak=F("value"))


class Migration(migrations.Migration):
    """In a migration of its own: Postgres changes no table whose rows were changed in the same transaction."""

    dependencies = [("telemetry", "0010_alert_rules")]

    operations = [migrations.RunPython(follow_rules, be_open_or_cleared)]
