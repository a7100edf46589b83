"""The history of all alerts, as a file."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_safe

from telemetry.models.alerts import AlertTransition
from telemetry.pages.address import Address
from telemetry.pages.export import stream
from telemetry.pages.shell import page

KEYS = ("at", "alert", "rule", "subject", "what", "before", "after", "value", "limit", "by", "message")


@require_safe
@page()
def history(request: HttpRequest, address: Address) -> StreamingHttpResponse:
    return stream(KEYS, _rows(), "csv", "sluice-alerts")


def _rows() -> Iterator[list[Any]]:
    for each in AlertTransition.objects.select_related("alert__rule").iterator(chunk_size=2000):
        yield [
            each.at.isoformat(),
            each.alert_id,
            each.alert.rule.name,
            each.alert.subject,
            each.what,
            each.before,
            each.after,
            each.value,
            each.limit,
            each.by,
            each.message,
        ]
