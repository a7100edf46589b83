"""The first call of a key since its secret was created, for the page that waits for it."""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from gateway.access.models import ApiKey
from telemetry import wording
from telemetry.models import TelemetryRecord
from telemetry.pages.address import Address
from telemetry.pages.ranges import read_moment
from telemetry.pages.shell import page

SEE = "access.view_apikey"


@dataclass(frozen=True, slots=True)
class FirstCall:
    words: str
    link: str


@page(needs=SEE)
@require_safe
def first_call(request: HttpRequest, address: Address, key_number: int) -> HttpResponseBase:
    """The line "waiting for its first call", or the call. `since`: ISO 8601, when to count from; by default, and
    if it is not a time, from the key's creation."""
    key = get_object_or_404(ApiKey, pk=key_number)
    since = request.GET.get("since", "")
    found = _found(address, key, read_moment(since, UTC) or key.created_at)
    response: HttpResponse = render(request, "keys/_first_call.html", {"key": key, "call": found, "since": since})
    response["Cache-Control"] = "no-store"
    return response


def _found(address: Address, key: ApiKey, since: datetime) -> FirstCall | None:
    calls = TelemetryRecord.objects.in_figures().filter(caller=key.name, created_at__gte=since)
    first = calls.order_by("created_at").first()
    if first is None:
        return None
    call = first.measurement
    client = " ".join(part for part in (call.client or call.transport, call.client_version) if part)
    did = "was refused at" if call.outcome == "error" else "called"
    words = f"{client} {did} {call.operation} at {wording.moment(call.at)}."
    return FirstCall(words, address.to("call", call.request_id))
