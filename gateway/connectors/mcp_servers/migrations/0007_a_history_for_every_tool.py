"""Gives each tool that has no history a first version, so that its first switch can be rolled back."""

from typing import Any

from django.db import migrations
from django.utils import timezone

FIELDS = ("id", "server", "name", "enabled", "is_chosen")


def add_first_versions(apps: Any, schema_editor: Any) -> None:
    tool, version = (apps.get_model("mcp_servers", name) for name in ("McpTool", "HistoricalMcpTool"))
    now = timezone.now()
    without = tool.objects.exclude(pk__in=version.objects.values("id"))
    version.objects.bulk_create(
        (version(**values, history_date=now, history_type="+") for values in without.values(*FIELDS)), batch_size=200
    )


class Migration(migrations.Migration):
    dependencies = [("mcp_servers", "0006_plain_words")]
    operations = [migrations.RunPython(add_first_versions, migrations.RunPython.noop)]
