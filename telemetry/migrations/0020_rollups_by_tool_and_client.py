"""Fills the rollups by tool and client: days from those by tool and caller, hours by building them anew."""

from datetime import timedelta
from typing import Any

from django.db import migrations

HOUR, DAY = 3600, 86400
DIMENSIONS = ("operation", "upstream", "client", "outcome", "origin")  # of the scope `client`, in this migration
HISTOGRAMS = ("latency", "upstream_latency")
JOIN = {"postgresql": "STRING_AGG", "sqlite": "GROUP_CONCAT"}


def fill(apps: Any, schema_editor: Any) -> None:
    """Hours whose calls are deleted stay without these rollups, as they were."""
    rollup, stale = apps.get_model("telemetry", "Rollup"), apps.get_model("telemetry", "StaleBucket")
    _add_days(rollup, schema_editor)
    oldest = apps.get_model("telemetry", "TelemetryRecord").objects.order_by("created_at").first()
    if oldest is None:
        return
    hours = rollup.objects.filter(level=HOUR, scope="all", start__gt=oldest.created_at - timedelta(hours=1))
    marks = [stale(level=HOUR, start=start) for start in hours.order_by().values_list("start", flat=True).distinct()]
    stale.objects.bulk_create(marks, ignore_conflicts=True)


def _add_days(rollup: Any, schema_editor: Any) -> None:
    """Texts of histograms are joined with commas, as readers of several rollups join them."""
    join = JOIN[schema_editor.connection.vendor]
    columns = {field.column: "" for field in rollup._meta.fields if not field.primary_key}
    for column in columns:
        if column in ("level", "start", *DIMENSIONS):
            columns[column] = column
        elif column in HISTOGRAMS:
            columns[column] = f"COALESCE({join}(NULLIF({column}, ''), ','), '')"
        elif rollup._meta.get_field(column).get_internal_type() in ("BigIntegerField", "FloatField"):
            columns[column] = f"SUM({column})"
        else:
            columns[column] = "0" if column == "upstream_status" else "''"
    columns["scope"] = "'client'"
    table = rollup._meta.db_table
    schema_editor.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(columns.values())} FROM {table} "  # noqa: S608
        f"WHERE scope = 'pair' AND level = {DAY} GROUP BY level, start, {', '.join(DIMENSIONS)}"
    )


def remove(apps: Any, schema_editor: Any) -> None:
    apps.get_model("telemetry", "Rollup").objects.filter(scope="client").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("telemetry", "0019_rollout_alerts"),
    ]

    operations = [
        migrations.RunPython(fill, remove),
    ]
