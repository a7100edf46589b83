"""Probes upstreams without recent calls, so that a failed one is noticed although nobody calls it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from asgiref.sync import async_to_sync
from django.utils import timezone

from gateway.upstreams import probes
from telemetry import processes

QUIET = timedelta(seconds=25)  # an upstream without a call for this long is probed; beat checks every 30 seconds


def probe_quiet_upstreams() -> None:
    contacts, now = processes.last_contacts(), timezone.now()
    quiet = [each for each in probes.all_probes() if each.name not in contacts or now - contacts[each.name] > QUIET]
    async_to_sync(probes.run)(quiet)


def probe_now(name: str) -> Mapping[str, Any] | None:
    """Probes the upstream and returns the result, which this process's next report includes; None if no upstream of
    this name was ever probed here. May block for seconds."""
    async_to_sync(probes.run)([each for each in probes.all_probes() if each.name == name][:1])
    result = probes.result_of(name)
    return result.document() if result else None
